"""`Splitting`: which part of a trace a scenario is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from failgym.worlds.settings.checked import Checked

__all__ = ["Split", "Splitting"]

Split = Literal["train", "test", "all", "fit", "validation"]


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
    inner_boundary: float = 0.7
    """Share of the train split's jobs that are submitted before the boundary between "fit" and
    "validation"."""

    def __post_init__(self) -> None:
        self._check_choice("split", get_args(Split))
        for name in ("boundary", "inner_boundary"):
            self._check(name, 0.0 < getattr(self, name) < 1.0, "in (0, 1)")
