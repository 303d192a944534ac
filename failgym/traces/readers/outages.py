"""Records of outages, cut to the days that were asked for and made the rows of a trace."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.intervals import resolve
from failgym.traces.readers.counts import Counts
from failgym.traces.schema import LATEST, TraceError
from failgym.vocabulary import DAY

__all__ = ["Records", "Span"]

Ints = npt.NDArray[np.int64]

_EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True)
class Span:
    """The days that are asked for: from `since` to before `until` [ms since 1970], None: all."""

    since: int | None
    until: int | None

    @classmethod
    def of(cls, since: datetime.date | None, until: datetime.date | None) -> Span:
        """The days from `since` to `until`, both included. Raises TraceError if there are none."""
        if since is not None and until is not None and until < since:
            raise TraceError(f"no day from {since} to {until}")
        return cls(
            None if since is None else (since - _EPOCH).days * DAY,
            None if until is None else ((until - _EPOCH).days + 1) * DAY,
        )

    def within(self, name: str, first: int, last: int) -> tuple[int, int]:
        """Begin and end of the trace of a source that tells of `first` to `last` [ms since 1970].

        It begins with the first day and ends with the last moment, or as asked for; it does not go
        on beyond that moment. Raises TraceError if the days do not meet those of the source, or
        are too many.
        """
        begin = first // DAY * DAY if self.since is None else self.since
        end = last if self.until is None else min(self.until, last)
        if last < begin or (self.until is not None and self.until <= first):
            raise TraceError(
                f"{name}: no outage on these days, expected days within {_day(first)} to"
                f" {_day(last)}"
            )
        if end - begin > LATEST:
            raise TraceError(f"{name}: more than {LATEST} ms from its first to its last moment")
        return begin, end


def _day(moment: int) -> str:
    """The date of a moment, or the moment itself where there is no such date."""
    try:
        return str(_EPOCH + datetime.timedelta(days=moment // DAY))
    except OverflowError:
        return f"{moment} ms since 1970"


@dataclass(frozen=True)
class Records:
    """Records of outages, (records,): the machine's row, and when it was down [ms since 1970].

    `up` is -1 if the machine did not come back; `cause` is None where it is not known.
    """

    machine: Ints
    down: Ints
    up: Ints
    cause: Sequence[str | None]

    def table(self, span: Span, begin: int, end: int, counts: Counts) -> dict[str, Any]:
        """The table of outages of a trace from `begin` to `end` of a span, resolved and counted.

        A machine that is down at the beginning is down from 0; one that comes back after the end
        has no `up`.
        """
        made = resolve(self.machine, self.down, self.up)
        last = end - 1 if end == span.until else end
        inside = (made.down <= last) & ((made.down >= begin) | (made.up < 0) | (made.up > begin))
        down, up, record = made.down[inside], made.up[inside], made.record[inside]
        beyond = up > end
        for count, reason, n in (
            (counts.drop, "not of the days asked for", (~inside).sum()),
            (
                counts.note,
                "outage under way at the beginning: it begins there",
                (down < begin).sum(),
            ),
            (counts.note, "outage that goes on after the end", beyond.sum()),
        ):
            if n:
                count(reason, int(n))
        of_these = resolve(self.machine[record], self.down[record], self.up[record])
        for reason, n in of_these.noted.items():
            counts.note(reason, n)
        return {
            "machine": made.machine[inside],
            "down": np.maximum(down - begin, 0),
            "up": np.ma.MaskedArray(up - begin, mask=(up < 0) | beyond),
            "cause": [self.cause[row] for row in record.tolist()],
        }
