"""The process of one policy of a leaderboard: python -m failgym.cli.policy_process SPEC."""

from __future__ import annotations

import sys
from typing import Any

import numba
from numba.core.dispatcher import Dispatcher

__all__ = ["COMMAND", "MODULE"]

MODULE = "failgym.cli.policy_process"
COMMAND = (sys.executable, "-m", MODULE)
"""What starts it."""


def _nothing(*_: Any) -> None:
    """What numba tries to keep on disk."""


def _without_place_without_cache() -> None:
    """Keep no compiled code where this user may write nowhere: numba refuses to go on instead."""
    try:
        numba.njit(cache=True)(_nothing)
    except RuntimeError:
        Dispatcher.enable_caching = _nothing


def _main(spec: str) -> None:
    from failgym.cli.specs import load_policy
    from failgym.leaderboard.policy_process import serve

    serve(lambda: load_policy(spec))


if __name__ == "__main__":
    _without_place_without_cache()
    _main(sys.argv[1])
