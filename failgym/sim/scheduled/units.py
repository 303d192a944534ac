"""What a task, or a job, has cost so far: a decision is credited with its own unit's cost.

The unit is the task; where completion is that of jobs (``completion="jobs"``), the job. It is known
by its number within the episode: the index of the task among those of the episode, or of the job
among its jobs. The cost of a unit is made of the terms and prices of the episode's
(`failgym.sim.scheduled.accounts.costs`), and the costs of the units sum to it, but for its last:
what others cost is no unit's. What nobody is charged for costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.scheduled.records import JOB_STATE, TASK_STATE, Part
from failgym.sim.shared.jit import called, entry, held, list_at
from failgym.vocabulary import Outcome

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import State, World
    from failgym.sim.shared.records import Records

__all__ = ["unit_cost", "unit_of", "unit_table", "write_unit_costs"]

_FINISH = int(Outcome.FINISH)
_TASKS, _JOBS = int(Part.TASKS), int(Part.JOBS)


@called
def unit_of(w: World, local: int, tasks: Records) -> int:
    """Number of the unit that a decision about a task belongs to."""
    return tasks[local].job if w.parameters[0].by_job else local


@called
def _units_begun(w: World, ep: Any) -> int:
    """Units that may have cost something: the first ones."""
    return ep.jobs if w.parameters[0].by_job else ep.prepared


@called
def _weighted(
    w: World, wasted: int, overhead: int, time: int, forfeited_work: int, forfeited_time: int
) -> float:
    p = w.parameters[0]
    return (
        p.wasted * wasted
        + p.overhead * overhead
        + p.completion * max(time, 0)
        + p.forfeited_work * forfeited_work
        + p.forfeited_time * forfeited_time
    )


@called
def _job_cost(w: World, ep: Any, job: Any) -> float:
    if job.own == 0:
        return 0.0
    until = job.end if job.own_left == 0 else ep.now
    time = until - job.submit
    return _weighted(w, job.wasted, job.overhead, time, job.forfeited_work, job.forfeited_time)


@called
def _task_cost(w: World, ep: Any, task: Any) -> float:
    if not task.own:
        return 0.0
    record = w.tasks[task.task]
    wasted = task.lost + task.redundant + task.ghost
    time = (task.end if task.settled else ep.now) - record.submit
    work, lost_time = 0, 0
    if task.settled and task.outcome != _FINISH:
        work, lost_time = record.forfeit_work, record.forfeit_time
    return _weighted(w, wasted, task.checkpoint + task.restore, time, work, lost_time)


@called
def unit_cost(w: World, ep: Any, tasks: Records, jobs: Records, unit: int) -> float:
    """The cost of a unit of an episode up to now, at least 0."""
    if w.parameters[0].by_job:
        return _job_cost(w, ep, jobs[unit])
    return _task_cost(w, ep, tasks[unit])


@called
def write_unit_costs(w: World, ep: Any, tasks: Records, jobs: Records, costs: Any) -> None:
    """Write the costs of all units of an episode [units]; 0 beyond them, and before they arrive."""
    costs[:] = 0.0
    for unit in range(_units_begun(w, ep)):
        costs[unit] = unit_cost(w, ep, tasks, jobs, unit)


@entry
def unit_table(world: World, s: State, costs: Any, settled: Any) -> None:
    """Write the costs of the units of all episodes up to now, and which of them have settled.

    A task that has settled may still lose its output, where outputs are lost, and be computed
    again: that costs more.

    Args:
        costs: float64 [N, units]; 0 beyond the units of an episode.
        settled: bool [N, units]; True beyond.
    """
    w = held(world)
    for e in range(len(s.episodes)):
        ep, places = s.episodes[e], s.places[e]
        tasks = list_at(places[_TASKS, 0], places[_TASKS, 1], TASK_STATE)
        jobs = list_at(places[_JOBS, 0], places[_JOBS, 1], JOB_STATE)
        write_unit_costs(w, ep, tasks, jobs, costs[e])
        settled[e, :] = True
        if not w.parameters[0].by_job:
            settled[e, : ep.tasks] = False
        for unit in range(_units_begun(w, ep)):
            if w.parameters[0].by_job:
                settled[e, unit] = jobs[unit].own_left == 0
            else:
                settled[e, unit] = tasks[unit].settled
