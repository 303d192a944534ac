"""Trained agents against the best rule, where neither has been.

    python -m experiments.agents_and_rules [--env ID ...] [--seeds 20] [--first 5000]
        [--set FIELD=VALUE ...] [--agents DIR] [--json FILE]

The agents of ``agents/zoo/<environment>/``, those of each algorithm together, every compatible
heuristic, as published and with the parameters that were found for it (``experiments/tuned/``), and
the best of 2,000 random rules (``experiments/rules/``, chosen on train splits) are judged

* on the test split of the environment as registered, and
* on the test splits of traces of other seeds, all their slices taken together: no seed of these
  was used to train, tune or choose anything.

The figure of the agents is the interquartile mean of the scores of their training runs. It is held
against the rule that is the best in hindsight, on those very slices: no rule could have been chosen
better. The 95 % interval of the difference is paired: resampled are traces and their jobs (slices
where tasks share machines), the same for both, and training runs
(`failgym.leaderboard.statistics.bootstrap`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer

from experiments.measured_worlds import world_of
from experiments.random_rules import RANDOM
from experiments.zoo import ALGORITHM
from failgym.agents import load_agent
from failgym.baselines import REGISTRY
from failgym.baselines.stored import load_heuristic
from failgym.cli.options import override
from failgym.cli.output import JsonFile, interactive, print_line, print_table
from failgym.envs import SCENARIOS, Scenario, resolve
from failgym.evaluation import Anchors
from failgym.evaluation.progress import Advance, progress_bar, silent
from failgym.evaluation.statistics.sampling_units import TracesUnits
from failgym.leaderboard.statistics.bootstrap import Bootstrap, Estimate
from failgym.leaderboard.statistics.estimators import Runs, run_scores
from failgym.policy import Policy
from failgym.traces import Trace
from failgym.traces.synthetic import PROFILES

ZOO = Path(__file__).parents[1] / "agents" / "zoo"
TUNED = Path(__file__).parent / "tuned"
RANDOM_RULES = Path(__file__).parent / "rules"
UNSEEN = 5_000
"""First seed of the traces that nobody has seen."""
NO_RULES = frozenset({"replay", "random"})


@dataclass(frozen=True)
class Place:
    """Slices that policies are compared on."""

    name: str
    anchors: tuple[Anchors, ...]

    @property
    def slices(self) -> int:
        """How many."""
        return sum(len(each.replay.slices) for each in self.anchors)

    def runs(self, policies: Sequence[Policy], advance: Advance = silent) -> Runs:
        """What policies save over replay: jobs stand for slices where it is known what each costs.

        What is resampled, and so stands for a slice, is what `evaluate` resamples.
        """
        evidence = [each.evidence for each in self.anchors]
        units = TracesUnits.joined([each.units for each in evidence])
        saved = np.array([self._saved(policy, advance) for policy in policies])
        possible = np.concatenate([each.possible for each in evidence])
        spent = np.concatenate([each.spent for each in evidence])
        return Runs(saved, possible, spent, units).by_unit()

    def _saved(self, policy: Policy, advance: Advance) -> npt.NDArray[np.float64]:
        parts = [
            each.evidence.replay - each.evidence.costs(each.run(policy, progress=advance))
            for each in self.anchors
        ]
        return np.concatenate(parts)


@dataclass(frozen=True)
class Row:
    """Agents and rules on the slices of a place."""

    env: str
    place: str
    slices: int
    agents: Estimate
    """interquartile mean of the agents' scores"""
    runs: dict[str, float]
    """score of each agent"""
    rule: str
    """the best of the rules on these slices"""
    rule_score: Estimate
    above: Estimate
    """agents less that rule"""
    rules: dict[str, float]
    """score of every rule"""
    algorithm: str = ALGORITHM
    """what the agents were trained with"""


def agents_of(
    scenario: Scenario, folder: Path = ZOO, algorithm: str = ALGORITHM
) -> dict[str, Policy]:
    """The trained agents of an environment, by the names of their files; there may be none."""
    files = sorted((folder / scenario.name).glob(f"{algorithm}-*.safetensors"))
    return {path.stem: load_agent(path) for path in files}


def algorithms_of(scenario: Scenario, folder: Path = ZOO) -> list[str]:
    """What the agents of an environment were trained with, by the names of their files."""
    files = (folder / scenario.name).glob("*-*.safetensors")
    found = {path.stem.rpartition("-")[0] for path in files}
    return sorted(found, key=lambda name: (name != ALGORITHM, name))


