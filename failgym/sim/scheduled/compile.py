"""Compile a trace into the packed arrays of the scheduled world.

What recorded evictions, losses and requeues cut short has a latent length here: the simulated
cluster makes its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.cluster.cluster import cluster_of, outages_of
from failgym.sim.scheduled.records import LEVELS, PARAMETERS, TASK, World
from failgym.sim.scheduled.rules import (
    ESTIMATORS,
    SCHEDULERS,
    NodePredictions,
    ScheduledRules,
    check_duration,
    check_nodes,
)
from failgym.sim.scheduled.workflow.dags import Dags
from failgym.sim.scheduled.workflow.workflows import compile_dags
from failgym.sim.shared.alarm_risks import AlarmTables, alarm_tables
from failgym.sim.shared.alarms import AlarmLaw
from failgym.sim.shared.compile import (
    Attempts,
    attempts_of,
    check_forecast,
    lazy_intervals,
    parameters,
    requests,
    rows_of,
    tasks_of,
    user_kill,
)
from failgym.sim.shared.context import Context
from failgym.sim.shared.continuation import Continuation
from failgym.sim.shared.continued import NOT_CONTINUED, Beyond, Played, continue_record
from failgym.sim.shared.forfeits import set_forfeits
from failgym.sim.shared.keys import Purpose, uniform
from failgym.sim.shared.records import Records
from failgym.sim.shared.rules import Weights
from failgym.sim.shared.totals import LONGEST_LENGTH, check_totals
from failgym.sim.shared.usage import usage_of
from failgym.traces import Trace
from failgym.vocabulary import NEVER, Cause, Ending, Outcome

__all__ = [
    "EpisodeTasks",
    "check_standing",
    "check_tasks",
    "compile_scheduled",
    "with_episodes",
    "with_members",
]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class EpisodeTasks(NamedTuple):
    """The tasks of an episode."""

    tasks: Ints
    """trace rows of the tasks that arrive"""
    own: Bools
    """are they asked and charged?"""
    standing: Ints
    """[standing, 2] trace row and remaining run time [ms] of tasks there from the beginning"""


def _with_runs_of_known_length(trace: Trace, a: Attempts) -> tuple[Attempts, Bools]:
    """Attempts that never ran but whose length is known are to be run: FINISHes of that length."""
    known = ~a.started & (a.length >= 0)
    if not known.any():
        return a, known
    start = np.where(known, trace.task_submit[a.task], a.start)
    return replace(
        a,
        start=start,
        end=np.where(known, start + a.length, a.end),
        outcome=np.where(known, int(Outcome.FINISH), a.outcome),
        cause=np.where(known, -1, a.cause),
    ), known


def _record_known_lengths(
    tasks: Records, as_recorded: Records, a: Attempts, synthetic: Bools
) -> None:
    """The record of a task without a FINISH of its own is its first run of known length."""
    names = ["censored", "record_end", "record_outcome", "record_work"]
    names += ["own_finish", "own_duration", "own_fail"]
    for name in names:
        tasks[name] = as_recorded[name]
    at = np.flatnonzero(synthetic)[::-1]
    at = at[as_recorded["record_outcome"][a.task[at]] != Outcome.FINISH]
    task, length = a.task[at], a.length[at]  # of repeated indices numpy keeps the last assignment
    tasks["censored"][task], tasks["record_outcome"][task] = False, Outcome.FINISH
    tasks["record_end"][task] = tasks["submit"][task] + length
    tasks["record_work"][task] = length * tasks["width"][task]


def _numbers(values: npt.NDArray[Any]) -> Ints:
    """Number texts (objects) from 0 in alphabetical order; -1 for the empty one."""
    number = {text: i for i, text in enumerate(sorted({*values.tolist()} - {""}))}
    return np.array([number.get(text, -1) for text in values.tolist()], dtype=np.int64)


def _longer(group: Ints, d: Ints, groups: Ints, durations: Ints) -> tuple[Ints, Ints, Ints]:
    """Of the durations of each group, those longer than d.

    Returns the durations by (group, duration), and where those longer begin and end.
    """
    ascending = np.sort(durations)
    span = len(durations) + 1
    by_group = np.lexsort((durations, groups))
    keys = groups[by_group] * span + np.searchsorted(ascending, durations[by_group])
    begin = np.searchsorted(keys, group * span + np.searchsorted(ascending, d, side="right"))
    end = np.searchsorted(keys, (group + 1) * span)
    return durations[by_group], begin, end


def _draw_latent(
    rows: Records, latent: Bools, task: Ints, tasks: Records, a: Attempts, seen: Bools, seed: int
) -> None:
    """Give every latent row the length that it would have had, unless the trace knows it.

    Args:
        rows: ROW of the attempts to run, changed in place.
        task: their tasks.
        seen: attempts of the trace whose duration is recorded.
    """
    finished = seen & (a.outcome == Outcome.FINISH)
    durations, of = (a.end - a.start)[finished], a.task[finished]
    at = np.flatnonzero(latent)
    d, number = rows["duration"][at], rows["number"][at]
    drawn = uniform(seed, task[at], number, Purpose.LATENT)
    length = rows["length"][at].astype(np.int64)
    names, kinds = tasks["name"].astype(np.int64), tasks["kind"].astype(np.int64)
    todo = np.ones(len(at), dtype=np.bool_)
    for group in (names, kinds):
        named = group[of] >= 0
        values, begin, end = _longer(group[task[at]], d, group[of][named], durations[named])
        found = todo & (group[task[at]] >= 0) & (end > begin)
        pick = begin + np.floor(drawn * (end - begin)).astype(np.int64)
        length[found] = values[pick[found]]
        todo &= ~found
    rows["length"][at] = length


def _latent(rows: Records, a: Attempts, rules: ScheduledRules) -> Bools:
    """Rows that were ended by what the simulated cluster makes itself (rule 2)."""
    kept = np.flatnonzero(a.started)
    outcome, cause = a.outcome[kept], a.cause[kept]
    causes = [Cause.MACHINE, Cause.PREEMPTION, Cause.REQUEUE, Cause.USER]
    causes += [Cause.WALLTIME] if rules.walltime_kill else []
    by_cluster = np.isin(outcome, (Outcome.EVICT, Outcome.LOST)) | np.isin(cause, causes)
    return (rows["ending"] == Ending.EXTERNAL) & by_cluster


def _finish(rows: Records, latent: Bools) -> None:
    """What ended latent rows is simulated: left alone, they finish."""
    rows["ending"][latent], rows["outcome"][latent] = Ending.FINISH, Outcome.FINISH


def _let_run(
    rows: Records, tasks: Records, a: Attempts, synthetic: Bools, rules: ScheduledRules, seed: int
) -> None:
    """What the record's cluster ended runs on here."""
    kept, latent = np.flatnonzero(a.started), _latent(rows, a, rules)
    unknown = latent & (a.length[kept] < 0)
    _draw_latent(rows, unknown, a.task[kept], tasks, a, a.started & ~synthetic, seed)
    rows["duration"][latent] = rows["length"][latent]
    rows["fraction"][latent] = 1.0
    _finish(rows, latent)
    rows["gap"][synthetic[kept] | np.append(synthetic[kept][1:], False)] = 0


