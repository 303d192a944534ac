"""What each option of training is worth: the same agent with one of them left out.

    python -m experiments.training_options [--env ID ...] [--seeds 1] [--traces 10] [--runs DIR]
                                           [--json FILE]

An agent is trained with the hyper-parameters that come with failgym, and once more without each of
what they say of what is learned from (`algorithms.training_options`, credit per task): on the
trace as registered, shown all fields, with the environment's own rewards, tasks met all alike, from
nothing, credited by the step. Each is judged on the test splits of traces that no other experiment
uses, all slices taken together: 0 is replay, 100 the bound. The interval is over jobs and seeds
of training, that of the loss against the agent with all options paired.

Runs go on where they were interrupted, and are only judged when they are there already.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.agents_and_rules import Place, text
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


def compared(scenario: Scenario, seeds: int, traces: int, runs: Path) -> list[Row]:
    """The agent with all options, and without each."""
    env = scenario.name
    unseen = [scenario.override(trace_seed=JUDGED + i) for i in range(traces)]
    judged = Place("unseen", tuple(Anchors.of(each, split="test") for each in unseen))
    rows, whole = list[Row](), list[Runs]()
    for without in (ALL, *used(env)):
        hyper = None if without == ALL else {without: None}
        found = [
            trained(env, seed, runs / env / without / str(seed), hyper=hyper)
            for seed in range(seeds)
        ]
        ours = judged.runs([load_agent(one.policy) for one in found])
        whole = whole or [ours]
        rows.append(
            Row(
                env=env,
                without=without,
                validation=[one.best.score for one in found],
                score=Bootstrap().score(ours),
                # Equal seeds begin with equal weights: runs are paired too.
                above=Bootstrap(highest=math.inf).score(
                    ours._replace(saved=ours.saved - whole[0].saved)
                ),
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
