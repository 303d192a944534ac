"""`Splitting`: which part of a trace a scenario is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from failgym.worlds.settings.checked import Checked

__all__ = ["FOLDS", "Split", "Splitting"]

Split = Literal["train", "test", "all", "fit", "validation"]
FOLDS = 5
"""Pieces that the later half of a trace is cut into, for a rolling origin."""


@dataclass(frozen=True, kw_only=True)
class Splitting(Checked):
    """A part of a trace, cut by time of submission.

    Raises:
        ValueError: if a value is out of range; the message names the field.
    """

    split: Split = "train"
    """Which part of the trace: "train", "test" (jobs submitted after the boundary) or "all"; or, to
    choose between models, "fit" and "validation": the train split cut once more in the same way."""
    boundary: float = 0.7
    """Share of the jobs that are submitted before the boundary."""
    fold: int = 0
    """Rolling origin: 1 to 5 make "test" one fifth of the later half of the jobs, and "train" all
    that was known before it (Tashman 2000); 0: one boundary, and all that is after it."""
    inner_boundary: float = 0.7
    """Share of the train split's jobs that are submitted before the boundary between "fit" and
    "validation"."""

    def __post_init__(self) -> None:
        self._check_choice("split", get_args(Split))
        self._check("fold", 0 <= self.fold <= FOLDS, f"0 to {FOLDS}")
        for name in ("boundary", "inner_boundary"):
            self._check(name, 0.0 < getattr(self, name) < 1.0, "in (0, 1)")

    @property
    def origin(self) -> float:
        """Share of the jobs that are submitted before "test" begins."""
        return (FOLDS + self.fold - 1) / (2 * FOLDS) if self.fold else self.boundary

    @property
    def until(self) -> float:
        """Share of the jobs that are submitted before "test" is over."""
        return (FOLDS + self.fold) / (2 * FOLDS) if self.fold else 1.0
