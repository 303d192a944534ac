"""Are policies kept apart from the run by the command of a host? Asked where they will be."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from failgym.leaderboard.policy_process.players import Players

__all__ = ["check_apart"]


def check_apart(players: Players, private: Sequence[Path], processes: int) -> None:
    """Refuse a command under which policies can read what they must not, or end each other.

    Args:
        players: start processes with the command.
        private: what they must not read.
        processes: how many play at once.

    Raises:
        ValueError: in one line, naming what can be read.
    """
    run = Path(f"/proc/{os.getpid()}/status")
    paths = [path.absolute() for path in private]
    found = players.readable([*paths, run])
    for path in paths:
        if path in found:
            raise ValueError(
                f"--policy-command: what it starts can read {path}: expected another user, who may"
                " not, or a namespace without it (docs/hosting.md)"
            )
    if processes > 1 and run in found:
        raise ValueError(
            f"--processes {processes}: policies of one user could end each other: expected 1, or a"
            " --policy-command that hides processes (docs/hosting.md)"
        )