def _go_on(
    rows: Records,
    tasks: Records,
    a: Attempts,
    synthetic: Bools,
    rules: ScheduledRules,
    seed: int,
    continuation: Continuation | None,
) -> Beyond:
    """How the tasks go on where the record is continued (rules K1, K2); v0's rows where it is not.

    A latent row then takes as long as it would undisturbed; where that is never, as it ran.
    """
    if rules.beyond_record != "continued":
        _let_run(rows, tasks, a, synthetic, rules, seed)
        return NOT_CONTINUED
    latent = _latent(rows, a, rules)
    played = Played(latent, synthetic[a.started])
    beyond = continue_record(rules, continuation, a, tasks, rows, seed, played)
    _finish(rows, latent)
    ever = latent & (rows["length"] < NEVER)
    length = rows["length"][ever]
    rows["duration"][ever] = np.minimum(length, beyond.fails[ever]).astype(np.int64)
    return beyond


def _longest_drawn(beyond: Beyond, tasks: Records, dags: Dags, speed: float) -> Ints | None:
    """How long a drawn attempt of each task can run on the machine that suits it least [ms]."""
    if not len(beyond.tasks):
        return None
    longest = beyond.longest / speed
    if len(dags.costs):
        work = np.maximum(beyond.tasks["work"], 1.0)
        slower = dags.costs.max(axis=1) * (beyond.longest / work)
        longest = np.where(np.isinf(work), beyond.longest, slower)
    return np.where(tasks["censored"], 0, np.ceil(np.minimum(longest, LONGEST_LENGTH))).astype(
        np.int64
    )


