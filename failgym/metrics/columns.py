"""Tables that metrics are computed from: a column's name to an array."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt


class Columns(Protocol):
    """A table: a column's name -> an array with one row per task."""

    def __getitem__(self, name: str, /) -> Any: ...


def as_columns(rows: Iterable[NamedTuple]) -> dict[str, npt.NDArray[Any]]:
    """A table from rows: one named tuple per task. Raises ValueError if there are none."""
    rows = list(rows)
    if not rows:
        raise ValueError("outcomes: expected at least one task")
    columns = zip(*rows, strict=True)
    return {name: np.array(column) for name, column in zip(rows[0]._fields, columns, strict=True)}


def ratio(part: float, whole: float) -> float:
    """A share of a whole; NaN where there is no whole."""
    return float(part) / float(whole) if whole else float("nan")
