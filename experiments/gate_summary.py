"""What a campaign of verdicts says: are harmful policies adopted, and large gains missed?

A policy is *harmful* if the interval of its true score lies below 0, and a gain is one that should
be found if the true score is at least `TWICE` the smallest that the verdict says it would have told
from 0 (`Verdict.smallest`). That number is the record's own, and on a record where a policy hardly
acts it is too small; so the same is also counted with the middle one of all records of a case.

Several rules are judged on the same record, so that their verdicts go together. The bracket of a
share (Clopper and Pearson, 95 %) takes all verdicts on one record as one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from experiments.interval_simulation import bracket
from failgym.evaluation.scoring import HIGHEST, Score

__all__ = ["FOLDS", "KEPT", "RULES", "Judged", "Share", "Summary", "groups", "summary"]

RULES, KEPT, FOLDS = "rules", "learned, the agent that is kept", "learned, agents of the folds"
MOST_HARMFUL, MOST_MISSED = 5.0, 20.0
"""What is asked of the gate, at most [%]: harmful policies that it adopts, large gains missed."""
TWICE = 2.0


@dataclass(frozen=True)
class Judged:
    """A verdict on a policy on a record, and the truth."""

    case: str
    record: int
    policy: str
    kind: str
    answer: str
    """of the verdict"""
    smallest: float | None
    """of the verdict"""
    truth: Score
    """the policy's score on many fresh traces of the same law, with its interval"""

    @property
    def harmful(self) -> bool:
        """Does it surely cost more than replay?"""
        return self.truth.high < 0.0

    @property
    def saves(self) -> bool:
        """Does it surely cost less?"""
        return self.truth.low > 0.0

    @property
    def adopted(self) -> bool:
        """Would it be used?"""
        return self.answer == "adopt"


class Share(NamedTuple):
    """How many of some verdicts are so."""

    so: int
    of: int
    records: int
    """that they are about"""

    @property
    def text(self) -> str:
        """In percent, with its bracket."""
        if not self.of:
            return "-"
        low, high = bracket(self.so / self.of * self.records, self.records)
        value = 100.0 * self.so / self.of
        return f"{value:.1f} % [{low:.1f}, {high:.1f}], {self.so} of {self.of}"

    def kept(self, most: float) -> str:
        """Is a promise of so many percent at most kept?"""
        if not self.of:
            return "not told"
        low, high = bracket(self.so / self.of * self.records, self.records)
        if 100.0 * self.so / self.of > most:
            return "no" if low > most else "no, not surely"
        return "yes" if high <= most else "yes, not surely"


@dataclass(frozen=True)
class Summary:
    """Of a group of verdicts."""

    name: str
    verdicts: int
    records: int
    adopt: int
    harm: int
    none: int
    """verdicts that say no evidence"""
    saving: int
    """policies that surely save"""
    unsure: int
    """policies whose truth has an interval that holds 0"""
    unsure_adopted: int
    harmful_adopted: Share
    """of policies that surely do harm"""
    losing_adopted: Share
    """of policies whose truth is below 0 by its estimate, surely or not"""
    could: int
    """verdicts that could have told a gain of twice the smallest: no score is above 100"""
    missed: Share
    """of gains of twice the smallest, not adopted"""
    missed_typical: Share
    """the same, by the middle of the smallest of the case"""
    harm_found: Share
    """of policies that surely do harm, those that the verdict says it of"""


def summary(name: str, judged: Sequence[Judged]) -> Summary:
    """Count."""
    typical = _typical(judged)

    def share(of: Callable[[Judged], bool], so: Callable[[Judged], bool]) -> Share:
        among = [one for one in judged if of(one)]
        return Share(sum(map(so, among)), len(among), _records(among))

    def missed(one: Judged) -> bool:
        return not one.adopted

    unsure = [one for one in judged if not one.harmful and not one.saves]
    answers = [one.answer for one in judged]
    return Summary(
        name=name,
        verdicts=len(judged),
        records=_records(judged),
        adopt=answers.count("adopt"),
        harm=answers.count("harm"),
        none=answers.count("no evidence"),
        saving=sum(one.saves for one in judged),
        unsure=len(unsure),
        unsure_adopted=sum(one.adopted for one in unsure),
        harmful_adopted=share(lambda one: one.harmful, lambda one: one.adopted),
        losing_adopted=share(lambda one: one.truth.value < 0.0, lambda one: one.adopted),
        could=sum(one.smallest is not None and TWICE * one.smallest <= HIGHEST for one in judged),
        missed=share(lambda one: _large(one, one.smallest), missed),
        missed_typical=share(lambda one: _large(one, typical.get((one.case, one.policy))), missed),
        harm_found=share(lambda one: one.harmful, lambda one: one.answer == "harm"),
    )


def _typical(judged: Iterable[Judged]) -> dict[tuple[str, str], float]:
    """The middle of the smallest scores that are told, by case and policy."""
    found: dict[tuple[str, str], list[float]] = {}
    for one in judged:
        known = math.inf if one.smallest is None else one.smallest
        found.setdefault((one.case, one.policy), []).append(known)
    return {key: median(values) for key, values in found.items()}


def _large(one: Judged, smallest: float | None) -> bool:
    """Is the true gain at least twice the smallest? It has to be one, too."""
    return smallest is not None and one.saves and one.truth.value >= TWICE * smallest


def _records(judged: Iterable[Judged]) -> int:
    return len({(one.case, one.record) for one in judged})


def groups(judged: Sequence[Judged]) -> list[Summary]:
    """Rules and agents apart and together, and then each case."""
    own = [one for one in judged if one.kind != FOLDS]
    found = [summary(kind, _of_kind(judged, kind)) for kind in (RULES, KEPT, FOLDS)]
    found.append(summary("rules and agents that are kept", own))
    cases = sorted({one.case for one in judged})
    found += [summary(case, [one for one in own if one.case == case]) for case in cases]
    return [one for one in found if one.verdicts]


def _of_kind(judged: Sequence[Judged], kind: str) -> list[Judged]:
    return [one for one in judged if one.kind == kind]
