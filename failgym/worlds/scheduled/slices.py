"""Step 8: whose tasks a slice asks about, and what else is in the cluster with them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.compile import EpisodeTasks
from failgym.sim.scheduled.records import World
from failgym.traces import Trace
from failgym.worlds.scenario import Scenario
from failgym.worlds.scheduled.strikes import job_order

__all__ = ["slices_of"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def slices_of(scenario: Scenario, trace: Trace, world: World, chosen: Bools) -> list[EpisodeTasks]:
    """The slices of a scenario over the chosen tasks [tasks of the trace], by submission."""
    if scenario.slice_jobs:
        return _of_jobs(scenario, trace, world, chosen)
    return _of_tasks(scenario, trace, world, chosen)


def _of_jobs(scenario: Scenario, trace: Trace, world: World, chosen: Bools) -> list[EpisodeTasks]:
    """Slices of whole jobs, with nothing else in the cluster."""
    job = world.tasks["job"]
    wanted = np.zeros(trace.rows("jobs"), dtype=np.bool_)
    wanted[job[chosen]] = True
    order = job_order(trace)
    order = order[wanted[order]]
    runs = np.flatnonzero(world.tasks["rows"] > 0)
    runs = runs[np.argsort(job[runs], kind="stable")]
    first = np.searchsorted(job[runs], np.arange(len(wanted) + 1))
    none = np.zeros((0, 2), dtype=np.int64)
    slices: list[EpisodeTasks] = []
    for begin in range(0, len(order), scenario.slice_jobs):
        jobs = order[begin : begin + scenario.slice_jobs].tolist()
        tasks = np.concatenate([runs[first[j] : first[j + 1]] for j in jobs])
        slices.append(EpisodeTasks(tasks, chosen[tasks], none))
    return slices


def _of_tasks(scenario: Scenario, trace: Trace, world: World, chosen: Bools) -> list[EpisodeTasks]:
    """Slices of tasks in order of submission, and what is in the cluster with them.

    Those before, after and among them, and those that stood when the first was submitted.
    """
    runs = np.flatnonzero(world.tasks["rows"] > 0)
    submit = world.tasks["submit"][runs]
    order = np.lexsort((runs, submit))
    runs, submit = runs[order], submit[order]
    at, over = np.flatnonzero(chosen[runs]), _last_ends(trace)
    slices: list[EpisodeTasks] = []
    for i in range(0, len(at), scenario.slice_tasks):
        own = at[i : i + scenario.slice_tasks]
        begin = max(int(own[0]) - scenario.warmup, 0)
        moment = int(submit[begin])
        begin = int(np.searchsorted(submit, moment))  # with all submitted in it
        tasks = runs[begin : int(own[-1]) + 1 + scenario.followers]
        asked = np.zeros(len(tasks), dtype=np.bool_)
        asked[own - begin] = True
        standing = _standing(trace, world, over, moment)
        slices.append(EpisodeTasks(tasks, asked, standing))
    return slices


def _standing(trace: Trace, world: World, over: Ints, time: int) -> Ints:
    """Tasks submitted before a time that the record has not done with, and what is left of them.

    Args:
        trace: the record.
        world: the same, compiled.
        over: [tasks] when the record of each is over [ms].
        time: [ms].

    Returns:
        Trace row and run time still to come in the record [ms], int64 [standing, 2].
    """
    known = (world.tasks["submit"] < time) & (world.tasks["rows"] > 0)
    tasks = np.flatnonzero(known & (over > time))
    first, last = trace.task_first[tasks], trace.task_first[tasks + 1]
    of = np.repeat(np.arange(len(tasks)), last - first)
    attempt = np.arange(len(of)) - np.repeat(np.cumsum(last - first) - last, last - first)
    start = trace.column("attempts", "start", missing=-1)[attempt]
    end = trace.column("attempts", "end")[attempt]
    spent = np.where(start >= 0, np.maximum(end - np.maximum(start, time), 0), 0)
    left = np.bincount(of, spent, len(tasks)).astype(np.int64)
    return np.stack([tasks, left], axis=1)[left > 0]


def _last_ends(trace: Trace) -> Ints:
    """When the record of each task is over [ms]."""
    last = np.zeros(trace.rows("tasks"), dtype=np.int64)
    np.maximum.at(last, trace.column("attempts", "task"), trace.column("attempts", "end"))
    return last
