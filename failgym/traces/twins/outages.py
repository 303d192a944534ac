"""The outages of a twin: those of the record, in blocks of time that change places.

Blocks hold all machines, so that bursts stay (as in the block bootstrap: Künsch, Annals of
Statistics 1989). They change places with blocks nearby, so that what changes over the years of a
record does so in its twin, and by whole weeks, so that hours stay. None is drawn twice: a machine
would fail twice in the same way, some weeks apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from failgym.arrow import pa
from failgym.traces.intervals import resolve
from failgym.traces.twins.record import Flags, Ints, Record
from failgym.traces.twins.rows import rows_between
from failgym.vocabulary import HOUR, MINUTE, SECOND

__all__ = ["outages"]

# Tuned on LANL's systems 2 and 20: by how much further six twins of the past are from the future
# than the past is, in the rows of `failgym.comparison.outage_rows` and over three lengths of time
# (400 days, 669, all). As it stands by at most .03.
BLOCKS = 48
"""Blocks of time in what is repeated. With `REACH` 3, 24 or 96 are as good as 48; 12 are .28 off,
in how unequal the gaps of a machine are: half a year without failures changes its place."""
REACH = 2
"""Blocks change places with others that are nearer than so many. With 3 or 6 twins are .06 off,
with 12 .31, with 48, all of them, 1.05."""
TOGETHER = HOUR
"""Outages that begin this soon after one another are moved together [ms]; with a third or four
times as long by .006 at most otherwise."""
MOST_ALONE = 15 * MINUTE
"""They are moved by up to this besides [ms]: no two of them meet. With none or an hour by .006 at
most otherwise."""
EXCHANGED = 0.01
"""Each repair takes as long as one beside it among all by length, this share of them away at most;
with none or five times as many by .014 at most otherwise."""


def outages(record: Record, donor: Ints, rng: np.random.Generator, end: int) -> dict[str, Any]:
    """The table of outages of a twin that ends then.

    Args:
        record: what it is made after.
        donor: the machine of the record that each machine of the twin fails as, (machines,).
        rng: of all draws.
        end: of the twin [ms].
    """
    found = _Outages.of(record)
    if not len(found.down):
        return {}
    drawn = found.drawn(_Blocks.of(record, end, rng), rng)
    row = np.full(record.trace.rows("machines"), -1)
    row[donor] = np.arange(len(donor))
    there = (row[found.machine[drawn.of]] >= 0) & (drawn.down < end)
    of, block, down = (values[there] for values in drawn)
    repair = found.repairs(of, record.span, rng)
    made = resolve(
        row[found.machine[of]],
        down,
        np.where((repair < 0) | (down + repair > end), -1, down + repair),
    )
    group = found.group[of]
    group = np.where(group < 0, -1, group + (block + 1) * (int(found.group.max()) + 1))[made.record]
    cause = record.trace.table("outages").column("cause").combine_chunks()
    return {
        "machine": made.machine,
        "down": made.down,
        "up": np.ma.array(made.up, mask=made.up < 0),
        "cause": cause.take(pa.array(found.record[of[made.record]])),
        "group": np.ma.array(group, mask=group < 0),
    }


class _Drawn(NamedTuple):
    """The outages of a twin, in any order; (outages of the twin,) each."""

    of: Ints
    """which outage of the record, in order of time"""
    block: Ints
    """the block in which it comes; -1 for what was under way when the record began"""
    down: Ints
    """[ms]"""


@dataclass(frozen=True)
class _Outages:
    """The outages of a record in order of time, (outages,)."""

    record: Ints
    """their rows"""
    machine: Ints
    down: Ints
    """[ms]"""
    repair: Ints
    """[ms]; -1 for one that did not end"""
    group: Ints
    """-1 for none"""

    @classmethod
    def of(cls, record: Record) -> _Outages:
        column = record.trace.column
        down = column("outages", "down").astype(np.int64)
        up = column("outages", "up", missing=-1).astype(np.int64)
        order = np.argsort(down, kind="stable")
        return cls(
            order,
            column("outages", "machine").astype(np.int64)[order],
            down[order],
            np.where(up < 0, -1, up - down)[order],
            column("outages", "group").astype(np.int64)[order],
        )

    @property
    def unit(self) -> int:
        """The unit in which they begin [ms]: a minute, in LANL's record."""
        return next(unit for unit in (MINUTE, SECOND, 1) if not (self.down % unit).any())

    def drawn(self, blocks: _Blocks, rng: np.random.Generator) -> _Drawn:
        """Those of each block; what was under way when the record began is so in the twin."""
        later = int(np.searchsorted(self.down, 0, side="right"))
        session = np.cumsum(np.diff(self.down, prepend=self.down[:1]) > TOGETHER)
        low, high = (
            np.searchsorted(self.down, blocks.source + more) for more in (0, blocks.length)
        )
        rows = rows_between(np.maximum(low, later), np.maximum(high, later))
        key = rows.of * (int(session[-1]) + 1) + session[rows.row]
        _, at = np.unique(key, return_inverse=True)
        most = MOST_ALONE // self.unit
        alone = rng.integers(-most, most, int(at.max(initial=-1)) + 1, endpoint=True)
        begin = self.down[rows.row] + (blocks.begin - blocks.source)[rows.of]
        moved = np.maximum(begin + self.unit * alone[at], self.unit)
        still = np.arange(later)
        return _Drawn(
            np.concatenate([still, rows.row]),
            np.concatenate([np.full(later, -1), rows.of]),
            np.concatenate([self.down[still], moved]),
        )

    def repairs(self, of: Ints, end: int, rng: np.random.Generator) -> Ints:
        """How long the repair of each of some outages takes in a twin [ms]; -1: it does not end.

        As long as another repair that took about as long; of what did not end in the record, as
        long as one that took longer than that had lasted.
        """
        known = np.sort(self.repair[self.repair >= 0])
        lasted = np.where(self.repair < 0, end - self.down, self.repair)[of]
        open_: Flags = self.repair[of] < 0
        low, high = (np.searchsorted(known, lasted, side=side) for side in ("left", "right"))
        if not len(known):
            return np.full(len(of), -1)
        place = low + rng.random(len(of)) * (high - low)
        place += EXCHANGED * len(known) * (2.0 * rng.random(len(of)) - 1.0)
        place = np.where((place < 0) | (place >= len(known)), low, place)
        longer = high + rng.random(len(of)) * (len(known) - high)
        chosen = np.where(open_, longer, place).astype(np.int64).clip(max=len(known) - 1)
        return np.where(open_ & (high == len(known)), -1, known[chosen])


@dataclass(frozen=True)
class _Blocks:
    """Blocks of time of a twin, one after another, (blocks,)."""

    begin: Ints
    """[ms]"""
    source: Ints
    """where what happens in it begins in the record [ms]"""
    length: Ints
    """[ms]; the last one goes on beyond the end of the twin"""

    @classmethod
    def of(cls, record: Record, end: int, rng: np.random.Generator) -> _Blocks:
        """The record's period over and over, its blocks each time in another order."""
        length = max(record.period // BLOCKS // record.rhythm, 1) * record.rhythm
        home = np.arange(0, record.period, length, dtype=np.int64)
        long = np.minimum(length, record.period - home)
        epochs = -(-end // record.period)
        place = np.arange(len(home)) + REACH * rng.random((epochs, len(home)))
        order = np.argsort(place, axis=1, kind="stable").ravel()
        begin = np.cumsum(long[order]) - long[order]
        inside = begin < end
        return cls(begin[inside], home[order][inside], long[order][inside])
