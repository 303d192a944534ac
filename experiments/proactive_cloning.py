"""Proactive cloning of Google's tasks, as El-Sayed et al. (ICDCS 2017, section VI-B) replay it.

25,000 tasks of the profile google-2011 are replayed as recorded, but for what Algorithm 1 starts
earlier because failure is predicted. What Table V and Fig. 11 share:

Which tasks
    Those that finish or fail in the end. Of a task that its user kills no attempt succeeds later,
    so that Algorithm 1 has no effect on it that the paper would count; most of the machine-time is
    theirs, and with it in the denominator 38.8 % of overhead could not be reached. The traces have
    neither evictions nor requeues: Algorithm 1 knows attempts that fail, and no others.

Algorithm 1
    Line 6 is read as printed: each attempt, clones included, may trigger one clone, when failure is
    predicted for it for the first time (a chain). R counts extra attempts, so that R = 4 allows
    five. A retry or clone is the next attempt of the record; beyond the record a clone is started
    beside an attempt that will succeed, and only there: a copy of it, cancelled when it ends. So a
    perfect prediction costs nothing, and false ones are the only source of overhead.

The predictor
    Drawn: the paper states its quality only in a figure that is lost. An alarm comes when the first
    window of usage is known, after five minutes, and at the start of attempts that end before. Each
    attempt has one score, and fails or not whatever the score. The false-positive rates are fitted,
    one for each threshold, to the column of Table V with one clone. The recall at threshold .9 is
    fitted to the median of Fig. 11 (a); at the others it lies on the binormal curve of slope .6
    through that point. The same predictor is used everywhere.

    A clone beyond the record looks to the predictor as its original did: the probability that it is
    flagged again is one, for all thresholds, and was fixed before anything was fitted. So a falsely
    flagged attempt starts a clone after one window, and that clone another one a window later. Were
    clones flagged independently, C would make next to no difference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.paper_worlds import CLONING
from failgym import metrics
from failgym.baselines import Algorithm1
from failgym.evaluation import Record, run_policy, whole_trace_world
from failgym.predictors import Calibrated, Forecast
from failgym.sim.pinned.compile import with_slices
from failgym.traces import Outcome, Trace, generate
from failgym.traces.synthetic import Google2011
from failgym.worlds.pinned.world import PinnedWorld

__all__ = ["CLONES", "RETRIES", "THRESHOLDS", "Sample", "predictor", "sample"]

THRESHOLDS = (0.1, 0.5, 0.9, 0.95, 0.99)
"""Rows of Table V."""
CLONES = (1, 2, 3)
"""C: columns of Table V."""
RETRIES = 4
"""R (section VI-B)."""
FALSE_POSITIVES = (0.4214, 0.118, 0.0406, 0.0344, 0.014)
"""Share of the attempts that do not fail that reach each threshold; fitted to Table V, C = 1."""
RECALL = 0.85
"""Share of the attempts that fail that reach threshold .9; fitted to Fig. 11 (a)."""
SLOPE = 0.6
"""Of the binormal curve of recall over false positives, as of `Calibrated.elsayed`."""

PROFILE = replace(Google2011(), evictions_per_hour=(0.0,) * 5, requeue_share=0.0)
JOBS, QUICK_JOBS = 3_000, 500
"""Jobs of a trace; the first are about 25,000 tasks (section VI-B)."""
SLICE_TASKS = 16
"""Tasks that are replayed side by side; any number gives the same."""
UNBOUNDED = 10_000
"""Attempts of a task that are replayed at most: all."""

Ints = npt.NDArray[np.int64]


def recalls() -> tuple[float, ...]:
    """Recall at each threshold, along the binormal curve."""
    normal = NormalDist()
    scores = [normal.inv_cdf(rate) for rate in FALSE_POSITIVES]
    start = normal.inv_cdf(RECALL) - SLOPE * scores[THRESHOLDS.index(0.9)]
    return tuple(normal.cdf(start + SLOPE * score) for score in scores)


def predictor(seed: int) -> Calibrated:
    """The predictor of Table V and Fig. 11."""
    return Calibrated(THRESHOLDS, recalls(), FALSE_POSITIVES, at_start=0.0, delay=1, seed=seed)


@dataclass(frozen=True, eq=False)
class Sample:
    """Tasks that are replayed, and what is predicted of them."""

    trace: Trace
    forecast: Forecast
    tasks: Ints
    """rows of the tasks that finish or fail in the end"""
    failed: npt.NDArray[np.bool_]
    """[tasks of the trace] which have a failed attempt"""

    @classmethod
    def of(cls, trace: Trace, seed: int) -> Sample:
        """The tasks of a trace, with forecasts drawn for them."""
        task, outcome = trace.column("attempts", "task"), trace.column("attempts", "outcome")
        failed = np.bincount(task[outcome == Outcome.FAIL], minlength=trace.rows("tasks")) > 0
        tasks = np.flatnonzero(np.isin(trace.task_outcome, (Outcome.FINISH, Outcome.FAIL)))
        return cls(trace, predictor(seed).predict(trace), tasks, failed)

    def with_failures(self) -> Sample:
        """Only the tasks with a failed attempt: all that Algorithm 1 can accelerate."""
        return replace(self, tasks=self.tasks[self.failed[self.tasks]])

    def replay(self, threshold: float, clones: int) -> dict[str, npt.NDArray[Any]]:
        """The table of outcomes of the tasks under Algorithm 1."""
        scenario = CLONING.override(
            trace=self.trace,
            split="all",
            forecast=self.forecast,
            max_extra=RETRIES,
            max_clones=clones,
            restart_limit=RETRIES,
            max_attempts=UNBOUNDED,
            decide="alarm",
            alarm=threshold,
            beyond_record="paper",
        )
        tables = whole_trace_world(self.trace, scenario).tables
        world = PinnedWorld(with_slices(tables, self.tasks, SLICE_TASKS))
        policy = Algorithm1(threshold, RETRIES, clones)
        return run_policy(world, scenario, policy, threads=1).outcomes

    def overhead(self, threshold: float, clones: int) -> float:
        """Increase of all work over that of the record [%]."""
        outcomes = self.replay(threshold, clones)
        before = Record.of(self.trace).work[outcomes["task"]].sum()
        return 100.0 * float(metrics.task_work(outcomes).sum() / before - 1.0)


@cache
def sample(seed: int, quick: bool = False, profile: Google2011 = PROFILE) -> Sample:
    """Tasks of a generated trace."""
    jobs = QUICK_JOBS if quick else JOBS
    return Sample.of(generate(profile, jobs=jobs, seed=seed, usage=False), seed)
