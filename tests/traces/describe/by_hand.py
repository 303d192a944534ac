"""A trace as lists of dicts, for tests that count with plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from failgym.traces import Outcome, Trace
from failgym.traces.describe import QUANTILES, DescriptionTable

Row = dict[str, Any]

OUTCOMES = {outcome.name: int(outcome) for outcome in Outcome}


class ByHand:
    """Rows of each table, each job with its tasks, each task with its attempts."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.jobs: list[Row] = trace.jobs.to_pylist()
        self.tasks: list[Row] = trace.tasks.to_pylist()
        self.attempts: list[Row] = trace.attempts.to_pylist()
        self.windows: list[Row] = trace.windows.to_pylist()
        self.placements: list[Row] = trace.placements.to_pylist()
        self.outages: list[Row] = trace.outages.to_pylist()
        for job in self.jobs:
            job["tasks"] = []
        for number, task in enumerate(self.tasks):
            task["attempts"], task["final"] = [], int(trace.task_outcome[number])
            self.jobs[task["job"]]["tasks"].append(task)
        for attempt in self.attempts:
            attempt["windows"], attempt["machines"] = [], []
            attempt["ran"] = attempt["start"] is not None
            attempt["time"] = attempt["end"] - attempt["start"] if attempt["ran"] else 0
            task = self.tasks[attempt["task"]]
            attempt["slots"], attempt["job"] = task["width"], self.jobs[task["job"]]
            task["attempts"].append(attempt)
        for window in sorted(self.windows, key=lambda w: w["offset"]):
            self.attempts[window["attempt"]]["windows"].append(window)
        for placement in self.placements:
            self.attempts[placement["attempt"]]["machines"].append(placement["machine"])
        for attempt in self.attempts:
            attempt["nodes"] = len(attempt["machines"]) or attempt["slots"]
        for job in self.jobs:
            self._complete(job)

    def _complete(self, job: Row) -> None:
        attempts = [a for task in job["tasks"] for a in task["attempts"]]
        job["attempts"] = attempts
        job["ran"] = any(a["ran"] for a in attempts)
        job["task_time"] = sum(a["time"] * a["slots"] for a in attempts)
        job["node_time"] = sum(a["time"] * a["nodes"] for a in attempts)
        job["slots"] = max(job["width"], sum(task["width"] for task in job["tasks"]))
        job["nodes"] = sum(max(a["nodes"] for a in task["attempts"]) for task in job["tasks"])

    def batch(self, job: Row) -> bool:
        """Is it a batch job of Google's?"""
        return 2 <= job["priority"] <= 8


def spread(values: Sequence[float]) -> list[float | None]:
    """The quantiles that a table shows, None of no values."""
    if not len(values):
        return [None] * len(QUANTILES)
    ordered = sorted(values)
    found: list[float | None] = []
    for percent in QUANTILES:
        at = (len(ordered) - 1) * percent / 100
        low = int(at)
        high = min(low + 1, len(ordered) - 1)
        found.append(ordered[low] + (at - low) * (ordered[high] - ordered[low]))
    return found


def share(part: float, whole: float) -> float | None:
    """part / whole; None of nothing."""
    return part / whole if whole else None


def expect(table: DescriptionTable, row: str, cells: Sequence[Any]) -> None:
    """The row's cells after the first are these."""
    found = next(r for r in table.rows if r[0] == row)[1:]
    assert len(found) == len(cells), (table.name, row, found, cells)
    for column, cell, wanted in zip(table.columns[1:], found, cells, strict=True):
        where = f"{table.name}, {row}, {column}: {cell} instead of {wanted}"
        if wanted is None or isinstance(wanted, str):
            assert cell == wanted, where
        else:
            assert cell is not None, where
            assert cell == pytest.approx(wanted, rel=1e-9, abs=1e-12), where


def mean(values: Sequence[float]) -> float | None:
    """Their mean, None of no values."""
    return float(np.mean(values)) if len(values) else None