def _fill_tasks(trace: Trace, tasks: Records, rules: ScheduledRules) -> None:
    """Fill in what only the scheduled world asks of tasks."""
    job = trace.column("tasks", "job")
    tasks["job"], tasks["job_submit"] = job, trace.column("jobs", "submit")[job]
    priority = trace.column("jobs", "priority", missing=0)[job]
    tasks["priority"] = np.clip(priority, 0, LEVELS - 1)
    for name in ("user", "name", "queue"):
        tasks[name] = _numbers(trace.column("jobs", name))[job]
    tasks["stage"] = trace.column("tasks", "stage", missing=-1)
    tasks["output"] = trace.column("tasks", "output_bytes", missing=0)
    if rules.storage_bandwidth > 0.0 and len(tasks):
        with np.errstate(over="ignore"):
            time = tasks["output"] / rules.storage_bandwidth
        longest = int(np.argmax(time))
        check_duration(f"storage_bandwidth: output of task {longest}", time[longest])
        tasks["write"] = np.floor(time + 0.5)


def _parameters(
    trace: Trace, rules: ScheduledRules, weights: Weights, tasks: Records, machines: Records
) -> Records:
    """PARAMETERS [1]."""
    p = parameters(rules, weights, PARAMETERS)
    for name in ("preemption", "history", "correction", "walltime_kill", "place"):
        p[name] = getattr(rules, name)
    p["save_outputs"], p["unpersist"] = rules.save_outputs, rules.unpersist
    p["by_arrival"] = rules.rank_by == "arrival"
    p["scheduler"] = SCHEDULERS.index(rules.scheduler)
    p["estimator"] = ESTIMATORS.index(rules.estimator)
    p["outputs_lost"], p["by_job"] = rules.outputs == "lost", rules.completion == "jobs"
    p["others"] = rules.charge == "episode"
    p["transfers"] = rules.transfer_bandwidth > 0
    p["streams"], p["detection_delay"] = rules.storage_streams, rules.detection_delay
    p["machines"], p["slots"] = len(machines), machines["slots"].sum()
    p["largest"] = machines["slots"].max()
    p["widest"] = tasks["width"].max(initial=0)
    p["gangs"] = p["widest"] > p["largest"]
    p["users"] = tasks["user"].max(initial=-1) + 1
    p["stages"] = (tasks["stage"] >= 0).any()
    p["most_walltime"] = trace.column("jobs", "walltime", missing=0).max(initial=0)
    return p


def _check_widths(rules: ScheduledRules, tasks: Records, machines: Records) -> None:
    slots = int(machines["slots"].sum())
    runs = tasks["rows"] > 0
    wide = np.flatnonzero((tasks["width"] > slots) & runs)
    if len(wide):
        width = int(tasks["width"][wide[0]])
        raise ValueError(f"task {wide[0]}: width {width} exceeds the cluster's {slots} slots")
    largest = int(machines["slots"].max())
    wide = np.flatnonzero((tasks["width"] > largest) & runs)
    if rules.scheduler == "rank_hybd" and len(wide):
        width = int(tasks["width"][wide[0]])
        raise ValueError(
            f"task {wide[0]}: width {width} exceeds the largest machine's {largest} slots"
        )


def _tasks(
    trace: Trace,
    recorded: Attempts,
    a: Attempts,
    synthetic: Bools,
    kill_at: Ints,
    rules: ScheduledRules,
    context: Context,
) -> Records:
    """TASK [tasks], by the attempts to run; what the record holds stands beside it.

    Args:
        trace: the record.
        recorded: its attempts.
        a: those to run, with the ones that never started and whose length is known.
        synthetic: which of them these are.
        kill_at: when its user kills each task, see `user_kill`.
        rules: see `compile_scheduled`.
        context: the same.
    """
    tasks = tasks_of(trace, a, kill_at, rules, context, TASK)
    if synthetic.any():
        as_recorded = tasks_of(trace, recorded, kill_at, rules, context, TASK)
        _record_known_lengths(tasks, as_recorded, recorded, synthetic)
    return tasks


