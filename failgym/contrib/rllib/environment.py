"""Environments as RLlib's new API stack makes them: observations with masks, batched or single.

`EnvSettings` says what is played and shown. RLlib hands it to `make_env`, in the driver and in
every process that samples.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import VectorEnv, VectorWrapper

from failgym.contrib.masks import DictObservation, VectorDictObservation
from failgym.contrib.rllib.shaping import Shaping
from failgym.envs import MitigationEnv, MitigationVectorEnv, SelectFields, VectorSelectFields
from failgym.envs.keywords import scenario_of_call
from failgym.envs.select_fields import Fields, select_fields
from failgym.evaluation.arguments import check_count
from failgym.worlds.scenario import Scenario

__all__ = ["SETTINGS", "EnvSettings", "EverySlice", "make_env", "settings_of"]

SETTINGS = "settings"
"""Key of RLlib's ``env_config`` under which `make_env` finds its `EnvSettings`."""


@dataclass(frozen=True)
class EnvSettings:
    """What an agent plays, and what it is shown."""

    scenario: Scenario
    fields: tuple[str, ...]
    """names of the fields that are observed, in order"""
    shaping: Shaping | None = None
    """rewards and tasks to train on; None: those of the environment"""
    every_slice: bool = False
    """begin slice after slice of the split, instead of drawn ones"""


def settings_of(
    env: str | Scenario,
    *,
    fields: Fields = "varying",
    without: str | Collection[str] = (),
    shaping: Shaping | None = None,
    **overrides: Any,
) -> EnvSettings:
    """Settings of an environment to train in.

    In the pinned world an episode is one task unless ``slice_tasks`` is given, as in
    `failgym.agents.make_sb3_env`.

    Args:
        env: an id, or a scenario.
        fields: those that are shown: "varying", "all", or names.
        without: fields, or groups of them, that are not shown all the same.
        shaping: rewards and tasks to train on.
        overrides: fields of the scenario that are changed.

    Raises:
        TypeError: for an unknown field of a scenario, naming the nearest.
        ValueError: for an unknown environment or field of the observation, or a value of the wrong
            type or range.
    """
    scenario = scenario_of_call(settings_of, env, overrides)
    names = select_fields(fields, scenario, without)
    if scenario.kind.independent and "slice_tasks" not in overrides:
        scenario = scenario.override(slice_tasks=1)
    if shaping is not None:
        shaping.check(scenario)
    return EnvSettings(scenario, names, shaping)


def make_env(config: Mapping[str, Any]) -> gym.Env[Any, Any] | VectorEnv[Any, Any, Any]:
    """The environment of RLlib's ``env_config``: batched where RLlib says ``num_envs``.

    Raises:
        ValueError: for a config without `SETTINGS`, or slices in turn in a batch.
    """
    settings = config.get(SETTINGS)
    if not isinstance(settings, EnvSettings):
        got = type(settings).__name__
        raise ValueError(f"env_config: expected EnvSettings as {SETTINGS!r}, got {got}")
    if "num_envs" not in config:
        env: Any = SelectFields(MitigationEnv(settings.scenario), settings.fields)
        if settings.shaping is not None:
            raise ValueError("env_config: shaping needs batched environments, set num_envs")
        return DictObservation(EverySlice(env) if settings.every_slice else env)
    if settings.every_slice:
        raise ValueError("env_config: every_slice needs single environments, leave num_envs out")
    check_count("num_envs", config["num_envs"], 1)
    batch: Any = MitigationVectorEnv(settings.scenario, config["num_envs"])
    if settings.shaping is not None:
        batch = settings.shaping.wrapped(batch)
    return WithoutInfos(VectorDictObservation(VectorSelectFields(batch, settings.fields)))


class EverySlice(gym.Wrapper[Any, Any, Any, Any]):
    """Begin the slices of the split in turn, the first again after the last.

    Args:
        env: a single environment of failgym.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.next_slice = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin the next slice, or the one that options name; a seed begins with the first."""
        if seed is not None:
            self.next_slice = 0
        inner: Any = self.env.unwrapped
        chosen = {"slice": self.next_slice % inner.batch.slices, **(options or {})}
        self.next_slice = chosen["slice"] + 1
        return self.env.reset(seed=seed, options=chosen)


if TYPE_CHECKING:
    AnyVectorWrapper = VectorWrapper[Any, Any, Any, Any, Any]
else:
    AnyVectorWrapper = VectorWrapper  # Gymnasium 1.2 does not say of what


class WithoutInfos(AnyVectorWrapper):
    """Leave infos out: RLlib makes a dict of each for every episode and step, and keeps them."""

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin episodes."""
        return self.env.reset(seed=seed, options=options)[0], {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Answer the open decisions."""
        return cast(Any, (*self.env.step(np.asarray(actions, dtype=np.int64))[:4], {}))


def played_at_random(settings: EnvSettings, decisions: int, seed: int) -> npt.NDArray[np.float32]:
    """Observations of random legal play, at least so many: [decisions, fields]."""
    count = min(decisions, 256)
    env: Any = VectorSelectFields(MitigationVectorEnv(settings.scenario, count), settings.fields)
    rng = np.random.default_rng(seed)
    seen = [env.reset(seed=seed)[0]]
    while len(seen) * count < decisions:
        chances = rng.random((count, env.single_action_space.n)) * env.unwrapped.action_masks()
        seen.append(env.step(chances.argmax(axis=1))[0])
    return np.concatenate(seen)
