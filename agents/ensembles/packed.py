"""Trees as a policy file holds them: only nodes that ask, and each threshold once.

XGBoost splits at the edges of histograms, so few thresholds are distinct: a node holds the number
of its own in a table. And a complete tree repeats a leaf below where a shallower one ends; in a
file it stands once. Both lose nothing: the trees that are read are the same to the bit.

    forest.asks        uint8 [2**depth - 1, trees / 8] a bit for each node of each tree, which is
                       set where it asks; the first of eight trees has the lowest bit
    forest.cuts        float32 [cuts] thresholds
    forest.fields      [nodes that ask] tree after tree, each level by level
    forest.thresholds  [nodes that ask] which of the cuts
    forest.leaves      [nodes that ask + trees] tree after tree, each from left to right
    forest.base        float32 [outputs, models], which says of whom the trees are
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.agents.ensembles.forest import DEEPEST, Forest

__all__ = ["MOST_NODES", "packed", "unpacked"]

Bools = npt.NDArray[np.bool_]

MOST_NODES = 1 << 25
"""Of all trees as they are in memory, so that a small file cannot ask for more than 400 MB."""


def packed(forest: Forest) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file, in the types of memory; `unpacked` is its inverse."""
    inner = forest.fields.shape[3]
    fields, thresholds = forest.fields.reshape(-1, inner), forest.thresholds.reshape(-1, inner)
    leaves = forest.leaves.reshape(-1, inner + 1)
    asks = _asking(fields, thresholds, leaves)
    cuts, number = np.unique(thresholds[asks].view(np.uint32), return_inverse=True)
    return {
        "asks": np.packbits(asks.T, axis=1, bitorder="little"),
        "base": forest.base,
        "cuts": cuts.view(np.float32),
        "fields": fields[asks],
        "leaves": leaves[_ends(asks)],
        "thresholds": number.astype(np.int32),
    }


def unpacked(arrays: Mapping[str, npt.NDArray[Any]]) -> Forest:
    """The trees that arrays of a file are, which `Forest.check` is still to be asked about.

    Args:
        arrays: by these names, in the types of memory.

    Raises:
        ValueError: in one line, where the arrays do not fit together.
    """
    base, cuts, fields, number = (arrays[k] for k in ("base", "cuts", "fields", "thresholds"))
    for name in ("cuts", "fields", "thresholds", "leaves"):
        if arrays[name].ndim != 1:
            raise ValueError(f"{name}: expected one axis, got {list(arrays[name].shape)}")
    trees = len(arrays["leaves"]) - len(fields)
    if base.ndim != 2 or base.size == 0 or trees < 1 or trees % base.size:
        raise ValueError(
            "base, leaves: expected [outputs, models] and a leaf more than nodes in each of their"
            f" trees, got {list(base.shape)} and {trees} more"
        )
    asks = _bits(arrays["asks"], trees)
    if not int(asks.sum()) == len(fields) == len(number):
        raise ValueError(
            f"fields, thresholds: expected {int(asks.sum())}, as many as nodes that ask, got"
            f" {len(fields)} and {len(number)}"
        )
    if len(number) and not 0 <= number.min() <= number.max() < len(cuts):
        raise ValueError(f"thresholds: expected numbers of {len(cuts)} cuts")
    forest = Forest.of_nothing(1, trees, asks.shape[1].bit_length())
    forest.fields[0, 0][asks], forest.thresholds[0, 0][asks] = fields, cuts[number]
    leaf_of = np.cumsum(_ends(asks)).reshape(trees, -1) - 1  # that of the last one that is held
    shape = (*base.shape, trees // base.size)
    return Forest(
        forest.fields.reshape(*shape, -1),
        forest.thresholds.reshape(*shape, -1),
        arrays["leaves"][leaf_of].reshape(*shape, -1),
        base,
    )


def _asking(
    fields: npt.NDArray[np.int32],
    thresholds: npt.NDArray[np.float32],
    leaves: npt.NDArray[np.float32],
) -> Bools:
    """Which nodes ask, or stand above one that does, [trees, nodes]; all leaves below another one
    are the same.
    """
    asks = (thresholds != np.inf) | (fields != 0)
    first = leaves.view(np.uint32)  # leaf at the left below each node of a level
    below = np.zeros(first.shape, dtype=np.bool_)
    while first.shape[1] > 1:
        left, right = first[:, ::2], first[:, 1::2]
        level = slice(left.shape[1] - 1, 2 * left.shape[1] - 1)
        asks[:, level] |= below[:, ::2] | below[:, 1::2] | (left != right)
        first, below = left, asks[:, level]
    return asks


def _ends(asks: Bools) -> Bools:
    """Which leaves a file holds, [trees, leaves]: the first below each node that does not ask."""
    there = np.ones((len(asks), 1), dtype=np.bool_)
    while there.shape[1] <= asks.shape[1]:
        level = slice(there.shape[1] - 1, 2 * there.shape[1] - 1)
        there = np.stack([there, there & asks[:, level]], axis=2).reshape(len(asks), -1)
    return there


def _bits(asks: npt.NDArray[np.uint8], trees: int) -> Bools:
    """Which nodes ask, [trees, nodes]. Raises ValueError unless they can be those of trees."""
    inner, most = (asks.shape[0] if asks.ndim == 2 else 0), (1 << DEEPEST) - 1
    if not 0 < inner <= most or inner & (inner + 1) or asks.shape[1] != -(-trees // 8):
        raise ValueError(
            f"asks: expected [2**depth - 1, {-(-trees // 8)}], depth at most {DEEPEST},"
            f" got {list(asks.shape)}"
        )
    if inner * trees > MOST_NODES:
        raise ValueError(f"asks: expected {MOST_NODES:,} nodes at most, got {inner * trees:,}")
    bits = np.unpackbits(asks, axis=1, bitorder="little").T.astype(np.bool_)
    if bits[trees:].any():
        raise ValueError(f"asks: expected {trees} trees, got more")
    found = np.ascontiguousarray(bits[:trees])
    above = (np.arange(1, inner) - 1) // 2
    if (found[:, 1:] & ~found[:, above]).any():
        raise ValueError("asks: expected none below a node that does not ask")
    return found
