"""What is learned from visits: for each pair of choices, where the second saves more."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from failgym.agents.counterfactual.visits import Visits

__all__ = ["Lesson", "job_weights", "lessons"]

Floats = npt.NDArray[np.float64]

MANY_TRACES = 10
"""From so many on traces are drawn whole."""
NEGLIGIBLE = 1e-9
"""What rounding may make of nothing, in units of the mean task's cost: jobs that weigh less do not
count among those that share."""


def job_weights(weight: Floats, jobs: npt.NDArray[np.int64], most: float) -> Floats:
    """Weights of which no job has more than a share of the whole, their mean 1.

    Jobs that have more are cut down to what is then that share; others keep what they have. Where
    jobs are so few that they cannot all stay below it, those that weigh anything to speak of weigh
    alike.

    Args:
        weight: [rows] not negative.
        jobs: [rows] numbers.
        most: the share.
    """
    held: Floats = np.bincount(jobs, weights=weight).astype(np.float64)
    if not (held > NEGLIGIBLE).any():
        return np.ones(len(weight))
    allowed = _level(held, most)
    factor = np.divide(allowed, held, out=np.ones(len(held)), where=held > allowed)
    capped = weight * factor[jobs]
    return capped / capped.mean()


def _level(held: Floats, most: float) -> float:
    """What each job may hold, so that it is a share of what all hold then."""
    falling = np.sort(held[held > NEGLIGIBLE])[::-1]
    rest = falling.sum()
    for cut, largest in enumerate(falling):  # so many are cut down to the same level
        if cut * most >= 1.0:
            break
        level = most * rest / (1.0 - cut * most)
        if largest <= level:
            return float(level)
        rest -= largest
    return float(falling[-1])


@dataclass(frozen=True)
class Lesson:
    """Decisions in which two choices may be made."""

    shown: npt.NDArray[np.float32]
    """[rows, columns]"""
    better: npt.NDArray[np.bool_]
    """[rows] does the second save more?"""
    weights: npt.NDArray[np.float32]
    """[models, rows] how much each decision counts for each member of the ensemble; the mean row
    weighs about 1, or that of the environment whose rows weigh most"""


def lessons(
    visits: Visits, choices: Sequence[int], models: int, job_share: float, seed: int
) -> Generator[Lesson | None]:
    """A lesson for each pair of choices, in the order of `itertools.combinations`.

    None where a pair is never legal together, or saves the same wherever it is.
    """
    rng = np.random.default_rng(seed)
    drawn = _drawn(visits)
    draws = rng.poisson(1.0, size=(models, int(drawn.max()) + 1)).astype(np.float64)
    for one, other in itertools.combinations(choices, 2):
        better = visits.gains[:, other] - visits.gains[:, one]
        legal = np.flatnonzero(~np.isnan(better))
        better = better[legal]
        if not better.any():
            yield None
            continue
        weight = np.abs(better) * visits.weights[legal]
        several = None if visits.environments is None else visits.environments[legal]
        weight = _weights(weight, visits.units[legal], several, job_share)
        weights = (weight * draws[:, drawn[legal]]).astype(np.float32)
        yield Lesson(visits.observations[legal], better > 0.0, weights)


def _drawn(visits: Visits) -> npt.NDArray[np.int64]:
    """[rows] number of what is drawn whole: the job, or the trace where there are many.

    Of several environments each has its own jobs or traces.
    """
    if visits.environments is None:
        return visits.units if visits.traces.max() + 1 < MANY_TRACES else visits.traces
    found = visits.units.copy()
    for number in np.unique(visits.environments):
        rows = visits.environments == number
        if len(np.unique(visits.traces[rows])) >= MANY_TRACES:
            found[rows] = visits.units.max() + 1 + visits.traces[rows]
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def _weights(
    weight: Floats,
    jobs: npt.NDArray[np.int64],
    environments: npt.NDArray[np.int64] | None,
    most: float,
) -> Floats:
    """`job_weights`, of each environment by itself; then each has the whole that it had before.

    Where decisions of one environment weigh most, their mean is 1. So a leaf never hangs on fewer
    of them than where that environment is alone.

    Args:
        weight: [rows] not negative.
        jobs: [rows] numbers.
        environments: [rows] numbers; None: there is one.
        most: share of its environment that a job has at most.
    """
    if environments is None:
        return job_weights(weight, jobs, most)
    found, heaviest = np.zeros_like(weight), 0.0
    for number in np.unique(environments):
        rows = environments == number
        mean = weight[rows].mean()
        found[rows] = job_weights(weight[rows], jobs[rows], most) * mean
        heaviest = max(heaviest, mean)
    return found / heaviest
