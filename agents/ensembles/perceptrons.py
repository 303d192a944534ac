"""`Perceptrons`: networks of one hidden layer in arrays, asked by a compiled loop.

A sum is always added up in the same order, so that an answer does not depend on how many rows are
asked about together, on threads, or on a library of linear algebra.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.compiled import njit

__all__ = ["FARTHEST", "Perceptrons"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]

FARTHEST = 10.0
"""Standard deviations from the mean, at most, that a column is taken to be."""
LARGEST = 1e6
"""Of a number that decides: sums of products stay finite."""


class Perceptrons(NamedTuple):
    """Models that are each a network, for each of some outputs.

    A column less its mean, times its scale, is what the hidden units are shown; a unit answers what
    is above 0.
    """

    mean: Floats
    """[outputs, columns]"""
    scale: Floats
    """[outputs, columns] what a standard deviation is divided into; 0 hides a column"""
    hidden: Floats
    """[outputs, models, columns, units] weights"""
    hidden_bias: Floats
    """[outputs, models, units]"""
    last: Floats
    """[outputs, models, units] weights"""
    base: Floats
    """[outputs, models] what is added to the weighed units"""

    @property
    def outputs(self) -> int:
        """How many margins a model gives."""
        return self.base.shape[0]

    @property
    def models(self) -> int:
        """Members of the ensemble."""
        return self.base.shape[1]

    @property
    def units(self) -> int:
        """Of the hidden layer."""
        return self.last.shape[2]

    def margins(self, rows: Floats, wanted: Bools | None = None) -> Floats:
        """What each model says of each row, float32 [rows, outputs, models].

        Args:
            rows: float32 [rows, columns], finite.
            wanted: [rows, outputs] what is asked for, the rest is 0; None: all.

        Raises:
            ValueError: for rows of another number of columns.
        """
        if rows.shape[1] != self.mean.shape[1]:
            raise ValueError(f"rows: expected {self.mean.shape[1]} columns, got {rows.shape[1]}")
        found = np.zeros((len(rows), self.outputs, self.models), dtype=np.float32)
        if wanted is None:
            wanted = np.ones((len(rows), self.outputs), dtype=np.bool_)
        _margins(np.ascontiguousarray(rows), *self, wanted, found)
        return found

    def only(self, outputs: slice) -> Perceptrons:
        """Some of its outputs."""
        return Perceptrons(*(array[outputs] for array in self))

    def joined(self, more: Perceptrons) -> Perceptrons:
        """This one's outputs, then another's of the same sizes."""
        return Perceptrons(*(np.concatenate(two) for two in zip(self, more, strict=True)))

    @classmethod
    def of_nothing(cls, models: int, columns: int, units: int) -> Perceptrons:
        """One output, whose margin is 0."""
        shapes = (
            *((1, columns), (1, columns), (1, models, columns, units)),
            *((1, models, units), (1, models, units), (1, models)),
        )
        return cls(*(np.zeros(shape, dtype=np.float32) for shape in shapes))

    def rounded(self) -> Perceptrons:
        """Its weights in half precision: a part in 2,000, or 3e-8, whichever is more."""
        return self._replace(
            hidden=self.hidden.astype(np.float16).astype(np.float32),
            last=self.last.astype(np.float16).astype(np.float32),
        )

    def check(self, columns: int) -> None:
        """Raise ValueError, in one line, unless these are networks over so many columns."""
        if self.base.ndim != 2 or self.last.ndim != 3 or 0 in self.last.shape:
            raise ValueError(
                "base, last: expected [outputs, models] and [outputs, models, units], got"
                f" {list(self.base.shape)} and {list(self.last.shape)}"
            )
        outputs, models, units = self.last.shape
        wanted = {
            "mean": (outputs, columns),
            "scale": (outputs, columns),
            "hidden": (outputs, models, columns, units),
            "hidden_bias": (outputs, models, units),
            "last": (outputs, models, units),
            "base": (outputs, models),
        }
        for name, shape in wanted.items():
            array = getattr(self, name)
            if array.shape != shape:
                raise ValueError(f"{name}: expected {list(shape)}, got {list(array.shape)}")
            if not (np.abs(array) <= LARGEST).all():
                raise ValueError(f"{name}: expected numbers up to {LARGEST:g}")


@njit(cache=True, nogil=True)
def _margins(
    rows: Any,
    mean: Any,
    scale: Any,
    hidden: Any,
    hidden_bias: Any,
    last: Any,
    base: Any,
    wanted: Any,
    found: Any,
) -> None:
    outputs, models, columns, units = hidden.shape
    shown = np.empty(columns, dtype=np.float32)
    answer = np.empty(units, dtype=np.float32)
    nothing, far = np.float32(0.0), np.float32(FARTHEST)
    for row in range(len(rows)):
        for output in range(outputs):
            if not wanted[row, output]:
                continue
            for column in range(columns):
                away = (rows[row, column] - mean[output, column]) * scale[output, column]
                shown[column] = min(max(away, -far), far)
            for model in range(models):
                answer[:] = hidden_bias[output, model]
                for column in range(columns):
                    weight, value = hidden[output, model, column], shown[column]
                    for unit in range(units):
                        answer[unit] += value * weight[unit]
                total = base[output, model]
                for unit in range(units):
                    total += max(answer[unit], nothing) * last[output, model, unit]
                found[row, output, model] = total
