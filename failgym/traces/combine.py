"""A workload and the outages of another trace, as one trace."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from failgym.arrow import pa
from failgym.traces.intervals import RULE, resolve
from failgym.traces.schema import LATEST, TABLES, Table, TraceError, make_table
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace

__all__ = ["JOINED", "Align", "on_nodes_of", "with_outages"]

Ints = npt.NDArray[np.int64]
JOINED = "outages of "
"""What the remark begins with that says how outages were joined."""
Align = Literal["auto", "date", "start"]


def with_outages(workload: Trace, outages: Trace, *, align: Align = "auto") -> Trace:
    """The workload trace with the machines and outages of another trace added to its own.

    `align` says how the two meet in time: by "date", the same moments on each other; by "start",
    time 0 on time 0; "auto" is by date if both know theirs and overlap, else by start. It is noted
    in `meta.remarks`.

    Machines of the same `original_id` are the same machine, and the workload says what it has; the
    others come after those of the workload, their cpu and memory fractions of the largest of their
    own trace. Outages are cut to the time of the workload: those that are over before it begins or
    begin after its end are left out and counted, one that is under way at 0 begins there, one that
    goes on after the end has no `up`. A workload of which nothing was ever run has no end. Outages
    of a machine that overlap are resolved by `failgym.traces.intervals`, and groups of the two
    traces are kept apart. Sources, licences, citations, counts and remarks of both are kept.

    Raises TraceError if they cannot be aligned by date though that is asked for, or the other trace
    has no machine.
    """
    if not outages.rows("machines"):
        raise TraceError(f"{outages.meta.source}: no machine, so no outages to add")
    shift, said = _alignment(workload, outages, align)
    noted: dict[str, int] = {}
    machines, row = _machines(workload, outages)
    added = _cut(outages, row, shift, _end(workload), noted)
    tables = {name: workload.table(name) for name in TABLES}
    tables["machines"] = machines
    tables["outages"] = _resolved(workload, added, noted)
    shared = outages.rows("machines") + workload.rows("machines") - machines.num_rows
    remarks = {
        f"{JOINED}{outages.meta.source}": f"{said}; {shared} of its {outages.rows('machines')}"
        " machines are machines of the workload",
        "outages": RULE,
    }
    return Trace(_meta(workload.meta, outages.meta, noted, remarks), **tables)


def on_nodes_of(workload: Trace, log: Trace) -> Trace:
    """The workload as if its machines were the nodes of a failure log, row by row.

    The machines keep what the workload says of them (slots, speed, compute times) and take the
    names of the log's, and its outages instead of their own: what a workload made for a cluster
    meets in a stretch of that cluster's record. Time 0 falls on time 0.

    Raises TraceError unless the two have equally many machines.
    """
    here, there = workload.rows("machines"), log.rows("machines")
    if here != there or not here:
        raise TraceError(
            f"{log.meta.source} has {there} machines, expected as many as the workload, {here}"
        )
    tables = {name: workload.table(name) for name in TABLES}
    place = tables["machines"].schema.get_field_index("original_id")
    field = tables["machines"].schema.field("original_id")
    names = log.machines.column("original_id")
    tables["machines"] = tables["machines"].set_column(place, field, names)
    tables["outages"] = make_table("outages")
    return with_outages(Trace(workload.meta, **tables), log, align="start")


# --- Time -----------------------------------------------------------------------------------------


def _alignment(workload: Trace, outages: Trace, align: Align) -> tuple[int, str]:
    """What to add to the times of the outages [ms], and how that is put in words."""
    if align not in ("auto", "date", "start"):
        raise TraceError(f"align is {align!r}, expected auto, date or start")
    here, there = workload.meta.unix_origin, outages.meta.unix_origin
    why = "one of the two does not know its date"
    if align != "start" and here is not None and there is not None:
        ends = (here + _last(workload), there + _last(outages))
        if here <= ends[1] and there <= ends[0]:
            return there - here, "aligned by date"
        why = f"{_days(here, ends[0])} and {_days(there, ends[1])} do not overlap"
    if align == "date":
        names = f"{workload.meta.source} and {outages.meta.source}"
        raise TraceError(f"{names} cannot be aligned by date: {why}")
    return 0, "aligned by start" + ("" if align == "start" else f" ({why})")


def _end(workload: Trace) -> int:
    """When the workload ends [ms]; never, if nothing was run."""
    return _last(workload) if workload.present("attempts", "start").any() else LATEST


def _last(trace: Trace) -> int:
    """The end of the data, or the last moment that they tell of [ms]."""
    if trace.meta.end is not None:
        return trace.meta.end
    told = (("jobs", "submit"), ("attempts", "end"), ("outages", "down"), ("outages", "up"))
    return max(int(trace.column(*where).max(initial=0)) for where in told)


def _days(begin: int, end: int) -> str:
    return " to ".join(_day(time) for time in (begin, end))


def _day(time: int) -> str:
    try:
        day = datetime.date(1970, 1, 1) + datetime.timedelta(milliseconds=time)
    except OverflowError:
        return f"{time} ms since 1970"
    return str(day)


# --- Machines and outages -------------------------------------------------------------------------


def _machines(workload: Trace, outages: Trace) -> tuple[Table, Ints]:
    """The machines of both, and where the other trace's are in that table."""
    ids: list[Any] = workload.column("machines", "original_id").tolist()
    place = {name: at for at, name in reversed(list(enumerate(ids)))}
    fresh: list[int] = []
    row = np.empty(outages.rows("machines"), dtype=np.int64)
    for at, name in enumerate(outages.column("machines", "original_id").tolist()):
        if name not in place:
            place[name] = len(ids) + len(fresh)
            fresh.append(at)
        row[at] = place[name]
    new = outages.machines.take(np.array(fresh, dtype=np.int64))
    return pa.concat_tables([workload.machines, new]).combine_chunks(), row