def _predictions(nodes: NodePredictions | None, machines: int) -> NodePredictions:
    """The predictions of machine failures, checked; by default none."""
    if nodes is None:
        none = np.zeros(0, dtype=np.int64)
        nodes = NodePredictions(np.zeros(machines + 1, dtype=np.int64), none)
    return check_nodes(nodes, machines)


def compile_scheduled(
    trace: Trace,
    rules: ScheduledRules,
    context: Context,
    weights: Weights | None = None,
    seed: int = 0,
    nodes: NodePredictions | None = None,
    continuation: Continuation | None = None,
) -> World:
    """Compile a trace; `with_episodes` or `with_members` then say what episodes are made of.

    Args:
        trace: the record, with machines.
        rules: what may be decided, caps and costs, and how the cluster works.
        context: expectations and forecast; the forecast must speak of this trace.
        weights: prices of the cost terms; all 1 by default.
        seed: key of the lengths of attempts that were cut, and of all that is drawn beyond the
            record.
        nodes: when machines are predicted to fail; by default never.
        continuation: how the tasks go on, where the rules continue the record.

    Raises:
        ValueError: one line that names what is wrong with the machines, outages, costs or stages,
            the task that is too wide, the times that are too long, the forecasts that are of
            another trace or cluster, the continuation that is missing or of another number of
            tasks, or values of tasks whose record is not continued.
    """
    check_forecast(trace, rules, context.forecast)
    recorded = attempts_of(trace)
    a, synthetic = _with_runs_of_known_length(trace, recorded)
    kill_at = user_kill(recorded)
    tasks = _tasks(trace, recorded, a, synthetic, kill_at, rules, context)
    usage = usage_of(trace, rules.window)
    rows = rows_of(a, kill_at, context, usage, seed)
    _fill_tasks(trace, tasks, rules)
    weights = weights or Weights()
    beyond = _go_on(rows, tasks, a, synthetic, rules, seed, continuation)
    set_forfeits(tasks, beyond, weights)
    machines, machine_rows = cluster_of(trace)
    write, slowest = int(tasks["write"].max(initial=0)), float(machines["speed"].min())
    if not len(beyond.tasks):
        check_totals(rules, tasks, rows, slowest, write)
    outages, in_time = outages_of(trace, rules, machines, machine_rows)
    dags = compile_dags(trace, rules, tasks, rows, machines, machine_rows)
    if len(beyond.tasks):
        drawn = _longest_drawn(beyond, tasks, dags, slowest)
        check_totals(rules, tasks, rows, slowest, write, drawn, beyond.gap)
    _check_widths(rules, tasks, machines)
    none, predictions = np.zeros(0, dtype=np.int64), _predictions(nodes, len(machines))
    return World(
        parameters=_parameters(trace, rules, weights, tasks, machines),
        tasks=tasks,
        rows=rows,
        members=none,
        member_at=np.zeros(1, dtype=np.int64),
        member_own=none.astype(np.bool_),
        member_remaining=none,
        member_job=none.astype(np.int32),
        member_by_row=none.astype(np.int32),
        machines=machines,
        machine_rows=machine_rows,
        outages=outages,
        outages_in_time=in_time,
        node_offset=predictions.offset,
        node_time=predictions.time,
        dags=dags,
        risk=np.append(context.forecast.risk, np.float32(0)),
        usage=usage.fields,
        usage_known=usage.known,
        request=requests(trace),
        expectations=context.expectations,
        lazy=lazy_intervals(context, rules),
        beyond=beyond.tasks,
        laws=beyond.laws,
        alarms=_alarms(context.forecast.alarms, continuation if len(beyond.tasks) else None),
        fails=beyond.fails,
    )


def _alarms(law: AlarmLaw | None, continuation: Continuation | None) -> AlarmTables:
    """What alarms are drawn from; drawn attempts meet nothing from outside (rules K3, K8)."""
    return alarm_tables(law and replace(law, outside=False), continuation)


