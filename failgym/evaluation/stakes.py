"""Who holds what there is to save: costs by job, or by slice where tasks share machines.

A score is a ratio of sums, 100 sum(saved) / sum(possible), so that a few large jobs may decide it.
Beside it stand figures that do not hang on them, and how much they hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from failgym.evaluation.evidence import Evidence
from failgym.evaluation.figure import Figure
from failgym.evaluation.result import TOP
from failgym.evaluation.room import LEAST_ROOM, NOTHING, enough_room
from failgym.evaluation.scoring import HIGHEST

__all__ = ["Stakes", "interquartile_mean", "iqm_of_sums", "iqm_of_traces"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Stakes:
    """What replay and a policy cost, and what the bound saves, on each job of all traces."""

    name: str
    """what one of them is: "job" or "slice", say"""
    replay: Floats
    """[jobs] cost of replay"""
    policy: Floats
    """[jobs] cost of the policy"""
    possible: Floats
    """[jobs] replay - bound"""
    spent: float
    """what replay spends on all (`failgym.evaluation.room`)"""

    @classmethod
    def of(cls, evidence: Sequence[Evidence], costs: Sequence[Floats]) -> Stakes:
        """The jobs of several traces.

        Args:
            evidence: of each trace.
            costs: [traces][rows] what the policy costs.
        """

        def summed(values: Sequence[Floats]) -> Floats:
            parts = zip(evidence, values, strict=True)
            sums = [np.bincount(each.units.member, of) for each, of in parts]
            return np.concatenate(sums).astype(np.float64)

        return cls(
            name="job" if evidence[0].units.by_task else "slice",
            replay=summed([each.replay for each in evidence]),
            policy=summed(costs),
            possible=summed([each.possible for each in evidence]),
            spent=float(sum(each.spent.sum() for each in evidence)),
        )

    @property
    def saved(self) -> Floats:
        """[jobs] replay - policy."""
        return self.replay - self.policy

    @property
    def top_count(self) -> int:
        """How many are the top 1 %: rounded up."""
        return math.ceil(TOP * len(self.possible))

    def stake_of_top(self, count: int) -> float:
        """Share of what the bound saves that so many jobs hold, those that hold most; else NaN."""
        stake = np.sort(np.maximum(self.possible, 0.0))[::-1]
        total = float(stake.sum())
        return float(stake[:count].sum()) / total if total > 0.0 else math.nan

    def saving_of_top(self) -> Figure:
        """The largest |saved| of a job over the sum of |saved|, since some may be losses."""
        sizes = np.abs(self.saved)
        if not sizes.any():
            return Figure(math.nan, "nothing is saved and nothing lost")
        return Figure(float(sizes.max() / sizes.sum()))

    def winsorised_score(self) -> Figure:
        """100 sum(W(saved)) / sum(W(possible)), over jobs; W winsorises at 1 % and 99 %.

        Of n values, sorted, the floor(.01 n) smallest become the next larger one, and as many of
        the largest the next smaller one (Dixon, "Simplified estimation from censored normal
        samples", The Annals of Mathematical Statistics 1960). What the policy and what the bound
        saves is cut each at its own values: so replay is 0, the bound 100, and none is above it.
        """
        if len(self.saved) * TOP < 1.0:
            needed = math.ceil(1.0 / TOP)
            return Figure(math.nan, f"fewer than {needed} {self.name}s: nothing to winsorise")
        if not enough_room(self.possible.sum(), self.spent):
            return Figure(math.nan, NOTHING)
        saved, possible = float(_winsorised(self.saved).sum()), _winsorised(self.possible).sum()
        if not enough_room(possible, self.spent):
            left = f"less than {100 * LEAST_ROOM:.0f} % of what replay spends"
            return Figure(math.nan, f"without the largest stakes the bound saves {left}")
        return Figure(HIGHEST * saved / float(possible))

    def mean_log_cost_ratio(self) -> Figure:
        """Mean over jobs of ln(policy / replay): each counts the same, and below 0 it is cheaper.

        Of a job that costs the same, be it nothing, it is 0. The mean of logarithms is that of
        geometric means, which do not depend on what ratios are normalised by (Fleming and Wallace,
        "How not to lie with statistics", Communications of the ACM 1986).
        """
        changed = self.policy != self.replay
        free = changed & ((self.replay <= 0.0) | (self.policy <= 0.0))
        if free.any():
            of = f"{int(free.sum()):,} of {len(free):,} {self.name}s"
            return Figure(math.nan, f"{of} cost nothing in replay alone or with the policy alone")
        ratios = np.log(self.policy[changed] / self.replay[changed])
        return Figure(float(ratios.sum()) / len(changed))


def iqm_of_traces(evidence: Sequence[Evidence], costs: Sequence[Floats]) -> Figure:
    """`interquartile_mean` over traces of the score of each.

    Args:
        evidence: of each trace.
        costs: [traces][rows] what the policy costs.
    """
    pairs = zip(evidence, costs, strict=True)
    saved = [each.replay.sum() - cost.sum() for each, cost in pairs]
    room = [each.possible.sum() for each in evidence]
    spent = [each.spent.sum() for each in evidence]
    return iqm_of_sums(np.array(saved), np.array(room), np.array(spent))


def iqm_of_sums(saved: Floats, room: Floats, spent: Floats) -> Figure:
    """The same of sums over each trace.

    Args:
        saved: [traces] cost of replay - cost of the policy.
        room: [traces] cost of replay - cost of the bound.
        spent: [traces] what replay spends (`failgym.evaluation.room`).
    """
    if len(room) == 1:
        return Figure(math.nan, "one trace")
    without = int((~enough_room(room, spent)).sum())
    if without:
        return Figure(math.nan, f"{NOTHING} on {without} of {len(room)} traces")
    return Figure(interquartile_mean(HIGHEST * saved / room))


def interquartile_mean(scores: Floats) -> float:
    """The mean of the scores without the floor(n / 4) lowest and as many of the highest.

    As rliable takes it (Agarwal et al., "Deep reinforcement learning at the edge of the statistical
    precipice", NeurIPS 2021): of fewer than four it is their mean.

    >>> interquartile_mean(np.array([0.0, 100.0, 40.0, 60.0]))
    50.0
    """
    cut = len(scores) // 4
    return float(np.sort(scores)[cut : len(scores) - cut].mean())


def _winsorised(values: Floats) -> Floats:
    """Values with the tails pulled in, in ascending order."""
    ordered, cut = np.sort(values), int(TOP * len(values))
    return np.clip(ordered, ordered[cut], ordered[len(ordered) - 1 - cut])
