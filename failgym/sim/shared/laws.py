"""The laws of a `Continuation` as the engines hold them, and how kernels draw from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.continuation import Continuation, Law
from failgym.sim.shared.jit import called
from failgym.sim.shared.observe import up_to

__all__ = [
    "CHANCE",
    "EXTERNAL",
    "FAILURE",
    "GAP_AFTER_EXTERNAL",
    "GAP_AFTER_FAILURE",
    "NO_LAWS",
    "Laws",
    "chance_of",
    "draw",
    "draw_all",
    "pack",
    "share_up_to",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FAILURE, EXTERNAL, GAP_AFTER_FAILURE, GAP_AFTER_EXTERNAL, CHANCE = range(5)
"""The laws from which kernels draw, in the order in which they lie. `CHANCE`, which has cells of
its own, is the last."""


class Laws(NamedTuple):
    """All laws, one behind the other."""

    at: npt.NDArray[np.int64]
    """bounds of the cells of each law in the entries, [cells + 1] for each"""
    value: npt.NDArray[np.float64]
    """[entries] see `Law.value`"""
    share: npt.NDArray[np.float64]
    """[entries] see `Law.share`"""
    gives_up: npt.NDArray[np.float64]
    """[cells] see `Continuation.gives_up`"""
    ends_external: npt.NDArray[np.float64]
    """[cells] see `Continuation.ends_external`"""


NO_LAWS = Laws(np.zeros(0, dtype=np.int64), *(np.zeros(0) for _ in range(4)))
"""What stands where the record is not continued."""


def pack(continuation: Continuation) -> Laws:
    """The laws from which kernels draw."""
    c = continuation
    laws = (c.failure, c.external, c.gap_after_failure, c.gap_after_external, c.chance)
    begin = np.cumsum([0, *(len(law.value) for law in laws)])
    return Laws(
        at=np.concatenate([law.at + first for law, first in zip(laws, begin, strict=False)]),
        value=np.concatenate([law.value for law in laws]).astype(np.float64),
        share=np.concatenate([law.share for law in laws]).astype(np.float64),
        gives_up=c.gives_up.astype(np.float64),
        ends_external=c.ends_external.astype(np.float64),
    )


@called
def draw(laws: Any, law: int, cell: int, u: float) -> float:
    """The first value of a cell whose share is above u; infinite if there is none."""
    at = law * (len(laws.gives_up) + 1) + cell
    first, end = laws.at[at], laws.at[at + 1]
    found = first + up_to(laws.share, first, end - first, u)
    return laws.value[found] if found < end else np.inf


def chance_of(laws: Laws) -> Law:
    """The law of chance among packed ones, of which it is the last."""
    at = laws.at[CHANCE * (len(laws.gives_up) + 1) :]
    return Law(at - at[0], laws.value[at[0] :], laws.share[at[0] :])


def draw_all(law: Law, cell: Ints, u: Floats) -> Floats:
    """What `draw` gives for many at once, [draws]; every cell must have entries."""
    found = _first_above(law.share, law, cell, u)
    return np.where(
        found < law.at[cell + 1], law.value[np.minimum(found, len(law.value) - 1)], np.inf
    )


def share_up_to(law: Law, cell: Ints, value: Floats) -> Floats:
    """The share of each cell that is at most a value, [draws]; every cell must have entries."""
    found = _first_above(law.value, law, cell, value)
    return np.where(found > law.at[cell], law.share[np.maximum(found - 1, 0)], 0.0)


def _first_above(numbers: Floats, law: Law, cell: Ints, than: Floats) -> Ints:
    """The first entry of each cell whose number is above another; the cell's end without."""
    low, left = law.at[cell], np.diff(law.at)[cell]
    while len(left) and left.max() > 0:
        half = left >> 1
        above = numbers[np.minimum(low + half, len(numbers) - 1)] > than
        low, left = (
            np.where(above | (left == 0), low, low + half + 1),
            np.where(above, half, np.maximum(left - half - 1, 0)),
        )
    return low
