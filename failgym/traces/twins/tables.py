"""The tables of a twin: what jobs, tasks and attempts have from their donors, newly named."""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.arrow import pa, pc
from failgym.traces.twins.cut import Kept
from failgym.traces.twins.record import Flags, Floats, Ints, Record
from failgym.traces.twins.rows import begins, rows_of
from failgym.traces.twins.shapes import Shapes
from failgym.traces.twins.timeline import Timeline
from failgym.vocabulary import Outcome

__all__ = ["attempts", "jobs", "placements", "stages", "tasks", "windows"]


def jobs(record: Record, plan: Timeline, kept: Kept, width: Ints) -> dict[str, Any]:
    """The table of jobs; `width` is the number of tasks of each, (jobs of the plan,)."""
    of = np.flatnonzero(kept.jobs)
    donor = plan.donor[of]
    columns = _taken(record, "jobs", donor)
    called = plan.application[of] if record.names_recur else np.arange(len(of))
    columns |= {
        "original_id": [str(number + 1) for number in range(len(of))],
        "submit": plan.submit[of],
        "width": width[of],
        "outcome": kept.job_outcome[of],
        "user": _named(record, "jobs", "user", "user", plan.user[of], donor),
        "name": _named(record, "jobs", "name", "application", called, donor),
        "group": _named(record, "jobs", "group", "group", record.group[donor], donor),
    }
    columns["exit_category"] = _without(
        columns["exit_category"], kept.job_outcome[of] == Outcome.CENSORED
    )
    return columns


def tasks(
    record: Record, shape: Shapes, kept: Kept, job: Ints, request: dict[str, Floats]
) -> dict[str, Any]:
    """The table of tasks; `job` is the row of each job of the plan, `request` what each task of the
    record requests in a twin.
    """
    of = np.flatnonzero(kept.tasks)
    donor = shape.task_donor[of]
    columns = _taken(record, "tasks", donor)
    columns |= {name: values[donor] for name, values in request.items()}
    first = begins(shape.job, int(shape.job.max(initial=-1)) + 1)
    columns |= {"job": job[shape.job[of]], "index": of - first[shape.job[of]], "stage": None}
    return columns


def attempts(record: Record, shape: Shapes, kept: Kept, task: Ints) -> dict[str, Any]:
    """The table of attempts; `task` is the row of each task of the shape."""
    of = np.flatnonzero(kept.attempts)
    donor, finish, start = shape.donor[of], kept.finish[of], kept.start[of]
    columns = _taken(record, "attempts", donor)
    censored = kept.outcome[of] == Outcome.CENSORED
    queued = record.trace.present("attempts", "queued")[donor]
    length = record.trace.column("attempts", "length")[donor]
    longer = np.rint(length * shape.factor[of]).astype(np.int64)
    ran = np.where(start >= 0, finish - start, 0)
    longer = np.where(kept.outcome[of] == Outcome.FINISH, ran, np.maximum(longer, ran))
    newly_cut = censored & ~record.censored[donor]  # what had been known of it is not yet
    columns |= {
        "task": task[shape.task[of]],
        "queued": np.ma.array(shape.queued[of], mask=~queued),
        "start": np.ma.array(start, mask=start < 0),
        "end": finish,
        "outcome": kept.outcome[of],
        "cause": np.ma.array(kept.cause[of], mask=kept.cause[of] < 0),
        "length": np.ma.array(longer, mask=(length < 0) | newly_cut),
    }
    for name in ("exit_code", "mean_cpu", "mean_memory", "max_memory"):
        columns[name] = _without(columns[name], censored)
    return columns


def placements(record: Record, shape: Shapes, kept: Kept, machine: Ints) -> dict[str, Any]:
    """The table of placements; `machine` is the row of each machine of the record."""
    of = np.flatnonzero(kept.attempts & (kept.start >= 0))
    row_of_attempt = np.cumsum(kept.attempts) - 1
    held = record.trace.column("placements", "attempt")
    order = np.argsort(held, kind="stable")
    rows = rows_of(begins(held[order], len(record.run)), shape.donor[of])
    chosen = order[rows.row]
    where = machine[record.trace.column("placements", "machine")[chosen]]
    return {
        "attempt": row_of_attempt[of[rows.of]],
        "machine": where,
        "slots": record.trace.column("placements", "slots")[chosen],
    }


