"""Requests that too few jobs have in common, and those that stand for them."""

from __future__ import annotations

import numpy as np

from failgym.traces.twin.record import Ints, Record

__all__ = ["common"]


def common(record: Record, private: int) -> Ints:
    """Whose request each task has in a twin, (tasks,): its own if so many jobs have it.

    Else that of the nearest task, in order of (cpu, memory, disk), whose request they have.
    """
    tasks = record.trace.rows("tasks")
    own = np.arange(tasks)
    columns = [record.trace.column("tasks", name, missing=-1.0) for name in ("cpu", "memory", "disk")]
    if private < 2 or not tasks:
        return own
    request = np.unique(np.stack(columns), axis=1, return_inverse=True)[1].ravel()
    job = record.trace.column("tasks", "job")
    pairs = np.unique(np.stack([request, job]), axis=1)[0]
    known = np.bincount(pairs, minlength=int(request.max()) + 1) >= private
    if not known.any():
        return own
    of_request = np.zeros(len(known), dtype=np.int64)
    of_request[request[::-1]] = own[::-1]
    codes = np.flatnonzero(known)
    after = np.searchsorted(codes, np.arange(len(known))).clip(max=len(codes) - 1)
    return np.where(known[request], own, of_request[codes[after]][request])
