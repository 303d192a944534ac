"""Are policies kept apart from the run by the command of a host? Asked where they will be."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from failgym.leaderboard.policy_process.players import Players
from failgym.workers import Workers

__all__ = ["check_apart"]


def check_apart(players: Players, private: Sequence[Path], workers: Workers) -> None:
    """Refuse a command under which policies can read what they must not, or end each other.

    Args:
        players: start processes with the command.
        private: what they must not read.
        workers: those who play.

    Raises:
        ValueError: in one line, naming what can be read; on a cluster, on whose machines nobody has
            looked.
    """
    if workers.remote:
        raise ValueError(
            f"{workers}: what a --policy-command can reach is not checked on other machines:"
            " expected a number"
        )
    run = Path(f"/proc/{os.getpid()}/status")
    paths = [path.absolute() for path in private]
    found = players.readable([*paths, run])
    for path in paths:
        if path in found:
            raise ValueError(
                f"--policy-command: what it starts can read {path}: expected another user"
                " without that right, or a namespace without the file (docs/hosting.md)"
            )
    if workers.several and run in found:
        raise ValueError(
            f"{workers}: policies of one user could end each other: expected 1, or a"
            " --policy-command that hides processes (docs/hosting.md)"
        )
