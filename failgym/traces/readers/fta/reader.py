"""Failure Trace Archive: nodes and their outages from tab files of events."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.intervals import RULE, latest_so_far
from failgym.traces.order import in_order
from failgym.traces.readers.archives import ARCHIVES, members
from failgym.traces.readers.fta.source import NO_REASON, Source
from failgym.traces.readers.outages import Records, Span
from failgym.traces.readers.sources import Paths, find_files, naming_source, reading
from failgym.traces.schema import LATEST, TraceError
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace

__all__ = ["read_fta"]

Ints = npt.NDArray[np.int64]

NORMAL = 8000
"""The end reason of what ends without one."""
FAMILIES = ("infrastructure", "hardware", "IO", "network", "software", "human error")
"""What the codes of event_end_reason mean, by thousands; 0 itself is undetermined."""

CITATION = (
    "D. Kondo, B. Javadi, A. Iosup, D. Epema, The Failure Trace Archive: Enabling Comparative"
    " Analysis of Failures in Diverse Distributed Systems, CCGrid 2010"
)
TABLES = ("event_trace", "node", "component", "platform")
"""The tables that are read; others are left alone."""


@naming_source
def read_fta(
    path: Paths,
    *,
    nodes: tuple[int, int] | None = None,
    since: datetime.date | None = None,
    until: datetime.date | None = None,
    progress: bool = False,
) -> Trace:
    """Read a trace of the Failure Trace Archive: machines and outages, without jobs.

    Parameters: `path`, the file event_trace.tab alone, a folder or an archive (tar, zip) that holds
    it with node.tab, component.tab and platform.tab, or several files; `nodes`, the first and the
    last node_id; `since` and `until`, the first and the last day (UTC) on which an outage begins.

    *Machines* are the nodes of node.tab, of component.tab and of the events; `original_id` is the
    node_id (node_name is no name of a node in some traces), `domain` the platform. Slots
    (num_procs times cores_per_proc) and memory (a fraction of the largest) are those of node.tab.

    | event_type | becomes |
    |---|---|
    | 0 unavailable | an outage, from event_start_time to event_stop_time (or event_end_time) |
    | 1 available | nothing; its event_end_reason is the cause of the outage that ends it |
    | others (user present, processor load) | dropped: the node is up |

    A source without a single event of type 0 lists availability only: a node is down between two of
    its events. All components of a node count as the node. Outages of a node that overlap, touch or
    have no length are resolved by `failgym.traces.intervals`, and none is lost. `cause` names the
    family of the reason's code and the code: "hardware (1005)".

    Times are seconds since 1970. Time 0 is the beginning of `since`, else of the day of the first
    event; the trace ends with `until`, or with the last event or trace_end of component.tab if that
    is earlier. A node that is down at the beginning is down from 0 on.

    Raises TraceError with file, line and column.
    """
    span = Span.of(since, until)
    suffixes = tuple(f"{table}.tab" for table in TABLES)
    files = find_files(path, (*suffixes, *ARCHIVES), "a trace of the FTA (event_trace.tab)")
    source, name = Source(), ", ".join(map(str, files))
    with reading(files, "FTA events", progress) as advance:
        for member in members(files, (".tab",), advance):
            source.read(member, alone=member.alone)
    asked = _asked(name, source, nodes)
    begin, end = span.within(name, source.first, source.last)
    counts = source.counts
    outages = _records(source, asked).table(span, begin, end, counts)
    listed = ", ".join(filter(None, source.platforms.values()))
    meta = Meta(
        source=f"fta {listed}" if listed else "fta",
        licence="as its creator states in the Failure Trace Archive",
        citation=CITATION,
        time_origin=str(np.datetime64(begin, "ms")).replace("T", " ") + " UTC",
        end=end - begin,
        rows_read=counts.rows_read,
        dropped=counts.dropped,
        noted=counts.noted,
        remarks={"outages": RULE},
        unix_origin=begin,
    )
    return in_order(meta, machines=_machines(source, asked), outages=outages)


def _asked(name: str, source: Source, nodes: tuple[int, int] | None) -> Ints:
    """The ids of the nodes that are asked for, ascending. Raises TraceError if there are none."""
    if source.last < 0:
        said = ", ".join(f"{n} {reason}" for reason, n in source.counts.dropped.items())
        raise TraceError(f"{name}: no event that can be used: {said or 'no event at all'}")
    ids = np.array(sorted(source.nodes), dtype=np.int64)
    low, high = (0, ids[-1]) if nodes is None else nodes
    asked = ids[(ids >= low) & (ids <= high)]
    if not len(asked):
        raise TraceError(f"{name}: no node from {low} to {high}: there are {ids[0]} to {ids[-1]}")
    return asked


def _records(source: Source, asked: Ints) -> Records:
    """The outages of the nodes asked for."""
    node, down, up, reason = source.unavailable.arrays()
    before = source.available.arrays()
    if len(node):
        known = _reasons_before(node, down, before)
        reason = np.where(known == NO_REASON, np.where(len(before[0]), NO_REASON, reason), known)
    else:
        node, down, up, reason = _between(*before)
        source.counts.note("outage between two times of availability", len(node))
    row = np.searchsorted(asked, node).clip(max=len(asked) - 1)
    kept = asked[row] == node
    if not kept.all():
        source.counts.drop("not of the nodes asked for", int((~kept).sum()))
    codes, of = np.unique(reason[kept], return_inverse=True)
    texts = [_cause(int(code)) for code in codes]
    causes = [texts[int(at)] for at in of]
    return Records(row[kept], down[kept], up[kept], causes)


def _reasons_before(node: Ints, down: Ints, available: tuple[Ints, Ints, Ints, Ints]) -> Ints:
    """Why the availability of the node ended at the time `down`; `NO_REASON` where none did."""
    other, _, end, reason = available
    if not len(other):
        return np.full(len(node), NO_REASON, dtype=np.int64)
    nodes, times = np.unique(other), np.unique(end)
    keys = np.searchsorted(nodes, other) * len(times) + np.searchsorted(times, end)
    order = np.argsort(keys, kind="stable")
    place = np.searchsorted(nodes, node).clip(max=len(nodes) - 1)
    time = np.searchsorted(times, down).clip(max=len(times) - 1)
    there = (nodes[place] == node) & (times[time] == down)
    asked = place * len(times) + time
    at = order[np.searchsorted(keys[order], asked).clip(max=len(order) - 1)]
    found: Ints = np.where(there & (keys[at] == asked), reason[at], NO_REASON)
    return found


def _between(node: Ints, begin: Ints, end: Ints, reason: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """The gaps between the availabilities of a node, with the reason that ended the one before."""
    order = np.lexsort((begin, node))
    node, begin, end, reason = node[order], begin[order], end[order], reason[order]
    until = latest_so_far(node, np.where(end < 0, LATEST + 1, end))
    gaps = np.flatnonzero((node[1:] == node[:-1]) & (until[:-1] < begin[1:]))
    known = _reasons_before(node[gaps], until[gaps], (node, begin, end, reason))
    return node[gaps], until[gaps], begin[gaps + 1], known


def _cause(code: int) -> str | None:
    if code in (NO_REASON, NORMAL):
        return None
    if code == 0:
        return "undetermined"
    family = code // 1000
    return f"{FAMILIES[family] if family < len(FAMILIES) else 'reason'} ({code})"


def _machines(source: Source, asked: Ints) -> dict[str, Any]:
    nodes = [source.nodes[node] for node in asked.tolist()]
    largest = max((node.memory for node in nodes if node.memory), default=1.0)
    platforms = [node.platform for node in nodes]
    return {
        "original_id": [str(node) for node in asked.tolist()],
        "memory": [None if node.memory is None else node.memory / largest for node in nodes],
        "slots": [node.slots for node in nodes],
        "domain": [None if one is None else f"platform {one}" for one in platforms],
        "speed": 1.0,
    }
