"""Records whose attempts follow each other, forecasts that come and go, and runs over them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from failgym.evaluation import run_policy
from failgym.evaluation.caller import Predicts
from failgym.sim.pinned.compile import compile_world, with_slices
from failgym.sim.shared.context import AGE_BUCKETS, CLASSES, SYSTEM_FIELDS, Context
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.rules import Rules
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.worlds.pinned.world import PinnedWorld

WINDOW = 10
"""Monitoring window of these worlds [ms]."""
MOST_ATTEMPTS = 5
"""Recorded attempts of a task at most: R + 1 for El-Sayed et al.'s R = 4."""


def single_jobs(attempts: dict[str, list[Any]], tasks: int) -> Trace:
    """A trace of jobs of one task of one slot each."""
    return Trace.of(
        Meta("by hand"),
        jobs={
            "original_id": [f"{i:06}" for i in range(tasks)],
            "submit": 0,
            "width": 1,
            "outcome": 0,
        },
        tasks={"job": list(range(tasks)), "index": [0] * tasks, "width": 1},
        attempts=attempts,
    )


def chains(rng: np.random.Generator, tasks: int, *, evicted: float, finished: float) -> Trace:
    """Records without overlaps and user kills, of at most `MOST_ATTEMPTS` attempts.

    A task finishes with probability ``finished``; of its other attempts a share ``evicted`` is
    evicted and the rest fails.
    """
    columns = ("task", "start", "end", "outcome", "cause")
    attempts: dict[str, list[Any]] = {name: [] for name in columns}
    for task in range(tasks):
        now, count = 0, int(rng.integers(1, MOST_ATTEMPTS + 1))
        finishes = rng.random() < finished
        for number in range(count):
            end = now + int(rng.integers(0, 6 * WINDOW))
            kind: tuple[Outcome, Cause | None] = (Outcome.FAIL, Cause.INTRINSIC)
            if finishes and number == count - 1:
                kind = (Outcome.FINISH, None)
            elif rng.random() < evicted:
                kind = (Outcome.EVICT, Cause.PREEMPTION)
            for name, value in zip(columns, (task, now, end, *kind), strict=True):
                attempts[name].append(value)
            now = end + int(rng.choice([0, 0, 3, 40, 500]))
    return single_jobs(attempts, tasks)


def flickering(rng: np.random.Generator, trace: Trace) -> Forecast:
    """Risks of 0 and 1 at random, window by window."""
    rows = (trace.rows("jobs"), trace.rows("tasks"), trace.rows("attempts"))
    duration = trace.column("attempts", "end") - trace.column("attempts", "start")
    windows = np.maximum(duration - 1, 0) // WINDOW + 1
    offset = np.concatenate([[0], np.cumsum(windows)]).astype(np.int64)
    risk = (rng.random(int(offset[-1])) < 0.4).astype(np.float32)
    return replace(Forecast.none(trace.content_hash, *rows, WINDOW), offset=offset, risk=risk)


def outcomes(trace: Trace, rules: Rules, forecast: Forecast, policy: Predicts) -> dict[str, Any]:
    """The table of outcomes of all tasks of a trace, in the order of the trace."""
    context = Context(
        expectations=np.zeros((CLASSES, AGE_BUCKETS, 3)),
        system=np.zeros((1, SYSTEM_FIELDS), dtype=np.float32),
        forecast=forecast,
    )
    tasks = np.arange(trace.rows("tasks"))
    world = PinnedWorld(with_slices(compile_world(trace, rules, context), tasks, 16))
    table = run_policy(world, rules, policy, lanes=128).outcomes
    order = np.argsort(table["task"])
    return {name: column[order] for name, column in table.items()}
