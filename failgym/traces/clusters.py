"""A workload for a cluster of one's choice: other machines, and runs that nothing cut short."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from failgym.arrow import pa
from failgym.traces.schema import TABLES, Table, TraceError, column, make_table
from failgym.traces.trace import Trace
from failgym.vocabulary import Outcome

__all__ = ["uninterrupted", "with_machines"]


def with_machines(trace: Trace, machines: int, *, slots: int = 1, speed: float = 1.0) -> Trace:
    """The workload on so many equal machines of so many slots, instead of those it ran on.

    What the trace says of its own machines goes with them: placements, outages, costs. A log that
    gives the processors of a system and not where jobs ran (the Standard Workload Format's
    MaxProcs) makes one machine of that many slots: every job fits as soon as enough are free.

    Raises TraceError for fewer than one machine or slot, or a speed that is not above 0.
    """
    for name, value in (("machines", machines), ("slots", slots)):
        if value < 1:
            raise TraceError(f"with_machines: {name} is {value}, expected at least 1")
    if not 0.0 < speed < float("inf"):
        raise TraceError(f"with_machines: speed is {speed}, expected more than 0, finite")
    tables = {name: trace.table(name) for name in TABLES}
    for name in ("placements", "outages", "costs"):
        tables[name] = make_table(name)
    tables["machines"] = make_table(
        "machines",
        {
            "original_id": [str(number) for number in range(machines)],
            "slots": slots,
            "speed": speed,
        },
    )
    return Trace(trace.meta, **tables)


def uninterrupted(trace: Trace) -> Trace:
    """The workload as schedulers are compared on it: submissions and run times, nothing else.

    Every task is one attempt that starts when it was submitted and FINISHes when it has run for as
    long as its attempts did in all, however they ended: recorded waits and outcomes play no role.
    Tasks that never ran are left out, and their number is noted; their jobs stay as they are.

    Placements, usage windows and costs, which speak of the attempts of the record, are left out.
    """
    start = trace.column("attempts", "start")
    ran = trace.present("attempts", "start")
    task = trace.column("attempts", "task")[ran]
    run_time = np.zeros(trace.rows("tasks"), dtype=np.int64)
    np.add.at(run_time, task, (trace.column("attempts", "end") - start)[ran])
    kept = np.unique(task)
    tables = {name: trace.table(name) for name in TABLES}
    for name in ("placements", "windows", "costs"):
        tables[name] = make_table(name)
    tables["jobs"] = _finished(tables["jobs"], trace.column("tasks", "job")[kept])
    tables["tasks"] = tables["tasks"].take(kept)
    submit = trace.task_submit[kept]
    tables["attempts"] = make_table(
        "attempts",
        {
            "task": np.arange(len(kept)),
            "queued": submit,
            "start": submit,
            "end": submit + run_time[kept],
            "outcome": np.full(len(kept), Outcome.FINISH),
        },
    )
    never = trace.rows("tasks") - len(kept)
    noted = {**trace.meta.noted, **({"task left out: it never ran": never} if never else {})}
    return Trace(dataclasses.replace(trace.meta, noted=noted, end=None), **tables)


def _finished(jobs: Table, rows: npt.NDArray[np.int64]) -> Table:
    """The jobs, of which those in `rows` have finished."""
    outcome = column(jobs, "outcome").copy()
    outcome[rows] = Outcome.FINISH
    place = jobs.schema.get_field_index("outcome")
    return jobs.set_column(place, jobs.schema.field("outcome"), pa.array(outcome))
