"""Asking a policy again: a shipped baseline, or one whose file is at hand.

Code of a submitter is never run here: its SPEC names whatever can be imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from failgym.leaderboard.policy_process.players import Players
from failgym.leaderboard.submission.proofs import Key
from failgym.leaderboard.submission.records import PolicyRecord, Submission
from failgym.leaderboard.submission.specs import spec_played, why_not_asked
from failgym.leaderboard.submission.tables import CRASHED
from failgym.leaderboard.suite.episodes import Answers, Bools, Failure, Ints, Played
from failgym.leaderboard.suite.reference import Reference
from failgym.leaderboard.suite.suite_worlds import SuiteWorlds
from failgym.leaderboard.suite.suites import Cell
from failgym.sim.shared.records import Output

__all__ = ["Asked", "Asking", "ask"]


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
    """What a policy answered when it was asked again, or why it failed."""

    played: Played | None
    """None if it failed"""
    failure: Failure | None
    loaded: bool
    """was there a policy to be asked, at least?"""


def ask(
    players: Players, policy: PolicyRecord, worlds: SuiteWorlds, cell: Cell, reference: Reference
) -> Asked:
    """Ask a policy again on the slices of a cell, with what it was shown."""
    try:
        scenario = worlds.suite.course(cell.env).scenario()
        spec = spec_played(policy.specs[cell.env], worlds.suite, cell)
        watched = _Watched(players.player(policy.kind, spec, scenario))
    except ValueError as error:
        return Asked(None, Failure(CRASHED, str(error)), False)
    try:
        return Asked(worlds.play(cell, reference, watched), None, True)
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
