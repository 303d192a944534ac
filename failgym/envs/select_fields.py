"""`SelectFields` and `VectorSelectFields`: observations of named fields, for learners.

What the environments observe is whole, and heuristics read constants from it. A learner gains
nothing from a field that is the same in all decisions: it is shown those that can vary.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from failgym.envs.scenarios import resolve
from failgym.envs.spaces import FieldBox, columns_among, fields_of, names_in
from failgym.known_names import check_known
from failgym.sim.shared.fields import FIELDS, INDEX
from failgym.worlds.scenario import Scenario

__all__ = ["Fields", "SelectFields", "VectorSelectFields", "select_fields", "varying_fields"]

Observations = npt.NDArray[np.float32]
Fields = Literal["varying", "all"] | Sequence[str]
"""Fields to show: those that can vary in the scenario, all, or these, by name."""


def varying_fields(scenario: str | Scenario) -> tuple[str, ...]:
    """The fields that can vary in a scenario, whatever its split, in the order of `FIELDS`.

    Every other field is the same in all its decisions. What can vary is declared by its kind of
    world (`failgym.worlds.kinds.Kind.varying`): by settings, not by looking at the data.

    Raises:
        ValueError: for an unknown scenario, naming the nearest.

    >>> varying_fields("failgym/Workflow-v1")[:4]
    ('actions_taken', 'live_attempts', 'job_tasks', 'attempt')
    """
    found = resolve(scenario)
    varying = found.kind.varying(found)
    columns_among(varying, tuple(INDEX))  # a misspelt name would hide a field
    return tuple(name for name in INDEX if name in varying)


def select_fields(
    fields: Fields, scenario: Scenario, without: str | Collection[str] = ()
) -> tuple[str, ...]:
    """The names of the fields that are to be shown of a scenario.

    Args:
        fields: those that can vary in it, all, or names.
        scenario: what it decides.
        without: a field, or a group of them, that is left out; or several.

    Raises:
        ValueError: for another word, a field that there is not, one named twice, or none.
    """
    if not isinstance(fields, str):
        columns_among(fields, tuple(INDEX))
        names = names_in(fields)
    else:
        names = varying_fields(scenario) if _word(fields) == "varying" else tuple(INDEX)
    groups = {field.name: field.group for field in FIELDS}
    known = tuple(dict.fromkeys((*groups.values(), *groups)))
    named = (without,) if isinstance(without, str) else without
    left_out = {check_known("field or group of fields", name, known) for name in named}
    left = tuple(name for name in names if not {name, groups[name]} & left_out)
    if not left:
        raise ValueError("without: leaves no field of the observation")
    return left


def _word(fields: str) -> str:
    """One of the words for fields that are not named. Raises ValueError for another."""
    if fields not in ("varying", "all"):
        raise ValueError(f"fields: expected 'varying', 'all' or names, got {fields!r}")
    return fields


class _Selection:
    """Which columns of an environment's observations are shown."""

    def __init__(self, env: Any, space: Any, fields: Fields) -> None:
        observed = fields_of(space)
        if observed is None:
            shown = " ".join(str(space).split())
            raise ValueError(f"env: expected observations of failgym's fields, got {shown}")
        if not isinstance(fields, str):
            names = names_in(fields)
        elif _word(fields) == "all":
            names = observed
        else:
            varying = varying_fields(_scenario_of(env))
            names = tuple(name for name in observed if name in varying)
        self.names = names
        self.columns = columns_among(names, observed)

    def of(self, observations: Observations) -> Observations:
        """The columns that are shown, in an array of their own."""
        return observations.take(self.columns, axis=-1)


def _scenario_of(env: Any) -> Scenario:
    """The scenario of an environment, or of all those that it steps. Raises ValueError."""
    bare = env.unwrapped
    inner = [one.unwrapped for one in getattr(bare, "envs", [bare])]
    scenarios: list[Any] = [getattr(one, "scenario", None) for one in inner]
    if scenarios[0] is None or any(one != scenarios[0] for one in scenarios):
        raise ValueError("env: has no single scenario: name the fields to show")
    return scenarios[0]


class SelectFields(gym.ObservationWrapper[Any, Any, Any], RecordConstructorArgs):
    """Show named fields of the observation only; `VectorSelectFields` does so for a batch.

    Args:
        env: an environment of failgym, whole or with fields selected already.
        fields: "varying": those of its fields that can vary in its scenario; "all"; or names, in
            the order in which they are to be shown.

    Raises:
        ValueError: in one line, naming it, for a field that the environment lacks.

    >>> import gymnasium as gym, failgym
    >>> env = SelectFields(gym.make("failgym/Checkpoint-v1", jobs=200), ["age", "unsaved", "risk"])
    >>> env.fields, env.reset(seed=0)[0].shape
    (('age', 'unsaved', 'risk'), (3,))
    """

    def __init__(self, env: gym.Env[Any, Any], fields: Fields = "varying") -> None:
        RecordConstructorArgs.__init__(self, fields=fields)
        super().__init__(env)
        self._selection = _Selection(env, env.observation_space, fields)
        self.observation_space = FieldBox(self.fields)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that are shown, in order."""
        return self._selection.names

    def observation(self, observation: Observations) -> Observations:
        """The fields that are shown."""
        return self._selection.of(observation)


if TYPE_CHECKING:
    AnyVectorWrapper = VectorWrapper[Any, Any, Any, Any, Any]
else:
    AnyVectorWrapper = VectorWrapper  # Gymnasium 1.2 does not say of what


class VectorSelectFields(AnyVectorWrapper):
    """`SelectFields` for a batched environment, in every `autoreset_mode`.

    What is shown is an array of its own: an environment that hands out its own arrays
    (``copy=False``) is not copied twice.

    Args:
        env: a batched environment of failgym.
        fields: as in `SelectFields`.

    Raises:
        ValueError: in one line, naming it, for a field that the environment lacks.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], fields: Fields = "varying") -> None:
        super().__init__(env)
        batched: Any = env
        self._selection = _Selection(env, batched.single_observation_space, fields)
        self.single_observation_space = FieldBox(self.fields)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that are shown, in order."""
        return self._selection.names

    def shown(self, observations: Observations) -> Observations:
        """What is shown of observations of the environment, [N, fields], in an array of its own."""
        return self._selection.of(observations)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin episodes."""
        observations, info = self.env.reset(seed=seed, options=options)
        return self.shown(observations), info

    def step(self, actions: Any) -> tuple[Observations, Any, Any, Any, dict[str, Any]]:
        """Answer the open decisions; last observations (``final_obs``) are selected too."""
        observations, *outcome, info = self.env.step(actions)
        if "final_obs" in info:
            last = [one if one is None else self.shown(one) for one in info["final_obs"]]
            info["final_obs"] = np.fromiter(last, dtype=object, count=len(last))
        return cast(Any, (self.shown(observations), *outcome, info))
