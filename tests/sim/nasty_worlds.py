"""Worlds nastier than `tests.sim.random_worlds`, all of them continued: one seed, one world.

Rows start in one millisecond, overlap, last no time, never start, and are killed by their user in
every place; lengths are far from durations, work is a millisecond or years; few attempts are drawn,
windows have odd sizes, and what a policy likes it does whenever it may. Some of it no trace or
no simulator accepts: `NastyWorld` or the simulators then raise ValueError.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.alarms import AlarmLaw
from failgym.sim.shared.context import Context
from failgym.sim.shared.continuation import COUNTS, LONGEST_FATE, Continuation
from failgym.sim.shared.rules import Rules, Weights
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import Action
from tests.sim.random_worlds import (
    CAUSES,
    Policy,
    random_context,
    random_law,
    random_rules,
    random_weights,
    random_windows,
)

__all__ = [
    "NastyWorld",
    "nasty_attempts",
    "nasty_laws",
    "nasty_policy",
    "nasty_rules",
    "nasty_world",
]

HUGE = 2**38
"""A time that is long beside all others, nine years [ms]."""
ENDS = (
    *(Outcome.FAIL, Outcome.FAIL, Outcome.FAIL, Outcome.EVICT, Outcome.EVICT, Outcome.LOST),
    *(Outcome.KILL, Outcome.KILL, Outcome.KILL),
)
Row = dict[str, Any]


@dataclass(frozen=True)
class NastyWorld:
    """What the simulators are given, and how it is played."""

    trace: Trace
    rules: Rules
    context: Context
    weights: Weights
    seed: int
    laws: Continuation
    order: Literal["task", "time"]
    policy: Policy


def nasty_world(seed: int) -> NastyWorld:
    """The world of a seed. Raises ValueError where its tables make no trace."""
    rng = np.random.default_rng([seed, 26])
    grid, huge = int(rng.choice([1, 7, 10, 10])), bool(rng.random() < 0.15)
    job, rows = _tasks(rng, grid, huge)
    trace = _trace(rng, job, rows, grid)
    rules = nasty_rules(rng, grid, huge)
    context = random_context(rng, trace, rules)
    if rng.random() < 0.7:
        alarms = _alarms(rng, np.array(job), grid)
        context = replace(context, forecast=replace(context.forecast, alarms=alarms))
    value = None if rng.random() < 0.2 else float(rng.choice([0.0, 1.0, 4.0, 1e6]))
    return NastyWorld(
        trace=trace,
        rules=rules,
        context=context,
        weights=replace(random_weights(rng), task_value=value),
        seed=int(rng.choice([0, seed, 2**63 - 1])),
        laws=nasty_laws(rng, trace.rows("tasks"), grid, huge),
        order="time" if rng.random() < 0.5 else "task",
        policy=nasty_policy(rng),
    )


# --- records ----------------------------------------------------------------------------------


def _tasks(rng: np.random.Generator, grid: int, huge: bool) -> tuple[list[int], list[Row]]:
    """The job of each task, and all rows."""
    tasks = int(rng.integers(1, 5))
    job = np.sort(rng.integers(0, 3, tasks))
    job = np.unique(job, return_inverse=True)[1]  # no job is without tasks
    lengths = rng.random() < 0.5
    rows = [
        row | {"task": task}
        for task in range(tasks)
        for row in nasty_attempts(rng, int(rng.integers(0, 4)) * grid, grid, lengths, huge)
    ]
    return job.tolist(), rows


def nasty_attempts(
    rng: np.random.Generator, start: int, grid: int, lengths: bool, huge: bool
) -> list[Row]:
    """The record of one task."""
    rows: list[Row] = []
    finish = float(rng.choice([0.0, 0.0, 0.2, 0.5]))
    for _ in range(int(rng.integers(1, 8))):
        rows.append(_attempt(rng, start, grid, lengths, huge, finish))
        # in the same millisecond, on the grid, where the row before ends, or where any ends
        ends = [row["end"] for row in rows]
        jumps = [start, start + int(rng.integers(0, 4)) * grid, ends[-1], int(rng.choice(ends))]
        start = max(start, int(rng.choice(jumps, p=[0.2, 0.3, 0.4, 0.1])))
    if rng.random() < 0.3:
        _end_together(rng, rows)
    if rng.random() < 0.15:
        _kill_by_user(rng, rows)
    if rng.random() < 0.02:
        rows.reverse()  # mostly out of order
    return rows


def _attempt(
    rng: np.random.Generator, start: int, grid: int, lengths: bool, huge: bool, finish: float
) -> Row:
    """One row; its outcome suits no other's."""
    outcome = Outcome.CENSORED if rng.random() < 0.03 else Outcome(rng.choice(ENDS))
    outcome = Outcome.FINISH if rng.random() < finish else outcome
    short = [0, 1, *(rng.integers(0, 20, 4) * grid).tolist()]
    duration = int(rng.choice([*short, HUGE] if huge else short))
    starts = outcome == Outcome.FINISH or rng.random() >= 0.2
    more = int(rng.choice([0, 0, 1, grid, 9 * grid, HUGE if huge else 5 * grid]))
    finishes = outcome == Outcome.FINISH and rng.random() >= 0.02  # no other length is accepted
    cause = CAUSES[outcome][int(rng.integers(len(CAUSES[outcome])))]
    if outcome == Outcome.KILL and rng.random() < 0.2:
        cause = Cause.USER
    return {
        "queued": None if rng.random() < 0.5 else max(0, start - int(rng.integers(0, 2)) * grid),
        "start": start if starts else None,
        "end": start + duration,
        "outcome": outcome,
        "cause": cause,
        "length": duration + (0 if finishes else more) if lengths and rng.random() < 0.5 else None,
    }


