"""Forecasts of what a predictor has learned from, made by what learned from the rest.

A predictor knows the jobs that it has learned from better than any that it will meet: on the train
splits of three logs it told tasks that finish from others with an area under the curve of .83, .73
and .81, on their test splits with .73, .61 and .64. A rule that is tuned, or an agent that is
trained, on such forecasts trusts them too much. So jobs that were learned from are cut into
`BLOCKS` by time, and what is said of a block comes from a predictor that has learned from the other
blocks only (cross-fitting: Wolpert, "Stacked generalization", Neural Networks 5(2), 1992). Where
these teach nothing, nothing is said of the block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from failgym.predictors import Forecast
from failgym.traces import Trace
from failgym.traces.split import jobs_of
from failgym.worlds.split import Part

__all__ = ["BLOCKS", "cross_fitted", "learned_jobs"]

Bools = npt.NDArray[np.bool_]

BLOCKS = 3
"""Of equally many jobs, one after the other. On the three logs, with 2, 3, 5 and 10 of them, the
area was .76, .79, .79, .79; .62, .64, .64, .66; and .64, .67, .69, .70 (``python -m
experiments.cross_fitting``). Two are nearest to the test splits, and leave half of the jobs unused;
three are next, and were chosen by that. More are dearer, and farther off."""


def learned_jobs(part: Part, known: Part) -> Bools:
    """Which jobs of a part are of its split and were learned from, [jobs of the part]."""
    return part.own & np.isin(part.jobs, known.jobs)


def cross_fitted(
    said_by: Callable[[Trace, Bools], Forecast],
    part: Part,
    known: Part,
    learned: Bools,
    *,
    blocks: int = BLOCKS,
) -> Forecast:
    """A forecast of a part in which nothing is said by what has learned from the same job.

    Args:
        said_by: what a predictor that has learned from a trace says of some jobs of the part
            [jobs of the part].
        part: what is spoken of.
        known: what is learned from, whole for jobs of the part that are not in it.
        learned: [jobs of the part] those that are.
        blocks: how many.

    Raises:
        ValueError: what ``said_by`` raises, if it does so of every trace that is left without a
            block: then there is nothing to learn from.
    """
    order = np.argsort(known.trace.column("jobs", "submit"), kind="stable")
    found = None if learned.all() else said_by(known.trace, ~learned)
    silent: list[Bools] = []
    failure: ValueError | None = None
    for block in np.array_split(order, blocks):
        rest = np.ones(len(order), dtype=np.bool_)
        rest[block] = False
        mine = learned & np.isin(part.jobs, known.jobs[block])
        if not mine.any():
            continue
        try:
            said = said_by(jobs_of(known.trace, rest), mine)
        except ValueError as error:  # nothing fails in what is left, or all does
            failure = error
            silent.append(mine)
            continue
        found = said if found is None else _with(found, said, part.trace, mine)
    if found is None:
        assert failure is not None, "a job is learned, or another is not"
        raise failure
    nothing = replace(
        found,
        risk=np.zeros_like(found.risk),
        confidence=np.zeros_like(found.confidence),
        job_confidence=np.zeros_like(found.job_confidence),
    )
    for mine in silent:
        found = _with(found, nothing, part.trace, mine)
    return found


def _with(forecast: Forecast, other: Forecast, trace: Trace, jobs: Bools) -> Forecast:
    """A forecast that says of some jobs what another says of them."""
    tasks = jobs[trace.column("tasks", "job")]
    attempts = tasks[trace.column("attempts", "task")]
    windows = np.repeat(attempts, np.diff(forecast.offset))
    return replace(
        forecast,
        risk=np.where(windows, other.risk, forecast.risk),
        confidence=np.where(tasks[:, np.newaxis], other.confidence, forecast.confidence),
        job_confidence=np.where(jobs, other.job_confidence, forecast.job_confidence),
    )
