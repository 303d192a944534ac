"""The laws of alarms that hold stated rates in a population, and say nothing by their age.

A false alarm is the alarm of a failure that does not come. Let h be the hazard of bad ends by age,
as the Kaplan-Meier curve S of the population has it, and let such failures come with hazard c h.
Of n(s) attempts that are alive at age s, n(s) h(s) end badly, and n(s) c h(s) pass a failure that
does not come. Both have the same leads before. So among the alarms of any age, and at any age of
an attempt, a share recall : c of them is true.

An attempt that lives to the age d has met no false failure with probability S(d)^c: the stated
false-positive rate is the mean of 1 - S(d)^c over the attempts that do not end badly. It rises in
c, which is found by bisection. Of these alarms the share g reaches a higher threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import Self

import numpy as np
import numpy.typing as npt

from failgym.predictors.drawn.levels import Levels, as_levels
from failgym.sim.shared.alarms import FALSE_ALARMS
from failgym.sim.shared.continuation import LONGEST_FATE, Law

__all__ = ["AlarmCurves", "exponential", "scores"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LARGEST_FACTOR = 2.0**20
"""Most by which the hazard is multiplied. A rate that this does not reach has no solution: the
attempts that do not end badly are over before the first bad end."""
HALVINGS = 80
"""Of the bisection: enough for all bits of a factor."""
STEPS = 8
"""Risks between two thresholds that scores can have."""
QUANTILES = 1024
"""Leads that can be drawn; the longest is 7.6 times the mean."""


@dataclass(frozen=True)
class AlarmCurves:
    """Where false alarms lie in the lives of a population, and how many there must be.

    ``time`` and ``log_left`` are the Kaplan-Meier curve: the times at which attempts end badly, and
    log S just behind each. ``reached`` [moments + 1] is the share of the other attempts that
    outlive so many of these times.
    """

    time: Ints
    log_left: Floats
    reached: Floats

    @classmethod
    def of(cls, lives: Ints, bad: Bools) -> Self:
        """The curves of attempts.

        Args:
            lives: [attempts] how long each lasted [ms]; less than 1 counts as 1.
            bad: [attempts] did it end badly? The other ends are censorings.
        """
        lives = np.clip(lives, 1, LONGEST_FATE)
        time, ended = np.unique(lives[bad], return_counts=True)
        at_risk = len(lives) - np.searchsorted(np.sort(lives), time)
        with np.errstate(divide="ignore"):  # all that are left may end badly
            log_left = np.cumsum(np.log1p(-ended / np.maximum(at_risk, 1)))
        passed = np.searchsorted(time, lives[~bad])  # a failure at the end is not outlived
        counts = np.bincount(passed, minlength=len(time) + 1)
        return cls(time, log_left, counts / max(counts.sum(), 1))

    def rate(self, factor: float) -> float:
        """Share of the attempts that do not end badly with a false alarm, at ``factor`` h."""
        return float(self.reached[1:] @ -np.expm1(factor * self.log_left))

    def factor(self, rate: float) -> float:
        """The factor c at which false alarms have a rate; `LARGEST_FACTOR` if none is enough."""
        if rate <= 0.0 or not len(self.time):
            return 0.0
        return _rising(self.rate, rate, LARGEST_FACTOR)

    def false_time(self, factor: float) -> Law:
        """Law of the time of a failure that does not come: 1 - S(t)^c."""
        share = -np.expm1(factor * self.log_left)
        some = share > 0.0
        return _one_cell(self.time[some].astype(np.float64), share[some])

    def numbers(self, factor: float) -> Floats:
        """Shares of the attempts that do not end badly with 0 to `FALSE_ALARMS` false alarms."""
        mean = np.concatenate([[0.0], np.minimum(-factor * self.log_left, 1e9)])
        few = [
            float(self.reached @ (np.exp(-mean) * mean**n / factorial(n)))
            for n in range(FALSE_ALARMS)
        ]
        return np.array([*few, max(0.0, 1.0 - sum(few))])

    def shares(self, factor: float, rates: Levels) -> tuple[float, ...]:
        """Share of the false alarms that must reach each threshold for the rates to hold."""
        numbers, powers = self.numbers(factor), np.arange(FALSE_ALARMS + 1)

        def reach(share: float) -> float:
            return 1.0 - float(numbers @ (1.0 - share) ** powers)

        higher = [_rising(reach, rate, 1.0) if rate > 0.0 else 0.0 for rate in as_levels(rates)[1:]]
        return (1.0, *higher)


def scores(thresholds: Levels, shares: tuple[float, ...]) -> Law:
    """The law of a risk that reaches each threshold with a given share, at most the one before.

    Between thresholds risks are spread evenly, above the last one up to 1. None at all reaches the
    lowest threshold with the rest of the first share.
    """
    edges = np.array([*as_levels(thresholds), 1.0])
    beyond = np.array([*shares, 0.0])
    middle = (np.arange(STEPS) + 0.5) / STEPS
    value = edges[:-1, None] + np.diff(edges)[:, None] * middle
    width = np.repeat(-np.diff(beyond) / STEPS, STEPS)
    share = np.minimum(np.cumsum(width), beyond[0])
    some = width > 0.0
    share[some.nonzero()[0][-1:]] = beyond[0]
    return _one_cell(value.ravel()[some], share[some])


def exponential(mean: float) -> Law:
    """Times that tell nothing of how long is still to go: exponential ones [ms], as quantiles."""
    at = (np.arange(QUANTILES) + 0.5) / QUANTILES
    value = np.clip(np.rint(-mean * np.log1p(-at)), 1.0, LONGEST_FATE)
    return _one_cell(value, np.arange(1, QUANTILES + 1) / QUANTILES)


def _one_cell(value: Floats, share: Floats) -> Law:
    return Law(np.array([0, len(value)], dtype=np.int64), value, share)


def _rising(function: Callable[[float], float], wanted: float, most: float) -> float:
    """Where a rising function has a value, from 0 to ``most``; ``most`` if it is never as high."""
    low, high = 0.0, most
    if function(most) < wanted:
        return most
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if function(middle) < wanted else (low, middle)
    return high
