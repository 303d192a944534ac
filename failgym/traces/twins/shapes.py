"""From jobs to tasks and attempts: what each job, task and attempt of a twin is made after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from failgym.traces.twins.lasting import Lasting
from failgym.traces.twins.record import Flags, Floats, Ints, Record
from failgym.traces.twins.rows import rows_of
from failgym.traces.twins.timeline import Timeline

__all__ = ["Shapes", "shapes"]

JITTER = 0.1
"""Standard deviation of the log of a job's times, besides its partner's share; chosen."""
SMOOTH = 0.25
"""The same, as a share of how far it is from a partner of its application; chosen: jobs of the
record are then no nearer to the twin's than others of their applications, and successive ones
still as alike."""
MOST_STRETCH = 2.0
"""What would have to be stretched or shortened more to end in its burst does not; chosen."""
WITHIN = 0.005
"""The same of a task's within its job; chosen, a quarter of what Google's tasks scatter."""
FEW = 5
"""Jobs of fewer tasks keep all of theirs; chosen."""


@dataclass(frozen=True)
class Shapes:
    """Tasks and attempts of a twin in order of job and task; times may lie behind its end."""

    job: Ints
    """of each task, (tasks,)"""
    task_donor: Ints
    task: Ints
    """of each attempt, (attempts,)"""
    donor: Ints
    queued: Ints
    """[ms]; of those that ask for none, their start or end"""
    start: Ints
    """[ms]; of those that never ran, their end"""
    end: Ints
    factor: Floats
    """by which its times are longer than its donor's"""
    continued: Flags
    """its donor was cut by the end of the record"""


def shapes(
    record: Record,
    plan: Timeline,
    partner: Ints,
    bursts: Ints,
    lasting: Lasting,
    rng: np.random.Generator,
) -> Shapes:
    """The tasks and attempts of the jobs of `plan`; `partner` [jobs of the record]."""
    factor, width = _mixed(record, plan, partner, lasting, rng)
    job, donor = _tasks(record, plan, width, rng)
    stretch = factor[job] * np.exp(WITHIN * rng.standard_normal(len(job)))
    stretch = np.where(record.at_limit[donor], 1.0, stretch)  # a limit is a habit
    whole = ~record.in_turn[donor]  # its waits are stretched too
    stretch = _to_the_moment(record, plan, job, donor, bursts, stretch, whole, rng)
    residual = lasting.residuals(plan.donor, rng)
    longer_wait = np.exp(JITTER * rng.standard_normal(len(width)))
    return _attempts(record, plan, job, donor, stretch, whole, residual, longer_wait)


