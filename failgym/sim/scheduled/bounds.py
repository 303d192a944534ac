"""Lower bounds of what an episode of a scheduled world can cost, whatever is decided.

In a loaded cluster tasks are in each other's way, and the cheapest plan is out of reach. What is
sure to be paid is not. Every number here is at most that of any policy, by these arguments:

- *Success.* A task that finishes has occupied slots for at least `Fates.success`: its attempts run
  in order of their rows, each only after another one has ended without success, but for the extra
  ones that the caps allow; and none is shorter than on the fastest machine. Where progress can be
  saved, an attempt may resume from as much of the work as was done before, which took its time.
  Queues, transfers, restores, pauses, evictions and outages only add to that. See
  `failgym.sim.scheduled.fates`.
- *No success.* It then settles because it is killed, given up, out of attempts, out of walltime,
  cut off by a parent task, or stranded by machines that never come back; `Fates.failure` is the
  earliest of those that the rules and the record allow. If the record finishes it, the forfeit is
  due.
- *Critical path.* No task starts before its submission, nor before all its parent tasks have
  finished: the longest path of least times through the workflow is the earliest finish.
- *Work.* A task that cannot but finish keeps `width` slots busy for `success`, after its earliest
  start. One machine as fast as all slots that are up together, which may interrupt and divide
  tasks as it likes, does no worse than the cluster. On it, to serve what has the least work left
  leaves the fewest tasks undone at any moment, however fast it is by then (Schrage, 1968), and so
  gives the least sum of completion times. The same holds of jobs.
- *A continued record.* Its fates are fixed before anybody acts, so the least time in which a task
  can succeed is known (`failgym.sim.scheduled.least`). That it settles otherwise is taken to be
  possible at once, and to waste nothing.
- *Waste.* Without checkpoints all work of attempts that ended without success is wasted; of a task
  that does not finish, all work is, saved or not. Overhead, transfers and the rest are at least 0.
- *Others*, where the episode is charged for them (``charge="episode"``), are bounded together with
  its own, in one cluster. What stands at the beginning is not counted, nor what the data cut.

The cost of a task is at least the cheaper of success and no success. Bounds of the terms are added
up task by task (job by job where jobs are charged), so that their sum is a bound of the
cost; a single term is not a bound of that term.
"""

from __future__ import annotations

import heapq
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.fates import Fates, fates, kill_limit
from failgym.sim.scheduled.records import World
from failgym.vocabulary import NEVER, TERMS

__all__ = ["Capacity", "Earliest", "earliest", "least_costs", "shortest_first"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_OTHERS = TERMS.index("others")


class Earliest(NamedTuple):
    """When each task of an episode can start and finish, and whether it must, [members] each."""

    tasks: Ints
    """trace rows"""
    start: Floats
    """[ms]"""
    finish: Floats
    """[ms]; inf if it cannot"""
    must: Bools
    """can it settle in no other way?"""
    cut_off: Bools
    """may a parent task settle in another way?"""


def earliest(world: World, episode: int, fate: Fates) -> Earliest:
    """Follow the critical paths of an episode's workflows.

    Args:
        world: a compiled world with episodes.
        episode: its number.
        fate: the `fates` of the world.
    """
    at = slice(world.member_at[episode], world.member_at[episode + 1])
    tasks, standing = world.members[at], world.member_remaining[at] >= 0
    n = len(world.tasks)
    start, finish = np.full(n, -np.inf), np.full(n, -np.inf)
    limit = np.full(n, np.inf)
    limit[tasks] = np.where(standing, np.inf, kill_limit(world.tasks[tasks]))
    start[tasks] = world.tasks["submit"][tasks]
    doubt, cut_off = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)

    def run(chosen: Ints) -> None:
        least = start[chosen] + fate.success[chosen]
        finish[chosen] = np.where(least > limit[chosen], np.inf, least)
        otherwise = np.isfinite(fate.failure[chosen]) | ~np.isfinite(finish[chosen])
        doubt[chosen] = otherwise | cut_off[chosen]

    run(tasks)
    finish[tasks[standing]] = -np.inf
    doubt[tasks[standing]] = False
    present = np.zeros(n, dtype=np.bool_)
    present[tasks[~standing]] = True
    for stage in _stages_of(world, tasks):
        here = _tasks_of(world, stage)
        for edge in _edges_into(world, stage):
            parents = _tasks_of(world, edge["stage"])
            if len(parents):
                wide = bool(edge["wide"])
                ready = _over_parents(finish[parents], len(here), wide)
                start[here] = np.maximum(start[here], ready)
                unsure = _over_parents(doubt[parents].astype(np.float64), len(here), wide)
                cut_off[here] |= unsure > 0.0
        run(here[present[here]])
    return Earliest(tasks, start[tasks], finish[tasks], ~doubt[tasks], cut_off[tasks])


def _edges_into(world: World, stage: Any) -> Any:
    """The incoming edges of a stage, EDGE."""
    here = world.dags.stages[stage]
    return world.dags.inputs[here["inputs_from"] : here["inputs_to"]]


