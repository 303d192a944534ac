"""Trained agents where nobody trained them: on real traces, and on what they never met.

    python -m experiments.agents_elsewhere [--env ID ...] [--traces DIR] [--seeds 5]
        [--first 1000] [--set FIELD=VALUE ...] [--json FILE]

The agents of ``agents/zoo/``, those of each algorithm and the generalist, were trained on generated
traces. Without being trained again they are judged here, beside the rules
(`experiments.agents_and_rules`),

* on real traces, if ``--traces`` names a folder of stored ones (``failgym trace import``):
  ``google-2011`` (Google's cluster trace of 2011) for Cloning-v1, GracePeriod-v1 and Mitigation-v1;
  ``lanl-2`` (system 2 of Los Alamos) for Workflow-v1, whose workflows then run on its 49 nodes and
  meet its outages. Slices are drawn from all of a record, of which nothing was learned or tuned;
  Cloning-v1 on the tasks that it selects by the record;
* with a forecast, on a profile and at a load that none of them met in training (`NEVER_MET`): on
  the test splits of generated traces of other seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.agents_and_rules import (
    ZOO,
    Place,
    Row,
    agents_of,
    algorithms_of,
    rules,
    show,
    shown_compared,
)
from experiments.measured_worlds import world_of
from failgym.agents import load_agent
from failgym.cli.options import override
from failgym.cli.output import JsonFile, print_line
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors
from failgym.leaderboard.suite.suites import RELEASED
from failgym.policy import Policy
from failgym.traces import Trace
from failgym.traces.combine import on_nodes_of
from failgym.traces.synthetic import generate
from failgym.vocabulary import MINUTE

GOOGLE, LANL = "google-2011", "lanl-2"
REAL = {
    "Cloning-v1": GOOGLE,
    "GracePeriod-v1": GOOGLE,
    "Mitigation-v1": GOOGLE,
    "Workflow-v1": LANL,
}
"""The real trace of an environment, by its folder."""
BEGIN = 60 * MINUTE
"""A record of half a day is not left alone for as long as a generated trace is [ms]."""
FIRST = 1_000
"""Seed of the first trace that other forecasts speak of, and of the workflows on the record."""
SLICES = 200
"""Of a real trace at most, drawn."""
FEW = 12
"""Of one in a cluster that all other tasks of the record fill: some 140,000 at each of Google's."""


def real(scenario: Scenario, traces: Path) -> Place | None:
    """A whole real trace; None if there is none for the environment, or not here."""
    name = REAL.get(scenario.name)
    if name is None or not (traces / name).is_dir():
        return None
    trace: Trace | str = str(traces / name)
    if name == LANL:
        workflows = generate(LANL, jobs=scenario.jobs, seed=FIRST)
        trace = on_nodes_of(workflows, Trace.load(traces / name))
    judged = scenario.override(trace=trace, begin=min(scenario.begin, BEGIN))
    slices = SLICES if scenario.kind.independent or scenario.slice_jobs else FEW
    return Place(f"{name}, real", (Anchors.of(judged, split="all", episodes=slices),))


GENERALIST = "generalist"
"""The agent for all environments, among the algorithms."""
NEVER_MET: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "Cloning-v1": {
        "forecast `kumar`": {"forecast": "kumar"},
        "profile `opencloud`": {"trace": "opencloud", "jobs": 4_000},
    },
    "GracePeriod-v1": {
        "forecast `elsayed_by_job`": {"forecast": "elsayed_by_job"},
        "profile `opencloud`": {"trace": "opencloud", "jobs": 4_000},
    },
    "Checkpoint-v1": {
        "forecast `rosa_by_job`": {"forecast": "rosa_by_job"},
        "profile `google-2011-applications-failing`": {"trace": "google-2011-applications-failing"},
    },
    "Lineage-v1": {
        "half of the tasks fail": {"failed_share": 0.5},
    },
    "Workflow-v1": {
        "all failures of machines foretold": {"node_forecast": "exact"},
        "half of the failures of machines foretold": {"node_accuracy": 0.5},
    },
    "Mitigation-v1": {
        "forecast `kumar`": {"forecast": "kumar"},
        "profile `google-2011-applications-failing`": {"trace": "google-2011-applications-failing"},
        "load 1.5": {"load": 1.5},
    },
}
"""What no shipped agent met in training, by environment: fields that are not as registered. The
jobs of OpenCloud have so many tasks that fewer of them do."""


def never_met(scenario: Scenario, seeds: int, first: int) -> Iterator[Place]:
    """The test splits of so many traces of what no agent met."""
    for name, fields in NEVER_MET.get(scenario.name, {}).items():
        changed = scenario.override(**fields)
        unseen = [changed.override(trace_seed=first + i) for i in range(seeds)]
        anchors = tuple(Anchors.of(one, split="test") for one in unseen)
        yield Place(f"{name}, {seeds} traces", anchors)


def places(scenario: Scenario, traces: Path | None, seeds: int, first: int) -> Iterator[Place]:
    """Where the agents of an environment are judged."""
    if traces is not None and (place := real(scenario, traces)) is not None:
        yield place
    if seeds:
        yield from never_met(scenario, seeds, first)


def trained_agents(scenario: Scenario) -> dict[str, dict[str, Policy]]:
    """All that may play an environment, by what trained them."""
    found = {name: agents_of(scenario, algorithm=name) for name in algorithms_of(scenario)}
    if files := sorted((ZOO / GENERALIST).glob("*.safetensors")):
        found[GENERALIST] = {file.stem: load_agent(file) for file in files}
    return found


def main(
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable; all by default.")
    ] = None,
    traces: Annotated[Path | None, typer.Option(help="Folder of stored real traces.")] = None,
    seeds: Annotated[int, typer.Option(min=0, help="Generated traces of each kind.")] = 5,
    first: Annotated[int, typer.Option(min=0, help="Seed of the first of them.")] = FIRST,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="As for evaluate.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Judge the agents on real traces, and on what they never met."""
    file = JsonFile.at(json_file)
    rows: list[Row] = []
    for registered in [resolve(name) for name in env] if env else map(resolve, RELEASED):
        scenario = override(registered, settings)
        trained, against = trained_agents(scenario), rules(scenario)
        if not trained:
            print_line(f"{scenario.name}: no agents")
            continue
        for place in places(scenario, traces, seeds, first):
            rows += shown_compared(place, trained, against)
            file.write([asdict(row) | {"world": world_of(row.env)} for row in rows])
    show(rows)


if __name__ == "__main__":
    typer.run(main)
