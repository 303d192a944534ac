"""Train the agents that come with failgym, in ``agents/zoo/``.

    python -m experiments.zoo [--env ID ...] [--seeds 5] [--runs DIR] [--threads 1]

For each environment and seed it does what this command does, and keeps the best agent:

    failgym train --env ID --algo maskable_ppo --seed SEED --validate-every N --episodes M --out DIR

with the hyper-parameters of ``agents/settings/<environment>/maskable_ppo.yaml`` and what `SCORED`
says of scores on the way. A run that was interrupted goes on; a finished one is only copied. The
commands stand in the policy files too. How good the agents are says `experiments.agents_and_rules`.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from failgym.agents.settings import settings_for
from failgym.agents.training import train
from failgym.cli.output import interactive, print_line
from failgym.envs import SCENARIOS, resolve
from failgym.evaluation.progress import progress_bar
from failgym.files import replacing

ZOO = Path(__file__).parents[1] / "agents" / "zoo"
ALGORITHM = "maskable_ppo"


@dataclass(frozen=True)
class Scored:
    """When an agent is scored while it is trained, and on how much."""

    every: int
    """decisions"""
    episodes: int | None = None
    """slices (pinned worlds: tasks); None: all"""


SCORED = {
    "Cloning-v0": Scored(every=500_000),
    "GracePeriod-v0": Scored(every=1_000_000, episodes=80_000),
    "Checkpoint-v0": Scored(every=500_000),
    "Lineage-v0": Scored(every=1_000_000, episodes=24),
    "Workflow-v0": Scored(every=500_000),
    "Mitigation-v0": Scored(every=250_000),
}


def trained(env: str, seed: int, runs: Path, threads: int) -> Path:
    """Train an agent, or go on, and copy the best one. Returns the policy file."""
    scored, out = SCORED[env], runs / env / str(seed)
    words = ["failgym", "train", "--env", f"failgym/{env}", "--algo", ALGORITHM]
    words += ["--seed", str(seed), "--validate-every", str(scored.every)]
    words += [] if scored.episodes is None else ["--episodes", str(scored.episodes)]
    steps = settings_for(ALGORITHM, env).steps or 0
    with progress_bar(f"{env}, seed {seed}", steps, interactive()) as advance:
        result = train(
            f"failgym/{env}",
            ALGORITHM,
            out=out,
            seed=seed,
            validate_every=scored.every,
            episodes=scored.episodes,
            resume=(out / "run.json").exists(),
            threads=threads,
            command=" ".join(words),
            progress=advance,
        )
    target = ZOO / env / f"{ALGORITHM}-{seed}.safetensors"
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as partial:
        shutil.copyfile(result.policy, partial)
    curve = " ".join(f"{one.score:.1f}" for one in result.validations)
    print_line(
        f"{env}, seed {seed}: {result.best.score:.1f} after {result.best.steps:,} of"
        f" {result.steps:,} steps, {result.seconds:.0f} s ({result.steps_per_second:,.0f}/s,"
        f" {result.validation_seconds:.0f} s scoring); {curve}"
    )
    return target


def main(
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable; all by default.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Training runs of each environment.")] = 5,
    first: Annotated[int, typer.Option(min=0, help="Seed of the first of them.")] = 0,
    runs: Annotated[Path, typer.Option(help="Where the runs lie.")] = Path("runs"),
    threads: Annotated[int, typer.Option(help="As for failgym train.")] = 1,
) -> None:
    """Train the agents of every environment."""
    for scenario in [resolve(name) for name in env] if env else SCENARIOS.values():
        for seed in range(first, first + seeds):
            trained(scenario.name, seed, runs, threads)


if __name__ == "__main__":
    typer.run(main)
