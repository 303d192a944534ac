"""Tables that metrics are computed from: a column's name to an array."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Columns(Protocol):
    """A table: a column's name -> an array with one row per task."""

    def __getitem__(self, name: str, /) -> Any: ...


def as_columns(rows: Iterable[DataclassInstance]) -> dict[str, npt.NDArray[Any]]:
    """A table from rows, such as `failgym.vocabulary.TaskOutcome`.

    Raises ValueError if there are none.
    """
    rows = list(rows)
    if not rows:
        raise ValueError("outcomes: expected at least one task")
    return {
        field.name: np.array([getattr(row, field.name) for row in rows])
        for field in fields(rows[0])
    }


def ratio(part: float, whole: float) -> float:
    """A share of a whole; NaN where there is no whole."""
    return float(part) / float(whole) if whole else float("nan")
