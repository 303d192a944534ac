"""From generated columns to a `Trace` in its canonical order."""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.traces.synthetic.quantiles import Flags, first_of_group
from failgym.traces.trace import Meta, Trace


def in_order(
    meta: Meta,
    *,
    jobs: dict[str, Any],
    tasks: dict[str, Any],
    attempts: dict[str, Any],
    seen: Flags,
) -> Trace:
    """The trace of these columns, without the attempts not `seen` and without tasks that have none.

    Jobs come in order of submission, tasks in order of job and index, attempts in order of their
    task and number, each with `queued`. Tasks are put in order of (first queued, job, index).
    """
    task = np.asarray(attempts["task"])
    count = np.bincount(task)
    first = first_of_group(count)
    present = np.flatnonzero(seen[first])
    queued = np.asarray(attempts["queued"])[first[present]]
    order = present[np.lexsort((present, queued))]
    row = np.full(len(count), -1)
    row[order] = np.arange(len(order))
    kept = np.flatnonzero(seen)
    kept = kept[np.argsort(row[task[kept]], kind="stable")]
    rows = {name: values[kept] for name, values in attempts.items()}
    rows["task"] = row[task[kept]]
    columns = {
        name: values if np.isscalar(values) else values[order] for name, values in tasks.items()
    }
    return Trace.of(meta, jobs=jobs, tasks=columns, attempts=rows)
