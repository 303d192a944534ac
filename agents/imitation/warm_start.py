"""Warm start: an actor-critic that begins where a heuristic is, instead of at random.

Behaviour cloning (Pomerleau 1991) fits the policy to what a teacher does in the decisions that the
teacher comes to. DAgger (Ross, Gordon and Bagnell, AISTATS 2011) goes on in rounds: the pupil
decides more and more itself, and the teacher says what it would have done in the decisions that the
pupil comes to. The value function is fitted to the returns that they got: an actor that is good
beside a critic that knows nothing is soon unlearned (`experiments/warm_start.py`).

What training rewards can be changed as well, without changing what is best:
`failgym.agents.environments.rewards`.
"""

# stable-baselines3 and torch annotate some of their arguments without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from failgym.agents.credit.rollout_buffers import TaskRolloutBuffer
from failgym.agents.imitation.demonstrations import Demonstrations, demonstrate
from failgym.agents.imitation.fitting import Lessons, explained_variance, fit
from failgym.agents.networks.architectures import ARCHITECTURES, algorithm_of
from failgym.baselines import REGISTRY
from failgym.evaluation.arguments import check_count
from failgym.evaluation.caller import Predicts
from failgym.known_names import check_known

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

__all__ = ["PUPILS", "WarmStart", "WarmStartSettings", "baseline_named", "warm_start"]

PUPILS = ("ppo", "a2c", "maskable_ppo")
"""Algorithms that can be warm-started: an actor and a critic, without memory."""


@dataclass(frozen=True)
class WarmStart:
    """How well a pupil knows its teacher, in episodes of the last round that it did not learn from.

    NaN where there are no such decisions.
    """

    decisions: int
    """that were collected"""
    agreement: float
    """share of the decisions in which the pupil's best action is the teacher's"""
    interventions: float
    """the same, of those in which the teacher does not CONTINUE"""
    explained_variance: float
    """of the returns, by the critic: 1 is all, 0 no more than their mean"""

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is not defined is None."""
        return {n: None if math.isnan(v) else v for n, v in asdict(self).items()}


@dataclass(frozen=True)
class WarmStartSettings:
    """How a model is taught.

    Raises:
        ValueError: in one line, naming the setting, for one out of range.
    """

    steps: int = 100_000
    """decisions to collect, of all rounds together"""
    rounds: int = 1
    """1 is behaviour cloning; more is DAgger"""
    mixture: float = 0.5
    """share of the decisions that the teacher carries out in the second round; it falls by this
    factor from round to round"""
    epochs: int = 10
    """passes over all that is collected, in each round"""
    batch_size: int = 256
    """decisions of a gradient step"""
    learning_rate: float = 1e-3
    """of Adam; falls to 0 in each round"""
    critic: bool = True
    """fit the value function too, to the returns of all rounds: few episodes carry most of the
    cost, and those of one round are too few; not with credit per task (`failgym.agents.credit`),
    whose returns are those of tasks"""
    held_out: float = 0.1
    """share of the episodes to test on, and not learn from"""

    def __post_init__(self) -> None:
        for name in ("steps", "rounds", "epochs", "batch_size"):
            check_count(name, getattr(self, name), 1)
        if not 0.0 <= self.mixture <= 1.0:
            raise ValueError(f"mixture: expected a share from 0 to 1, got {self.mixture}")
        if not 0.0 <= self.held_out < 1.0:
            raise ValueError(f"held_out: expected 0 to less than 1, got {self.held_out}")
        if not 0.0 < self.learning_rate < math.inf:
            raise ValueError(f"learning_rate: expected a positive number, got {self.learning_rate}")


def warm_start(
    model: BaseAlgorithm,
    teacher: str | Predicts,
    env: VecEnv | None = None,
    settings: WarmStartSettings | None = None,
    *,
    seed: int = 0,
) -> WarmStart:
    """Teach a model what a baseline does, before it learns by itself.

    The model's own optimiser, schedules and step count stay as they are. The same seed and one
    thread of torch give the same weights.

    Args:
        model: a model of one of `PUPILS`.
        teacher: the name of a baseline, or any `failgym.Policy`.
        env: where demonstrations come from, begun anew: by default the model's own environment.
            The critic learns the rewards of this one.
        settings: how; by default those of `WarmStartSettings`.
        seed: of all that is drawn.

    Raises:
        ValueError: for another algorithm, or an unknown baseline, naming the nearest.

    >>> from stable_baselines3 import PPO
    >>> from failgym.agents.environments.vec_env import make_sb3_env
    >>> model = PPO("MlpPolicy", make_sb3_env("failgym/Checkpoint-v1", 16, jobs=200), gamma=1.0)
    >>> result = warm_start(model, "young", settings=WarmStartSettings(steps=512, epochs=2))
    >>> 0.5 < result.agreement <= 1.0
    True
    """
    settings = WarmStartSettings() if settings is None else settings
    masked = _masked(model)
    known: Any = teacher
    taught_by: Predicts = baseline_named(known) if isinstance(known, str) else known
    source = env if env is not None else model.get_env()
    if source is None:
        raise ValueError("env: expected one, since the model has none")
    check_count("seed", seed, 0)
    pupil: Any = model
    if settings.critic and isinstance(pupil.rollout_buffer, TaskRolloutBuffer):
        raise ValueError("critic: expected False with credit per task: its returns are others")
    return _taught(pupil, taught_by, source, settings, masked, seed)


def _taught(
    pupil: Any,
    teacher: Predicts,
    source: VecEnv,
    settings: WarmStartSettings,
    masked: bool,
    seed: int,
) -> WarmStart:
    """Collect demonstrations and fit the pupil to all of them, round by round."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 1])))
    learned = tested = Demonstrations.none(pupil.observation_space.shape[0])
    collected = 0
    for i in range(settings.rounds):
        latest = demonstrate(
            teacher,
            source,
            -(-settings.steps // settings.rounds),
            pupil=pupil if i else None,
            masked=masked,
            mixture=settings.mixture**i,
            gamma=pupil.gamma,
            seed=seed + i * source.num_envs,
        )
        collected += len(latest)
        kept, tested = latest.parted(settings.held_out, rng)
        learned = learned.joined(kept)
        fit(
            pupil.policy,
            Lessons(learned, masked),
            critic=settings.critic,
            epochs=settings.epochs,
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            rng=rng,
        )
    return _examined(pupil.policy, Lessons(tested, masked), collected)


def baseline_named(name: str) -> Predicts:
    """A baseline as published, by its name. Raises ValueError for another, naming the nearest."""
    return REGISTRY[check_known("policy", name, REGISTRY)]()


def _masked(model: BaseAlgorithm) -> bool:
    """Does the model take masks? Raises ValueError if it cannot be warm-started."""
    algorithm = algorithm_of(model)
    if algorithm not in PUPILS:
        raise ValueError(f"model: expected {', '.join(PUPILS)} for a warm start, got {algorithm}")
    return ARCHITECTURES[algorithm].masked


def _examined(policy: Any, lessons: Lessons, collected: int) -> WarmStart:
    agreement, interventions = lessons.agreement(policy)
    explained = explained_variance(lessons.values(policy), lessons.demonstrations.returns)
    return WarmStart(collected, agreement, interventions, explained)
