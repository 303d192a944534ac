"""Clients that need not be installed."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

__all__ = ["client"]


def client(module: str) -> Any:
    """A module of a client; where it is not installed, what asks for it is skipped.

    Clients warn when they are imported, of each other's deprecations: that is not ours to judge.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reason = f"{module.partition('.')[0]} is not installed (make clients)"
        return pytest.importorskip(module, reason=reason)
