"""Small nasty clusters: random traces with machines, rules and predictions for the scheduled world.

Times lie on a coarse grid, so that events tie; durations are a few windows long, and there are too
few machines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from failgym.sim.scheduled.rules import ESTIMATORS, NodePredictions, ScheduledRules
from failgym.sim.shared.context import Context
from failgym.sim.shared.continuation import Continuation
from failgym.sim.shared.rules import Weights
from failgym.traces import Meta, Trace
from tests.sim.random_worlds import (
    alarming,
    continued_rules,
    gappy,
    random_attempts,
    random_context,
    random_continuation,
    random_rules,
    random_weights,
    random_windows,
    valued,
)

Columns = dict[str, Any]
Attempts = Callable[[np.random.Generator, int, int, int, bool], Sequence[Columns]]
"""Draws the record of a task: of a generator, the task, its submission, the grid of times, and
whether lengths are known."""
Theme = Literal["mixed", "workflow", "crowded", "contended"]


@dataclass(frozen=True)
class Cluster:
    """Everything that an episode needs."""

    trace: Trace
    rules: ScheduledRules
    context: Context
    weights: Weights
    nodes: NodePredictions | None
    tasks: tuple[int, ...]
    own: tuple[int, ...] | None
    standing: tuple[tuple[int, int], ...]
    seed: int
    continuation: Continuation | None = None

    def simulator(self, kind: type[Any]) -> Any:
        """A simulator of the cluster, not yet started."""
        rest = (self.rules, self.context, self.weights)
        beyond = {} if self.continuation is None else {"continuation": self.continuation}
        return kind(self.trace, *rest, seed=self.seed, nodes=self.nodes, **beyond)

    def start(self, simulator: Any) -> None:
        """Begin the episode."""
        simulator.start(self.tasks, self.own, self.standing)


def random_cluster(seed: int) -> Cluster:
    """A cluster of one to four machines and one to eighteen tasks.

    One in four is a workflow that comes far while its machines fail, one in eight is crowded; in
    one in eight, wide tasks of many priorities contend for machines of several slots.
    """
    rng = np.random.default_rng(seed)
    theme = rng.choice(["workflow", "crowded", "contended", *["mixed"] * 4, "workflow"]).item()
    schedulers = ["fifo", "priority", "easy_backfill", "rank_hybd"]
    full = theme in ("crowded", "contended")
    scheduler = "priority" if full else rng.choice(schedulers).item()
    grid = int(rng.choice([1, 10, 10, 50]))
    trace = random_trace(rng, grid, gangs=scheduler != "rank_hybd", theme=theme)
    rules = random_scheduled_rules(rng, scheduler, grid, theme)
    if rules.completion == "tasks":  # from a stream of its own: other clusters stay as they were
        charge: Any = np.random.default_rng([seed, 4]).choice(["own", "episode"]).item()
        rules = replace(rules, charge=charge)
    context = random_context(rng, trace, rules)
    tasks, own, standing = random_episode(rng, trace, grid)
    return Cluster(
        trace=trace,
        rules=rules,
        context=context,
        weights=random_weights(rng),
        nodes=random_predictions(rng, cluster_size(trace), grid),
        tasks=tasks,
        own=own,
        standing=standing,
        seed=seed,
    )


def continued_cluster(seed: int) -> Cluster:
    """The same cluster, whose tasks go on beyond their records."""
    cluster, rng = random_cluster(seed), np.random.default_rng([seed, 1])
    rules: Any = continued_rules(rng, cluster.rules)
    laws = random_continuation(rng, cluster.trace)
    return replace(cluster, rules=rules, continuation=laws)


def valued_cluster(seed: int) -> Cluster:
    """The same again, but in two of three tasks have a value, and drawn attempts raise alarms."""
    cluster = continued_cluster(seed)
    jobs, told = cluster.trace.column("tasks", "job"), np.random.default_rng([seed, 3])
    return replace(
        cluster,
        context=alarming(told, cluster.context, jobs),
        weights=valued(np.random.default_rng([seed, 2]), cluster.weights),
    )


def cluster_machines(trace: Trace) -> list[int]:
    """Rows of the machines that a cluster consists of."""
    if trace.rows("costs"):
        return sorted(set(trace.column("costs", "machine").tolist()))
    return list(range(trace.rows("machines")))


def cluster_size(trace: Trace) -> int:
    """How many machines a cluster consists of."""
    return len(cluster_machines(trace))


def runnable_tasks(trace: Trace) -> set[int]:
    """Tasks with an attempt to run: one that started, or one whose run time is known."""
    able = trace.present("attempts", "start") | trace.present("attempts", "length")
    return set(trace.column("attempts", "task")[able].tolist())


def random_trace(
    rng: np.random.Generator,
    grid: int,
    *,
    gangs: bool,
    theme: Theme,
    attempts: Attempts = random_attempts,
    speeds: Sequence[float] = (0.5, 0.7, 1.0, 1.5, 2.0),
) -> Trace:
    """One to six jobs of one to twelve tasks in all, each of one to six attempts; some workflows.

    In a smooth trace most tasks finish at once, so that workflows come far. Where tasks contend
    there are more of both, and many are wide.
    """
    few, many = int(rng.integers(1, 3)), int(rng.integers(1, 7))
    jobs = {"workflow": few, "crowded": 6, "contended": 12}.get(theme, many)
    fewest, most = {"mixed": (1, 12), "contended": (8, 18)}.get(theme, (4, 12))
    tasks = int(rng.integers(fewest, most + 1))
    smooth = theme != "mixed" or rng.random() < 0.5
    job = rng.integers(0, jobs, tasks)
    if rng.random() < 0.9:
        job = np.sort(job)
    latest = 30 if theme in ("mixed", "contended") else 10
    submit = np.sort(rng.integers(0, latest, jobs)) * grid
    lengths = rng.random() < 0.4
    rows = [
        row
        for t in range(tasks)
        for row in (
            _finishing(rng, t, int(submit[job[t]]), grid)
            if smooth and rng.random() < 0.8
            else attempts(rng, t, int(submit[job[t]]), grid, lengths)
        )
    ]
    slots, machines = _machines(rng, theme, speeds)
    used = list(range(len(slots)))
    costs = _costs(rng, tasks, used, grid)
    room = [slots[m] or 1 for m in used]
    widths = rng.choice([1, 1, 2, 2, 3, 6] if theme == "contended" else [1, 1, 1, 2, 3, 5], tasks)
    index = [int((job[:t] == job[t]).sum()) for t in range(tasks)]
    stage, stages, edges = _stages(rng, job, grid, likely=theme == "workflow")
    return Trace.of(
        Meta("random"),
        jobs=_jobs(rng, job, submit, grid),
        tasks={
            "job": job,
            "index": index if rng.random() < 0.9 else rng.permutation(tasks),
            "width": np.minimum(widths, sum(room) if gangs else max(room)),
            "stage": stage,
            "cpu": gappy(rng, rng.random(tasks)),
            "memory": gappy(rng, rng.random(tasks)),
            "disk": gappy(rng, rng.random(tasks)),
            "anti_affinity": gappy(rng, rng.random(tasks) < 0.5),
            "output_bytes": gappy(rng, rng.integers(0, 20, tasks) * 10),
        },
        attempts={name: [row[name] for row in rows] for name in rows[0]},
        windows=random_windows(rng, rows, grid) if rng.random() < 0.4 else {},
        machines=machines,
        outages=_outages(rng, len(slots), grid, often=theme == "workflow"),
        stages=stages,
        stage_edges=edges,
        costs=costs,
    )


def _finishing(rng: np.random.Generator, task: int, submit: int, grid: int) -> list[Columns]:
    """The record of a task that finishes at once."""
    row: Columns = dict.fromkeys(("queued", "start"), submit)
    end = submit + int(rng.integers(0, int(rng.choice([8, 25])))) * grid
    return [row | {"task": task, "end": end, "outcome": 0, "cause": None, "length": None}]


def random_scheduled_rules(
    rng: np.random.Generator, scheduler: str, grid: int, theme: Theme
) -> ScheduledRules:
    """Rules of the pinned world as in `random_rules`, and every switch of the scheduled one."""

    def switch(odds: float = 0.5) -> bool:
        return bool(rng.random() < odds)

    rules: dict[str, Any] = {
        **vars(random_rules(rng)),
        "kill": switch(0.4 if theme == "mixed" else 0.1),
        "give_up": switch(0.4),
        "scheduler": scheduler,
        "preemption": scheduler == "priority" and switch(1.0 if theme == "contended" else 0.7),
        "estimator": rng.choice(ESTIMATORS).item(),
        "history": int(rng.choice([1, 2, 16])),
        "correction": switch(),
        "walltime_kill": switch(0.3),
        "place": scheduler == "rank_hybd" and switch(0.7),
        "save_outputs": switch(0.8),
        "outputs": rng.choice(["kept", "lost", "lost"]).item(),
        # from a stream of its own: the seeds of clusters that once showed something stay theirs
        "unpersist": rng.spawn(1)[0].random() < 0.8,
        "rank_by": _rank_by(scheduler, rng.spawn(1)[0]),
        "detection_delay": int(rng.choice([0, 0, 1, 3, 20])) * grid,
        "replace": switch(0.2),
        "storage_streams": int(rng.choice([0, 1, 1, 2, 3])),
        "storage_bandwidth": float(rng.choice([0.0, 0.7, 1.0, 10.0])),
        "transfer_bandwidth": float(rng.choice([0.0, 0.3, 1.0, 10.0])),
        "completion": rng.choice(["tasks", "tasks", "jobs"]).item(),
    }
    return ScheduledRules(**rules)


def _rank_by(scheduler: str, rng: np.random.Generator) -> str:
    return "arrival" if scheduler == "rank_hybd" and rng.random() < 0.2 else "path"


def _machines(
    rng: np.random.Generator, theme: Theme, different: Sequence[float]
) -> tuple[list[int | None], Columns]:
    count = int(rng.integers(1, 3 if theme == "crowded" else 5))
    sizes = [2, 2, 3, 3, 4] if theme == "contended" else [1, 1, 2, 3, 5]
    slots: list[int | None] = [
        None if rng.random() < 0.1 else int(rng.choice(sizes)) for _ in range(count)
    ]
    speeds = [1.0] if rng.random() < 0.6 else list(different)
    return slots, {
        "original_id": [f"machine {m}" for m in range(count)],
        "slots": slots,
        "speed": rng.choice(speeds, count),
    }


def _outages(rng: np.random.Generator, machines: int, grid: int, *, often: bool) -> Columns:
    """One after another on each machine; some touch, some have no length, the last may not end."""
    table: Columns = {"machine": [], "down": [], "up": []}
    if not often and rng.random() < 0.3:
        return table
    for machine in range(machines):
        time = int(rng.integers(0, 20)) * grid
        for _ in range(int(rng.integers(3, 12) if often else rng.integers(0, 6))):
            length = int(rng.choice([0, 1, 2, 5, 15])) * grid
            forever = not often and rng.random() < 0.05
            table["machine"].append(machine)
            table["down"].append(time)
            table["up"].append(None if forever else time + length)
            if forever:
                break
            time += max(length, 1) + int(rng.choice([0, 1, 5, 20])) * grid
    order = rng.permutation(len(table["machine"]))
    return {name: [values[i] for i in order] for name, values in table.items()}


def _costs(rng: np.random.Generator, tasks: int, used: list[int], grid: int) -> Columns:
    """Nothing, or a time for every task on every machine, or on every machine but one."""
    if rng.random() < 0.75:
        return {}
    if len(used) > 1 and rng.random() < 0.3:
        used.pop(int(rng.integers(len(used))))
    return {
        "task": np.repeat(np.arange(tasks), len(used)),
        "machine": np.tile(used, tasks),
        "time": rng.integers(0, 12, tasks * len(used)) * grid,
    }


def _jobs(
    rng: np.random.Generator, job: np.ndarray[Any, Any], submit: np.ndarray[Any, Any], grid: int
) -> Columns:
    jobs = len(submit)
    return {
        "original_id": [f"job {i}" for i in range(jobs)],
        "submit": submit,
        "width": [max(1, int((job == i).sum()) + int(rng.integers(0, 2))) for i in range(jobs)],
        "outcome": rng.integers(0, 6, jobs),
        "priority": gappy(rng, rng.choice([-1, 0, 1, 2, 31, 40], jobs)),
        "scheduling_class": gappy(rng, rng.integers(0, 4, jobs)),
        "walltime": gappy(rng, rng.integers(0, 25, jobs) * grid),
        "user": gappy(rng, rng.choice(["u", "v"], jobs)),
        "name": gappy(rng, rng.choice(["x", "y"], jobs)),
        "queue": gappy(rng, rng.choice(["q", "r"], jobs)),
    }


def _stages(
    rng: np.random.Generator, job: np.ndarray[Any, Any], grid: int, *, likely: bool
) -> tuple[list[int | None], Columns, Columns]:
    """Of some jobs, one to four stages with narrow and wide edges, each task in one or in none."""
    stage: list[int | None] = [None] * len(job)
    stages: Columns = {"job": [], "stage": []}
    edges: Columns = {"parent": [], "child": [], "bytes": [], "wide": []}
    if not likely and rng.random() < 0.4:
        return stage, stages, edges
    for number in np.unique(job):
        if not likely and rng.random() < 0.3:
            continue
        first, count = len(stages["job"]), int(rng.integers(1, 5))
        names = rng.permutation(count) + first
        stages["job"] += [int(number)] * count
        stages["stage"] += list(range(count))
        for task in np.flatnonzero(job == number):
            stage[task] = None if rng.random() < 0.1 else int(rng.choice(names))
        links = [(a, b) for b in range(count) for a in range(b)]
        for parent, child in links:
            if rng.random() < 0.6 or (child == parent + 1 and rng.random() < 0.7):
                edges["parent"].append(int(names[parent]))
                edges["child"].append(int(names[child]))
                edges["bytes"].append(int(rng.choice([0, 1, 10, 40])) * grid)
                edges["wide"].append(bool(rng.random() < 0.5))
    return stage, stages, edges


def random_episode(
    rng: np.random.Generator, trace: Trace, grid: int
) -> tuple[tuple[int, ...], tuple[int, ...] | None, tuple[tuple[int, int], ...]]:
    """Tasks to play in any order, whose they are, and what stands."""
    order, able = rng.permutation(trace.rows("tasks")), runnable_tasks(trace)
    stand = int(rng.integers(0, min(3, len(order)))) if rng.random() < 0.3 else 0
    standing = tuple(
        (int(t), int(rng.integers(0, 10)) * grid) for t in order[:stand] if int(t) in able
    )
    rest = order[stand:]
    played = tuple(int(t) for t in rest if rng.random() < 0.9) or (int(rest[0]),)
    if rng.random() < 0.6:
        return played, None, standing
    own = tuple(t for t in played if rng.random() < 0.6) or played[:1]
    return played, own, standing


def random_predictions(
    rng: np.random.Generator, machines: int, grid: int
) -> NodePredictions | None:
    if rng.random() < 0.3:
        return None
    each: Sequence[Any] = [
        np.sort(rng.integers(0, 60, int(rng.integers(0, 6)))) * grid for _ in range(machines)
    ]
    offset = np.cumsum([0, *map(len, each)]).astype(np.int64)
    assert all(a <= b for a, b in pairwise(offset))
    return NodePredictions(offset, np.concatenate(each).astype(np.int64))
