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


def _tried() -> None:
    """What numba is asked to find a place for."""


def _keep_nothing(self: Any) -> None:
    """In place of `Dispatcher.enable_caching`."""


def _without_place_without_cache() -> None:
    """Keep no compiled code where this user may write nowhere: numba refuses to go on instead."""
    try:
        numba.njit(cache=True)(_tried)
    except RuntimeError:
        Dispatcher.enable_caching = _keep_nothing


def _main(spec: str) -> None:
    from failgym.cli.specs import load_policy
    from failgym.leaderboard.policy_process.policy_server import serve

    serve(lambda: load_policy(spec))


if __name__ == "__main__":
    _without_place_without_cache()
    _main(sys.argv[1])
