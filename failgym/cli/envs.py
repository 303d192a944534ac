"""`failgym envs`: the registered environments."""

from __future__ import annotations

from failgym.cli.options import Json
from failgym.cli.output import Cell, JsonFile, print_table

__all__ = ["envs"]

COLUMNS = ("id", "trace", "decisions", "asked", "forecast", "tasks per episode", "charged for")


def envs(json: Json = None) -> None:
    """List the registered environments."""
    from dataclasses import asdict

    from failgym.baselines.base import DECISIONS
    from failgym.envs import SCENARIOS
    from failgym.envs.spaces import TERMS

    file = JsonFile.at(json)
    rows: list[tuple[Cell, ...]] = []
    for name, scenario in SCENARIOS.items():
        decisions = ", ".join(d for d in DECISIONS if getattr(scenario, d))
        weights = {term: getattr(scenario, f"weight_{term}") for term in TERMS}
        charged = ", ".join(f"{term} {weight:g}" for term, weight in weights.items() if weight)
        spacing = scenario.decide
        if spacing == "geometric":
            spacing = f"geometric {scenario.factor:g}"
        forecast, size = str(scenario.forecast), scenario.slice_tasks
        rows.append(
            (f"failgym/{name}", str(scenario.trace), decisions, spacing, forecast, size, charged)
        )
    print_table("Environments", COLUMNS, rows, unbroken=frozenset({"trace"}))
    file.write({f"failgym/{name}": asdict(scenario) for name, scenario in SCENARIOS.items()})
