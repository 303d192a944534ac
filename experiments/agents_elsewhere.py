"""Trained agents where nobody trained them: on real traces, and with other forecasts.

    python -m experiments.agents_elsewhere [--env ID ...] [--traces DIR] [--seeds 5] [--json FILE]

The agents of ``agents/zoo/`` were trained on generated traces, with drawn forecasts. Without being
trained again they are judged here, beside the rules (`experiments.agents_and_rules`),

* on real traces, if ``--traces`` names a folder of stored ones (``failgym trace import``):
  ``google-2011`` (Google's cluster trace of 2011) for Cloning-v1, GracePeriod-v1 and Mitigation-v1;
  ``lanl-2`` (system 2 of Los Alamos) for Workflow-v1, whose workflows then run on its 49 nodes and
  meet its outages. Slices are drawn from all of a record, of which nothing was learned or tuned;
  Cloning-v1 on the tasks that it selects by the record;
* with the forecasts of a predictor that learned from the train split of the registered trace, that
  of the suite ``v2`` (`failgym.leaderboard.suite.suites`), and with no forecast at all: on the test
  splits of generated traces that nobody has seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from experiments.agents_and_rules import (
    Place,
    Row,
    agents_of,
    compared,
    rules,
    show,
)
from failgym.cli.output import JsonFile, interactive, print_line
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors
from failgym.evaluation.progress import progress_bar
from failgym.leaderboard.suite.suites import RELEASED, SUITES
from failgym.predictors import GradientBoosting
from failgym.traces import Trace
from failgym.traces.combine import on_nodes_of
from failgym.traces.synthetic import generate
from failgym.vocabulary import MINUTE
from failgym.worlds.build import part_of

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


def forecasts(scenario: Scenario) -> dict[str, Scenario]:
    """The environment with other forecasts than its own, by their name."""
    course = SUITES["v2"].course(scenario.name)
    found: dict[str, Scenario] = {}
    if "trained" in course.forecasts:
        predictor = GradientBoosting(window=scenario.window, **(course.trained or {}))
        predictor.fit(part_of(scenario, "train").recorded)
        found["trained forecast"] = scenario.override(forecast=predictor)
    if course.forecasts != ("none",):
        found["no forecast"] = scenario.override(forecast="none", node_forecast="none")
    return found


def places(scenario: Scenario, traces: Path | None, seeds: int) -> Iterator[Place]:
    """Where the agents of an environment are judged."""
    if traces is not None and (place := real(scenario, traces)) is not None:
        yield place
    for name, changed in forecasts(scenario).items() if seeds else ():
        unseen = [changed.override(trace_seed=FIRST + i) for i in range(seeds)]
        yield Place(f"{name}, {seeds} traces", tuple(Anchors.of(one) for one in unseen))


def main(
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable; all by default.")
    ] = None,
    traces: Annotated[Path | None, typer.Option(help="Folder of stored real traces.")] = None,
    seeds: Annotated[int, typer.Option(min=0, help="Generated traces for each forecast.")] = 5,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Judge the agents on real traces, and with other forecasts."""
    file = JsonFile.at(json_file)
    rows: list[Row] = []
    for scenario in [resolve(name) for name in env] if env else map(resolve, RELEASED):
        trained, against = agents_of(scenario), rules(scenario)
        if not trained:
            print_line(f"{scenario.name}: no agents")
            continue
        for place in places(scenario, traces, seeds):
            total = place.slices * (len(trained) + len(against))
            with progress_bar(f"{scenario.name}, {place.name}", total, interactive()) as advance:
                rows.append(compared(place, trained, against, advance))
            file.write([asdict(row) for row in rows])
    show(rows)


if __name__ == "__main__":
    typer.run(main)