def _end_together(rng: np.random.Generator, rows: Sequence[Row]) -> None:
    """Some rows last as long as the longest, as far as no length contradicts it."""
    end = max(row["end"] for row in rows)
    for row in rows:
        if rng.random() < 0.5:
            row |= {"end": end, "length": None}


def _kill_by_user(rng: np.random.Generator, rows: Sequence[Row]) -> None:
    """A row that did not finish is the last to end, by its user, perhaps when another starts."""
    others = [row for row in rows if row["outcome"] != Outcome.FINISH]
    if not others:
        return
    row = others[int(rng.integers(len(others)))]
    ends, starts = [x["end"] for x in rows], [x["start"] for x in rows if x["start"] is not None]
    end = max(ends) + int(rng.integers(0, 2))
    if starts and max(starts) >= max(row["end"], row["start"] or 0) and rng.random() < 0.5:
        end = max(starts)
        for other in rows:  # what started by then lasts no longer, and nothing ends later
            last = max(other["start"] or 0, other["queued"] or 0)
            other |= {"end": max(last, min(other["end"], end)), "length": None}
    row |= {"end": max(end, row["end"]), "outcome": Outcome.KILL, "length": None}
    row["cause"] = Cause.USER


def _trace(rng: np.random.Generator, job: Sequence[int], rows: Sequence[Row], grid: int) -> Trace:
    jobs, tasks = max(job) + 1, len(job)
    submit = [_submit(rng, [row for row in rows if job[row["task"]] == i]) for i in range(jobs)]
    return Trace.of(
        Meta("nasty"),
        jobs={
            "original_id": [f"job {i}" for i in range(jobs)],
            "submit": submit,
            "width": [job.count(i) for i in range(jobs)],
            "outcome": rng.integers(0, 6, jobs),
        },
        tasks={
            "job": list(job),
            "index": [list(job[:t]).count(job[t]) for t in range(tasks)],
            "width": rng.choice([1, 1, 3], tasks),
        },
        attempts={name: [row[name] for row in rows] for name in rows[0]},
        windows=random_windows(rng, rows, grid) if rng.random() < 0.3 else {},
    )


def _submit(rng: np.random.Generator, rows: Sequence[Row]) -> int:
    """Not behind anything that is known of the job's rows, but seldom behind some."""
    heard = [row[name] for row in rows for name in ("queued", "start", "end")]
    first = min(time for time in heard if time is not None)
    return int(rng.integers(0, 30 if rng.random() < 0.03 else first + 1))


# --- rules and laws ---------------------------------------------------------------------------


