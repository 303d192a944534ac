"""What a warm start and other training rewards do for MaskablePPO, at equal numbers of decisions.

    python -m experiments.warm_start [--env ID ...] [--variant NAME ...] [--steps N] [--seeds N]
        [--episodes N] [--out FILE]

Agents learn on the "fit" part of the train split and are scored on its "validation" part, on the
same tasks all of them. Decisions that a teacher demonstrates count as the agent's own. `FILE` holds
every finished run with its curve; the same command goes on where it was interrupted. Runs with a
warm start have the shipped hyper-parameters, those without one what suits a beginner (`BEGINNER`).

Variants:

    scratch             from nothing but an initial bias against interventions
    cloning             the actor fitted to the teacher (behaviour cloning)
    cloning, critic     the critic too, to the teacher's returns
    dagger, critic      in four rounds, the agent deciding more and more itself
    scale               from scratch, rewards divided by ten
    by width            from scratch, rewards divided by the width of the task
    relative            from scratch, what the teacher loses on a task is paid back at its end
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from stable_baselines3.common.callbacks import BaseCallback

from failgym.agents.algorithms.registry import algorithm_named
from failgym.agents.algorithms.settings_files import settings_for
from failgym.agents.environments.rewards import TrainingReward
from failgym.agents.environments.vec_env import make_sb3_env
from failgym.agents.imitation.warm_start import (
    WarmStart,
    WarmStartSettings,
    baseline_named,
    warm_start,
)
from failgym.agents.training.validation import Validation, Validator
from failgym.cli.output import print_line, print_table
from failgym.envs import resolve
from failgym.envs.select_fields import select_fields
from failgym.files import replacing

OUT = Path(__file__).with_suffix(".json")
TEACHERS = {"Cloning-v1": "algorithm_1", "Checkpoint-v1": "ml_periodic"}
ALGORITHM = "maskable_ppo"
LANES = 128
"""Episodes at once."""
HYPER = {"n_steps": 32, "batch_size": 1_024}
"""Shorter rollouts than those of the shipped hyper-parameters: there are fewer decisions here."""
BEGINNER: dict[str, Any] = {
    "policy": {"net_arch": [64, 64], "activation": "tanh", "initial_bias": -3.0},
}
"""Of agents that know nothing: Checkpoint-v1's own are for one that was taught, without a bias."""
DEMONSTRATED = 0.15
"""Share of the decisions that a teacher demonstrates, or comments on."""
POINTS = 4
"""Scores after the first one."""


@dataclass(frozen=True)
class Variant:
    """How an agent is trained."""

    warm: dict[str, Any] | None = None
    """of `WarmStartSettings`; None: from scratch"""
    reward: dict[str, Any] = field(default_factory=dict[str, Any])
    """arguments of `TrainingReward`; the reference is the teacher"""


VARIANTS: dict[str, Variant] = {
    "scratch": Variant(),
    "cloning": Variant(warm={"critic": False}),
    "cloning, critic": Variant(warm={}),
    "dagger, critic": Variant(warm={"rounds": 4}),
    "scale": Variant(reward={"scale": 0.1}),
    "by width": Variant(reward={"by_width": True}),
    "relative": Variant(reward={"reference": True}),
}


@dataclass(frozen=True)
class Run:
    """An agent's training."""

    env: str
    variant: str
    seed: int
    steps: int
    known: dict[str, Any] | None
    """how well it knew its teacher"""
    curve: list[dict[str, Any]]
    """scores, by decisions"""
    seconds: float


