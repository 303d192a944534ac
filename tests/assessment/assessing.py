"""Rules, and how they are assessed where tests make the trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.assessment import Assessment, Candidate, assess
from failgym.baselines import REGISTRY
from failgym.baselines.base import ObservationView
from failgym.traces import Trace
from failgym.vocabulary import Action

RULES: dict[str, Candidate] = {
    name: Candidate(REGISTRY[name](), "published", name)
    for name in ("optimal_stopping", "blind_kill", "retry_cap", "young")
}


def assessed(trace: Trace, rules: dict[str, Candidate], **options: Any) -> Assessment:
    given: dict[str, Any] = {"name": "record", "forecasts": ("none",), **options}
    return assess(trace, trace, rules, **given)


class KillAfter:
    """Kills whatever it may that is older than so many hours; after 0 all."""

    def __init__(self, hours: int) -> None:
        self._hours = hours

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: Any = None,
    ) -> tuple[Any, Any]:
        """See `failgym.policy.Policy`."""
        old = ObservationView(observation).minutes("age") >= 60.0 * self._hours
        kill = np.asarray(action_masks)[:, Action.KILL] & old
        return np.where(kill, Action.KILL, Action.CONTINUE), state