def nasty_rules(rng: np.random.Generator, grid: int, huge: bool) -> Rules:
    """Few attempts are drawn; windows of odd sizes, pauses that end when attempts do."""
    costs = [0, 0, 1, grid, 2 * grid]
    rules = replace(
        random_rules(rng),
        clone=bool(rng.random() < 0.9),
        checkpoint=bool(rng.random() < 0.9),
        retry=bool(rng.random() < 0.9),
        max_extra=int(rng.choice([0, 1, 2, 3, 3, 4])),
        max_clones=int(rng.choice([0, 1, 2, 3])),
        restart_limit=int(rng.integers(0, 3)),
        window=int(rng.choice([1, 3, grid, grid, 13, 4 * grid])),
        checkpoint_cost=int(rng.choice([*costs, 2**30] if huge else costs)),
        restore_cost=int(rng.choice([*costs, 2**30] if huge else costs)),
        grace=bool(rng.random() < 0.4),
        beyond_record="continued",
        spare_attempts=int(rng.integers(0, 3)),
        restarts=rng.choice(["limit", "record"]).item(),
    )
    # else there is a decision in each of millions of windows
    return replace(rules, decide="geometric", factor=2.0) if huge else rules


def nasty_laws(rng: np.random.Generator, tasks: int, grid: int, huge: bool) -> Continuation:
    """Times on the grid of the record, so that fates tie; paces from a snail's to a flash's."""
    cells, times = int(rng.integers(1, 4)), _times(rng, grid, huge)
    return Continuation(
        cell=rng.integers(0, cells, (tasks, COUNTS)),
        failure=random_law(rng, cells, times),
        external=random_law(rng, cells, times),
        work=random_law(rng, cells, _times(rng, grid, huge), certain=True),
        chance=random_law(rng, 2, np.array([1e-9, 0.1, 0.5, 1.0, 1.0, 3.0, 1e9 if huge else 7.0])),
        gap_after_failure=random_law(rng, cells, times),
        gap_after_external=random_law(rng, cells, times),
        gives_up=rng.choice([0.0, 0.5, 1.0], cells),
        ends_external=rng.choice([0.0, 0.5, 1.0], cells),
        slow=rng.choice([1e-6, 0.3, 1.0, 1.0, 2.7, 1e6 if huge else 5.0], tasks),
        chance_cell=rng.integers(-1, 2, tasks),
        key=rng.permutation(2**20)[:tasks],
    )


def _times(rng: np.random.Generator, grid: int, huge: bool) -> npt.NDArray[np.float64]:
    """A millisecond, a few on the grid, one beside it, and the longest that is drawn."""
    count = int(rng.integers(1, 6))
    times = [1, *(rng.integers(1, 15, count) * grid).tolist(), int(rng.integers(1, 100))]
    longest = [HUGE, LONGEST_FATE] if huge else []
    return np.unique([*times, *longest]).astype(np.float64)


def _alarms(rng: np.random.Generator, job: npt.NDArray[np.int64], grid: int) -> AlarmLaw:
    """Leads on the grid, as fates are: alarms begin and end with windows. Scores that tie."""
    scores = np.array([0.0, 0.3, 0.5, 0.5, 1.0])
    leads = np.unique([1, grid - 1 or 1, grid, 3 * grid, HUGE]).astype(np.float64)
    shared = rng.random((2, int(job.max()) + 1))
    return AlarmLaw(
        seed=int(rng.choice([0, 7, 2**63 - 1])),
        prior=float(rng.choice([0.0, 0.3, 0.5])),
        true_score=random_law(rng, 1, scores),
        false_factor=float(rng.choice([0.0, 1e-9, 1.0, 2.0, 2.0**20])),
        false_score=random_law(rng, 1, scores, certain=True),
        lead=random_law(rng, 1, leads, certain=True),
        job_share=float(rng.choice([0.0, 0.5, 1.0])),
        job_true=shared[0, job],
        job_false=shared[1, job],
        outside=bool(rng.random() < 0.5),
    )


def nasty_policy(rng: np.random.Generator) -> Policy:
    """A policy, mask -> action: each world likes some actions better, and one most of all."""
    liked = rng.permutation([Action.CLONE, Action.CHECKPOINT, Action.CHECKPOINT, Action.RETRY])
    faith, kills = float(rng.choice([0.2, 0.6, 1.0])), float(rng.choice([0.0, 0.0, 0.02, 0.5]))

    def act(mask: tuple[bool, ...]) -> int:
        if rng.random() < 0.03:
            return int(rng.integers(5))  # perhaps illegal
        if mask[Action.KILL] and rng.random() < kills:
            return int(Action.KILL)
        for action in liked.tolist():
            if mask[action] and rng.random() < faith:
                return action
        return int(Action.CONTINUE)

    return act
