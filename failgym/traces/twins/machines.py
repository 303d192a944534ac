"""The machines of a twin; those that share a row have the outages of one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.arrow import pa
from failgym.traces.twins.outages import outages
from failgym.traces.twins.record import Ints, Record

__all__ = ["moved", "tables"]


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
    return {"machines": columns, "outages": outages(record, donor, rng, end)}


def _kinds(record: Record) -> list[Ints]:
    """The machines of each kind: alike in what they have and in their domain."""
    frame = record.trace.frame("machines").drop(columns="original_id")
    groups = frame.groupby(list(frame.columns), dropna=False, sort=True).indices
    return [np.sort(np.asarray(place)) for place in groups.values()]