def rules(scenario: Scenario) -> dict[str, Policy]:
    """Every compatible heuristic, those with other parameters once more, and the random rule."""
    found: dict[str, Policy] = {}
    for name, kind in REGISTRY.items():
        if name in NO_RULES or not kind.compatible(scenario):
            continue
        found[name] = kind()
        file = TUNED / scenario.name / f"{name}.json"
        if file.is_file() and (tuned := load_heuristic(file)) not in found.values():
            found[f"{name} tuned"] = tuned
    if (file := RANDOM_RULES / f"{scenario.name}.json").is_file():
        found[RANDOM] = load_heuristic(file)
    return found


def compared(
    place: Place, agents: Mapping[str, Policy], against: Mapping[str, Policy], advance: Advance
) -> Row:
    """Agents of one algorithm and rules on the slices of a place."""
    (row,) = all_compared(place, {ALGORITHM: agents}, against, advance)
    return row


def all_compared(
    place: Place,
    trained: Mapping[str, Mapping[str, Policy]],
    against: Mapping[str, Policy],
    advance: Advance = silent,
) -> list[Row]:
    """The agents of each algorithm beside the rules, which are played once, on a place's slices."""
    theirs = place.runs(list(against.values()), advance)
    scores = run_scores(theirs)
    best = int(np.argmax(scores))
    bootstrap = Bootstrap()
    rows: list[Row] = []
    for algorithm, agents in trained.items():
        ours = place.runs(list(agents.values()), advance)
        less = ours._replace(saved=ours.saved - theirs.saved[best])
        row = Row(
            env=place.anchors[0].scenario.name,
            place=place.name,
            slices=place.slices,
            agents=bootstrap.aggregates([ours])["iqm"],
            runs=dict(zip(agents, run_scores(ours).tolist(), strict=True)),
            rule=list(against)[best],
            rule_score=bootstrap.score(theirs._replace(saved=theirs.saved[[best]])),
            # With the same denominator the difference of scores is the score of the difference.
            above=Bootstrap(highest=math.inf).aggregates([less])["iqm"],
            rules=dict(zip(against, scores.tolist(), strict=True)),
            algorithm=algorithm,
        )
        rows.append(row)
    return rows


def shown_compared(
    place: Place, trained: Mapping[str, Mapping[str, Policy]], against: Mapping[str, Policy]
) -> list[Row]:
    """The same, with a progress bar."""
    total = place.slices * (sum(map(len, trained.values())) + len(against))
    label = f"{place.anchors[0].scenario.name}, {place.name}"
    with progress_bar(label, total, interactive()) as advance:
        return all_compared(place, trained, against, advance)


def places(scenario: Scenario, seeds: int, first: int = UNSEEN) -> list[Place]:
    """The test split, and those of traces that nobody has seen; of a record there is only one.

    Args:
        scenario: environment.
        seeds: how many such traces.
        first: seed of the first of them.
    """
    found = [Place("test split", (Anchors.of(scenario, split="test"),))]
    if seeds and not isinstance(scenario.trace, Trace) and str(scenario.trace) in PROFILES:
        unseen = [scenario.override(trace_seed=first + i) for i in range(seeds)]
        found.append(
            Place(f"{seeds} unseen traces", tuple(Anchors.of(s, split="test") for s in unseen))
        )
    return found


def show(rows: Sequence[Row]) -> None:
    """Print the table."""
    columns = ("environment", "judged on", "slices", "", "agents", "best rule", "", "above it")
    print_table(
        "Agents (interquartile mean of the training runs) and the best rule in hindsight",
        columns,
        [
            (
                *(r.env, r.place, str(r.slices), r.algorithm, text(r.agents)),
                *(r.rule, text(r.rule_score), text(r.above)),
            )
            for r in rows
        ],
    )


def text(estimate: Estimate) -> str:
    """An estimate with its interval."""
    return f"{estimate.value:.1f} [{estimate.low:.1f}, {estimate.high:.1f}]"


def main(
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable; all by default.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=0, help="Traces that nobody has seen.")] = 20,
    first: Annotated[int, typer.Option(min=0, help="Seed of the first of them.")] = UNSEEN,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="As for evaluate.")
    ] = None,
    agents: Annotated[Path, typer.Option(help="Folder of policy files, by environment.")] = ZOO,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Judge the agents of every environment."""
    file = JsonFile.at(json_file)
    rows: list[Row] = []
    for scenario in [resolve(name) for name in env] if env else SCENARIOS.values():
        judged = override(scenario, settings)
        algorithms = algorithms_of(scenario, agents)
        if not algorithms:
            print_line(f"{scenario.name}: no agents in {agents}")
            continue
        against = rules(judged)
        trained = {name: agents_of(scenario, agents, name) for name in algorithms}
        for place in places(judged, seeds, first):
            rows += shown_compared(place, trained, against)
            file.write([asdict(row) | {"world": world_of(row.env)} for row in rows])
    show(rows)


if __name__ == "__main__":
    typer.run(main)
