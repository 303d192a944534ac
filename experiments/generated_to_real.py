"""From generated to real: what is an agent worth on a record's future that learned elsewhere?

    python -m experiments.generated_to_real --trace DIR [--trace DIR ...] --out DIR
        [--env failgym/GracePeriod-v1] [--jobs 100000] [--seeds 3] [--learn twin --learn past ...]
        [--episodes N] [--hyper KEY=VALUE ...] [--set FIELD=VALUE ...] [--json FILE]

Counterfactual agents are trained, with the settings of the environment, on

* *twin*: twins of the record's past (`failgym.traces.twin`), of ``--jobs`` jobs each, another one
  for each seed;
* *past*: the past itself, that is the train split;
* *profile*: the generated traces that the environment is registered with, other ones for each seed.

Wherever they learn forecasts are trained ones, as on a record. Beside them stands the agent that
comes with failgym (*shipped*: of the profile, with drawn forecasts), if there is one, and every
rule that fits, as published.

All are judged on the record's test split, with forecasts that learned from its past. Intervals (95
%) resample seeds, so twins too, and blocks of jobs of the future; *above the past* is paired, on
the same jobs. A seed that teaches nothing, because there is nothing to gain where its agent would
be chosen, is played by replay.

Agents are kept in ``--out`` and not trained again: the same command goes on after a kill. A JSON
file that is there is gone on with: rows of the same trace and environment take the place of those
in it.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.agents_and_rules import NO_RULES, Place, agents_of, text
from experiments.measured_worlds import world_of
from failgym.agents import TrainingSettings, load_agent, train
from failgym.agents.algorithms.learner import COUNTERFACTUAL
from failgym.agents.algorithms.settings_files import read_values
from failgym.agents.counterfactual.train import document_of, hyper_of
from failgym.agents.counterfactual.visits import NothingToLearn
from failgym.agents.training.result import NoneAcceptable
from failgym.agents.training.rolling_origin import teaches
from failgym.agents.training.run_folder import RunFolder
from failgym.baselines import REGISTRY
from failgym.cli.options import override
from failgym.cli.output import JsonFile, interactive, print_line, print_table
from failgym.cli.values import assignments
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors
from failgym.evaluation.progress import progress_bar, working
from failgym.evaluation.room import NothingToGain
from failgym.files import replacing
from failgym.leaderboard.statistics.bootstrap import Bootstrap, Estimate
from failgym.leaderboard.statistics.estimators import Runs, run_scores
from failgym.policy import Policy

__all__ = ["Source", "answer_of", "learned", "place_of", "row_of", "taught"]


class Source(StrEnum):
    """What an agent learned on."""

    TWIN = "twin"
    PAST = "past"
    PROFILE = "profile"


SHIPPED = "shipped"
FIRST = 100
"""Seed of the first twin, and of the first trace of the profile."""
APART = 1_000
"""Seeds from the first trace of a seed to that of the next: an agent learns from several."""


def place_of(scenario: Scenario, episodes: int | None) -> Place:
    """A record's future.

    Raises:
        ValueError: if there is nothing to gain in it.
    """
    anchors = Anchors.of(scenario, split="test", episodes=episodes)
    anchors.check_room()
    return Place("future", (anchors,))


def taught(record: Scenario, source: Source, seed: int, jobs: int) -> Scenario:
    """Where an agent learns.

    Args:
        record: the scenario on the record.
        source: what of.
        seed: from 0 on.
        jobs: of a twin.
    """
    if source is Source.PAST:
        return record
    if source is Source.TWIN:
        return record.override(twin=jobs, trace_seed=FIRST + seed)
    registered = resolve(record.name)
    return record.override(
        trace=registered.trace,
        sampling=registered.sampling,
        longest=registered.longest,
        trace_seed=FIRST + APART * seed,
        forecast="trained",
    )


def learned(
    scenario: Scenario, out: Path, seed: int, hyper: Mapping[str, Any], episodes: int | None
) -> Policy:
    """An agent, trained now or before; replay if nothing can be learned there.

    Args:
        scenario: where it learns.
        out: its folder.
        seed: of the training.
        hyper: settings that replace those of the environment.
        episodes: tasks that agents are chosen on; all if None.

    Raises:
        ValueError: for hyper-parameters that there are not, or a folder that holds the agent of
            something else.
    """
    nothing = out.with_suffix(".json")
    settings = TrainingSettings(COUNTERFACTUAL, seed=seed, hyper=dict(hyper), episodes=episodes)
    hyper_of(scenario, settings)  # says what is wrong with them
    asked = ("trace_seed",)
    document = json.loads(json.dumps(document_of(scenario, settings, asked)))
    if nothing.exists():
        if json.loads(nothing.read_text("utf-8")).get("run") != document:
            raise ValueError(f"{nothing}: is of another run: choose another folder")
        return REGISTRY["replay"]()

    def noted(reason: str) -> Policy:
        out.parent.mkdir(parents=True, exist_ok=True)
        with replacing(nothing) as partial:
            partial.write_text(json.dumps({"reason": reason, "run": document}), "utf-8")
        return REGISTRY["replay"]()

    begun = RunFolder(out).begun
    if out.exists() and not begun:  # it was stopped before there was anything to go on with
        shutil.rmtree(out)
    if not begun and not teaches(scenario):
        return noted("there is nothing to learn from, or to gain where an agent would be chosen")
    try:
        result = train(scenario, out, settings, resume=begun, asked_for=asked)
    except (NoneAcceptable, NothingToGain, NothingToLearn) as error:
        return noted(" ".join(str(error).split()))
    return load_agent(result.policy)


def answer_of(out: Path) -> str:
    """What the verdict says of an agent that `learned` has made in a folder.

    It is of jobs that are like those that it learned from, and says nothing of the record's future.
    """
    result = RunFolder(out).result
    if not result.is_file():
        return "nothing to learn"
    return str(json.loads(result.read_text("utf-8"))["verdict"]["answer"])


def row_of(
    place: Place, agents: Mapping[str, Sequence[Policy]], rules: Mapping[str, Policy]
) -> dict[str, Any]:
    """What agents and rules are worth in a place.

    Args:
        place: a record's future.
        agents: by what they learned from, one for each seed.
        rules: by name.
    """
    bootstrap = Bootstrap()
    found = {name: place.runs(list(some)) for name, some in agents.items()}
    past = found.get(Source.PAST)
    ruled = {name: place.runs([rule]) for name, rule in rules.items()}

    def above(runs: Runs) -> list[float] | None:
        if past is None or runs is past:
            return None
        return list(Bootstrap(highest=math.inf).difference([runs], [past]))

    return {
        "env": place.anchors[0].scenario.name,
        "slices": place.slices,
        "unit": place.anchors[0].evidence.units.name,
        "agents": {
            name: {
                "score": list(bootstrap.score(runs)),
                "runs": run_scores(runs).tolist(),
                "above_past": above(runs),
            }
            for name, runs in found.items()
        },
        "rules": {
            name: {"score": list(bootstrap.score(runs)), "above_past": above(runs)}
            for name, runs in ruled.items()
        },
    }


@dataclass(frozen=True)
class Asked:
    """What is to be trained, and where it is kept."""

    out: Path
    sources: tuple[Source, ...]
    seeds: int
    jobs: int
    """of a twin"""
    hyper: dict[str, Any]
    episodes: int | None
    """slices of the future; None: all"""
    chosen_on: int | None
    """tasks that an agent is chosen on; None: all"""


def measured(trace: Path, scenario: Scenario, asked: Asked) -> dict[str, Any]:
    """The row of a record in an environment, or why there is none."""
    row: dict[str, Any] = {"trace": trace.name, "env": scenario.name}
    row["world"] = world_of(scenario.name)
    try:
        place = place_of(scenario, asked.episodes)
    except ValueError as error:
        return row | {"reason": " ".join(str(error).split())}
    agents: dict[str, Sequence[Policy]] = {}
    answers: dict[str, list[str]] = {}
    label = f"{trace.name}, {scenario.name}"
    folder = asked.out / trace.name / scenario.name
    with progress_bar(label, len(asked.sources) * asked.seeds, interactive()) as advance:
        for source in asked.sources:
            some: list[Policy] = []
            for seed in range(asked.seeds):
                where, part = (
                    taught(scenario, source, seed, asked.jobs),
                    folder / f"{source}-{seed}",
                )
                some.append(learned(where, part, seed, asked.hyper, asked.chosen_on))
                advance(1)
            agents[str(source)] = some
            parts = (folder / f"{source}-{seed}" for seed in range(asked.seeds))
            answers[str(source)] = [answer_of(part) for part in parts]
    if shipped := list(agents_of(scenario, algorithm=COUNTERFACTUAL).values()):
        agents[SHIPPED] = shipped
    rules: dict[str, Policy] = {
        name: one()
        for name, one in REGISTRY.items()
        if name not in NO_RULES and one.compatible(scenario)
    }
    with working(f"{label}: playing", interactive()):
        found = row_of(place, agents, rules)
    for name, said in answers.items():
        found["agents"][name]["answers"] = said
    return row | {"jobs_of_twins": asked.jobs} | found


def show(row: dict[str, Any]) -> None:
    """Print a row."""
    title = f"{row['trace']}, {row['env']}"
    if "reason" in row:
        print_line(f"{title}: {row['reason']}")
        return
    lines = [
        (name, len(one["runs"]), _text(one["score"]), _text(one["above_past"]))
        for name, one in row["agents"].items()
    ]
    lines += [
        (name, 1, _text(one["score"]), _text(one["above_past"]))
        for name, one in row["rules"].items()
    ]
    print_table(title, ("learned on, or rule", "seeds", "score", "above the past"), lines)


def _text(estimate: Any) -> str:
    if estimate is None:
        return "-"
    return text(Estimate(*(math.nan if one is None else one for one in estimate)))


def main(
    trace: Annotated[
        list[Path], typer.Option("--trace", metavar="DIR", exists=True, file_okay=False)
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", file_okay=False, help="Of the agents.")],
    env: Annotated[str, typer.Option(metavar="ID")] = "failgym/GracePeriod-v1",
    jobs: Annotated[int, typer.Option(min=1, help="Of a twin.")] = 100_000,
    seeds: Annotated[int, typer.Option(min=1, help="Twins, and agents of each kind.")] = 3,
    learn: Annotated[list[Source] | None, typer.Option(help="Repeatable; all by default.")] = None,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Slices of the future; else all.")
    ] = None,
    chosen_on: Annotated[
        int | None, typer.Option(min=1, help="Tasks that an agent is chosen on; else all.")
    ] = None,
    hyper: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="As for train.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="As for train.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Judge agents of twins, of the past and of the profile on a record's future."""
    file = JsonFile.at(json_file)
    known_rows: list[dict[str, Any]] = []
    if file.path is not None and file.path.is_file():
        known_rows = json.loads(file.path.read_text("utf-8"))
    for folder in trace:
        record = resolve(env).override(trace=str(folder.resolve()))
        scenario = override(record, list(settings or ()))
        given = read_values(assignments(hyper or [], "--hyper"))
        asked = Asked(out, tuple(learn or Source), seeds, jobs, given, episodes, chosen_on)
        row = measured(folder, scenario, asked)
        key = row["trace"], row["env"]
        known_rows = [one for one in known_rows if (one["trace"], one["env"]) != key] + [row]
        file.write(known_rows)
        show(row)


if __name__ == "__main__":
    typer.run(main)
