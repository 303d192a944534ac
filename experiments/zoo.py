"""Train the agents that come with failgym, in ``agents/zoo/``.

    python -m experiments.zoo [--env ID ...] [--algo maskable_ppo] [--seeds 1] [--runs DIR]
        [--threads 1]
    python -m experiments.zoo --generalist
    python -m experiments.zoo --anew FILE ... [--without-critic]

For each environment and seed it does what this command does, and keeps the best agent (where it is
scored but once, the last):

    failgym train --env ID --algo maskable_ppo --seed SEED --validate-every N --episodes M --out DIR

with the hyper-parameters of ``agents/settings/<environment>/maskable_ppo.yaml`` and what `SCORED`
says of scores on the way; those of ``counterfactual`` are scored at the end. The generalist, one
agent of all environments, is in ``agents/zoo/generalist/``. A run that was
interrupted goes on; a finished one is only copied. The commands stand in the policy files too. How
good the agents are says `experiments.agents_and_rules`.

With ``--anew`` nothing is trained: policy files of an older layout are written in that of now, in
their places. The agents decide as before and say the same of themselves; the SHA-256 of the files
changes. ``--without-critic`` leaves out value functions, which only training needs.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from experiments.reproduction.command import refusing
from failgym.agents.algorithms.settings_files import settings_for
from failgym.agents.counterfactual.train import steps_of_run
from failgym.agents.files.writing import save_anew
from failgym.agents.training.result import TrainingResult
from failgym.agents.training.train import train
from failgym.agents.training.training_settings import TrainingSettings
from failgym.cli.output import interactive, print_line
from failgym.envs import SCENARIOS, resolve
from failgym.evaluation.progress import progress_bar
from failgym.files import replacing

ZOO = Path(__file__).parents[1] / "agents" / "zoo"
Algorithm = Literal["maskable_ppo", "counterfactual"]
ALGORITHM: Algorithm = "maskable_ppo"
GENERALIST, ASKED_FOR = "generalist", "GracePeriod-v1"
"""Its settings, and the environment that its training is asked for; all others are in them."""


@dataclass(frozen=True)
class Scored:
    """When an agent is scored while it is trained, and on how much."""

    every: int
    """decisions"""
    episodes: int | None = None
    """slices (pinned worlds: tasks); None: all"""


CHOSEN_ON: dict[str, int] = {"Checkpoint-v1": 600, "GracePeriod-v1": 5_000, "Mitigation-v1": 4}
"""Slices (pinned worlds: tasks) of each trace that agents of the counterfactual learner are chosen
on, where not on all."""
SCORED = {
    "Cloning-v1": Scored(every=750_000),
    "GracePeriod-v1": Scored(every=500_000),
    "Checkpoint-v1": Scored(every=250_000),
    "Lineage-v1": Scored(every=500_000, episodes=24),
    "Workflow-v1": Scored(every=500_000),
    "Mitigation-v1": Scored(every=250_000, episodes=24),
}


def command(env: str, seed: int, threads: int = 1, algorithm: Algorithm = ALGORITHM) -> str:
    """What trains an agent of the zoo, typed; ``env`` is `GENERALIST` for that of all of them."""
    several = env == GENERALIST
    asked_for = ASKED_FOR if several else env
    words = ["failgym", "train", "--env", f"failgym/{asked_for}", "--algo", algorithm]
    words += ["--seed", str(seed)]
    words += ["--config", GENERALIST] if several else []
    episodes = CHOSEN_ON.get(env)
    if algorithm == ALGORITHM:
        words += ["--validate-every", str(SCORED[env].every)]
        episodes = SCORED[env].episodes
    words += [] if episodes is None else ["--episodes", str(episodes)]
    words += [] if threads == 1 else ["--threads", str(threads)]
    return " ".join(words)


def trained(
    env: str,
    seed: int,
    out: Path,
    threads: int = 1,
    hyper: dict[str, Any] | None = None,
    algorithm: Algorithm = ALGORITHM,
) -> TrainingResult:
    """Train an agent in a folder, or go on; ``env`` is as for `command`."""
    several = env == GENERALIST
    asked_for = f"failgym/{ASKED_FOR if several else env}"
    config = GENERALIST if several else None
    settings = TrainingSettings(algorithm, seed=seed, threads=threads, hyper=hyper, config=config)
    if algorithm == ALGORITHM:
        scored, steps = SCORED[env], settings_for(algorithm, env).steps or 0
        settings = replace(settings, validate_every=scored.every, episodes=scored.episodes)
    else:
        settings = replace(settings, episodes=CHOSEN_ON.get(env))
        steps = steps_of_run(asked_for, settings)
    with progress_bar(f"{env}, {out.name}", steps, interactive()) as advance:
        return train(
            asked_for,
            out,
            settings,
            resume=(out / "run.json").exists(),
            progress=advance,
            command=None if hyper else command(env, seed, threads, algorithm),
        )


def kept(env: str, seed: int, runs: Path, threads: int, algorithm: Algorithm) -> None:
    """Train an agent, copy the best one into the zoo, and say how it went."""
    out = runs / env / (str(seed) if algorithm == ALGORITHM else f"{algorithm}-{seed}")
    result = trained(env, seed, out, threads, algorithm=algorithm)
    target = ZOO / env / f"{algorithm}-{seed}.safetensors"
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as partial:
        shutil.copyfile(result.policy, partial)
    curve = " ".join(f"{one.score:.1f}" for one in result.validations)
    print_line(
        f"{env}, seed {seed}: {result.best.score:.1f} after {result.best.steps:,} of"
        f" {result.steps:,} steps, {result.seconds:.0f} s ({result.steps_per_second:,.0f}/s,"
        f" {result.validation_seconds:.0f} s scoring); {curve}"
    )
    for verdict in filter(None, result.judgements):
        print_line(verdict.text)


def written_anew(files: Sequence[Path], critic: bool) -> None:
    """Write policy files in the layout of now, in their places, and say what it saves."""
    for file in files:
        before = file.stat().st_size
        save_anew(file, file, critic=critic)
        print_line(f"{file}: {before:,} bytes, now {file.stat().st_size:,}")


def main(
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ID", help="Repeatable; all by default.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Training runs of each environment.")] = 1,
    first: Annotated[int, typer.Option(min=0, help="Seed of the first of them.")] = 0,
    runs: Annotated[Path, typer.Option(help="Where the runs lie.")] = Path("runs"),
    threads: Annotated[int, typer.Option(help="As for failgym train.")] = 1,
    algo: Annotated[Algorithm, typer.Option(help="What they are trained with.")] = ALGORITHM,
    generalist: Annotated[bool, typer.Option("--generalist", help="The one of all.")] = False,
    anew: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True, dir_okay=False, metavar="FILE", help="Write it in the layout of now."
        ),
    ] = None,
    without_critic: Annotated[
        bool, typer.Option("--without-critic", help="With --anew: without the value function.")
    ] = False,
) -> None:
    """Train the agents of every environment, or the one of all of them."""
    if anew:
        with refusing(ValueError):
            written_anew(anew, not without_critic)
        return
    places = [GENERALIST] if generalist else [resolve(name).name for name in env or SCENARIOS]
    for place in places:
        for seed in range(first, first + seeds):
            kept(place, seed, runs, threads, "counterfactual" if generalist else algo)


if __name__ == "__main__":
    typer.run(main)
