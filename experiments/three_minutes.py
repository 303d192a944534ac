"""What an agent learns from nothing in about three minutes.

    python -m experiments.three_minutes [--env ID ...] [--seeds 3] [--traces 10] [--first 8000]
                                        [--json FILE]

For each environment of the pinned world: `failgym train` on two threads, without a warm start, with
what `SHORT` says and otherwise the hyper-parameters that come with failgym. The clock runs from the
call until the policy file lies there: generating the trace, compiling what is not yet in numba's
cache and validating are in it. The agent is then held against the heuristic of the paper as it was
published, on the test splits of traces that nobody has seen (`experiments.agents_and_rules`).
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from experiments.agents_and_rules import Place, compared, places, text
from failgym.agents import load_agent
from failgym.agents.training.train import train
from failgym.agents.training.training_settings import TrainingSettings
from failgym.baselines import REGISTRY
from failgym.cli.output import Cell, JsonFile, interactive, print_line, print_table
from failgym.envs import Scenario, resolve
from failgym.evaluation.progress import progress_bar
from failgym.leaderboard.statistics.bootstrap import Estimate

PAPERS = {
    "Cloning-v1": "algorithm_1",  # El-Sayed et al. 2017, Algorithm 1
    "GracePeriod-v1": "grace_period",  # Rosa et al. 2015, section IV
    "Checkpoint-v1": "ml_periodic",  # Kumar et al. 2020, section VI
}
"""The heuristic of the paper that the environment is made of."""


@dataclass(frozen=True)
class Short:
    """What is learned in a few minutes, with the time before and after, on two cores."""

    steps: int
    """decisions to train on"""
    hyper: dict[str, Any]
    """hyper-parameters that are not those of ``agents/settings``"""
    scores: int = 1
    """how often the agent is scored, the best one being kept; 1: at the end"""


SHORT = {
    "Cloning-v1": Short(
        4_000_000,
        {
            "warm_start": None,
            "reward": {"reference": "replay"},
            "policy": {"net_arch": [64, 64], "activation": "tanh", "initial_bias": -3.0},
        },
        scores=4,
    ),
    "GracePeriod-v1": Short(2_000_000, {}, scores=4),
    # Asked every minute an agent that knows nothing hardly learns to save: one decision of fifty
    # is worth it, and no single one seems to be. It decides every fifth minute. Its rewards are
    # differences to a rule, which is not that of the paper. Hidden besides what tells jobs apart is
    # what is the same in every decision, or of other worlds.
    "Checkpoint-v1": Short(
        6_000_000,
        {
            "warm_start": None,
            "n_envs": 512,
            "batch_size": 2048,
            "n_epochs": 5,
            "learning_rate": {"start": 3e-4, "end": 3e-5},
            "policy": {"net_arch": [64, 64], "activation": "tanh", "initial_bias": -3.0},
            "without": ["decision", "request", "usage", "lineage", "machine"],
            "env": {"jobs": 40_000, "trace_seed": 100, "inner_boundary": 0.85, "every": 5},
        },
        scores=5,
    ),
}
FIRST = 8_000
"""Seed of the first trace to judge on: not those that the zoo is judged on."""
VALIDATED = 20_000
"""Tasks that the agent is scored on while the clock runs."""
LIMIT = 180.0
"""seconds"""


@dataclass(frozen=True)
class Row:
    """A training run."""

    env: str
    seed: int
    seconds: float
    """until the policy file was there"""
    steps: int
    slices: int
    score: float
    """of the agent, on all unseen slices"""
    rule: str
    rule_score: Estimate
    above: Estimate
    """agent less rule, over the same slices"""


def run(scenario: Scenario, short: Short, seed: int, place: Place, folder: Path) -> Row:
    """Train an agent, and hold it against the paper's heuristic."""
    env, out = scenario.name, folder / "run"
    steps = short.steps
    begun = time.perf_counter()
    with progress_bar(f"{env}, seed {seed}", steps, interactive()) as advance:
        result = train(
            scenario,
            out,
            TrainingSettings(
                steps=steps,
                seed=seed,
                hyper=short.hyper,
                validate_every=-(-steps // short.scores),
                episodes=VALIDATED,
                checkpoint_every=steps,
                threads=2,
            ),
            progress=advance,
        )
    seconds = time.perf_counter() - begun
    rule, agent = PAPERS[env], load_agent(out / result.policy)
    with progress_bar(f"{env}, judged", 2 * place.slices, interactive()) as advance:
        found = compared(place, {"agent": agent}, {rule: REGISTRY[rule]()}, advance)
    return Row(
        *(env, seed, seconds, result.steps, found.slices, found.runs["agent"]),
        *(rule, found.rule_score, found.above),
    )


def show(rows: list[Row]) -> None:
    """Print the table."""
    cells: list[tuple[Cell, ...]] = [
        (
            *(row.env, row.seed, round(row.seconds), row.steps, round(row.score, 1)),
            *(row.rule, text(row.rule_score), text(row.above)),
        )
        for row in rows
    ]
    columns = ("environment", "seed", "seconds", "decisions", "agent", "heuristic", "", "above it")
    print_table(f"From nothing, where {LIMIT:g} s are asked", columns, cells)


def main(
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable; all by default.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Training runs of each.")] = 3,
    traces: Annotated[int, typer.Option(min=1, help="Traces that nobody has seen.")] = 10,
    first: Annotated[int, typer.Option(min=0, help="Seed of the first of them.")] = FIRST,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Train agents for each pinned environment, and time it."""
    file = JsonFile.at(json_file)
    rows: list[Row] = []
    for name in env or SHORT:
        scenario = resolve(name)
        if scenario.name not in SHORT:
            raise typer.BadParameter(f"expected one of {', '.join(SHORT)}", param_hint="--env")
        unseen = places(scenario, traces, first)[-1]
        for seed in range(seeds):
            with TemporaryDirectory() as folder:
                rows.append(run(scenario, SHORT[scenario.name], seed, unseen, Path(folder)))
            row = rows[-1]
            print_line(f"{row.env}, seed {seed}: {row.seconds:.0f} s, {text(row.above)} above")
            file.write([asdict(row) for row in rows])
    show(rows)


if __name__ == "__main__":
    typer.run(main)
