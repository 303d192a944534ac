"""How alike successive jobs are, and what jobs have in common within: the structure that a
predictor lives by.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import numpy as np
import pandas as pd

from failgym.comparison.resampling import NOTHING, Floats, Measured, blocks, measured

__all__ = ["correlation", "recurrence"]

LEAST_PAIRS = 50
"""Successive jobs that a correlation is told of at least."""
WIDE = 5
"""Tasks of a job whose spread is looked at."""
FOLLOWED = {
    "whole": "all tasks finish",
    "log_run": "log run time",
    "log_tasks": "log tasks",
    "cpu": "requested cpu",
}


def recurrence(jobs: pd.DataFrame) -> dict[str, Measured]:
    """The rows of a trace's structure, by what they measure."""
    known = jobs[jobs["open"] < 0.5]
    found: dict[str, Measured] = {}
    for by, words in (("user", "a user"), ("name", "one name")):
        for column, what in FOLLOWED.items():
            found[f"successive jobs of {words}: {what}"] = lag(known, by, column)
    requests = jobs[["cpu", "memory"]].fillna(-1.0)
    found["distinct (cpu, memory) requests, share of jobs"] = _distinct(requests)
    wide = known[(known["tasks"] >= WIDE) & known["spread"].notna()]
    found["spread of run times within a job (median coefficient of variation)"] = measured(
        blocks(len(wide)), lambda weight: _quantile(wide["spread"].to_numpy(), weight, 0.5)
    )
    mixed = known.loc[np.isfinite(known["outlived"]), "outlived"].to_numpy(np.float64)
    found["unfinished tasks: run time over finished ones of their job (upper decile)"] = measured(
        blocks(len(mixed)), lambda weight: _quantile(mixed, weight, 0.9)
    )
    found["machine-time of unfinished tasks: share in jobs that finish none"] = _hopeless(known)
    return found


def lag(jobs: pd.DataFrame, by: str, column: str) -> Measured:
    """The correlation of a number of each job with that of the one before, of one user or name."""
    there = jobs[jobs[by].notna() & jobs[column].notna()]
    before = there.groupby(by)[column].shift(1)
    pairs = before.notna().to_numpy()
    if pairs.sum() <= LEAST_PAIRS:
        return NOTHING
    now = there[column].to_numpy(np.float64)[pairs]
    then = before.to_numpy(np.float64)[pairs]
    block = blocks(len(there))[pairs]
    return measured(block, lambda weight: correlation(now, then, weight), possible=(-1.0, 1.0))


def correlation(x: Floats, y: Floats, weight: Floats) -> float:
    """Pearson's r of weighted pairs; NaN where all x or all y are equal."""
    total = weight.sum()
    x, y = x - (weight @ x) / total, y - (weight @ y) / total
    scale = np.sqrt((weight @ (x * x)) * (weight @ (y * y)))
    return float(weight @ (x * y) / scale) if scale > 0 else np.nan


def _distinct(requests: pd.DataFrame) -> Measured:
    """The share of distinct rows; no interval: fewer jobs have a larger share of them."""
    if not len(requests):
        return NOTHING
    return Measured(len(requests.drop_duplicates()) / len(requests), np.nan, np.nan)


def _hopeless(jobs: pd.DataFrame) -> Measured:
    """The share of machine-time lost that jobs lose of which no task finishes."""
    lost = jobs["lost"].fillna(0.0).to_numpy(np.float64)
    if not lost.any():
        return NOTHING
    all_of_it = lost * (jobs["finished"] == 0.0).to_numpy()

    def share(weight: Floats) -> float:
        total = float(weight @ lost)
        return float(weight @ all_of_it) / total if total > 0.0 else np.nan

    return measured(blocks(len(jobs)), share, possible=(0.0, 1.0))


def _quantile(values: Floats, weight: Floats, q: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(reached, reached[-1] * q)])
