"""Tables that grow row by row, their columns kept as compact arrays."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["MISSING", "Growing"]

Ints = npt.NDArray[np.int64]

MISSING = -(2**63)
"""Stands for a missing integer within a column; no source may hold it."""


class Growing:
    """A table of integers, numbers and texts; None is missing, truth values are integers."""

    def __init__(
        self,
        *,
        integers: Iterable[str] = (),
        numbers: Iterable[str] = (),
        texts: Iterable[str] = (),
    ) -> None:
        self._integers = {name: array("q") for name in integers}
        self._numbers = {name: array("d") for name in numbers}
        self._texts: dict[str, list[str | None]] = {name: [] for name in texts}
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def add(self, **values: Any) -> int:
        """Append a row (what is not given is missing) and return its number."""
        for name, column in self._integers.items():
            value = values.get(name)
            column.append(MISSING if value is None else int(value))
        for name, column in self._numbers.items():
            value = values.get(name)
            column.append(np.nan if value is None else float(value))
        for name, column in self._texts.items():
            column.append(values.get(name))
        self._rows += 1
        return self._rows - 1

    def integers(self, name: str) -> Ints:
        """A copy of an integer column, `MISSING` where it is missing, shape (rows,)."""
        return np.array(self._integers[name], dtype=np.int64)

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """A copy of a number column, NaN where it is missing, shape (rows,)."""
        return np.array(self._numbers[name], dtype=np.float64)

    def columns(self) -> dict[str, Any]:
        """All columns, as `make_table` takes them."""
        found: dict[str, Any] = {}
        for name in self._integers:
            found[name] = known(self.integers(name))
        for name in self._numbers:
            found[name] = self.numbers(name)
        return found | self._texts


def known(values: Ints) -> Any:
    """Integers as a masked array: masked where they are `MISSING`."""
    return np.ma.MaskedArray(values, mask=values == MISSING)


def since(values: Ints, origin: int) -> Any:
    """Times, of which some are `MISSING`, counted from another origin."""
    times = known(values)
    return np.ma.MaskedArray(np.where(times.mask, 0, values - origin), mask=times.mask)
