"""What learns when the speed of training is measured: algorithms on batched environments."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from experiments.cartpole import BatchedCartPole
from failgym.envs import varying_fields
from failgym.vocabulary import ACTIONS

__all__ = ["CARTPOLE", "SETTINGS", "Sample", "Subject", "padded", "subject"]

CARTPOLE = "CartPole-v1"
_AS_WIDE = f"{CARTPOLE}, as "
SETTINGS: dict[str, Any] = {
    "n_steps": 64,
    "n_epochs": 4,
    "gamma": 1.0,
    "learning_rate": 3e-4,
    "policy_kwargs": {"net_arch": [64, 64]},
}
"""Of both algorithms; ``batch_size`` is half a rollout, at most `LARGEST_BATCH`."""
LARGEST_BATCH = 8_192


class Sample(NamedTuple):
    """One turn."""

    steps: int
    seconds: float
    processor: float
    """seconds of processor time"""
    environment: float
    """of them in the environment"""

    @property
    def rate(self) -> float:
        """Steps per second."""
        return self.steps / self.seconds

    @property
    def processor_rate(self) -> float:
        """Steps per second of processor time."""
        return self.steps / self.processor

    @property
    def share(self) -> float:
        """Share of the processor time spent in the environment."""
        return self.environment / self.processor


@dataclass(frozen=True)
class Subject:
    """An algorithm on an environment."""

    algorithm: str
    env: str
    episodes: int
    """at once"""
    fields: int
    """of an observation"""
    learn: Callable[[float], Sample]
    """for at least so many seconds"""
    samples: list[Sample] = field(default_factory=list[Sample])

    def median(self, name: str) -> float:
        """The median of a figure over the turns."""
        return statistics.median(getattr(sample, name) for sample in self.samples)

    def ratio(self, yardstick: Subject, name: str) -> float:
        """The median of the ratios of a figure to the yardstick's in the same turn."""
        pairs = zip(self.samples, yardstick.samples, strict=True)
        return statistics.median(getattr(a, name) / getattr(b, name) for a, b in pairs)


def padded(name: str) -> str:
    """CartPole with as many fields as are shown of an environment, and as many actions."""
    return _AS_WIDE + name


def make(name: str, episodes: int, fields: dict[str, Any]) -> Any:
    """A batched environment for stable-baselines3."""
    from failgym.agents.environments.vec_env import BatchedVecEnv, make_sb3_env

    if name == CARTPOLE:
        return BatchedVecEnv(BatchedCartPole(episodes))
    if name.startswith(_AS_WIDE):
        width = len(varying_fields(name.removeprefix(_AS_WIDE)))
        return BatchedVecEnv(BatchedCartPole(episodes, width, ACTIONS))
    return make_sb3_env(name, episodes, **fields)


def watched(env: Any) -> list[float]:
    """A list that holds the processor seconds spent in an environment from now on."""
    spent = [0.0]

    def timed(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            begun = time.process_time()
            result = method(*args, **kwargs)
            spent[0] += time.process_time() - begun
            return result

        return call

    for name in ("step", "env_method"):
        setattr(env, name, timed(getattr(env, name)))
    return spent


def subject(algorithm: str, name: str, episodes: int, fields: dict[str, Any]) -> Subject:
    """An algorithm on an environment, ready to learn; ``fields`` are changed in its scenario."""
    import sb3_contrib
    import stable_baselines3

    env = make(name, episodes, fields)
    spent = watched(env)
    rollout = SETTINGS["n_steps"] * episodes
    kind: Any = getattr(stable_baselines3, algorithm, None) or getattr(sb3_contrib, algorithm)
    batch_size = min(rollout // 2, LARGEST_BATCH)
    model = kind("MlpPolicy", env, batch_size=batch_size, seed=0, device="cpu", **SETTINGS)

    def learn(seconds: float) -> Sample:
        steps, spent[0] = 0, 0.0
        begun, processor = time.perf_counter(), time.process_time()
        while not steps or time.perf_counter() - begun < seconds:
            model.learn(rollout, reset_num_timesteps=False)
            steps += rollout
        taken, used = time.perf_counter() - begun, time.process_time() - processor
        return Sample(steps, taken, used, spent[0])

    return Subject(algorithm, name, episodes, env.observation_space.shape[0], learn)
