"""How well failgym's own predictors tell how tasks end, fitted on a trace's past, on its future."""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.comparison.resampling import NOTHING, Measured, area, blocks
from failgym.predictors import LEARNED
from failgym.predictors.base import task_classes
from failgym.predictors.models import packages_of
from failgym.traces import Trace
from failgym.vocabulary import Outcome

__all__ = ["check_predictor", "told_by"]


def check_predictor(name: str) -> None:
    """Raise ValueError if none that learns has that name."""
    if name not in LEARNED:
        raise ValueError(f"predictors: expected one of {', '.join(LEARNED)}, got {name!r}")


def told_by(trace: Trace, name: str) -> dict[str, Measured]:
    """Areas under the curve of "the task finishes": fitted on the first 70 % of the time.

    Args:
        trace: of whose last 30 % the tasks are foretold; those with a known end count.
        name: of a predictor that learns (`failgym.predictors.LEARNED`).

    Returns:
        NaN where there is nothing to learn from.

    Raises:
        ValueError: for an unknown predictor, or one whose package is not installed.
    """
    check_predictor(name)
    rows = [f"end of a task, told by {name}: {how}" for how in ("by job", "by task")]
    past, future = trace.split("train"), trace.split("test")
    make: Any = LEARNED[name]
    with packages_of(name):
        predictor = make()
        try:
            forecast = predictor.fit(past).predict(future)
        except ValueError:  # it says that nothing is to be learned here
            return dict.fromkeys(rows, NOTHING)
    known = future.task_outcome != Outcome.CENSORED
    job = future.column("tasks", "job").astype(np.int64)[known]
    size = np.bincount(job, minlength=future.rows("jobs"))
    of_block = blocks(future.rows("jobs"))[job]
    score = forecast.confidence[known, 0].astype(np.float64)
    label = (task_classes(future) == 0)[known]
    weights = (1.0 / size[job], np.ones(len(job)))
    return {
        row: area(label, score, weight, of_block) for row, weight in zip(rows, weights, strict=True)
    }
