"""What a comparison of traces found, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from failgym.comparison.outage_rows import RATIO
from failgym.comparison.resampling import Measured

__all__ = ["Comparison", "Row"]


@dataclass(frozen=True)
class Row:
    """What is measured, on the reference and on each of the others."""

    what: str
    reference: Measured
    """NaN for what says how far another is from it"""
    others: tuple[Measured, ...]

    @property
    def by_ratio(self) -> bool:
        """Have its values a unit, so that how far two are apart is the log of their ratio?"""
        return self.what in RATIO


@dataclass(frozen=True)
class Comparison:
    """A reference and other traces, compared."""

    names: tuple[str, ...]
    """of the traces, the reference first"""
    jobs: int
    """that were compared of each; 0 if none were"""
    days: float
    """of which outages were compared, of each trace; 0 if none were"""
    left_out: tuple[str, ...]
    """why there are no rows on jobs or no values on outages, a line each"""
    rows: tuple[Row, ...]

    def row(self, what: str) -> Row:
        """The row of that name. Raises KeyError if there is none."""
        for row in self.rows:
            if row.what == what:
                return row
        raise KeyError(what)

    def to_json(self) -> dict[str, Any]:
        """Plain values; null for what a trace does not say."""
        return {
            "traces": list(self.names),
            "jobs": self.jobs,
            "days_of_outages": round(self.days, 6),
            "left_out": list(self.left_out),
            "rows": [
                {"what": row.what, "values": [_plain(one) for one in (row.reference, *row.others)]}
                for row in self.rows
            ],
        }


def _plain(measured: Measured) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 6) for value in measured]