def windows(record: Record, shape: Shapes, kept: Kept) -> dict[str, Any]:
    """The table of usage: the windows of each attempt's donor, as far as it runs."""
    of = np.flatnonzero(kept.attempts & (kept.start >= 0))
    row_of_attempt = np.cumsum(kept.attempts) - 1
    held, offset = (record.trace.column("windows", name) for name in ("attempt", "offset"))
    order = np.lexsort((offset, held))
    rows = rows_of(begins(held[order], len(record.run)), shape.donor[of])
    chosen = order[rows.row]
    inside = offset[chosen] < (kept.finish - kept.start)[of[rows.of]]
    columns = _taken(record, "windows", chosen[inside])
    return columns | {
        "attempt": row_of_attempt[of[rows.of[inside]]],
        "offset": offset[chosen[inside]],
    }


def stages(
    record: Record, plan: Timeline, shape: Shapes, kept: Kept, job: Ints
) -> dict[str, dict[str, Any]]:
    """The tables of stages and their edges, and the stage of each task of the twin.

    `job` is the row of each job of the plan.
    """
    of = np.flatnonzero(kept.jobs)
    held = record.trace.column("stages", "job")
    order = np.argsort(held, kind="stable")
    rows = rows_of(begins(held[order], len(record.submit)), plan.donor[of])
    stage = order[rows.row]
    columns = _taken(record, "stages", stage) | {"job": job[of[rows.of]]}
    # A job's stages follow each other: a stage is where its job's begin, and its rank among them.
    rank = np.empty(len(held), dtype=np.int64)
    first = begins(held[order], len(record.submit))
    rank[order] = np.arange(len(held)) - first[held[order]]
    start = np.full(len(plan.donor), -1, dtype=np.int64)
    heads = np.flatnonzero(rows.within == 0)
    start[of[rows.of[heads]]] = heads
    parent, child = (record.trace.column("stage_edges", name) for name in ("parent", "child"))
    by_job = np.argsort(held[parent], kind="stable") if len(parent) else parent
    edges = rows_of(begins(held[parent][by_job], len(record.submit)), plan.donor[of])
    edge = by_job[edges.row]
    base = start[of[edges.of]]
    edge_columns = _taken(record, "stage_edges", edge)
    edge_columns |= {"parent": base + rank[parent[edge]], "child": base + rank[child[edge]]}
    tasks_kept = np.flatnonzero(kept.tasks)
    own = record.trace.column("tasks", "stage")[shape.task_donor[tasks_kept]]
    known = own >= 0
    at = start[shape.job[tasks_kept]] + rank[np.where(known, own, 0)] if len(rank) else own
    return {
        "stages": columns,
        "stage_edges": edge_columns,
        "tasks": {"stage": np.ma.array(at, mask=~known)},
    }


def _taken(record: Record, table: str, rows: Ints) -> dict[str, Any]:
    taken = record.trace.table(table).take(pa.array(rows))
    return {name: taken.column(name).combine_chunks() for name in taken.column_names}


def _named(record: Record, table: str, column: str, word: str, number: Ints, donor: Ints) -> Any:
    """New names, the same for the same number; none where the donor has none."""
    known = record.trace.present(table, column)[donor]
    found, code = np.unique(number, return_inverse=True)
    names: Any = pa.array([f"{word}-{one + 1}" for one in range(len(found))], type=pa.string())
    return names.take(pa.array(code, mask=~known))


def _without(values: Any, rows: Flags) -> Any:
    """A column without values in some rows."""
    return pc.call_function("if_else", [pa.array(rows), pa.scalar(None, values.type), values])
