"""What is added up over a trace has to fit into the numbers that it is added up in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.schema import MOST_TOTAL, Table, TraceError, column, present

__all__ = ["RunningTotals", "check_totals"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def check_totals(tables: Mapping[str, Table], end: int | None) -> None:
    """Raise TraceError, in one line, for what would sum to more than `MOST_TOTAL`.

    The tables are otherwise sound (`validate`); `end` is the end of the data [ms], if stated. Sums
    are made as floats: `MOST_TOTAL` leaves more room than they are inexact.
    """
    _check_attempts(tables)
    _check_slots(tables, end)
    for name, key, what in (
        ("tasks", "output_bytes", "bytes of outputs"),
        ("stage_edges", "bytes", "bytes along edges"),
        ("costs", "time", "ms of compute times"),
    ):
        _check(name, key, column(tables[name], key, missing=0), what)
    down, up = (column(tables["outages"], key, missing=0) for key in ("down", "up"))
    _check("outages", "up", np.maximum(up - down, 0), "ms of outages")


class RunningTotals:
    """Bounds of the sums over a trace that comes piece by piece, in any order: a little too strict.

    Every time counts from the origin, for as many slots as the widest task has.
    """

    def __init__(self) -> None:
        self._ends, self._slots = 0.0, 0.0
        self._widest, self._latest = 1, 0

    def add(self, name: str, table: Table) -> None:
        """Count the next rows of a table."""
        if name == "attempts":
            end, length = (column(table, key, missing=0) for key in ("end", "length"))
            self._ends += float(np.maximum(end, length).sum(dtype=np.float64))
            self._latest = max(self._latest, int(end.max(initial=0)))
        elif name == "tasks":
            self._widest = max(self._widest, int(column(table, "width").max(initial=1)))
        elif name == "machines":
            self._slots += float(column(table, "slots", missing=1).sum(dtype=np.float64))

    def check(self) -> None:
        """Raise TraceError if something may come to more than `MOST_TOTAL`."""
        for name, what, total in (
            ("attempts", "times by slots", self._ends * self._widest),
            ("machines", "slot-ms until the end of the data", self._slots * self._latest),
        ):
            if not total <= MOST_TOTAL:
                raise TraceError(
                    f"table {name}: {what} come to {total:.3g}, expected at most {MOST_TOTAL:.3g}"
                )


def _check_attempts(tables: Mapping[str, Table]) -> None:
    """Run times by slots, as recorded and undisturbed, and times from submission to end."""
    attempts = tables["attempts"]
    task = column(attempts, "task")
    start, end, length = (column(attempts, x, missing=0) for x in ("start", "end", "length"))
    width = column(tables["tasks"], "width")
    longest = max(int(x.max(initial=0)) for x in (end, length))
    if longest * int(width.max(initial=1)) * len(task) <= MOST_TOTAL:
        return
    width = width[task].astype(np.float64)
    ran = present(attempts, "start")
    _check("attempts", "end", np.where(ran, end - start, 0) * width, "machine-ms of run times")
    _check("attempts", "length", length * width, "machine-ms of lengths")
    submit = column(tables["jobs"], "submit")[column(tables["tasks"], "job")][task]
    _check("attempts", "end", np.maximum(end - submit, 0), "ms from submissions to ends")


def _check_slots(tables: Mapping[str, Table], end: int | None) -> None:
    """What the machines could do from the beginning to the end."""
    told = (("attempts", "end"), ("outages", "down"), ("outages", "up"))
    last = (int(column(tables[name], key, missing=0).max(initial=0)) for name, key in told)
    slots = column(tables["machines"], "slots", missing=1).astype(np.float64)
    _check("machines", "slots", slots * max(end or 0, *last), "slot-ms until the end of the data")


def _check(name: str, key: str, values: npt.NDArray[Any], what: str) -> None:
    total: Floats = np.cumsum(values, dtype=np.float64)
    if len(total) and not total[-1] <= MOST_TOTAL:
        row = int(np.argmax(total > MOST_TOTAL))
        raise TraceError(
            f"table {name}, row {row}: column {key!r}: {what} come to {total[row]:.3g},"
            f" expected at most {MOST_TOTAL:.3g} in all"
        )
