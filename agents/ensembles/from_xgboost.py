"""Boosted trees out of XGBoost's own JSON, as a `Forest`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.agents.ensembles.forest import Forest

__all__ = ["forest_of"]

ALWAYS_LEFT = np.float32(np.inf)
"""Threshold of a node that asks nothing."""


def forest_of(boosters: Sequence[Sequence[Any]], depth: int) -> Forest:
    """The forest of boosters, which gives the margins that they give, to the bit.

    Args:
        boosters: [outputs][models] XGBoost's, each with one output, as many trees each, no
            categories, and a base score of 0.5, which stands for a margin of 0.
        depth: levels that none of their trees exceeds.

    Raises:
        ValueError: for boosters that differ in how many trees they have.
    """
    parsed = [[_trees(booster) for booster in models] for models in boosters]
    counts = {len(trees) for models in parsed for trees in models}
    if len(counts) != 1:
        raise ValueError(f"boosters: expected as many trees in each, got {sorted(counts)}")
    shape = (len(parsed), len(parsed[0]), counts.pop())
    inner = (1 << depth) - 1
    forest = Forest(
        fields=np.zeros((*shape, inner), dtype=np.int32),
        thresholds=np.full((*shape, inner), ALWAYS_LEFT, dtype=np.float32),
        leaves=np.zeros((*shape, inner + 1), dtype=np.float32),
        base=np.zeros(shape[:2], dtype=np.float32),
    )
    for output, models in enumerate(parsed):
        for model, trees in enumerate(models):
            for number, tree in enumerate(trees):
                at = (output, model, number)
                _fill(tree, forest.fields[at], forest.thresholds[at], forest.leaves[at])
    return forest


def _trees(booster: Any) -> list[dict[str, Any]]:
    content: Any = json.loads(bytes(booster.save_raw("json")))
    return content["learner"]["gradient_booster"]["model"]["trees"]


def _fill(
    tree: dict[str, Any],
    fields: npt.NDArray[np.int32],
    thresholds: npt.NDArray[np.float32],
    leaves: npt.NDArray[np.float32],
) -> None:
    """Write a tree down; what lies below one of its leaves holds that leaf."""
    inner, left, right = len(fields), tree["left_children"], tree["right_children"]
    values = tree["split_conditions"]  # of a leaf: its value
    own = np.zeros(2 * inner + 1, dtype=np.int64)  # node of the tree at each place
    for place in range(2 * inner + 1):
        node = own[place]
        if place >= inner:
            leaves[place - inner] = values[node]
        elif left[node] == -1:
            own[2 * place + 1] = own[2 * place + 2] = node
        else:
            fields[place], thresholds[place] = tree["split_indices"][node], values[node]
            own[2 * place + 1], own[2 * place + 2] = left[node], right[node]
