"""The machines of a cluster and when they fail, from the tables of a trace."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.records import MACHINE, OUTAGE
from failgym.sim.scheduled.rules import ScheduledRules, check_speed
from failgym.sim.shared.records import Records
from failgym.traces import Trace
from failgym.vocabulary import NEVER

__all__ = ["cluster_of", "outages_of"]

Ints = npt.NDArray[np.int64]


def cluster_of(trace: Trace) -> tuple[Records, Ints]:
    """The machines of the cluster, as MACHINE records, and their rows in the trace.

    If the trace has compute times per machine, only machines with such times are taken.

    Raises:
        ValueError: if there is no machine, or if one has no slot or an extreme speed.
    """
    rows = np.arange(trace.rows("machines"), dtype=np.int64)
    if trace.rows("costs"):
        rows = np.unique(trace.column("costs", "machine")).astype(np.int64)
    if not len(rows):
        raise ValueError("scheduled world: expected machines")
    machines = np.zeros(len(rows), dtype=MACHINE)
    machines["slots"] = trace.column("machines", "slots", missing=1)[rows]
    machines["speed"] = trace.column("machines", "speed")[rows]
    empty = np.flatnonzero(machines["slots"] < 1)
    if len(empty):
        slots = int(machines["slots"][empty[0]])
        raise ValueError(f"machine {rows[empty[0]]}: expected at least 1 slot, got {slots}")
    for speed, first in zip(*np.unique(machines["speed"], return_index=True), strict=True):
        check_speed(int(rows[first]), float(speed))
    return machines, rows


def _merged(row: int, down: list[int], up: list[int]) -> tuple[list[int], list[int]]:
    """Merge the outages of one machine that touch; they come by (down, -up)."""
    downs: list[int] = []
    ups: list[int] = []
    for begin, end in zip(down, up, strict=True):
        if downs and begin == downs[-1]:
            continue
        if downs and begin < ups[-1]:
            raise ValueError(f"machine {row}: outages overlap at {begin} ms")
        if downs and begin == ups[-1]:
            ups[-1] = end
        else:
            downs.append(begin)
            ups.append(end)
    return downs, ups


def _replaced(down: list[int], delay: int) -> tuple[list[int], list[int]]:
    """Every failed machine is replaced after a delay; it does not fail before."""
    downs: list[int] = []
    for begin in down:
        if not downs or begin > downs[-1] + delay:
            downs.append(begin)
    return downs, [begin + delay for begin in downs]


def outages_of(
    trace: Trace, rules: ScheduledRules, machines: Records, rows: Ints
) -> tuple[Records, Records]:
    """OUTAGE by (machine, down) and by (down, machine); tells ``machines`` where theirs lie.

    Args:
        trace: the record.
        rules: whether failed machines are replaced.
        machines: MACHINE, changed in place.
        rows: their trace rows.

    Raises:
        ValueError: if outages of a machine overlap.
    """
    index = np.full(trace.rows("machines"), -1, dtype=np.int64)
    index[rows] = np.arange(len(rows))
    machine = index[trace.column("outages", "machine")]
    down = trace.column("outages", "down").astype(np.int64)
    up = trace.column("outages", "up", missing=NEVER).astype(np.int64)
    up = np.maximum(up, down + 1)
    order = np.lexsort((-up, down, machine))
    order = order[machine[order] >= 0]
    begins = np.searchsorted(machine[order], np.arange(len(rows) + 1))
    found: list[tuple[int, int, int]] = []
    for m in np.flatnonzero(np.diff(begins)).tolist():
        here = order[begins[m] : begins[m + 1]]
        downs, ups = _merged(int(rows[m]), down[here].tolist(), up[here].tolist())
        if rules.replace:
            downs, ups = _replaced(downs, max(rules.detection_delay, 1))
        found += [(begin, end, m) for begin, end in zip(downs, ups, strict=True)]
    outages = np.array(found, dtype=OUTAGE)
    counts = np.bincount(outages["machine"], minlength=len(rows))
    machines["outages"], machines["outage_at"] = counts, np.cumsum(counts) - counts
    return outages, outages[np.lexsort((outages["machine"], outages["down"]))]
