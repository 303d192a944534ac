"""Small nasty worlds: random traces, rules, contexts and policies for comparing simulators.

Times lie on a coarse grid, so that events tie; durations are a few windows long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.alarms import AlarmLaw
from failgym.sim.shared.context import AGE_BUCKETS, CLASSES, SYSTEM_FIELDS, Context
from failgym.sim.shared.continuation import COUNTS, Continuation, Law
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.rules import Rules, Weights
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import MINUTE

Policy = Callable[[tuple[bool, ...]], int]

CAUSES: dict[Outcome, tuple[Cause | None, ...]] = {
    Outcome.FINISH: (None,),
    Outcome.FAIL: (
        Cause.INTRINSIC,
        Cause.INTRINSIC,
        Cause.DEPENDENCY,
        Cause.MACHINE,
        Cause.WALLTIME,
    ),
    Outcome.KILL: (Cause.USER, Cause.USER, Cause.REQUEUE, Cause.WALLTIME),
    Outcome.EVICT: (Cause.PREEMPTION, Cause.SHARED, Cause.MACHINE),
    Outcome.LOST: (Cause.MACHINE, None),
    Outcome.CENSORED: (None,),
}
"""Outcome -> causes that go with it."""


def random_trace(rng: np.random.Generator) -> Trace:
    """One to three jobs of one to six tasks in all, each of one to six attempts."""
    grid = int(rng.choice([1, 10, 10, 50]))
    jobs, tasks = int(rng.integers(1, 4)), int(rng.integers(1, 7))
    job = np.sort(rng.integers(0, jobs, tasks))
    submit = np.sort(rng.integers(0, 30, jobs)) * grid
    lengths = rng.random() < 0.4
    rows = [
        row
        for t in range(tasks)
        for row in random_attempts(rng, t, int(submit[job[t]]), grid, lengths)
    ]
    return Trace.of(
        Meta("random"),
        jobs={
            "original_id": [f"job {i}" for i in range(jobs)],
            "submit": submit,
            "width": [max(1, int((job == i).sum()) + int(rng.integers(0, 2))) for i in range(jobs)],
            "outcome": rng.integers(0, 6, jobs),
            "priority": gappy(rng, rng.integers(0, 13, jobs)),
            "scheduling_class": gappy(rng, rng.integers(0, 4, jobs)),
            "walltime": gappy(rng, rng.integers(0, 100, jobs) * grid),
        },
        tasks={
            "job": job,
            "index": [int((job[:t] == job[t]).sum()) for t in range(tasks)],
            "width": rng.choice([1, 1, 2, 5], tasks),
            "cpu": gappy(rng, rng.random(tasks)),
            "memory": gappy(rng, rng.random(tasks)),
            "disk": gappy(rng, rng.random(tasks)),
            "anti_affinity": gappy(rng, rng.random(tasks) < 0.5),
        },
        attempts={name: [row[name] for row in rows] for name in rows[0]},
        windows=random_windows(rng, rows, grid) if rng.random() < 0.4 else {},
    )


def random_rules(rng: np.random.Generator) -> Rules:
    """Rules with windows of a few milliseconds, and every switch and cap, 0 included."""

    def switch() -> bool:
        return bool(rng.random() < 0.7)

    costs = [0, 0, 3, 10, 40]
    return Rules(
        clone=switch(),
        checkpoint=switch(),
        kill=switch(),
        give_up=switch(),
        retry=switch(),
        max_extra=int(rng.integers(0, 5)),
        max_clones=int(rng.integers(0, 4)),
        restart_limit=int(rng.integers(0, 5)),
        window=int(rng.choice([7, 10, 30, 100])),
        decide=rng.choice(["every", "geometric", "alarm"]).item(),
        every=int(rng.integers(1, 4)),
        factor=float(rng.choice([1.01, 1.25, 2.0])),
        alarm=float(rng.choice([0.0, 0.3, 0.7, 1.0])),
        # from a stream of its own: the seeds of worlds that once showed something stay theirs
        forecast_by=rng.spawn(1)[0].choice(["progress", "age"]).item(),
        checkpoint_cost=int(rng.choice(costs)),
        restore_cost=int(rng.choice(costs)),
        mtbf=int(rng.integers(1, 500)),
        grace=switch(),
        grace_evict=int(rng.integers(0, 200)),
        grace_fail=int(rng.integers(0, 200)),
        grace_kill=int(rng.integers(0, 200)),
        beyond_record=rng.choice(["ghost", "ghost", "paper"]).item(),
    )


def continued_rules(rng: np.random.Generator, rules: Rules) -> Rules:
    """The same rules, but the record goes on."""
    return replace(
        rules,
        beyond_record="continued",
        spare_attempts=int(rng.choice([0, 1, 3, 8])),
        restarts=rng.choice(["limit", "record", "record"]).item(),
    )


def random_continuation(rng: np.random.Generator, trace: Trace) -> Continuation:
    """Laws of a few cells with a few times each, some of them empty; every kind of task."""
    cells, tasks = int(rng.integers(1, 6)), trace.rows("tasks")
    times = np.unique(rng.integers(1, 300, int(rng.integers(1, 12)))).astype(np.float64)
    return Continuation(
        cell=rng.integers(0, cells, (tasks, COUNTS)),
        failure=random_law(rng, cells, times),
        external=random_law(rng, cells, times),
        work=random_law(rng, cells, times, certain=True),
        chance=random_law(rng, 3, np.array([0.25, 0.9, 1.0, 1.3, 4.0])),
        gap_after_failure=random_law(rng, cells, times),
        gap_after_external=random_law(rng, cells, times),
        gives_up=rng.choice([0.0, 0.3, 1.0], cells),
        ends_external=rng.choice([0.0, 0.3, 1.0], cells),
        slow=rng.choice([0.3, 1.0, 1.0, 2.7], tasks),
        chance_cell=rng.integers(-1, 3, tasks),
        key=rng.permutation(100)[:tasks],
    )


def random_law(
    rng: np.random.Generator, cells: int, values: np.ndarray[Any, Any], *, certain: bool = False
) -> Law:
    """In each cell some of the values; where it is certain, at least one, and one is drawn."""
    at, value, share = [0], list[float](), list[float]()
    for _ in range(cells):
        count = int(rng.integers(1 if certain else 0, len(values) + 1))
        chosen = np.sort(rng.choice(values, count, replace=False))
        steps = np.cumsum(rng.random(count) + 1e-3)
        whole = 1.0 if certain or rng.random() < 0.5 else float(rng.random())
        value += chosen.tolist()
        share += (whole * steps / steps[-1]).tolist() if count else []
        at.append(len(value))
    return Law(np.array(at), np.array(value), np.minimum(np.array(share), 1.0))


def random_weights(rng: np.random.Generator) -> Weights:
    """Weights and scales of any size, some weights 0."""
    wasted, overhead, completion, forfeited = (
        float(x) for x in rng.choice([0.0, 0.5, 1.0, 3.0], 4)
    )
    work_scale, time_scale = (float(x) for x in rng.uniform(1, 1000, 2))
    return Weights(
        wasted, overhead, completion, forfeited, work_scale=work_scale, time_scale=time_scale
    )


def valued(rng: np.random.Generator, weights: Weights) -> Weights:
    """The same weights, but tasks have a value; in two worlds of three."""
    value = float(rng.choice([0.0, 0.5, 1.0, 4.0, 16.0]))
    return replace(weights, task_value=value) if rng.random() < 2 / 3 else weights


def alarming(rng: np.random.Generator, context: Context, job: npt.NDArray[np.int64]) -> Context:
    """The same context, but drawn attempts raise alarms; in two worlds of three.

    Args:
        rng: a stream of its own.
        context: what else is known.
        job: of each task.
    """
    law = random_alarms(rng, job)
    forecast = replace(context.forecast, alarms=law)
    return replace(context, forecast=forecast) if rng.random() < 2 / 3 else context


def random_alarms(rng: np.random.Generator, job: npt.NDArray[np.int64]) -> AlarmLaw:
    """A few scores, some of them none; leads from 1 ms to longer than any life."""
    scores = np.array([0.0, 0.02, 0.3, 0.5, 0.7, 0.9, 1.0])
    leads = np.array([1.0, 5.0, 10.0, 40.0, 1000.0])
    shared = rng.random((2, int(job.max(initial=0)) + 1))
    return AlarmLaw(
        seed=int(rng.integers(0, 2**63)),
        prior=float(rng.choice([0.0, 0.02, 0.3])),
        true_score=random_law(rng, 1, scores),
        false_factor=float(rng.choice([0.0, 0.1, 0.5, 1.0, 3.0, 100.0])),
        false_score=random_law(rng, 1, scores, certain=True),
        lead=random_law(rng, 1, leads, certain=True),
        job_share=float(rng.choice([0.0, 0.5, 1.0])),
        job_true=shared[0, job],
        job_false=shared[1, job],
        outside=bool(rng.random() < 0.5),
    )


def random_context(rng: np.random.Generator, trace: Trace, rules: Rules) -> Context:
    """Random expectations and system rows; a random forecast with gaps, or none."""
    expectations = rng.random((CLASSES, AGE_BUCKETS, 3))
    expectations[..., 0] *= rng.choice([0.0, 100.0, 1000.0], (CLASSES, AGE_BUCKETS))
    interruptions = rng.spawn(1)[0].choice([0.0, 0.001, 0.1], (CLASSES, AGE_BUCKETS))
    # worlds last less than a bin: the hour before them is that of all their decisions
    earlier = [-60 * MINUTE - 1, -60 * MINUTE, -1]
    times = np.sort(rng.spawn(1)[0].choice([*earlier, *range(1000)], 50))
    system = rng.normal(0, 5, (int(rng.integers(1, 3)), SYSTEM_FIELDS)).astype(np.float32)
    bins = np.arange(len(system))
    jobs, tasks, attempts = (trace.rows(name) for name in ("jobs", "tasks", "attempts"))
    none = Forecast.none(trace.content_hash, jobs, tasks, attempts, rules.window)
    if rng.random() < 0.2:
        return Context(expectations, system, none, interruptions, times, bins)
    sizes = rng.choice([0, 1, 2, 5, 10], attempts)
    offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    certain = rng.choice([0.0, 0.25, 1.0], (tasks, 4))
    confidence = np.where(rng.random((tasks, 1)) < 0.3, certain, rng.random((tasks, 4)))
    forecast = Forecast(
        trace_hash=trace.content_hash,
        window=rules.window,
        offset=offset,
        risk=rng.random(int(offset[-1])).astype(np.float32),
        confidence=confidence.astype(np.float32),
        job_confidence=rng.random(jobs).astype(np.float32),
    )
    return Context(expectations, system, forecast, interruptions, times, bins)


def random_policy(rng: np.random.Generator) -> Policy:
    """A policy, mask -> action: favours some actions, waits a lot, is illegal now and then."""
    weights = rng.random(5) ** 3
    weights[0] = rng.choice([0.0, 1.0, 4.0])
    weights[3] *= rng.choice([0.05, 1.0])
    illegal = float(rng.choice([0.0, 0.1]))

    def act(mask: tuple[bool, ...]) -> int:
        odds = weights + 1e-9
        if rng.random() >= illegal:
            odds = odds * np.asarray(mask)
        return int(rng.choice(5, p=odds / odds.sum()))

    return act


def gappy(rng: np.random.Generator, values: np.ndarray[Any, Any]) -> list[Any]:
    """The values, some of them missing."""
    return [x.item() if rng.random() < 0.7 else None for x in values]


def random_attempts(
    rng: np.random.Generator, task: int, submit: int, grid: int, lengths: bool
) -> list[dict[str, Any]]:
    """The record of one task; what is CENSORED ends together, at the end of the data."""
    count, overlapping = int(rng.integers(1, 7)), rng.random() < 0.4
    finishing, cut = rng.random() < 0.6, rng.random() < 0.1
    rows: list[dict[str, Any]] = []
    start = submit + int(rng.integers(0, 5)) * grid
    for number in range(count):
        last = number == count - 1
        rows.append(_attempt(rng, task, start, grid, finishing and last, lengths))
        resume = start if overlapping and rng.random() < 0.5 else int(rows[-1]["end"])
        start = max(start, resume) + int(rng.integers(0, 6)) * grid
    if cut:
        horizon = max(row["end"] for row in rows)
        for row in rows[int(rng.integers(0, count)) :]:
            row |= {"end": horizon, "outcome": Outcome.CENSORED, "cause": None, "length": None}
    return rows


def _attempt(
    rng: np.random.Generator, task: int, start: int, grid: int, finishes: bool, lengths: bool
) -> dict[str, Any]:
    usual = [Outcome.FAIL, Outcome.FAIL, Outcome.KILL, Outcome.EVICT, Outcome.EVICT, Outcome.LOST]
    unusual = [*usual, Outcome.FINISH]
    outcome = Outcome.FINISH if finishes else Outcome(rng.choice(unusual))
    duration = 0 if rng.random() < 0.1 else int(rng.integers(0, 25)) * grid
    never_started = outcome != Outcome.FINISH and rng.random() < 0.15
    length = None
    if lengths and rng.random() < 0.7:
        longer = outcome != Outcome.FINISH and rng.random() < 0.8
        length = duration + (int(rng.integers(0, 20)) * grid if longer else 0)
    return {
        "task": task,
        "queued": None if rng.random() < 0.3 else max(0, start - int(rng.integers(0, 3)) * grid),
        "start": None if never_started else start,
        "end": start + duration,
        "outcome": outcome,
        "cause": CAUSES[outcome][int(rng.integers(len(CAUSES[outcome])))],
        "length": length,
    }


def random_windows(
    rng: np.random.Generator, rows: Sequence[dict[str, Any]], grid: int
) -> dict[str, list[Any]]:
    """Usage of some of the attempts that started, with gaps."""
    columns = ("cpu", "memory", "local_io", "remote_io", "network", "max_memory")
    table: dict[str, list[Any]] = {name: [] for name in ("attempt", "offset", *columns)}
    for attempt, row in enumerate(rows):
        if row["start"] is None or rng.random() < 0.3:
            continue
        count = int(rng.integers(1, 6))
        table["attempt"] += [attempt] * count
        table["offset"] += np.sort(rng.choice(12, count, replace=False) * grid).tolist()
        for name in columns:
            table[name] += gappy(rng, rng.random(count).astype(np.float32))
    return table
