"""What was known of tasks before they were tried again, against what is seen moment by moment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from failgym.predictors import CLASSES
from failgym.predictors.base import task_classes
from failgym.predictors.endings import passing_ends, task_ends
from failgym.predictors.features.system import NEVER
from failgym.traces import Cause, Meta, Outcome, Trace

CAUSE = {
    Outcome.FINISH: None,
    Outcome.FAIL: Cause.INTRINSIC,
    Outcome.EVICT: Cause.PREEMPTION,
    Outcome.KILL: Cause.USER,
    Outcome.CENSORED: None,
}
CLASS = {Outcome.FINISH: "finish", Outcome.FAIL: "fail", Outcome.EVICT: "evict"}
LAST = 40


def a_trace(rng: np.random.Generator, tasks: int = 60) -> Trace:
    """Tasks with up to five attempts, together or with pauses, some never started."""
    rows: list[dict[str, Any]] = []
    for task in range(tasks):
        start = 0
        for queued in np.sort(rng.integers(0, LAST - 12, rng.integers(1, 6))).tolist():
            start = max(start, queued + int(rng.integers(0, 3)))
            outcome = list(CAUSE)[int(rng.integers(len(CAUSE)))]
            ran = outcome in (Outcome.FINISH, Outcome.FAIL) or rng.random() < 0.7
            rows.append(
                {
                    "task": task,
                    "queued": queued if rng.random() < 0.7 else None,
                    "start": start if ran else None,
                    "end": start + int(rng.integers(0, 8)),
                    "outcome": int(outcome),
                    "cause": None if CAUSE[outcome] is None else int(CAUSE[outcome]),  # type: ignore[arg-type]
                }
            )
    names = ("task", "queued", "start", "end", "outcome", "cause")
    return Trace.of(
        Meta("at random"),
        jobs={"original_id": ["a"], "submit": 0, "width": tasks, "outcome": Outcome.CENSORED},
        tasks={"job": 0, "index": np.arange(tasks), "width": 1},
        attempts={name: [row[name] for row in rows] for name in names},
    )


def seen(trace: Trace, task: int, now: int) -> tuple[int, int] | None:
    """The class of a task and since when, as known at a moment; None while something is open."""
    known: list[tuple[int, int, int]] = []
    for row in range(*trace.task_first[task : task + 2].tolist()):
        end = int(trace.column("attempts", "end")[row])
        times = [int(trace.column("attempts", n, missing=-1)[row]) for n in ("queued", "start")]
        arrived = next((time for time in times if time >= 0), end)
        outcome = int(trace.column("attempts", "outcome")[row])
        if arrived <= now:
            known.append((NEVER if outcome == Outcome.CENSORED else end, row, outcome))
    finished = [end for end, _, outcome in known if outcome == Outcome.FINISH and end <= now]
    if finished:
        return 0, min(finished)
    if not known or max(known)[0] > now:
        return None
    return CLASSES.index(CLASS.get(Outcome(max(known)[2]), "kill")), max(known)[0]


@pytest.mark.parametrize("seed", range(4))
def test_at_each_moment_a_task_is_in_the_class_that_is_known_then(seed: int) -> None:
    trace = a_trace(np.random.default_rng(seed))
    passing, tasks = passing_ends(trace), np.arange(trace.rows("tasks"))
    known = trace.task_outcome != Outcome.CENSORED
    task = np.append(tasks[known], passing.task)
    label = np.append(task_classes(trace)[known], passing.label)
    end = np.append(task_ends(trace)[known], passing.end)
    until = np.append(np.full(known.sum(), NEVER), passing.until)
    assert len(passing.task) > 10
    for now in range(LAST):
        rows = np.flatnonzero((end <= now) & (now < until))
        found = {int(task[row]): (int(label[row]), int(end[row])) for row in rows}
        assert len(found) == len(rows)
        expected = {number: seen(trace, number, now) for number in tasks.tolist()}
        assert found == {number: fate for number, fate in expected.items() if fate}
