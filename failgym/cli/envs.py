"""`failgym envs`: the registered environments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failgym.cli.options import Json
from failgym.cli.output import Cell, JsonFile, print_line, print_table

if TYPE_CHECKING:
    from failgym.worlds.scenario import Scenario

__all__ = ["envs"]

COLUMNS = ("id", "world", "may decide", "asked", "episode")
FROM = ("", "trace", "forecast")
NARROW = 80
"""Columns that the tables fit into."""
LEGEND = """\
asked: when a running task is asked about; geometric: each time its age has
  grown by this factor; every: in each monitoring window
forecast: what policies know of the future; auto: drawn at the quality of a
  paper on a generated trace, learned on a record
wasted, overhead, completion, forfeited, others: weights of the terms of a cost
value: of a task that finishes, in multiples of its machine-time
wait: machine-hours that an hour of waiting costs"""
"""What the columns mean."""


def envs(json: Json = None) -> None:
    """List the registered environments, those of other packages too."""
    from dataclasses import asdict

    from failgym.baselines.base import enabled

    file = JsonFile.at(json)
    scenarios = _scenarios()
    rows: list[tuple[Cell, ...]] = []
    made_from: list[tuple[Cell, ...]] = []
    for name, scenario in scenarios.items():
        decisions = ", ".join(enabled(scenario))
        spacing = scenario.decide
        if spacing == "geometric":
            spacing = f"geometric {scenario.factor:g}"
        if not any((scenario.clone, scenario.checkpoint, scenario.kill)):
            spacing = "-"
        jobs, tasks = scenario.slice_jobs, scenario.slice_tasks
        size = f"{jobs} job{'s' * (jobs > 1)}" if jobs else f"{tasks} tasks"
        forecast = str(scenario.forecast)
        if scenario.node_forecast != "none":
            forecast = f"nodes: {scenario.node_forecast}"
        rows.append((f"failgym/{name}", scenario.world, decisions, spacing, size))
        made_from.append((name, str(scenario.trace), forecast))
    print_table("Environments", COLUMNS, rows, texts=frozenset(COLUMNS), width=NARROW)
    print_table("Made from", FROM, made_from, texts=frozenset(FROM), width=NARROW)
    charged = {name: _prices(scenario) for name, scenario in scenarios.items()}
    columns = list(dict.fromkeys(what for prices in charged.values() for what in prices))
    prices = [(name, *(found.get(what) for what in columns)) for name, found in charged.items()]
    print_table("Weights and prices", ("", *columns), prices, width=NARROW)
    print_line(LEGEND)
    file.write({f"failgym/{name}": asdict(scenario) for name, scenario in scenarios.items()})


def _prices(scenario: Scenario) -> dict[str, float]:
    """What is charged for, and at which weight."""
    from failgym.worlds.settings.prices import WEIGHTS

    weights = {term: getattr(scenario, f"weight_{term}") for term in WEIGHTS}
    found = {term: weight for term, weight in weights.items() if weight}
    named = {"value": scenario.task_value, "wait": scenario.waiting_price}
    found |= {name: price for name, price in named.items() if price is not None}
    return found | ({"others": 1.0} if scenario.charge == "episode" else {})


def _scenarios() -> dict[str, Scenario]:
    """By name; a line says which of another package cannot be made."""
    from failgym.additions import additions
    from failgym.envs.scenarios import SCENARIOS, resolve

    found = dict(SCENARIOS)
    for name in additions("environments", SCENARIOS):
        try:
            found[name] = resolve(name)
        except ValueError as error:
            print_line(f"left out: {error}")
    return found
