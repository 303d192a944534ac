"""From generated columns to a `Trace` in its canonical order; columns that all traces have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from failgym.arrow import pa
from failgym.traces.synthetic.quantiles import Flags, Ints, first_of_group, position_in_group
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace
from failgym.vocabulary import DAY


def meta_of(name: str, citation: str, span: int, remarks: Mapping[str, str] | None = None) -> Meta:
    """What a trace of `span` ms says of itself."""
    return Meta(
        source=f"synthetic: {name}",
        licence="MIT",
        citation=citation,
        time_origin=f"synthetic; {span / DAY:.2f} days",
        end=span,
        remarks=remarks or {},
    )


def identifiers(n: int) -> list[str]:
    """The original ids of `n` jobs, in their order."""
    return [f"{number:09d}" for number in range(n)]


def texts(values: Sequence[str], code: Ints, missing: Flags | None = None) -> Any:
    """A column of texts, each one of `values`."""
    column: Any = pa.array(values, type=pa.string()).take(pa.array(code, mask=missing))
    return column


def in_order(
    meta: Meta,
    *,
    jobs: dict[str, Any],
    tasks: dict[str, Any],
    attempts: dict[str, Any],
    seen: Flags,
    **others: Mapping[str, Any],
) -> Trace:
    """The trace of these columns, without the attempts not `seen` and without tasks that have none.

    Jobs come in order of submission, tasks in order of job and index, attempts in order of their
    task and number, each with `queued`. Tasks are put in order of (first queued, job, index).

    Of the `others`, windows and placements come in order of their `attempt`, the position among the
    attempts given; they follow it. What belongs to no attempt stays as it is.
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
    others = {
        name: _following(values, kept) if "attempt" in values else values
        for name, values in others.items()
    }
    return Trace.of(meta, jobs=jobs, tasks=columns, attempts=rows, **others)


def _following(columns: Mapping[str, Any], kept: Ints) -> dict[str, Any]:
    """The rows of the attempts that are `kept`, in the order of these."""
    attempt = np.asarray(columns["attempt"])
    count = np.bincount(attempt, minlength=int(kept.max(initial=-1)) + 1)
    sizes = count[kept]
    rows = np.repeat(first_of_group(count)[kept], sizes) + position_in_group(sizes)
    return {
        name: values if values is None or np.isscalar(values) else values[rows]
        for name, values in columns.items()
    } | {"attempt": np.repeat(np.arange(len(kept)), sizes)}
