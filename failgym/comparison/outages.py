"""The outages of the machines of traces: when they come, which together, how long they last.

Traces are compared over equal lengths of time: how concentrated failures are, and how many come
together, depends on how long one looks.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from failgym.comparison.resampling import BLOCKS, Flags, Ints
from failgym.traces import Trace
from failgym.vocabulary import DAY, HOUR, MINUTE

__all__ = ["BURST", "LEAST_OUTAGES", "Observed", "observed"]

LEAST_OUTAGES = 100
"""Outages of a trace that are compared, at least."""
BURST = 5 * MINUTE
"""An outage belongs to the burst of the one before if it begins no later than this after it [ms]:
the radius with which Kumar et al. (DSN 2020, section V) cluster failures."""


@dataclass(frozen=True)
class Observed:
    """The outages that began while a trace was looked at, in order of time; (outages,) each."""

    begin: int
    """[ms]"""
    end: int
    """[ms]"""
    machines: int
    """that could have failed"""
    origin: int
    """time 0 in ms since 1970; 0 where the date is not known"""
    machine: Ints
    down: Ints
    """[ms]"""
    up: Ints
    """[ms]; -1 if the machine was not back by the end"""

    @classmethod
    def of(cls, trace: Trace) -> Observed:
        """From the first job that came after the data began to the end of the data; from the first
        outage, if there are no such jobs.
        """
        down = trace.column("outages", "down").astype(np.int64)
        submit = trace.column("jobs", "submit")
        began = submit[submit > 0] if (submit > 0).any() else down
        seen = cls(
            begin=int(began.min(initial=np.iinfo(np.int64).max)) if len(began) else 0,
            end=_end(trace),
            machines=trace.rows("machines"),
            origin=trace.meta.unix_origin or 0,
            machine=trace.column("outages", "machine").astype(np.int64),
            down=down,
            up=trace.column("outages", "up", missing=-1).astype(np.int64),
        )
        return seen.during(seen.end - seen.begin)

    def during(self, length: int) -> Observed:
        """What was seen in the first so many ms; what went on after them had not ended."""
        end = self.begin + length
        order = np.lexsort((self.machine, self.down))
        order = order[(self.down[order] >= self.begin) & (self.down[order] <= end)]
        up = self.up[order]
        return replace(
            self,
            end=end,
            machine=self.machine[order],
            down=self.down[order],
            up=np.where(up > end, -1, up),
        )

    @property
    def length(self) -> int:
        """[ms]"""
        return max(self.end - self.begin, 1)

    @property
    def block(self) -> Ints:
        """The block of time of each outage: blocks are equally long."""
        return np.minimum((self.down - self.begin) * BLOCKS // self.length, BLOCKS - 1)

    @property
    def ended(self) -> Flags:
        """Those whose repair was seen, and took time."""
        return self.up > self.down

    @property
    def repair(self) -> Ints:
        """How long each lasted [ms]; 0 where that was not seen."""
        return np.where(self.ended, self.up - self.down, 0)

    def since_last(self, of_machine: bool) -> Ints:
        """The time since the outage before [ms], of the same machine or of any; -1 if none was."""
        group = self.machine if of_machine else np.zeros(len(self.down), dtype=np.int64)
        order = np.lexsort((np.arange(len(group)), group))
        gap = np.full(len(group), -1)
        same = group[order][1:] == group[order][:-1]
        gap[order[1:][same]] = np.diff(self.down[order])[same]
        return gap

    def bursts(self, radius: int = BURST) -> tuple[Ints, Flags]:
        """The chain of outages that each belongs to, 0 on; and whether it hit several machines."""
        chain = np.cumsum(self.since_last(False) > radius)
        chain -= int(chain[0]) if len(chain) else 0
        pairs = np.unique(np.stack([chain, self.machine]), axis=1)[0]
        return chain, (np.bincount(pairs) > 1)[chain] if len(chain) else np.zeros(0, np.bool_)

    def frame(self) -> pd.DataFrame:
        """What outages are told apart by; NaN for what was not seen."""
        hours = (self.down + self.origin) / HOUR
        gaps = {
            name: np.where(gap < 0, np.nan, gap)
            for name, gap in (
                ("machine_gap", self.since_last(True)),
                ("cluster_gap", self.since_last(False)),
            )
        }
        return pd.DataFrame(
            {
                **gaps,
                "repair": np.where(self.ended, self.repair, np.nan),
                "hour": hours % 24.0,
                "weekday": hours // 24.0 % 7.0,
            }
        )


def observed(traces: Sequence[Trace]) -> list[Observed | None]:
    """The outages of traces over equal lengths of time, the first of each; None for one with fewer
    than `LEAST_OUTAGES` in that time.
    """
    found = [Observed.of(trace) for trace in traces]
    lengths = [one.length for one in found if len(one.down) >= LEAST_OUTAGES]
    if not lengths:
        return [None] * len(found)
    equal = [one.during(min(lengths)) for one in found]
    return [one if len(one.down) >= LEAST_OUTAGES else None for one in equal]


def days(seen: Sequence[Observed | None]) -> float:
    """Over how long a time outages are compared [days]; 0 if none are."""
    return max((one.length / DAY for one in seen if one is not None), default=0.0)


def _end(trace: Trace) -> int:
    """The end of the data, or the last moment that they tell of [ms]."""
    if trace.meta.end is not None:
        return trace.meta.end
    told = (("jobs", "submit"), ("attempts", "end"), ("outages", "down"), ("outages", "up"))
    return max(int(trace.column(*where).max(initial=0)) for where in told)
