"""Workloads of rigid jobs: real logs, small random ones, and what the simulator makes of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from failgym.sim.context import Context
from failgym.sim.forecast import Forecast
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.scheduled.simulator import ScheduledSimulator
from failgym.traces import Meta, Outcome, Trace, read_swf
from failgym.traces.clusters import uninterrupted, with_machines
from tests.sim.scheduled.easy import Job
from tests.traces.real_data import real

LOGS = {
    "KTH-SP2": "KTH-SP2-1996-2.1-cln.swf.gz",
    "SDSC-SP2": "SDSC-SP2-1998-4.2-cln.swf.gz",
    "CTC-SP2": "CTC-SP2-1996-3.1-cln.swf.gz",
    "LANL-CM5": "LANL-CM5-1994-4.1-cln.swf.gz",
}
"""Logs of the Parallel Workloads Archive and their files."""


@cache
def recorded(log: str) -> Trace:
    """A log on one machine of as many slots as the system had processors.

    The format says how many processors a job had, and never which.
    """
    trace = read_swf(real("swf", LOGS[log]) / LOGS[log])
    return with_machines(trace, 1, slots=int(trace.meta.remarks["MaxProcs"]))


@cache
def submitted(log: str) -> Trace:
    """The same, submissions and run times alone."""
    return uninterrupted(recorded(log))


def first_records(trace: Trace, records: int) -> Trace:
    """The first jobs of a log, each of one task."""
    tables = {name: trace.table(name) for name in ("jobs", "tasks", "attempts", "machines")}
    for name in ("jobs", "tasks"):
        tables[name] = tables[name].slice(0, records)
    tables["attempts"] = tables["attempts"].slice(0, int(trace.task_first[records]))
    return Trace(trace.meta, **tables)


def jobs_of(trace: Trace) -> list[Job]:
    """Its tasks as rigid jobs."""
    job = trace.column("tasks", "job")
    run = trace.column("attempts", "end") - trace.column("attempts", "start")
    columns: list[list[Any]] = [
        trace.task_submit.tolist(),
        run.tolist(),
        trace.column("tasks", "width").tolist(),
        trace.column("jobs", "walltime", missing=0)[job].tolist(),
    ]
    for name in ("user", "name", "queue"):
        known = trace.present("jobs", name)[job].tolist()
        values = trace.column("jobs", name)[job].tolist()
        columns.append([v if k else None for v, k in zip(values, known, strict=True)])
    return [Job(*row) for row in zip(*columns, strict=True)]


def processors_of(trace: Trace) -> int:
    """Slots of the cluster."""
    return int(trace.column("machines", "slots").sum())


def simulated(trace: Trace, **rules: Any) -> list[int]:
    """When the simulator starts each task under EASY backfilling [ms]."""
    rows = (trace.rows("jobs"), trace.rows("tasks"), trace.rows("attempts"))
    scheduled = ScheduledRules(scheduler="easy_backfill", restart_limit=0, **rules)
    forecast = Forecast.none(trace.content_hash, *rows, scheduled.window)
    context = Context(np.zeros((8, 24, 3)), np.zeros((1, 8), dtype=np.float32), forecast)
    simulator = ScheduledSimulator(trace, scheduled, context)
    simulator.start(range(trace.rows("tasks")))
    starts = {outcome.task: outcome.start for outcome in simulator.outcomes()}
    return [starts[task] for task in range(trace.rows("tasks"))]


def random_log(rng: np.random.Generator) -> Trace:
    """A crowded little log: ties in time, empty runs, unknown users and requests, wide jobs."""
    jobs, processors = int(rng.integers(1, 60)), int(rng.integers(1, 12))
    unit = int(rng.choice([1, 1_000, 60_000, 3_600_000]))
    submit = np.sort(rng.integers(0, 1 + jobs * 2, jobs)) * unit
    run = rng.integers(0, 12, jobs) * unit
    request = np.maximum(run + rng.integers(-2, 8, jobs) * unit, 0) // max(1, unit // 7) * 5
    users = np.array(["ann", "bob", "cy"])[rng.integers(0, 3, jobs)]

    def gappy(values: Any, share: float) -> list[Any]:
        gone = rng.random(jobs) < share
        return [None if g else v for v, g in zip(values.tolist(), gone.tolist(), strict=True)]

    trace = Trace.of(
        Meta("random log"),
        jobs={
            "original_id": [str(number) for number in range(jobs)],
            "submit": submit,
            "width": 1,
            "outcome": Outcome.FINISH,
            "user": gappy(users, 0.1),
            "name": gappy(rng.choice(["x", "y"], jobs), 0.2),
            "queue": gappy(rng.choice(["short", "long"], jobs), 0.2),
            "walltime": gappy(request, rng.choice([0.0, 0.2, 1.0])),
        },
        tasks={
            "job": np.arange(jobs),
            "index": 0,
            "width": rng.integers(1, processors + 1, jobs),
        },
        attempts={
            "task": np.arange(jobs),
            "queued": submit,
            "start": submit,
            "end": submit + run,
            "outcome": Outcome.FINISH,
        },
    )
    return with_machines(trace, 1, slots=processors)
