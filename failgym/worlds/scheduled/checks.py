"""What has to fit together in a scenario of the scheduled world."""

from __future__ import annotations

from typing import Any

from failgym.worlds.scenario import Scenario

__all__ = ["check"]


def check(scenario: Scenario) -> None:
    """Raise ValueError, naming the field, if rules, cluster and slices do not fit together."""
    _expect(scenario, "order", scenario.order == "time", '"time" in the scheduled world')
    known = scenario.beyond_record in ("ghost", "continued")
    _expect(scenario, "beyond_record", known, '"ghost" or "continued" in the scheduled world')
    ranked = scenario.scheduler == "rank_hybd" or scenario.node_forecast == "none"
    _expect(scenario, "node_forecast", ranked, '"none" unless scheduler="rank_hybd"')
    struck: dict[str, Any] = {"failed_share": 0.0, "job_machines": ()}
    for name, empty in struck.items():
        given = getattr(scenario, name) != empty
        alone = not given or scenario.slice_jobs == 1
        _expect(scenario, name, alone, f"{empty!r} unless slice_jobs=1")
        own = not given or scenario.outages == "none"
        _expect(scenario, name, own, f'{empty!r} unless outages="none"')


def _expect(scenario: Scenario, name: str, good: bool, expected: str) -> None:
    if not good:
        raise ValueError(f"{name}: expected {expected}, got {getattr(scenario, name)!r}")
