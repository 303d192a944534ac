"""How good an agent is while it is trained: its score on slices that it is not trained on."""

# stable-baselines3 and torch annotate some of their arguments without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import ConfigDict
from stable_baselines3.common.base_class import BaseAlgorithm

from failgym.agents.algorithms.registry import Algorithm
from failgym.agents.training.actor import asked
from failgym.agents.training.random_states import apart
from failgym.agents.training.training_settings import Keep
from failgym.envs import Scenario
from failgym.evaluation import Anchors, Evaluation, Run

__all__ = ["PATIENCE", "EnvironmentScore", "Validation", "Validator"]

PATIENCE = 100
"""Answers that an agent may give on the validation split, over the decisions of replay (chosen:
in Workflow-v1, where each machine that is refused is one more, `flaw` and the agent that comes with
failgym give five times as many; elsewhere there are hardly more)."""


@dataclass(frozen=True)
class EnvironmentScore:
    """The score of an agent in one of several environments."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    env: str
    score: float
    low: float | None
    high: float | None
    """as those of `Validation`"""
    caution: float | None = None
    """as that of `Validation`: what does best here"""


@dataclass(frozen=True)
class Validation:
    """The score of an agent between replay (0) and the bound (100), some way into its training."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    steps: int
    """decisions that it had been trained on"""
    score: float
    """of its best action in each decision"""
    low: float | None
    high: float | None
    """95 % bootstrap interval of that, over what `evaluate` resamples (jobs, blocks of jobs, blocks
    of slices); None where the room hangs on too few of them"""
    stochastic: float | None
    """score of actions drawn with its probabilities; None for an algorithm that learns none"""
    round: int | None = None
    """of counterfactual learning, after which"""
    caution: float | None = None
    """of trees: standard deviations between models that were taken off their mean; None where there
    are several environments, and in each what does best there"""
    false_kills_per_job: float | None = None
    """of counterfactual learning"""
    tail: float | None = None
    """what is saved in the mean of the jobs (slices) that it does worst in, in units of cost; None,
    if agents are chosen by their scores"""
    environments: tuple[EnvironmentScore, ...] | None = None
    """of each environment, where there are several: then the score is their mean, false kills are
    those of the environment with the most, and the tail is a share of the room of a job"""
    overruled: bool = False
    """was it asked more than `PATIENCE` times as often as replay, so that CONTINUE was answered
    from then on? The score is of that, and the agent is not kept: it might be asked without end"""

    @property
    def worst(self) -> EnvironmentScore | None:
        """The environment with the lowest score, where there are several."""
        return min(self.environments or (), key=lambda one: one.score, default=None)

    @classmethod
    def of(
        cls,
        steps: int,
        found: Evaluation,
        stochastic: float | None = None,
        *,
        round: int | None = None,
        caution: float | None = None,
        overruled: bool = False,
    ) -> Validation:
        """What was found of an agent, after so many steps."""
        low, high = (None if math.isnan(end) else end for end in (found.low, found.high))
        own = (steps, found.score, low, high, stochastic, round, caution)
        return cls(*own, overruled=overruled)

    def rank(self, keep: Keep) -> tuple[float, float]:
        """What the best of several is the greatest of: one of the scores, then the other."""
        drawn = self.score if self.stochastic is None else self.stochastic
        return (self.score, drawn) if keep == "deterministic" else (drawn, self.score)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        found = asdict(self)
        several = found.pop("environments")
        return found if several is None else {**found, "environments": list(several)}


class Validator:
    """Scores agents on the validation split, always on the same slices and with the same seeds.

    Each task of the pinned world is a slice of its own here, so that the policy is asked for many
    at once: the sums over slices, and so the score, are the same.

    Args:
        scenario: what the agent is trained in.
        algorithm: how.
        seed: of the draw of slices, and of actions.
        episodes: slices to draw (tasks in the pinned world); all by default.
        threads: of the engine.

    Raises:
        ValueError: for a validation split without tasks, or where there is nothing to gain.
    """

    def __init__(
        self,
        scenario: Scenario,
        algorithm: Algorithm,
        seed: int,
        episodes: int | None = None,
        threads: int = 1,
    ) -> None:
        if scenario.kind.independent:
            scenario = scenario.override(slice_tasks=1)
        self.algorithm, self.seed, self.threads = algorithm, seed, threads
        self.anchors = Anchors.of(scenario, episodes=episodes, seed=seed, split="validation")
        self.anchors.check_room()
        self.seconds = 0.0
        """wall-clock time that was spent here [s]"""

    def validate(self, model: BaseAlgorithm) -> Validation:
        """Score a model as it is. What it draws for that, training does not miss."""
        begun = time.perf_counter()
        model.policy.set_training_mode(False)
        own: Any = model
        with apart(self.seed, own.action_space):
            best = self._run(model, deterministic=True)
            drawn = self._run(model, deterministic=False) if self.algorithm.stochastic else None
        self.seconds += time.perf_counter() - begun
        return Validation.of(
            model.num_timesteps,
            self.anchors.measure(best),
            None if drawn is None else self.anchors.measure(drawn).score,
            overruled=best.overruled,
        )

    @property
    def patience(self) -> int:
        """Answers that an agent may give."""
        return PATIENCE * max(self.anchors.replay.decisions, 1)

    def _run(self, model: BaseAlgorithm, deterministic: bool) -> Run:
        return self.anchors.run(
            asked(model, self.seed),
            deterministic=deterministic,
            name=self.algorithm.name,
            threads=self.threads,
            patience=self.patience,
        )
