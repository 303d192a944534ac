"""Weibull laws fitted by maximum likelihood, for tests."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Weibull(NamedTuple):
    """A Weibull law."""

    shape: float
    scale: float


def fit(values: npt.NDArray[np.float64]) -> Weibull:
    """The law of greatest likelihood of the positive values, by bisection for the shape."""
    x = values[values > 0]
    log = np.log(x / x.max())

    def slope(shape: float) -> float:
        weight = np.exp(shape * log)
        return float((weight * log).sum() / weight.sum() - 1.0 / shape - log.mean())

    low, high = 0.01, 50.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return Weibull(low, float(x.max() * np.mean(np.exp(low * log)) ** (1.0 / low)))


def gaps(machine: npt.NDArray[np.int64], down: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Hours between one failure and the next of the same machine, over all machines."""
    order = np.lexsort((down, machine))
    same = np.diff(machine[order]) == 0
    return np.diff(down[order])[same] / 3_600_000.0