def _job_numbers(jobs: Ints, submit: Ints, own: Bools) -> npt.NDArray[np.int32]:
    """Number the jobs of an episode in order of their first own submission, then by trace row."""
    present, number = np.unique(jobs, return_inverse=True)
    first = np.full(len(present), NEVER, dtype=np.int64)
    np.minimum.at(first, number[own], submit[own])
    place = np.empty(len(present), dtype=np.int32)
    place[np.lexsort((present, first))] = np.arange(len(present), dtype=np.int32)
    return place[number]


def check_tasks(tasks: Ints, count: int) -> None:
    """Raise ValueError unless these are trace rows of tasks."""
    wrong = tasks[(tasks < 0) | (tasks >= count)]
    if len(wrong):
        raise ValueError(f"task {wrong[0]}: expected a task of the trace (0 to {count - 1})")


def check_standing(standing: Ints) -> None:
    """Raise ValueError unless all that stands [standing, 2] still has some time to run, or none."""
    for task, remaining in standing[standing[:, 1] < 0][:1].tolist():
        raise ValueError(f"task {task}: expected at least 0 ms to run, got {remaining}")


def with_members(world: World, episodes: Sequence[EpisodeTasks]) -> World:
    """The same world with these episodes; censored and background tasks are never own.

    Raises:
        ValueError: if a task without attempts to run is among them, one is unknown or there twice,
            or one stands for less than no time.
    """
    pieces: list[tuple[Ints, Bools, Ints, npt.NDArray[np.int32], Ints]] = []
    for episode in episodes:
        tasks = np.asarray(episode.tasks, dtype=np.int64)
        check_tasks(tasks, len(world.tasks))
        order = np.lexsort((tasks, world.tasks["submit"][tasks]))
        standing = np.asarray(episode.standing, dtype=np.int64).reshape(-1, 2)
        check_tasks(standing[:, 0], len(world.tasks))
        check_standing(standing)
        rows = np.concatenate([standing[:, 0], tasks[order]])
        by_row = np.argsort(rows)
        if (np.diff(rows[by_row]) == 0).any():
            raise ValueError("tasks of an episode: expected each once")
        empty = rows[world.tasks["rows"][rows] == 0]
        if len(empty):
            raise ValueError(f"task {empty[0]}: expected an attempt to run")
        no = np.zeros(len(standing), dtype=np.bool_)
        own = np.concatenate([no, np.asarray(episode.own, dtype=np.bool_)[order]])
        own &= ~(world.tasks["censored"] | world.tasks["background"])[rows]
        remaining = np.concatenate([standing[:, 1], np.full(len(tasks), -1)])
        jobs = _job_numbers(world.tasks["job"][rows], world.tasks["submit"][rows], own)
        pieces.append((rows, own, remaining, jobs, by_row))
    return world._replace(
        members=np.concatenate([piece[0] for piece in pieces]),
        member_at=np.cumsum([0, *(len(piece[0]) for piece in pieces)]).astype(np.int64),
        member_own=np.concatenate([piece[1] for piece in pieces]),
        member_remaining=np.concatenate([piece[2] for piece in pieces]).astype(np.int64),
        member_job=np.concatenate([piece[3] for piece in pieces]),
        member_by_row=np.concatenate([piece[4] for piece in pieces]).astype(np.int32),
    )


def with_episodes(
    world: World,
    order: Ints,
    episodes: Ints,
    standing: Ints | None = None,
    standing_at: Ints | None = None,
) -> World:
    """The same world with episodes that are stretches of a list of tasks.

    Args:
        world: a compiled world.
        order: trace rows of tasks, in order of submission within each stretch.
        episodes: [episodes, 4] begin, begin and end of the own tasks, and end, in ``order``.
        standing: [standing, 2] trace row and remaining run time [ms] of tasks that stand at the
            beginning; none by default.
        standing_at: [episodes + 1] where those of each episode begin in ``standing``.
    """
    stand = np.zeros((0, 2), dtype=np.int64) if standing is None else standing
    at = np.zeros(len(episodes) + 1, dtype=np.int64) if standing_at is None else standing_at
    members: list[EpisodeTasks] = []
    for i, (begin, first, last, end) in enumerate(np.asarray(episodes).tolist()):
        tasks = order[begin:end]
        position = np.arange(begin, end, dtype=np.int64)
        own = (position >= first) & (position < last)
        members.append(EpisodeTasks(tasks, own, stand[at[i] : at[i + 1]]))
    return with_members(world, members)
