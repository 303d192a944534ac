"""Credit per task against credit per step: the same agent with either rollout buffer.

    python -m experiments.task_credit [--env ID ...] [--credit NAME ...] [--steps N] [--seeds 3]
                                      [--json FILE]

MaskablePPO learns on the fit part of an environment and is scored, as it learns, on the validation
part: 0 is replay, 100 the bound. All that differs is the rollout buffer:

* ``step``: sb3-contrib's own. The successor of a decision is the next one, whatever it is about.
* ``task``: `failgym.agents.credit`. The successor is the next decision of the same task or job.
* ``mixed``: the same, with a tenth of the episode's cost in what a decision is credited with.

Costs are divided by a constant for each, so that the critic sees numbers of order 1.
"""

# stable-baselines3 is typed in parts only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback

from failgym.agents.credit.rollout_buffers import MaskableTaskRolloutBuffer
from failgym.agents.environments.vec_env import make_sb3_env
from failgym.cli.output import JsonFile, print_line, print_table
from failgym.evaluation import Anchors
from failgym.evaluation.evidence import score_of
from failgym.evaluation.scoring import Score

MIXED = 0.1
"""Share of the episode's cost in credit ``mixed``."""
CREDITS = ("step", "task", "mixed")


@dataclass(frozen=True)
class Setup:
    """How an environment is learned on."""

    env: str
    steps: int
    """decisions of a run"""
    envs: int = 64
    rollout: int = 512
    """steps of an environment in a rollout"""
    task_scale: float = 1.0
    """what costs are divided by where credit is per task: about the cost of one"""
    step_scale: float = 1.0
    """and where it is per step: about the cost of what a decision can see"""
    batch: int = 8_192
    epochs: int = 4
    rate: float = 1e-3
    """learning rate at first; it falls with the steps"""
    last_rate: float = 5e-5
    lambda_: float = 0.95
    intervention_bias: float = -3.0
    """first logit of every action but CONTINUE"""
    every: int = 8
    """rollouts between two scores"""


SETUPS = (
    Setup("failgym/Mitigation-v1", 1_048_576, task_scale=10.0, step_scale=100.0),
    Setup("failgym/Workflow-v1", 524_288, task_scale=1.0, step_scale=10.0, every=4),
)


@dataclass(frozen=True)
class Curve:
    """Scores of one run on the validation part."""

    env: str
    credit: str
    seed: int
    steps: list[int] = field(default_factory=list[int])
    deterministic: list[float] = field(default_factory=list[float])
    low: float = 0.0
    """of the last one: 95 % interval over jobs"""
    high: float = 0.0
    stochastic: float = 0.0
    """last score of the agent that samples its actions"""
    known: float = 0.0
    """share of the decisions of the last rollout of which it was known what followed"""
    seconds: float = 0.0


class ScaledRolloutBuffer(MaskableRolloutBuffer):
    """sb3-contrib's, with rewards divided by a constant."""

    def __init__(self, *args: Any, scale: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.scale = scale

    def add(self, obs: Any, action: Any, reward: Any, *rest: Any, **masks: Any) -> None:
        """Scale the reward."""
        super().add(obs, action, reward / self.scale, *rest, **masks)


class Watch(BaseCallback):
    """Scores the agent every so many rollouts."""

    def __init__(self, anchors: Anchors, every: int) -> None:
        super().__init__()
        self.anchors, self.every, self.rollouts = anchors, every, 0
        self.rows: list[tuple[int, Score]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        if self.rollouts and self.rollouts % self.every == 0:
            self.rows.append((self.num_timesteps, self.score()))
        self.rollouts += 1

    def score(self, *, deterministic: bool = True) -> Score:
        """Score the agent as it is now."""
        run = self.anchors.run(self.model, deterministic=deterministic)
        evidence = self.anchors.evidence
        return score_of([evidence], [evidence.costs(run)])


def buffer_of(setup: Setup, credit: str, env: Any) -> dict[str, Any]:
    """The rollout buffer of a kind of credit, as arguments of the algorithm."""
    if credit == "step":
        kwargs: dict[str, Any] = {"scale": setup.step_scale}
        return {"rollout_buffer_class": ScaledRolloutBuffer, "rollout_buffer_kwargs": kwargs}
    share = MIXED if credit == "mixed" else 0.0
    kwargs = {"env": env, "share": share, "scale": setup.task_scale}
    return {"rollout_buffer_class": MaskableTaskRolloutBuffer, "rollout_buffer_kwargs": kwargs}


def learn(setup: Setup, credit: str, seed: int, anchors: Anchors) -> Curve:
    """Train one agent and score it on the way."""
    env = make_sb3_env(setup.env, setup.envs, seed=seed, split="fit")
    fall = setup.rate - setup.last_rate
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=setup.rollout,
        batch_size=setup.batch,
        n_epochs=setup.epochs,
        learning_rate=lambda left: setup.last_rate + fall * left,
        gamma=1.0,
        gae_lambda=setup.lambda_,
        seed=seed,
        **buffer_of(setup, credit, env),
    )
    with torch.no_grad():
        bias: torch.Tensor = getattr(model.policy.action_net, "bias")  # noqa: B009 - for types
        bias[1:] = setup.intervention_bias
    watch, began = Watch(anchors, setup.every), time.perf_counter()
    model.learn(setup.steps, callback=watch)
    seconds, last = time.perf_counter() - began, watch.score()
    return Curve(
        env=setup.env,
        credit=credit,
        seed=seed,
        steps=[*(steps for steps, _ in watch.rows), model.num_timesteps],
        deterministic=[*(at.value for _, at in watch.rows), last.value],
        low=last.low,
        high=last.high,
        stochastic=watch.score(deterministic=False).value,
        known=float(np.mean(getattr(model.rollout_buffer, "complete", True))),
        seconds=round(seconds, 1),
    )


def show(curves: Sequence[Curve]) -> None:
    """Print the curves of an environment."""
    rows = [
        [x.credit, str(x.seed), _series(x.deterministic), x.stochastic, x.seconds] for x in curves
    ]
    print_table(
        f"{curves[0].env}: validation score after {', '.join(map(str, curves[0].steps))} decisions",
        ["credit", "seed", "scores", "stochastic", "seconds"],
        rows,
    )


def _series(scores: Sequence[float]) -> str:
    return " ".join(f"{value:.1f}" for value in scores)


def main(
    env: Annotated[list[str] | None, typer.Option(help="Environment; may be repeated.")] = None,
    credit: Annotated[list[str] | None, typer.Option(help="Kind; may be repeated.")] = None,
    steps: Annotated[int, typer.Option(min=0, help="Decisions of a run; 0: as set up.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each kind.")] = 3,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Train with either credit and show how the scores grow."""
    torch.set_num_threads(1)
    file = JsonFile.at(json_file)
    done: list[Curve] = []
    for setup in SETUPS:
        if env and setup.env not in env:
            continue
        anchors = Anchors.of(setup.env, split="validation")
        wanted = replace(setup, steps=steps or setup.steps)
        curves: list[Curve] = []
        for seed in range(seeds):
            for kind in credit or CREDITS:
                curves.append(learn(wanted, kind, seed, anchors))
                print_line(str(curves[-1]))
                file.write([asdict(curve) for curve in [*done, *curves]])
        show(curves)
        done += curves


if __name__ == "__main__":
    typer.run(main)
