"""Which job another is mixed with: the nearest of its application, else of the whole record."""

from __future__ import annotations

import numpy as np

from failgym.traces.twins.record import Flags, Floats, Ints, Record

__all__ = ["by_application", "in_likeness", "partners"]


def by_application(record: Record) -> tuple[Ints, Ints]:
    """The jobs in order of (application, submission), and the place of each in it, (jobs,) each."""
    order = np.lexsort((np.arange(len(record.submit)), record.submit, record.application))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return order, place


def partners(record: Record, rare: Flags, rng: np.random.Generator) -> Ints:
    """A partner for each job, (jobs,): another that ended alike.

    It is the next or the one before in its application, at random, if that is not `rare` (jobs,);
    else one of the nearest in the whole record; itself if there is none like it.
    """
    order, place = by_application(record)
    near = _beside(order, place, rng)
    own = (
        (record.application[near] == record.application)
        & (record.outcome[near] == record.outcome)
        & (near != np.arange(len(near)))
        & ~rare
    )
    return np.where(own, near, _alike(record, rng))


def _beside(order: Ints, place: Ints, rng: np.random.Generator) -> Ints:
    step = np.where(rng.random(len(place)) < 0.5, -1, 1)
    return order[(place + step).clip(0, len(order) - 1)]


def in_likeness(record: Record) -> Ints:
    """The jobs in an order in which those beside each other are alike, (jobs,): by ending, stock,
    width class, priority, request and run time.
    """
    first = record.task_order[record.task_begin[:-1].clip(max=max(len(record.task_order) - 1, 0))]
    memory = record.trace.column("tasks", "memory", missing=0.0)
    priority = record.trace.column("jobs", "priority")
    some = memory[first] if len(memory) else np.zeros(len(first))
    keys = (record.job_run, some, priority, _size(record.tasks), record.stock, record.outcome)
    return np.lexsort(keys)


def _alike(record: Record, rng: np.random.Generator) -> Ints:
    """One of the nearest jobs; itself if it ended otherwise or is of another width class."""
    order = in_likeness(record)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    near = _beside(order, place, rng)
    same = (record.outcome[near] == record.outcome) & (record.stock[near] == record.stock)
    same &= _size(record.tasks[near]) == _size(record.tasks)
    return np.where(same, near, np.arange(len(near)))


def _size(tasks: Ints) -> Floats:
    """The width of a job in powers of four."""
    return np.ceil(np.log2(tasks.clip(1)) / 2.0)