def _stages_of(world: World, tasks: Ints) -> Ints:
    """The stages of some tasks, parents first."""
    if not len(world.dags.stages):
        return np.zeros(0, dtype=np.int64)
    stages = np.unique(world.dags.stage[tasks])
    stages = stages[stages >= 0]
    return stages[np.argsort(world.dags.stages["level"][stages], kind="stable")]


def _tasks_of(world: World, stage: Any) -> Ints:
    return world.dags.tasks[world.dags.task_at[stage] : world.dags.task_at[stage + 1]]


def _over_parents(values: Floats, children: int, wide: bool) -> Floats:
    """The largest value among the parent tasks of each child task of an edge, [children]."""
    if wide:
        return np.full(children, values.max())
    n, child = len(values), np.arange(children)
    bounds = np.stack([child * n // children, -((child + 1) * -n // children)], axis=1)
    return np.maximum.reduceat(np.append(values, -np.inf), bounds.ravel())[::2]


class Capacity(NamedTuple):
    """Machine-time that the slots of the machines that are up offer, up to any moment."""

    time: Floats
    """[changes] when the number of slots changes, ascending from 0 [ms]"""
    slots: Floats
    """[changes] from then on"""
    offered: Floats
    """[changes] machine-time until then [ms]"""

    @classmethod
    def of(cls, world: World) -> Capacity:
        """The capacity of the cluster of a world."""
        down, up = world.outages["down"], world.outages["up"]
        slots = world.machines["slots"][world.outages["machine"]].astype(np.float64)
        back = up < NEVER
        time = np.concatenate([[0.0], down, up[back]])
        change = np.concatenate([[float(world.machines["slots"].sum())], -slots, slots[back]])
        order = np.argsort(time, kind="stable")
        present = np.cumsum(change[order])
        offered = np.cumsum(np.diff(time[order], prepend=0.0) * np.append(0.0, present[:-1]))
        return cls(time[order], present, offered)

    def until(self, time: Floats) -> Floats:
        """Machine-time offered until some moments."""
        i = np.searchsorted(self.time, time, side="right") - 1
        return self.offered[i] + (time - self.time[i]) * self.slots[i]

    def reached(self, offered: Floats) -> Floats:
        """When so much machine-time has been offered, at the earliest [ms]."""
        i = np.maximum(np.searchsorted(self.offered, offered, side="left") - 1, 0)
        missing = offered - self.offered[i]
        return self.time[i] + np.divide(
            missing, self.slots[i], out=np.zeros(len(missing)), where=missing > 0
        )


def shortest_first(release: Floats, work: Floats) -> Floats:
    """When a machine is done with tasks, ascending, if it serves what has the least work left.

    It does one unit of work per unit of time and changes over as tasks are released.
    """
    order = np.argsort(release, kind="stable")
    left: list[float] = []
    done: list[float] = []
    now, i = 0.0, 0
    times, works = release[order].tolist(), work[order].tolist()
    while i < len(times) or left:
        if not left:
            now = max(now, times[i])
        while i < len(times) and times[i] <= now:
            heapq.heappush(left, works[i])
            i += 1
        smallest = heapq.heappop(left)
        if i < len(times) and times[i] < now + smallest:
            heapq.heappush(left, smallest - (times[i] - now))
            now = times[i]
        else:
            now += smallest
            done.append(now)
    return np.array(done)


def _served(release: Floats, work: Floats, capacity: Capacity) -> float:
    """The least sum of the times at which tasks are done, of all orders of serving them [ms]."""
    return float(capacity.reached(shortest_first(capacity.until(release), work)).sum())


class _Choice(NamedTuple):
    """Tasks of an episode and what either way to settle costs, [tasks] each."""

    submit: Floats
    job: Ints
    settle: Floats
    """[tasks, 2] earliest, with success and without [ms]; inf if it cannot be, -inf if before it
    arrives"""
    wasted: Floats
    """[tasks, 2] cost"""
    forfeited: Floats
    """[tasks, 2] cost"""
    start: Floats
    must: Bools
    work: Floats
    """machine-time if it succeeds [ms]"""


def _choices(world: World, episode: int, fate: Fates, found: Earliest, own: Bools) -> _Choice:
    """What some of the tasks of an episode may do; ``own``: [members] which."""
    at = slice(world.member_at[episode], world.member_at[episode + 1])
    p, chosen, finish = world.parameters[0], found.tasks[own], found.finish[own]
    tasks = world.tasks[chosen]
    submit, width = tasks["submit"].astype(np.float64), tasks["width"].astype(np.float64)
    stuck = found.cut_off[own] | (~np.isfinite(finish) & ~np.isfinite(fate.failure[chosen]))
    failure = np.where(stuck, -np.inf, fate.failure[chosen])
    waste = np.where(stuck, 0.0, fate.failure_waste[chosen])
    forfeit = (
        p["forfeited_work"] * tasks["forfeit_work"] + p["forfeited_time"] * tasks["forfeit_time"]
    )
    return _Choice(
        submit=submit,
        job=world.member_job[at][own].astype(np.int64),
        settle=np.stack([finish, submit + failure], axis=1),
        wasted=p["wasted"] * width[:, None] * np.stack([fate.success_waste[chosen], waste], axis=1),
        forfeited=np.stack([np.zeros(len(chosen)), forfeit], axis=1),
        start=found.start[own],
        must=found.must[own],
        work=width * fate.success[chosen],
    )


def _charge_tasks(c: _Choice, p: Any, capacity: Capacity) -> Floats:
    """Cost terms where the unsettled time of tasks is charged."""
    possible, settles = c.settle < np.inf, np.maximum(c.settle, c.submit[:, None])
    cost = c.wasted + c.forfeited + p["completion"] * np.where(possible, settles, 0.0)
    way = np.argmin(np.where(possible, cost, np.inf), axis=1)[:, None]
    settle = np.take_along_axis(settles, way, axis=1)[:, 0]
    must = c.must
    served = _served(c.start[must], c.work[must], capacity)
    total = settle[~must].sum() + max(float(settle[must].sum()), served)
    wasted, forfeited = (np.take_along_axis(x, way, axis=1).sum() for x in (c.wasted, c.forfeited))
    return np.array([wasted, 0.0, p["completion"] * (total - c.submit.sum()), forfeited, 0.0])


def _charge_jobs(c: _Choice, p: Any, capacity: Capacity) -> Floats:
    """Cost terms where the unsettled time of jobs is charged."""
    wasted, forfeited, submits, free, bound = 0.0, 0.0, 0.0, 0.0, 0.0
    released: list[float] = []
    works: list[float] = []
    for job in np.unique(c.job).tolist():
        own = np.flatnonzero(c.job == job)
        must = own[c.must[own]]
        begin = float(c.submit[own].min())
        floor = max(begin, _work_bound(c, must, capacity))
        settle, lost, given = _cheapest_job(c, own, floor, p)
        wasted, forfeited, submits = wasted + lost, forfeited + given, submits + begin
        if len(must) == len(own):
            bound += settle
            released.append(float(c.start[must].min()))
            works.append(float(c.work[must].sum()))
        else:
            free += settle
    served = _served(np.array(released), np.array(works), capacity)
    total = free + max(bound, served) - submits
    return np.array([wasted, 0.0, p["completion"] * total, forfeited, 0.0])


def _work_bound(c: _Choice, must: Ints, capacity: Capacity) -> float:
    """When all of some tasks can be done: what starts no earlier than t has its work from then."""
    if not len(must):
        return 0.0
    late = must[np.argsort(-c.start[must], kind="stable")]
    return float(capacity.reached(capacity.until(c.start[late]) + np.cumsum(c.work[late])).max())


def _cheapest_job(c: _Choice, own: Ints, floor: float, p: Any) -> tuple[float, float, float]:
    """When a job settles at the least cost, and its costs of waste and forfeits.

    Every task goes either way; the job settles with its last task. The deadline is raised from one
    time to settle to the next, each task taking the cheaper of the ways that are open by then.
    """
    order = np.argsort(c.settle[own].ravel(), kind="stable")
    chosen: dict[int, tuple[float, float]] = {}
    lost, given, best = 0.0, 0.0, (math.inf, 0.0, 0.0, 0.0)
    for at in order.tolist():
        task, way = int(own[at // 2]), at % 2
        time, costs = float(c.settle[task, way]), (c.wasted[task, way], c.forfeited[task, way])
        if time == math.inf:
            break
        before = chosen.get(task)
        if before is None or sum(costs) < sum(before):
            chosen[task] = costs
            lost += costs[0] - (before[0] if before else 0.0)
            given += costs[1] - (before[1] if before else 0.0)
        if len(chosen) == len(own):
            settled = max(time, floor)
            best = min(best, (lost + given + p["completion"] * settled, settled, lost, given))
    return best[1:]


def least_costs(world: World) -> Floats:
    """Least cost of each episode, [episodes, 5], in the order of `TERMS`.

    Their sum is at most the cost of any policy in that episode; weighted as in the world.

    Args:
        world: a compiled world with episodes.
    """
    p, fate = world.parameters[0], fates(world)
    charge = _charge_jobs if p["by_job"] else _charge_tasks
    capacity = Capacity.of(world)
    episodes = len(world.member_at) - 1
    out = np.zeros((episodes, len(TERMS)))
    for i in range(episodes):
        at = slice(world.member_at[i], world.member_at[i + 1])
        found, own = earliest(world, i, fate), world.member_own[at]
        if own.any():
            choices = _choices(world, i, fate, found, own)
            out[i] = np.maximum(charge(choices, p, capacity), 0.0)  # rounding errors
        if p["others"]:
            counted = (world.member_remaining[at] < 0) & ~world.tasks["censored"][found.tasks]
            choices = _choices(world, i, fate, found, counted)
            everything = charge(choices, p, capacity).sum() if counted.any() else 0.0
            out[i, _OTHERS] = max(everything - out[i].sum(), 0.0)
    return out
