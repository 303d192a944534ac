"""Workloads of rigid jobs: real logs, small random ones, and what the simulator makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.scheduled.simulator import ScheduledSimulator
from failgym.sim.shared.context import Context
from failgym.sim.shared.forecast import Forecast
from failgym.traces import Meta, Outcome, Trace, read_swf
from failgym.traces.clusters import uninterrupted, with_machines
from tests.sim.easy import Job
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


def jobs_of(trace: Trace, estimator: str = "user") -> list[Job]:
    """Its tasks as rigid jobs that are killed at their requests; times in ms.

    Args:
        trace: of tasks of one attempt each.
        estimator: "user" (the request, or where there is none the longest), or "oracle".
    """
    requests = trace.column("jobs", "walltime", missing=0)
    request = requests[trace.column("tasks", "job")]
    run = trace.column("attempts", "end") - trace.column("attempts", "start")
    run = np.where(request > 0, np.minimum(run, request), run)
    estimate = np.where(request > 0, request, requests.max()) if estimator == "user" else run
    estimate = np.maximum(np.where(estimate > 0, estimate, run), 1)
    columns = (trace.task_submit, trace.column("tasks", "width"), run, estimate)
    return [Job(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def processors_of(trace: Trace) -> int:
    """Slots of the cluster."""
    return int(trace.column("machines", "slots").sum())


def scheduled(trace: Trace, kind: type[Any] = ScheduledSimulator, **rules: Any) -> Any:
    """A simulator that has played all tasks of a trace under EASY backfilling."""
    rows = (trace.rows("jobs"), trace.rows("tasks"), trace.rows("attempts"))
    chosen = ScheduledRules(scheduler="easy_backfill", restart_limit=0, **rules)
    forecast = Forecast.none(trace.content_hash, *rows, chosen.window)
    context = Context(np.zeros((8, 24, 3)), np.zeros((1, 8), dtype=np.float32), forecast)
    simulator = kind(trace, chosen, context)
    simulator.start(range(trace.rows("tasks")))
    return simulator


def simulated(trace: Trace, kind: type[Any] = ScheduledSimulator, **rules: Any) -> list[int]:
    """When a simulator starts each task under EASY backfilling [ms]."""
    outcomes = scheduled(trace, kind, **rules).outcomes()
    starts = {outcome.task: outcome.start for outcome in outcomes}
    return [starts[task] for task in range(trace.rows("tasks"))]


def log_of(jobs: Sequence[Job], *slots: int, **columns: Any) -> Trace:
    """Rigid jobs of one task each on machines of so many slots, in order of submission.

    Args:
        jobs: times in ms; an estimate is the request.
        slots: of each machine.
        columns: of the table of jobs, beside what the jobs say.
    """
    number, submit = np.arange(len(jobs)), np.array([job.submit for job in jobs])
    run = np.array([job.run for job in jobs])
    names = [str(job) for job in number]
    stated = {"original_id": names, "submit": submit, "width": 1, "outcome": Outcome.FINISH}
    return Trace.of(
        Meta("rigid jobs"),
        jobs=stated | {"walltime": [job.estimate for job in jobs]} | columns,
        tasks={"job": number, "index": 0, "width": [job.width for job in jobs]},
        attempts={
            "task": number,
            "queued": submit,
            "start": submit,
            "end": submit + run,
            "outcome": Outcome.FINISH,
        },
        machines={
            "original_id": [str(m) for m in range(len(slots))],
            "slots": list(slots),
            "speed": 1.0,
        },
    )


def random_log(rng: np.random.Generator) -> Trace:
    """A crowded little log: ties in time, empty runs, unknown users and requests, wide jobs."""
    n, processors = int(rng.integers(1, 60)), int(rng.integers(1, 12))
    unit = int(rng.choice([1, 1_000, 60_000, 3_600_000]))
    submit = np.sort(rng.integers(0, 1 + n * 2, n)) * unit
    run = rng.integers(0, 12, n) * unit
    request = np.maximum(run + rng.integers(-2, 8, n) * unit, 0) // max(1, unit // 7) * 5
    users = np.array(["ann", "bob", "cy"])[rng.integers(0, 3, n)]

    def gappy(values: Any, share: float) -> list[Any]:
        gone = rng.random(n) < share
        return [None if g else v for v, g in zip(values.tolist(), gone.tolist(), strict=True)]

    width = rng.integers(1, processors + 1, n)
    return log_of(
        [Job(*map(int, row)) for row in zip(submit, width, run, request, strict=True)],
        processors,
        user=gappy(users, 0.1),
        name=gappy(rng.choice(["x", "y"], n), 0.2),
        queue=gappy(rng.choice(["short", "long"], n), 0.2),
        walltime=gappy(request, rng.choice([0.0, 0.2, 1.0])),
    )