class Curve(BaseCallback):
    """Scores the agent before rollouts, every so many decisions."""

    def __init__(self, validator: Validator, every: int, demonstrated: int) -> None:
        super().__init__()
        self.validator, self.every, self.demonstrated = validator, every, demonstrated
        self.scores: list[dict[str, Any]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self.every * len(self.scores):
            self.score()

    def score(self) -> None:
        """Add a point."""
        found: Validation = self.validator.validate(self.model)
        self.scores.append({**found.to_json(), "steps": found.steps + self.demonstrated})


def train(env: str, name: str, seed: int, steps: int, validator: Validator) -> Run:
    """Train an agent in one of the ways."""
    begun = time.perf_counter()
    variant, teacher = VARIANTS[name], TEACHERS[env]
    hyper = HYPER if variant.warm is not None else {**HYPER, **BEGINNER}
    settings = settings_for(ALGORITHM, env, hyper=hyper, n_envs=LANES)
    scenario = resolve(env).override(split="fit")
    fields = select_fields("varying", scenario, settings.without or ())
    venv: Any = make_sb3_env(scenario, LANES, seed=seed, fields=fields)
    if variant.reward:
        options = dict(variant.reward)
        if "reference" in options:
            options["reference"] = baseline_named(teacher)
        venv = TrainingReward(venv, **options)
    model = algorithm_named(ALGORITHM).build(settings, venv, seed)
    known: WarmStart | None = None
    if variant.warm is not None:
        demonstrations = round(DEMONSTRATED * steps)
        how = WarmStartSettings(steps=demonstrations, **variant.warm)
        known = warm_start(model, teacher, settings=how, seed=seed)
    demonstrated = known.decisions if known else 0
    curve = Curve(validator, -(-(steps - demonstrated) // POINTS), demonstrated)
    learner: Any = model
    learner.learn(steps - demonstrated, callback=curve)
    curve.score()
    seconds = time.perf_counter() - begun
    return Run(env, name, seed, steps, known and known.to_json(), curve.scores, seconds)


def show(runs: Iterable[Run], teachers: dict[str, float]) -> None:
    """Means over seeds, and the lowest and highest."""
    runs = list(runs)
    for env in TEACHERS:
        rows: list[tuple[str, ...]] = []
        for variant in VARIANTS:
            found = [run for run in runs if (run.env, run.variant) == (env, variant)]
            if found:
                at = (0, len(found[0].curve) // 2, -1)
                best = [[run.curve[i]["score"] for run in found] for i in at]
                drawn = [run.curve[-1]["stochastic"] for run in found]
                rows.append((variant, str(len(found)), *map(_spread, [*best, drawn])))
        title = f"{env}: scores on validation, {TEACHERS[env]}: {teachers.get(env, np.nan):.1f}"
        columns = ("variant", "seeds", "at first", "half-way", "at last", "at last, drawn")
        print_table(title, columns, rows)


def _spread(scores: list[float]) -> str:
    return f"{np.mean(scores):.1f} [{min(scores):.1f}, {max(scores):.1f}]"


def main(
    env: Annotated[list[str] | None, typer.Option("--env", help="Repeatable.")] = None,
    variant: Annotated[list[str] | None, typer.Option(help="Repeatable.")] = None,
    steps: Annotated[int, typer.Option(min=1, help="Decisions of a run.")] = 200_000,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of a kind.")] = 3,
    episodes: Annotated[int, typer.Option(min=1, help="Tasks to score on.")] = 500,
    out: Annotated[Path, typer.Option(help="The file of the runs.")] = OUT,
) -> None:
    """Train, one run after the other, and compare."""
    torch.set_num_threads(1)
    document: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    asked = {"episodes": episodes, "hyper": HYPER, "beginner": BEGINNER}
    if document.get("runs") and document.get("asked") != asked:
        raise typer.BadParameter(f"{out}: its runs had other settings", param_hint="--out")
    runs = [Run(**run) for run in document.get("runs", [])]
    done = {(run.env, run.variant, run.seed, run.steps) for run in runs}
    teachers: dict[str, float] = document.get("teachers", {})
    validators: dict[str, Validator] = {}
    for seed in range(seeds):
        for name in env or TEACHERS:
            for kind in variant or VARIANTS:
                if (name, kind, seed, steps) in done:
                    continue
                if name not in validators:
                    validators[name] = _validator(name, episodes)
                    teachers[name] = _teacher_score(validators[name], name)
                runs.append(train(name, kind, seed, steps, validators[name]))
                print_line(f"{name}, {kind}, seed {seed}: {runs[-1].seconds:.0f} s")
                _write(out, {"asked": asked, "teachers": teachers, "runs": list(map(asdict, runs))})
    show((run for run in runs if run.steps == steps), teachers)


def _validator(env: str, episodes: int) -> Validator:
    scenario = resolve(env).override(split="fit")
    return Validator(scenario, algorithm_named(ALGORITHM), 0, episodes)


def _teacher_score(validator: Validator, env: str) -> float:
    anchors = validator.anchors
    return anchors.measure(anchors.run(baseline_named(TEACHERS[env]))).score


def _write(path: Path, document: dict[str, Any]) -> None:
    with replacing(path) as partial:
        partial.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
