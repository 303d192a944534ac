"""What each option of training is worth: the same agent with one of them left out.

    python -m experiments.training_options [--env ID ...] [--seeds 1] [--traces 10] [--runs DIR]
                                           [--json FILE]

An agent is trained with the hyper-parameters that come with failgym, and once more without each of
what they say of what is learned from (`algorithms.training_options`, credit per task): on the
trace as registered, shown all fields, with the environment's own rewards, tasks met all alike, from
nothing, credited by the step. Each is judged on the test splits of traces that no other experiment
uses, all slices taken together: 0 is replay, 100 the bound. The interval is over slices and seeds
of training, that of the loss against the agent with all options paired.

Runs go on where they were interrupted, and are only judged when they are there already.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer

from experiments.agents_and_rules import text
from experiments.zoo import ALGORITHM, trained
from failgym.agents import load_agent
from failgym.agents.algorithms.settings_files import settings_for
from failgym.cli.output import JsonFile, print_line, print_table
from failgym.envs import SCENARIOS, Scenario, resolve
from failgym.evaluation import Anchors
from failgym.leaderboard.statistics.bootstrap import Bootstrap, Estimate
from failgym.leaderboard.statistics.estimators import Runs

OPTIONS = ("env", "without", "reward", "stakes", "surrogate", "warm_start", "credit")
"""What is left out, one at a time, of what an environment's hyper-parameters have."""
ALL = "all"
JUDGED = 3_000
"""Seed of the first trace to judge on."""


@dataclass(frozen=True)
class Row:
    """An agent without one of the options."""

    env: str
    without: str
    """the option, or "all" for the agent that has all"""
    validation: list[float]
    """best score while it was trained, by seed: on another trace where ``env`` is left out"""
    score: Estimate
    above: Estimate
    """less that of the agent with all options"""
    seconds: list[float]


def used(env: str) -> list[str]:
    """The options that an environment's hyper-parameters have."""
    settings = settings_for(ALGORITHM, env)
    return [name for name in OPTIONS if getattr(settings, name) is not None]


def saved(file: Path, judged: Sequence[Anchors]) -> npt.NDArray[np.float64]:
    """Cost of replay less that of an agent, of each slice."""
    agent = load_agent(file)
    parts = [(a.replay.costs - a.run(agent).costs).sum(axis=1) for a in judged]
    return np.concatenate(parts)


def compared(scenario: Scenario, seeds: int, traces: int, runs: Path) -> list[Row]:
    """The agent with all options, and without each."""
    env = scenario.name
    judged = [
        Anchors.of(scenario.override(trace_seed=JUDGED + i), split="test") for i in range(traces)
    ]
    possible = np.concatenate([(a.replay.costs - a.bound).sum(axis=1) for a in judged])
    spent = np.concatenate([a.spent for a in judged])
    rows, whole = list[Row](), np.zeros((seeds, len(possible)))
    for without in (ALL, *used(env)):
        hyper = None if without == ALL else {without: None}
        found = [
            trained(env, seed, runs / env / without / str(seed), hyper=hyper)
            for seed in range(seeds)
        ]
        ours = np.stack([saved(one.policy, judged) for one in found])
        whole = ours if without == ALL else whole
        rows.append(
            Row(
                env=env,
                without=without,
                validation=[one.best.score for one in found],
                score=Bootstrap().score(Runs(ours, possible, spent)),
                # Equal seeds begin with equal weights: runs are paired too.
                above=Bootstrap(highest=math.inf).score(Runs(ours - whole, possible, spent)),
                seconds=[one.seconds for one in found],
            )
        )
        print_line(f"{env}, without {without}: {text(rows[-1].score)}")
    return rows


def main(
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable; all by default.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Training runs of each variant.")] = 1,
    traces: Annotated[int, typer.Option(min=1, help="Traces to judge on.")] = 10,
    runs: Annotated[Path, typer.Option(help="Where the runs lie.")] = Path("runs/options"),
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Train every variant, and compare."""
    file = JsonFile.at(json_file)
    rows: list[Row] = []
    for scenario in [resolve(name) for name in env] if env else SCENARIOS.values():
        rows += compared(scenario, seeds, traces, runs)
        file.write([asdict(row) for row in rows])
    print_table(
        "Without one of the options of training",
        ("environment", "without", "score", "above that with all", "time"),
        [
            (r.env, r.without, text(r.score), text(r.above), f"{np.mean(r.seconds):.0f} s")
            for r in rows
        ],
    )


if __name__ == "__main__":
    typer.run(main)
