"""Asking a policy again: a shipped baseline, or one whose file is at hand.

Code of a submitter is never run here: its SPEC names whatever can be imported.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from failgym.baselines import REGISTRY
from failgym.leaderboard.run.entries import Players
from failgym.leaderboard.run.episodes import Answers, Bools, Failure, Ints, Played, play
from failgym.leaderboard.submission.proofs import Key
from failgym.leaderboard.submission.records import PolicyRecord, Submission, file_sha256
from failgym.leaderboard.submission.tables import CRASHED
from failgym.leaderboard.suite.suite_worlds import Ground
from failgym.leaderboard.suite.suites import Cell
from failgym.sim.records import Output

__all__ = ["Asked", "Asking", "ask", "at_hand", "is_shipped", "names_a_file", "why_not_asked"]


def is_shipped(spec: str) -> bool:
    """Does a SPEC name a baseline that comes with failgym?"""
    return spec.partition(":")[0] in REGISTRY


def names_a_file(spec: str) -> bool:
    """Does a SPEC name a file: of a baseline's parameters, or of an agent?"""
    return not is_shipped(spec) and spec.endswith((".json", ".safetensors"))


def at_hand(spec: str) -> bool:
    """Is the file here that a SPEC names, and can it be read? No name is too odd to ask for."""
    return os.path.isfile(spec) and os.access(spec, os.R_OK)


def why_not_asked(policy: PolicyRecord, env: str) -> str | None:
    """Why a policy cannot be asked again in an environment; None if it can be."""
    spec, file = policy.specs[env], policy.files.get(env)
    if policy.kind == "code":
        return "is code, which verify never runs"
    if is_shipped(spec) and policy.kind == "baseline":
        return None
    if not names_a_file(spec) or spec.endswith(".json") != (policy.kind == "baseline"):
        return f"is no {policy.kind}: {spec!r}"
    if file is None:
        return "states no hash of its file"
    if not at_hand(spec):
        return f"{spec} is not here"
    return None if file_sha256(Path(spec)) == file.sha256 else f"{spec} here is another file"


@dataclass(frozen=True)
class Asking:
    """Who asks, and who cannot be asked."""

    players: Players
    excused: Mapping[tuple[Key, str], str]
    """policy and environment -> why it is not asked again"""

    @classmethod
    def of(cls, players: Players, submission: Submission) -> Asking:
        """Look for the file of every policy."""
        reasons = {
            (policy.key, env): why_not_asked(policy, env)
            for policy in submission.policies
            for env in policy.specs
        }
        return cls(players, {place: why for place, why in reasons.items() if why is not None})


class Asked(NamedTuple):
    """What came of it."""

    played: Played | None
    """None if it failed"""
    failure: Failure | None
    loaded: bool
    """was there a policy to be asked, at least?"""


def ask(players: Players, policy: PolicyRecord, ground: Ground, cell: Cell, slices: Ints) -> Asked:
    """Ask a policy again on the slices of a cell, with what it was shown."""
    world, scenario = ground.world(cell), ground.scenario(cell)
    try:
        watched = _Watched(players.player(policy.kind, policy.specs[cell.env]))
    except ValueError as error:
        return Asked(None, Failure(CRASHED, str(error)), False)
    try:
        return Asked(play(world, scenario, slices, watched), None, True)
    except Failure as failure:
        return Asked(None, failure, watched.loaded)


class _Watched:
    """A policy of which is known whether it could be made."""

    def __init__(self, inner: Answers) -> None:
        self._inner = inner
        self.loaded = False

    def begin(self, lanes: int) -> None:
        self._inner.begin(lanes)
        self.loaded = True

    def act(self, out: Output, live: Bools, fresh: Bools, at: Ints) -> Ints:
        return self._inner.act(out, live, fresh, at)
