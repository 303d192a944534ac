"""Rules, and how they are assessed where tests make the trace."""

from __future__ import annotations

from typing import Any

from failgym.assessment import Assessment, Candidate, assess
from failgym.baselines import REGISTRY
from failgym.traces import Trace

RULES: dict[str, Candidate] = {
    name: Candidate(REGISTRY[name](), "published", name)
    for name in ("optimal_stopping", "blind_kill", "retry_cap", "young")
}


def assessed(trace: Trace, rules: dict[str, Candidate], **options: Any) -> Assessment:
    given: dict[str, Any] = {"name": "record", "forecasts": ("none",), **options}
    return assess(trace, trace, rules, **given)