def _columns(trace: Trace) -> dict[str, Any]:
    """The outages of a trace: numbers as arrays (-1: missing), causes as a list."""
    columns: dict[str, Any] = {
        name: trace.column("outages", name).astype(np.int64)
        for name in ("machine", "down", "up", "group")
    }
    columns["cause"] = trace.outages.column("cause").to_pylist()
    return columns


def _cut(outages: Trace, row: Ints, shift: int, end: int, noted: dict[str, int]) -> dict[str, Any]:
    """The outages as the workload has them: its time, its machines."""
    columns = _columns(outages)
    open_ = columns["up"] < 0
    down = columns["down"] + shift
    up = np.where(open_, LATEST + 1, columns["up"] + shift)
    over, late = (down < 0) & (up <= 0), down > end
    kept = ~(over | late)
    under_way, beyond = kept & (down < 0), kept & (up > end) & ~open_
    for reason, n in (
        ("outage left out: over before the workload begins", over),
        ("outage left out: it begins after the workload's end", late),
        ("outage under way when the workload begins: it begins there", under_way),
        ("outage that goes on after the workload's end", beyond),
    ):
        if n.any():
            noted[reason] = int(n.sum())
    up = np.where(open_ | beyond, -1, up)
    return {
        "machine": row[columns["machine"]][kept],
        "down": np.maximum(down, 0)[kept],
        "up": up[kept],
        "group": columns["group"][kept],
        "cause": [columns["cause"][at] for at in np.flatnonzero(kept).tolist()],
    }


def _resolved(workload: Trace, added: Mapping[str, Any], noted: dict[str, int]) -> Table:
    """The table of the workload's outages and those added."""
    mine = _columns(workload)
    first_group = int(mine["group"].max(initial=-1)) + 1
    theirs = np.where(added["group"] < 0, -1, added["group"] + first_group)
    groups = np.concatenate([mine["group"], theirs])
    machine, down, up = (
        np.concatenate([mine[name], added[name]]) for name in ("machine", "down", "up")
    )
    made = resolve(machine, down, up)
    if made.overlapping:
        noted["outage that begins while its machine is down, and ends the one before"] = (
            made.overlapping
        )
    groups, causes = groups[made.record], mine["cause"] + added["cause"]
    return make_table(
        "outages",
        {
            "machine": made.machine,
            "down": made.down,
            "up": np.ma.MaskedArray(made.up, mask=made.up < 0),
            "cause": [causes[record] for record in made.record.tolist()],
            "group": np.ma.MaskedArray(groups, mask=groups < 0),
        },
    )


# --- Provenance -----------------------------------------------------------------------------------


def _meta(mine: Meta, theirs: Meta, noted: Mapping[str, int], remarks: Mapping[str, str]) -> Meta:
    return dataclasses.replace(
        mine,
        source=f"{mine.source} + {theirs.source}",
        licence=_joined(mine.licence, theirs.licence),
        citation=_joined(mine.citation, theirs.citation),
        rows_read=_sum(mine.rows_read, theirs.rows_read),
        dropped=_sum(mine.dropped, theirs.dropped),
        noted=_sum(mine.noted, theirs.noted, noted),
        remarks={
            **mine.remarks,
            **{f"{theirs.source}: {name}": text for name, text in theirs.remarks.items()},
            **remarks,
        },
    )


def _joined(one: str, other: str) -> str:
    return "; ".join(dict.fromkeys(filter(None, (one, other))))


def _sum(*counts: Mapping[str, int]) -> dict[str, int]:
    total: dict[str, int] = {}
    for reason, n in (item for one in counts for item in one.items()):
        total[reason] = total.get(reason, 0) + n
    return total
