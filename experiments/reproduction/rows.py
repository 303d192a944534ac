"""A figure of a paper beside ours: the band it should lie in, the verdict, the interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

__all__ = ["Row", "digits", "relative", "within"]

CONFIDENCE = 0.95
"""Of the intervals over seeds."""


@dataclass(frozen=True)
class Row:
    """One figure of a paper, and ours.

    Raises:
        TypeError: if something is not a number that has to be one.
        ValueError: if the band has no bounds, or they are not in order.
    """

    name: str
    """row and column as the paper names them"""
    paper: float | None
    """None where the paper gives none"""
    ours: float
    low: float | None = None
    """95 % interval of ours over the seeds"""
    high: float | None = None
    band: tuple[float, float] | None = None
    """where ours should lie; None: not judged"""
    fitted: bool = False
    """a parameter, of a profile or of the experiment, is this very figure or was chosen after it"""
    note: str = ""
    """why it is outside, or what else has to be known"""
    exact: bool = False
    """arithmetic or a closed form, in a table that is approximate otherwise"""

    def __post_init__(self) -> None:
        figures = [self.ours, *(x for x in (self.paper, self.low, self.high) if x is not None)]
        if not all(isinstance(figure, Real) for figure in figures):
            raise TypeError(f"row {self.name!r}: expected numbers, got {figures}")
        if self.band is not None and not -math.inf < self.band[0] <= self.band[1] < math.inf:
            raise ValueError(
                f"row {self.name!r}: band {self.band}: expected finite bounds in order"
            )

    @property
    def verdict(self) -> str:
        """One of "within", "outside" and "fitted"; empty if it is not judged."""
        if self.band is None:
            return ""
        if not self.band[0] <= self.ours <= self.band[1]:
            return "outside"
        return "fitted" if self.fitted else "within"

    def because(self, note: str) -> Row:
        """The same row; if it is outside its band, with the reason."""
        return replace(self, note=note) if self.verdict == "outside" else self

    @classmethod
    def over(
        cls,
        name: str,
        values: Sequence[float],
        paper: float | None = None,
        band: tuple[float, float] | None = None,
        fitted: bool = False,
        note: str = "",
    ) -> Row:
        """The mean over seeds, with Student's interval; not a number where a seed gives none."""
        mean = float(np.mean(values))
        if len(values) < 2:
            return cls(name, paper, mean, None, None, band, fitted, note)
        spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
        half = student(len(values) - 1) * spread
        return cls(name, paper, mean, mean - half, mean + half, band, fitted, note)


def student(freedom: int) -> float:
    """The quantile of Student's distribution that a two-sided interval needs."""
    from scipy.special import stdtrit

    quantile: Any = stdtrit(freedom, 0.5 + CONFIDENCE / 2)
    return float(quantile)


def within(value: float, by: float) -> tuple[float, float]:
    """The band of a value, so much to both sides."""
    return value - by, value + by


def relative(value: float, share: float) -> tuple[float, float]:
    """The band of a value, a share of it to both sides."""
    return within(value, abs(value) * share)


def digits(value: float) -> str:
    """A figure with four digits that count."""
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
