"""`Forest`: boosted trees as complete binary trees in arrays, asked by a compiled loop.

Every tree has the same depth: where one is shallower its leaf is repeated below. So a question
needs no pointers and no test whether a node is a leaf, and there is nothing in a file that could
lead anywhere else: whatever the numbers are, an answer is a sum of leaves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.compiled import njit

__all__ = ["DEEPEST", "Forest"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Fields = npt.NDArray[np.int32]

DEEPEST = 10
"""Levels of questions that a tree has at most."""
LARGEST = 1e9
"""Of a leaf: sums of them stay finite."""
BLOCK = 64
"""Rows that are asked about together: they and a tree stay in the fastest memory."""


class Forest(NamedTuple):
    """Models that are each a sum of trees, for each of some outputs."""

    fields: Fields
    """[outputs, models, trees, 2**depth - 1] column that a node asks about, level by level"""
    thresholds: Floats
    """the same shape; a row goes right where it is not below"""
    leaves: Floats
    """[outputs, models, trees, 2**depth] from left to right"""
    base: Floats
    """[outputs, models] what the trees are added to"""

    @property
    def outputs(self) -> int:
        """How many margins a model gives."""
        return self.leaves.shape[0]

    @property
    def models(self) -> int:
        """Members of the ensemble."""
        return self.leaves.shape[1]

    @property
    def depth(self) -> int:
        """Questions on the way to a leaf."""
        return int(self.leaves.shape[3]).bit_length() - 1

    def margins(self, rows: Floats, wanted: Bools | None = None) -> Floats:
        """What each model says of each row, float32 [rows, outputs, models].

        Args:
            rows: float32 [rows, columns], finite.
            wanted: [rows, outputs] what is asked for, the rest is 0; None: all.

        Raises:
            ValueError: if the trees ask about more columns.
        """
        if self.fields.size and int(self.fields.max()) >= rows.shape[1]:
            raise ValueError(f"rows: expected {int(self.fields.max()) + 1} columns or more")
        found = np.zeros((len(rows), self.outputs, self.models), dtype=np.float32)
        if wanted is None:
            wanted = np.ones((len(rows), self.outputs), dtype=np.bool_)
        _margins(np.ascontiguousarray(rows), *self, self.depth, wanted, found)
        return found

    def only(self, outputs: slice) -> Forest:
        """Some of its outputs."""
        return Forest(
            self.fields[outputs],
            self.thresholds[outputs],
            self.leaves[outputs],
            self.base[outputs],
        )

    def joined(self, more: Forest) -> Forest:
        """This one's outputs, then another's of the same sizes."""
        return Forest(
            np.concatenate([self.fields, more.fields]),
            np.concatenate([self.thresholds, more.thresholds]),
            np.concatenate([self.leaves, more.leaves]),
            np.concatenate([self.base, more.base]),
        )

    def rounded(self) -> Forest:
        """Its leaves in half precision: a part in 2,000, or 3e-8, whichever is more."""
        most = float(np.finfo(np.float16).max)
        leaves = np.clip(self.leaves, -most, most).astype(np.float16).astype(np.float32)
        return self._replace(leaves=leaves)

    @classmethod
    def of_nothing(cls, models: int, trees: int, depth: int) -> Forest:
        """One output, whose margin is 0."""
        shape, inner = (1, models, trees), (1 << depth) - 1
        return cls(
            np.zeros((*shape, inner), dtype=np.int32),
            np.full((*shape, inner), np.inf, dtype=np.float32),
            np.zeros((*shape, inner + 1), dtype=np.float32),
            np.zeros((1, models), dtype=np.float32),
        )

    def check(self, columns: int) -> None:
        """Raise ValueError, in one line, unless these are sound trees over so many columns."""
        shape = self.leaves.shape
        if len(shape) != 4 or 0 in shape or shape[3] != 1 << self.depth or self.depth > DEEPEST:
            raise ValueError(
                "leaves: expected [outputs, models, trees, 2**depth],"
                f" depth at most {DEEPEST}, got {list(shape)}"
            )
        nodes = (*shape[:3], shape[3] - 1)
        for name, wanted in (("fields", nodes), ("thresholds", nodes), ("base", shape[:2])):
            got = getattr(self, name).shape
            if got != wanted:
                raise ValueError(f"{name}: expected {list(wanted)}, got {list(got)}")
        if self.fields.size and not 0 <= self.fields.min() <= self.fields.max() < columns:
            raise ValueError(f"fields: expected columns 0 to {columns - 1}")
        for name in ("leaves", "base"):
            if not (np.abs(getattr(self, name)) <= LARGEST).all():
                raise ValueError(f"{name}: expected numbers up to {LARGEST:g}")
        if np.isnan(self.thresholds).any():
            raise ValueError("thresholds: expected numbers")


@njit(cache=True, nogil=True)
def _margins(
    rows: Any,
    fields: Any,
    thresholds: Any,
    leaves: Any,
    base: Any,
    depth: int,
    wanted: Any,
    found: Any,
) -> None:
    outputs, models, trees = leaves.shape[0], leaves.shape[1], leaves.shape[2]
    first_leaf = (1 << depth) - 1
    asked = np.empty(BLOCK, dtype=np.int64)
    node = np.empty(BLOCK, dtype=np.int64)
    total = np.empty(BLOCK, dtype=np.float32)
    for begin in range(0, len(rows), BLOCK):
        for output in range(outputs):
            count = 0
            for row in range(begin, min(begin + BLOCK, len(rows))):
                if wanted[row, output]:
                    asked[count] = row
                    count += 1
            if count == 0:
                continue
            for model in range(models):
                total[:] = base[output, model]
                for tree in range(trees):
                    column, threshold = fields[output, model, tree], thresholds[output, model, tree]
                    node[:] = 0
                    for _ in range(depth):
                        for row in range(count):
                            at = node[row]
                            right = rows[asked[row], column[at]] >= threshold[at]
                            node[row] = 2 * at + 1 + right
                    leaf = leaves[output, model, tree]
                    for row in range(count):
                        total[row] += leaf[node[row] - first_leaf]
                for row in range(count):
                    found[asked[row], output, model] = total[row]
