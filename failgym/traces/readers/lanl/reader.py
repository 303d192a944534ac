"""LANL's node failures (LA-UR-05-7318): the machines of 23 systems and their outages, 1996-2005."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from failgym.traces.intervals import RULE
from failgym.traces.order import in_order
from failgym.traces.readers.counts import Counts
from failgym.traces.readers.lanl.rows import read_rows
from failgym.traces.readers.lanl.systems import NO_NODE, Node, System
from failgym.traces.readers.outages import Records, Span
from failgym.traces.readers.sources import Paths, find_files, naming_source, reading
from failgym.traces.schema import TraceError
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace

__all__ = ["read_lanl"]

CITATION = (
    "Los Alamos National Laboratory, LA-UR-05-7318, failure data 1996-2005; B. Schroeder and"
    " G. A. Gibson, A large-scale study of failures in high-performance computing systems, DSN 2006"
)
MOST_MACHINES = 1_000_000
"""The systems of a file have no more nodes in all: bounds the memory that a file can take."""

TIMES = (
    "local times of the file as they stand, without a zone and with the hours of summer time: read"
    " as if they were UTC"
)


@naming_source
def read_lanl(
    path: Paths,
    *,
    system: int | None = None,
    nodes: tuple[int, int] | None = None,
    since: datetime.date | None = None,
    until: datetime.date | None = None,
    progress: bool = False,
) -> Trace:
    """Read LANL's failure data: a trace of machines and their outages, without jobs.

    Parameters: `path`, the CSV file as released, or a folder with it; `system`, its number (all
    systems if None); `nodes`, the first and the last node number (column nodenum); `since` and
    `until`, the first and the last day on which a failure begins.

    *Machines* are all nodes of a system, also those that never failed: as many consecutive numbers
    as its column nodes says, from that of its node zero, or up to the highest that failed, and any
    other number that failed. `original_id` is "system/node", `domain` "system N". Slots are the
    node's processors (procsinnode); `cpu` and `memory` are fractions of the largest node's. A node
    that never failed has what most nodes of its system have. System 17 names no nodes: it is one
    machine, "17".

    *Outages* are the rows, from Prob Started to Prob Fixed. `cause` is the column that says what
    failed and what it says ("hardware: CPU"), null where none does. Rows of a node that overlap,
    touch or have no length are resolved by `failgym.traces.intervals`, and none is lost. A row
    whose times disagree with its Down Time is taken at its times; of one that is fixed before it
    started (a clock set back) the Down Time counts, and without one it is dropped.

    *Times* are local and have no zone in the file; they are read as they stand, as if they were
    UTC. Time 0 is the beginning of `since`, else of the day of the first failure of the systems;
    the trace ends with `until`, or with the last moment of the systems' rows if that is earlier. A
    node that is down when the range begins is down from 0 on; one that is down when it ends has no
    `up`. The months in which nodes were in production are in `meta.remarks`, as the file has them
    ("5-Apr" is April 2005); failures outside of them are kept.

    Raises TraceError with file, line and column for a malformed file; and for a system, nodes or
    days that the file does not have.
    """
    span = Span.of(since, until)
    counts, systems = Counts(), dict[int, System]()
    files = find_files(path, (".csv", ".txt"), "LANL's failure data, a CSV file")
    name = ", ".join(map(str, files))
    with reading(files, "LANL's failures", progress) as advance:
        for file in files:
            for row in read_rows(file, advance):
                number = row.integer("system")
                if number is None:
                    row.fail("system", "the number of a system")
                systems.setdefault(number, System(number)).add(row)
    chosen = _chosen(name, systems, system, counts)
    machines = _machines(name, chosen, nodes)
    moments = [times for one in chosen if (times := one.moments)]
    if not moments:
        raise TraceError(f"{name}: no row that can be used: {_listed(counts.dropped)}")
    begin, end = span.within(name, min(a for a, _ in moments), max(b for _, b in moments))
    outages = _records(chosen, machines, counts).table(span, begin, end, counts)
    meta = Meta(
        source="lanl" if system is None else f"lanl system {system}",
        licence="released by LANL",
        citation=CITATION,
        time_origin=f"{_moment(begin)}, local time",
        end=end - begin,
        rows_read=counts.rows_read,
        dropped=counts.dropped,
        noted=counts.noted,
        remarks={"times": TIMES, "outages": RULE, **_production(chosen, machines)},
        unix_origin=begin,
    )
    return in_order(meta, machines=_machine_table(chosen, machines), outages=outages)


def _chosen(
    name: str, systems: Mapping[int, System], system: int | None, counts: Counts
) -> list[System]:
    if not systems:
        raise TraceError(f"{name}: no row below the column names: expected failures")
    if system is not None and system not in systems:
        there = ", ".join(map(str, sorted(systems)))
        raise TraceError(f"{name}: no system {system}: there are {there}")
    for number, one in systems.items():
        if system in (None, number):
            counts.add(one.counts)
        else:
            counts.read("failures", one.rows)
            counts.drop("not of the system asked for", one.rows)
    return [systems[number] for number in sorted(systems) if system in (None, number)]


_Machines = list[tuple[System, int]]
"""System and node number of each machine row."""


def _machines(name: str, systems: Sequence[System], nodes: tuple[int, int] | None) -> _Machines:
    """The nodes that are asked for. Raises TraceError if there are none, or too many."""
    if sum(max(one.size, 1) + len(one.nodes) for one in systems) > MOST_MACHINES:
        raise TraceError(f"{name}: more than {MOST_MACHINES} nodes in all")
    low, high = nodes or (NO_NODE, 10**18)
    asked = [(one, number) for one in systems for number in one.numbers if low <= number <= high]
    if not asked:
        there = "; ".join(
            f"system {one.number} has {min(one.numbers)} to {max(one.numbers)}"
            if one.named
            else f"system {one.number} names no nodes"
            for one in systems
        )
        raise TraceError(f"{name}: no node from {low} to {high}: {there}")
    return asked


def _records(systems: Sequence[System], machines: _Machines, counts: Counts) -> Records:
    """The failures of the machines."""
    position: dict[int, dict[int, int]] = {one.number: {} for one in systems}
    for row, (one, number) in enumerate(machines):
        position[one.number][number] = row
    parts = [one.failures(position[one.number]) for one in systems]
    causes: list[str | None] = []
    for one, part in zip(systems, parts, strict=True):
        causes += [one.cause[row] for row in part[-1].tolist()]
        unnamed = one.node.count(NO_NODE)
        if one.named and unnamed:
            counts.drop("row without a node", unnamed)
        elif unnamed and len(part[-1]):
            counts.note("row of a system that names no nodes: laid to it as one machine", unnamed)
        left_out = len(one.node) - len(part[-1]) - (unnamed if one.named else 0)
        if left_out:
            counts.drop("not of the nodes asked for", left_out)
    machine, down, up, _ = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Records(machine, down, up, causes)


def _machine_table(systems: Sequence[System], machines: _Machines) -> dict[str, Any]:
    usual = {
        one.number: Node(one.of_most("processors"), one.of_most("memory"), ("", "", ""))
        for one in systems
    }
    told = [one.nodes.get(number, usual[one.number]) for one, number in machines]
    processors = [node.processors for node in told]
    return {
        "original_id": [
            str(one.number) if number == NO_NODE else f"{one.number}/{number}"
            for one, number in machines
        ],
        "cpu": _fractions(processors),
        "memory": _fractions([node.memory for node in told]),
        "slots": processors,
        "domain": [f"system {one.number}" for one, _ in machines],
        "speed": 1.0,
    }


def _fractions(amounts: Sequence[int | None]) -> list[float | None]:
    """Fractions of the largest."""
    largest = max((amount for amount in amounts if amount), default=1)
    return [None if amount is None else amount / largest for amount in amounts]


def _production(systems: Sequence[System], machines: _Machines) -> dict[str, str]:
    """When the nodes were in production, by system, in the file's own words."""
    asked = {(one.number, number) for one, number in machines}
    remarks: dict[str, str] = {}
    for one in systems:
        periods: dict[tuple[str, str, str], list[int]] = {}
        for number in sorted(one.named):
            if (one.number, number) in asked:
                periods.setdefault(one.nodes[number].months, []).append(number)
        if periods:
            remarks[f"production of system {one.number}"] = "; ".join(
                f"installed {months[0] or '?'}, from {months[1] or '?'} to {months[2] or '?'}"
                f" ({_nodes(numbers)})"
                for months, numbers in periods.items()
            )
    return remarks


def _nodes(numbers: Sequence[int], most: int = 8) -> str:
    if len(numbers) > most:
        return f"{len(numbers)} nodes that failed"
    return "node " + ", ".join(map(str, numbers))


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in counts.items())


def _moment(time: int) -> str:
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=time)
    return moment.isoformat(" ", "minutes")
