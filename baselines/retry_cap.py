"""Retry cap: retry a few times, then give up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView
from failgym.baselines.search import tuned
from failgym.vocabulary import Action

__all__ = ["RetryCap"]


@dataclass(frozen=True)
class RetryCap(Heuristic):
    """Retry a failed task at most ``retries`` times, then give it up.

    El-Sayed, Zhu and Schroeder, "Learning from failure across multiple clusters", ICDCS 2017,
    section VI: the chance that a retry succeeds drops to nothing after one or two failures (Fig.
    6), so the number of retries should be capped.

    Retries are counted by the task's failures, whoever restarted it. Where the scenario's own cap
    on extra attempts forbids a retry that this rule still allows, the task is left to the cluster.
    """

    name: ClassVar[str] = "retry_cap"
    after: ClassVar[str] = "El-Sayed et al. 2017"
    needs: ClassVar[frozenset[str]] = frozenset({"retry", "give_up"})
    reads: ClassVar[frozenset[str]] = frozenset({"failures"})

    retries: int = tuned(2, 0, 10)
    """Retries after a failure ("more than once or twice is futile", section IV-B)."""

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise ValueError(f"retries: expected at least 0, got {self.retries}")

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return RETRY or KILL at FAILED, CONTINUE elsewhere."""
        answer = np.where(view.count("failures") <= self.retries, Action.RETRY, Action.KILL)
        unanswered = view.is_on("failed") & (view.count("actions_taken") == 0)
        return np.where(unanswered, answer, Action.CONTINUE).astype(np.int64)
