"""Algorithm 1 of El-Sayed et al.: clone an attempt that is predicted to fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from failgym.baselines.base import (
    Bools,
    Choices,
    Heuristic,
    ObservationView,
    check_probability,
    flagged,
)
from failgym.baselines.search import choice, tuned
from failgym.vocabulary import Action

__all__ = ["Algorithm1"]


@dataclass(frozen=True)
class Algorithm1(Heuristic):
    """Clone when failure is predicted; on a failure start the next attempt.

    El-Sayed, Zhu and Schroeder, "Learning from failure across multiple clusters", ICDCS 2017,
    Algorithm 1. The scenario's own caps bind as well. After the last extra attempt nothing is
    started: a further failure is left to the cluster. Extra attempts are counted as the clones
    plus the failures before this decision, each of which this policy answered by a retry.

    Two readings of its line 6, ``k = min{1, R - r, C - c}`` against the text's "C extra clones":

    - ``chain``, as printed: each attempt, clones included, may trigger one clone when failure is
      predicted for it for the first time;
    - ``burst``: the first prediction starts ``min{C, R - r, C - c}`` clones at once.

    A policy without memory knows a first prediction by the risk one window earlier, or by there
    being no clone of the task yet. This is exact with C = 1 and wherever every window is asked;
    where windows are skipped (geometric spacing), the chain of C > 1 can miss a link.
    """

    name: ClassVar[str] = "algorithm_1"
    after: ClassVar[str] = "El-Sayed et al. 2017"
    needs: ClassVar[frozenset[str]] = frozenset({"clone", "retry"})

    threshold: float = tuned(0.9, 0.05, 1.0)
    """Risk from which failure is predicted (section VI-B: 0.9 or higher, for the overhead)."""
    max_extra: int = tuned(4, 0, 10)
    """R: extra attempts of a task, clones included (section VI-B)."""
    max_clones: int = tuned(1, 0, 4)
    """C: clones of a task (section VI-B)."""
    reading: Literal["chain", "burst"] = choice("chain", "burst")
    """Which reading of line 6."""

    def __post_init__(self) -> None:
        if self.reading not in ("chain", "burst"):
            raise ValueError(f"reading: expected chain or burst, got {self.reading!r}")
        check_probability("threshold", self.threshold)

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CLONE at a prediction, RETRY at a failure, CONTINUE elsewhere."""
        clones, failed = view.count("clones"), view.is_on("failed")
        extra = clones + view.count("failures") - failed
        answered = failed & (view.count("actions_taken") > 0)
        clone = self._predicted(view) & (clones < self.max_clones)
        action = np.where(failed, Action.RETRY, np.where(clone, Action.CLONE, Action.CONTINUE))
        wanted = (extra < self.max_extra) & ~answered
        return np.where(wanted, action, Action.CONTINUE).astype(np.int64)

    def _predicted(self, view: ObservationView) -> Bools:
        """Is failure predicted, and in the chain reading for the first time?"""
        now = flagged(view, self.threshold)
        if self.reading == "burst":
            return now
        before = view["risk"] - view["risk_change"] >= np.float32(self.threshold)
        first = (view.count("clones") == 0) | (view["age"] == 0) | ~before
        return now & first & (view.count("actions_taken") == 0)
