"""The machines of a twin, and their outages."""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.arrow import pa
from failgym.traces.intervals import resolve
from failgym.traces.twins.record import Ints, Record
from failgym.traces.twins.rows import rows_between
from failgym.vocabulary import DAY

__all__ = ["moved", "outages", "tables"]

BLOCKS = 12
"""Outages are resampled in so many blocks of time, or blocks of `SHORTEST`; chosen."""
SHORTEST = DAY
"""[ms]"""
JITTER = 0.1
"""Standard deviation of the log of a repair's time, besides its donor's; chosen."""


def moved(record: Record, share: float, rng: np.random.Generator) -> Ints:
    """The row of each machine of the record in the twin, (machines,).

    Machines change places with others of their kind, and if only a share of the jobs is wanted
    several share a row.
    """
    number = record.trace.rows("machines")
    row = np.arange(number, dtype=np.int64)
    for place in _kinds(record):
        row[place] = rng.permutation(place)
    return row % max(int(np.ceil(share * number)), 1)


def tables(record: Record, row: Ints, rng: np.random.Generator, end: int) -> dict[str, Any]:
    """The tables of machines and outages of a twin that ends then."""
    number = int(row.max(initial=-1)) + 1
    donor = np.zeros(number, dtype=np.int64)
    donor[row[::-1]] = np.arange(len(row))[::-1]
    taken = record.trace.table("machines").take(pa.array(donor))
    columns = {name: taken.column(name).combine_chunks() for name in taken.column_names}
    columns["original_id"] = [str(machine + 1) for machine in range(number)]
    return {"machines": columns, "outages": outages(record, row, rng, end)}


def outages(record: Record, row: Ints, rng: np.random.Generator, end: int) -> dict[str, Any]:
    """The outages of the record, in blocks of time drawn at random: what fails together, does so.

    Blocks of all machines are drawn (Künsch, Annals of Statistics 1989), so that bursts stay.
    """
    down = record.trace.column("outages", "down").astype(np.int64)
    machine = record.trace.column("outages", "machine")
    if not len(down):
        return {}
    length = min(max(record.span // BLOCKS, SHORTEST), record.span)
    number = -(-max(end, 1) // length)
    begin = np.rint(rng.random(number) * (record.span - length)).astype(np.int64)
    order = np.argsort(down, kind="stable")
    low, high = (np.searchsorted(down[order], begin + more) for more in (0, length))
    drawn = rows_between(low, high)
    donor, block = order[drawn.row], drawn.of
    new = down[donor] + (block * length - begin[block])
    up = record.trace.column("outages", "up", missing=-1)[donor].astype(np.int64)
    factor = np.exp(JITTER * rng.standard_normal(len(donor)))
    back = new + np.rint((up - down[donor]) * factor).astype(np.int64)
    there = new < end
    made = resolve(
        row[machine[donor[there]]],
        new[there],
        np.where((up < 0) | (back > end), -1, back)[there],
    )
    group = record.trace.column("outages", "group")[donor[there]]
    group = np.where(group < 0, -1, group + block[there] * (int(group.max(initial=0)) + 1))
    cause = record.trace.table("outages").column("cause").combine_chunks()
    return {
        "machine": made.machine,
        "down": made.down,
        "up": np.ma.array(made.up, mask=made.up < 0),
        "cause": cause.take(pa.array(donor[there][made.record])),
        "group": np.ma.array(group[made.record], mask=group[made.record] < 0),
    }


def _kinds(record: Record) -> list[Ints]:
    """The machines of each kind: alike in what they have and in their domain."""
    frame = record.trace.frame("machines").drop(columns="original_id")
    groups = frame.groupby(list(frame.columns), dropna=False, sort=True).indices
    return [np.sort(np.asarray(place)) for place in groups.values()]