def _mixed(
    record: Record, plan: Timeline, partner: Ints, lasting: Lasting, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    """How much longer each job is than its donor, and its number of tasks: between both."""
    donor, other = plan.donor, partner[plan.donor]
    share = rng.random(len(donor))
    run = record.job_run
    both = (run[donor] > 0) & (run[other] > 0)
    ratio = np.log(np.where(both, run[other], 1.0) / np.where(both, run[donor], 1.0))
    own = record.application[other] == record.application[donor]
    jitter = np.hypot(JITTER, np.where(own, SMOOTH * ratio, 0.0))
    factor = np.exp(share * ratio + jitter * rng.standard_normal(len(donor)))
    factor *= lasting.beyond(run[donor] * factor, rng)
    mixed = (1 - share) * np.log(record.tasks[donor]) + share * np.log(record.tasks[other])
    keeps = record.staged[donor] | (record.tasks[donor] <= 1)
    width = np.where(keeps, record.tasks[donor], np.rint(np.exp(mixed)).clip(2))
    return factor, width.astype(np.int64)


def _tasks(
    record: Record, plan: Timeline, width: Ints, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """The job and the donor of each task: drawn with replacement in jobs of more than a few."""
    job = np.repeat(np.arange(len(width)), width)
    within = np.arange(len(job)) - np.repeat(np.cumsum(width) - width, width)
    has = record.tasks[plan.donor][job]
    drawn = np.floor(rng.random(len(job)) * has).astype(np.int64)
    kept = record.staged[plan.donor][job] | (has < FEW)
    place = np.where(kept, within % has.clip(1), drawn)
    order = np.lexsort((place, job))
    return job, record.task_order[record.task_begin[plan.donor][job] + place[order]]


def _to_the_moment(
    record: Record,
    plan: Timeline,
    job: Ints,
    donor: Ints,
    bursts: Ints,
    stretch: Floats,
    whole: Flags,
    rng: np.random.Generator,
) -> Floats:
    """How each task's times are stretched: those that ended in a burst all end in it again.

    A burst is moved by as much as its jobs' times, at random. Notes in `whole` that waits of such
    tasks are stretched with the rest.
    """
    first = np.full(record.trace.rows("tasks"), -1, dtype=np.int64)
    inside = np.flatnonzero(bursts >= 0)[::-1]
    first[record.trace.column("attempts", "task")[inside]] = inside
    attempt = first[donor]
    held = np.flatnonzero(attempt >= 0)
    if not len(held):
        return stretch
    epoch, chosen, of = plan.epoch[job[held]], attempt[held], plan.donor[job[held]]
    moved = JITTER * rng.standard_normal((int(plan.epoch.max()) + 1, int(bursts.max()) + 1))
    end = record.trace.column("attempts", "end")[chosen] + epoch * record.period
    wanted = end + moved[epoch, bursts[chosen]] * _typical(record) - plan.submit[job[held]]
    since = (record.trace.column("attempts", "end")[chosen] - record.submit[of]).clip(1)
    factor = wanted / since
    near = (factor > 1.0 / MOST_STRETCH) & (factor < MOST_STRETCH)
    stretch = stretch.copy()
    whole[held[near]], stretch[held[near]] = True, factor[near]
    return stretch


def _typical(record: Record) -> float:
    """The median run time [ms]."""
    ran = record.run[record.run > 0]
    return float(np.median(ran)) if len(ran) else 0.0


def _attempts(
    record: Record,
    plan: Timeline,
    job: Ints,
    donor: Ints,
    stretch: Floats,
    whole: Flags,
    residual: Floats,
    longer_wait: Floats,
) -> Shapes:
    """The attempts of the tasks: their donors' run times, stretched, and waits, as much longer as
    `longer_wait` says of each job.

    Of tasks that are taken `whole`, all times since submission of the job are stretched.
    """
    task, within, attempt = rows_of(record.trace.task_first, donor)
    factor, unit = stretch[task], record.unit
    base, origin = plan.submit[job[task]], record.submit[plan.donor[job[task]]]
    end = record.trace.column("attempts", "end")[attempt].astype(np.int64)
    ran = record.trace.present("attempts", "start")[attempt]
    begin = np.where(ran, record.trace.column("attempts", "start")[attempt], end)
    queued = record.queued[attempt]

    unasked = (within == 0) & ~record.trace.present("attempts", "queued")[attempt]
    waited = begin - np.where(unasked, np.minimum(origin, begin), queued)
    wait = _longer(waited, longer_wait[job[task]], record.wait_unit)
    more = _longer(record.run[attempt], factor, unit)
    before = _sum_before(wait + more, within)

    def moved(times: Ints, later: Ints) -> Ints:
        stretched = np.rint((times - origin) * factor / unit).astype(np.int64) * unit
        return base + np.where(whole[task], stretched, times - origin + later)

    start = moved(begin, before + wait)
    ended = np.maximum(moved(end, before + wait + more), start + (ran & (end > begin)) * unit)
    continued = record.censored[attempt]
    late = np.where(continued, residual[job[task]], 0.0).astype(np.int64) // unit * unit
    return Shapes(
        job=job,
        task_donor=donor,
        task=task,
        donor=attempt,
        queued=np.minimum(moved(queued, before), start),
        start=start,
        end=ended + late,
        factor=factor,
        continued=continued,
    )


def _longer(time: Ints, by: Floats, unit: int) -> Ints:
    """How much longer times become [ms]: by a unit at least, if that is not much of them."""
    more = np.rint(time * (by - 1.0) / unit)
    least = np.where(JITTER * time >= unit, np.sign(by - 1.0), 0.0)
    return np.where(more == 0.0, least, more).astype(np.int64) * unit


def _sum_before(values: Ints, within: Ints) -> Ints:
    """The sum of the values of the same task before each, `within` its number in its task."""
    total = np.cumsum(values) - values
    return total - total[np.arange(len(values)) - within]
