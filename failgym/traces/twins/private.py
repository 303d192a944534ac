"""What a private twin keeps to itself: applications and requests of too few jobs."""

from __future__ import annotations

import numpy as np

from failgym.traces.schema import TraceError
from failgym.traces.twins.partners import in_likeness
from failgym.traces.twins.record import Flags, Floats, Ints, Record
from failgym.traces.twins.rows import begins

__all__ = ["COLUMNS", "rare", "requests", "stand_ins"]

COLUMNS = ("cpu", "memory", "disk", "gpu")


def rare(record: Record, private: int) -> Flags:
    """Jobs of applications with fewer than `private` jobs, (jobs,)."""
    return np.bincount(record.application)[record.application] < private


def stand_ins(record: Record, private: int, donor: Ints, rng: np.random.Generator) -> Ints:
    """After which job each of a twin is made that was to be made after `donor`, (jobs,): after it,
    but for those of rare applications.

    All applications are put in groups of at least `private` that are alike. For a job of a rare one
    an application of its group is drawn, and a job of that.

    Raises:
        TraceError: if there are fewer applications.
    """
    hidden = rare(record, private)[donor]
    if not hidden.any():
        return donor
    application = record.application[in_likeness(record)]
    number, first = np.unique(application, return_index=True)
    if len(number) < private:
        raise TraceError(
            f"private is {private}, expected at most {len(number)}, the number of applications"
        )
    alike = number[np.argsort(first)]
    place = np.empty_like(alike)
    place[alike] = np.arange(len(alike))
    group = place[record.application[donor]] // private
    group = np.minimum(group, len(alike) // private - 1)
    size = np.where(group == len(alike) // private - 1, len(alike) - group * private, private)
    drawn = alike[group * private + np.floor(rng.random(len(donor)) * size).astype(np.int64)]
    jobs = np.argsort(record.application, kind="stable")
    begin = begins(record.application[jobs], len(alike))
    within = np.floor(rng.random(len(donor)) * np.diff(begin)[drawn]).astype(np.int64)
    return np.where(hidden, jobs[begin[drawn] + within], donor)


def requests(record: Record, private: int) -> dict[str, Floats]:
    """What each task of the record requests in a twin, NaN for nothing stated, (tasks,) each.

    Its own request if at least `private` jobs have it. Others are put together in order of (cpu,
    memory, disk, gpu), until so many jobs are in a group, and a group requests its mean
    (microaggregation: Domingo-Ferrer and Mateo-Sanz, IEEE TKDE 2002). If all of these are fewer
    jobs, each requests what the next one in that order does that so many jobs have.
    """
    own = {name: record.trace.column("tasks", name, missing=np.nan).copy() for name in COLUMNS}
    if private < 2 or not record.trace.rows("tasks"):
        return own
    filled = np.stack([np.nan_to_num(values, nan=-1.0) for values in own.values()])
    _, first, request = np.unique(filled, axis=1, return_index=True, return_inverse=True)
    request = request.ravel()
    of_jobs = _jobs_of(record, request)
    jobs = np.array([len(some) for some in of_jobs])
    rare = np.flatnonzero(jobs < private)
    if len({job for one in rare for job in of_jobs[one].tolist()}) < private:
        return _as_the_next(own, first, request, rare)
    group = np.full(len(jobs), -1)
    group[rare] = _groups([of_jobs[one] for one in rare], private)
    of = group[request]
    for values in own.values():
        known = np.isfinite(values[first[rare]])
        count = np.bincount(group[rare], known)
        total = np.bincount(group[rare], np.nan_to_num(values[first[rare]]))
        mean = np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
        values[of >= 0] = mean[of[of >= 0]]
    return own


def _as_the_next(
    own: dict[str, Floats], first: Ints, request: Ints, rare: Ints
) -> dict[str, Floats]:
    """Requests in which each rare one is the next one in order that is not, or the last of these;
    `first` is a task with each, `request` that of each task.
    """
    common = np.setdiff1d(np.arange(len(first)), rare)
    stands = np.arange(len(first))
    stands[rare] = common[np.searchsorted(common, rare).clip(max=len(common) - 1)]
    return {name: values[first[stands[request]]] for name, values in own.items()}


def _jobs_of(record: Record, request: Ints) -> list[Ints]:
    """The jobs with each request, (requests,)."""
    number, job = np.unique(np.stack([request, record.trace.column("tasks", "job")]), axis=1)
    return np.split(job, np.cumsum(np.bincount(number))[:-1])


def _groups(jobs: list[Ints], private: int) -> Ints:
    """The group of each of some requests in order, of so many different jobs at least; the jobs
    with each.
    """
    group, number = np.zeros(len(jobs), dtype=np.int64), 0
    inside = set[int]()
    for at, some in enumerate(jobs):
        group[at] = number
        inside.update(some.tolist())
        if len(inside) >= private:
            inside, number = set[int](), number + 1
    return np.minimum(group, max(number - 1, 0))
