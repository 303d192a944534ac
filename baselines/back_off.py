"""Back-off limit: let a task be tried again so many times, and not for every cause of failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView
from failgym.baselines.search import choice, tuned
from failgym.vocabulary import Action

__all__ = ["BackOff"]

Cause = Literal["none", "memory", "sibling"]
Restart = Literal["cluster", "at_once"]


@dataclass(frozen=True)
class BackOff(Heuristic):
    """Try again while the failures are within the limit and the cause allows it; then give up.

    Kubernetes, documentation of Job, sections "Pod backoff failure policy" and "Pod failure
    policy": a failed pod is started again until ``backoffLimit`` (6) retries have failed too, with
    a delay of 10 s that doubles each time up to six minutes. A ``podFailurePolicy``, which there is
    none of by default, lets disruptions pass uncounted (Ignore) and ends the job at once for some
    causes (FailJob).

    Fidelity: no action waits for so many seconds. A restart is left to the cluster, which has its
    own delay, that of the record, and its own limit for tasks that somebody has interfered with; or
    it comes at once. Disruptions are never counted, since FAILED is asked of intrinsic failures
    only. Observations show no exit code, by which a policy is usually written; the causes that can
    be told are memory (more used than was requested) and a task of the same job that failed before
    (as a fault in the program would make it). FailJob ends the task, not its job.
    """

    name: ClassVar[str] = "back_off"
    after: ClassVar[str] = "Kubernetes jobs"
    needs: ClassVar[frozenset[str]] = frozenset({"retry", "give_up"})
    reads: ClassVar[frozenset[str]] = frozenset({"failures"})

    limit: int = tuned(6, 0, 12)
    """Retries before a task is given up (backoffLimit)."""
    fail_on: Cause = choice(*get_args(Cause))
    """The cause for which a task is given up at its first failure (FailJob)."""
    restart: Restart = choice(*get_args(Restart))
    """Who starts the task again: the cluster after its delay, or the agent at once."""

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ValueError(f"limit: expected at least 0, got {self.limit}")
        for name, known in (("fail_on", get_args(Cause)), ("restart", get_args(Restart))):
            if getattr(self, name) not in known:
                got = getattr(self, name)
                raise ValueError(f"{name}: expected one of {', '.join(known)}, got {got!r}")

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return KILL at a FAILED that is one too many or hopeless, else a restart."""
        hopeless = (view.count("failures") > self.limit) | self._hopeless(view)
        again = Action.RETRY if self.restart == "at_once" else Action.CONTINUE
        unanswered = view.is_on("failed") & (view.count("actions_taken") == 0)
        answer = np.where(hopeless, Action.KILL, again)
        return np.where(unanswered, answer, Action.CONTINUE).astype(np.int64)

    def _hopeless(self, view: ObservationView) -> Bools:
        """Is the cause of the failure one for which the task is given up?"""
        if self.fail_on == "memory":
            return view["memory_ratio"] > 1.0
        return view.is_on("sibling_failed") & (self.fail_on == "sibling")
