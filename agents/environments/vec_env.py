"""The batched environment behind stable-baselines3's `VecEnv`."""

# stable-baselines3 and Gymnasium annotate spaces without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

from failgym.agents.environments.batch_step import stepper
from failgym.agents.environments.episode_statistics import EpisodeTally, final_infos
from failgym.agents.environments.masks import MASKS
from failgym.envs import MitigationVectorEnv, Scenario, VectorSelectFields
from failgym.envs.keywords import scenario_of_call
from failgym.envs.select_fields import Fields, select_fields
from failgym.envs.spaces import fields_of
from failgym.evaluation.arguments import MOST_SEED, check_count, check_threads
from failgym.sim.shared.fields import INDEX

__all__ = ["BatchedVecEnv", "make_sb3_env"]

METHODS = (MASKS, "get_wrapper_attr", "has_wrapper_attr", "set_wrapper_attr")
"""Methods that `env_method` may call on a slot."""


class BatchedVecEnv(VecEnv):
    """A batched Gymnasium environment as stable-baselines3 takes one: N episodes, stepped at once.

    There are no environments behind the N slots: one engine steps them all. So ``get_attr`` answers
    for all slots alike, ``set_attr`` and ``set_options`` set what all share, and ``env_method``
    knows `METHODS`. Per step there is a dict for each slot, since the interface asks for it:

    | key | when | meaning |
    |---|---|---|
    | task | always | trace row of the task of the open decision, -1 at an end |
    | elapsed | always | simulated ms since the last decision |
    | terminal_observation | at an end | the last observation of the episode |
    | TimeLimit.truncated | at an end | was the episode cut short? |
    | episode | at an end | `Monitor`'s ``r``, ``l`` and ``t``, and the cost by reward term |

    `masks`, `tasks` and `elapsed` are the same as arrays, of the open decisions, for whoever needs
    no dicts. At an end they belong to the next episode, as the observation does;
    ``reset_infos[i]`` is its first info.

    Observations are handed out as the environment does. Where `make_sb3_env` shows all fields they
    are the engine's own, in two arrays in turn (``copy=False``): what a step returned is
    overwritten by the step after next. That is what the algorithms of stable-baselines3 need, which
    store the last observation after the next step. Whoever keeps observations for longer copies
    them. Selected fields are in arrays of their own.

    A pickled environment holds its episodes, the compiled world and the settings, and goes on as
    the original does. There is nothing to render.

    Args:
        env: a batched environment that begins anew in the step in which an episode ends.

    Raises:
        ValueError: for another way of beginning anew.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        mode = env.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            raise ValueError(
                f'env: expected autoreset mode SAME_STEP (autoreset_mode="SameStep"), got {mode}'
            )
        self.env = env
        self._tasks: npt.NDArray[np.int64] | None = None
        self._elapsed: npt.NDArray[np.int64] | None = None
        self._actions = np.zeros(env.num_envs, dtype=np.int64)
        self._step = stepper(env)
        self.tally = EpisodeTally(env.num_envs)
        """of the running episodes"""
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    @property
    def fields(self) -> tuple[str, ...] | None:
        """Names of the fields that are shown, in order; None where they are not failgym's."""
        own: Any = self
        return fields_of(own.observation_space)

    @property
    def whole_observations(self) -> npt.NDArray[np.float32]:
        """The open decisions with all fields, [N, all fields]: the engine's own array.

        Raises:
            AttributeError: where the environment is not failgym's.
        """
        bare: Any = self.env.unwrapped
        return bare.batch.output.obs

    @property
    def spec(self) -> Any:
        """What Gymnasium's registry says of the environment, if it was made from there."""
        return self.env.spec

    @property
    def masks(self) -> npt.NDArray[np.bool_]:
        """Legal actions of the open decisions, bool [N, actions].

        Raises:
            AttributeError: where the environment has none, or a wrapper has changed the actions.
        """
        self._need_masks()
        bare: Any = self.env.unwrapped
        return bare.action_masks()

    def _need_masks(self) -> None:
        """Raise AttributeError where there are no masks of these actions."""
        bare: Any = self.env.unwrapped
        if not hasattr(bare, MASKS) or bare.single_action_space != self.action_space:
            raise AttributeError(f"env: expected {MASKS}; it has none, or a wrapper has lost them")

    @property
    def tasks(self) -> npt.NDArray[np.int64]:
        """Trace rows of the tasks of the open decisions, int64 [N]."""
        return _known(self._tasks)

    @property
    def elapsed(self) -> npt.NDArray[np.int64]:
        """Simulated time between the last decision of the episode and the open one [ms], [N]."""
        return _known(self._elapsed)

    def reset(self) -> npt.NDArray[np.float32]:
        """Begin all episodes, with the seed and the options that were set for this reset.

        Raises:
            ValueError: for options that differ between the slots, or that the environment refuses.
        """
        options = self._options[0]
        if any(other != options for other in self._options):
            raise ValueError("options: expected the same for every environment of a batch")
        # The environment counts up from the first seed as `VecEnv.seed` has done.
        observations, _ = self.env.reset(seed=self._seeds[0], options=options or None)
        bare: Any = self.env.unwrapped
        if isinstance(bare, MitigationVectorEnv):  # the engine's own: what changes there shows here
            out = bare.batch.output
            self._tasks, self._elapsed = out.task, out.elapsed
        self._reset_seeds()
        self._reset_options()
        self.tally.clear()
        self.reset_infos = self._infos()
        return observations

    def step_async(self, actions: npt.NDArray[np.int64]) -> None:
        """Take the actions that `step_wait` answers the open decisions with."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[
        npt.NDArray[np.float32],
        npt.NDArray[np.float32],
        npt.NDArray[np.bool_],
        list[dict[str, Any]],
    ]:
        """Answer the open decisions: observations, rewards, ends, and a dict for each slot."""
        step = self._step(self._actions)
        self._tasks, self._elapsed = step.tasks, step.elapsed
        self.tally.add(step.rewards)
        infos = self._infos()
        if len(step.ended):
            final = final_infos(step, self.tally.close(step.ended, step.costs))
            for i, one in zip(step.ended.tolist(), final, strict=True):
                self.reset_infos[i], infos[i] = infos[i], one
        return step.observations, step.rewards.astype(np.float32), step.dones, infos

    def _infos(self) -> list[dict[str, Any]]:
        """A dict for each slot, with what is always known."""
        if self._tasks is None or self._elapsed is None:
            return [{} for _ in range(self.num_envs)]
        columns = self._tasks.tolist(), self._elapsed.tolist()
        return [{"task": t, "elapsed": ms} for t, ms in zip(*columns, strict=True)]

    def close(self) -> None:
        """Close the batched environment."""
        self.env.close()

    def _slots(self, indices: VecEnvIndices) -> Sequence[int]:
        """The slots that are meant. Raises IndexError for one that does not exist."""
        return [range(self.num_envs)[i] for i in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute, once for each slot that is meant; ``action_masks`` is a method of each.

        Raises:
            AttributeError: where the environment has none of this name.
        """
        slots = self._slots(indices)
        if attr_name == MASKS:
            self._need_masks()
            return [partial(self._mask, i) for i in slots]
        bare: Any = self.env.unwrapped
        found = getattr(self.env if hasattr(self.env, attr_name) else bare, attr_name)
        return [found] * len(slots)

    def _mask(self, slot: int) -> npt.NDArray[np.bool_]:
        """Legal actions of the open decision of a slot, bool [actions]."""
        return self.masks[slot]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute, which all slots share.

        Raises:
            ValueError: if only some of the slots are meant.
        """
        if set(self._slots(indices)) != set(range(self.num_envs)):
            raise ValueError(
                f"indices: expected all, since the environments of a batch share {attr_name!r}"
            )
        setattr(self.env.unwrapped, attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Call a method of every slot that is meant, one of `METHODS`.

        Raises:
            AttributeError: for another one.
        """
        slots = self._slots(indices)
        match method_name:
            case "action_masks":
                masks = self.masks
                return list(masks) if indices is None else [masks[i] for i in slots]
            case "get_wrapper_attr":
                return self.get_attr(*method_args, indices=indices, **method_kwargs)
            case "has_wrapper_attr":
                return [self.has_attr(*method_args, **method_kwargs)] * len(slots)
            case "set_wrapper_attr":
                self.set_attr(*method_args, indices=indices, **method_kwargs)
                return [True] * len(slots)
            case _:
                known = ", ".join(METHODS)
                raise AttributeError(f"{method_name}: no method of a slot, which are {known}")

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """True for `Monitor`, whose statistics are here without it; there is no other wrapper."""
        return [issubclass(wrapper_class, Monitor)] * len(self._slots(indices))


def _known(values: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int64]:
    """A copy of what the last reset or step said of tasks. Raises AttributeError for nothing."""
    if values is None:
        raise AttributeError("env: expected tasks in the info of its last reset or step")
    return values.copy()


def make_sb3_env(
    env: str | Scenario,
    n_envs: int = 1,
    *,
    threads: int = 1,
    seed: int | None = None,
    fields: Fields = "varying",
    without: str | Collection[str] = (),
    **overrides: Any,
) -> BatchedVecEnv:
    """A batch of environments for stable-baselines3.

    A model that learns in it is shown the fields that can vary in the scenario, and no others. Its
    observation space names them: `failgym.evaluate` shows a model what it has learned from, and
    `save_policy` writes their names into its file.

    In the pinned world an episode is one task (``slice_tasks=1``) unless ``slice_tasks`` is given
    here: tasks do not touch each other there, and in longer episodes they drown each other's
    credit.

    Args:
        env: a registered name or a `Scenario`.
        n_envs: how many episodes run at once.
        threads: threads per step, 0 for as many as there are processors.
        seed: of the first episode, the others counting up.
        fields: which fields of the observation are shown: "varying", "all", for agents that play
            several environments, or names (`failgym.envs.SelectFields`).
        without: fields, or groups of them ("system"), that are not shown all the same: what tells
            the jobs of one trace apart and says nothing of the next.
        overrides: fields of the scenario that are changed.

    Raises:
        TypeError: for an unknown field of a scenario, naming the nearest.
        ValueError: for an unknown environment or field of the observation, or a value of the wrong
            type or range.

    >>> from failgym.agents.environments.vec_env import make_sb3_env
    >>> env = make_sb3_env("failgym/Checkpoint-v1", 4, seed=1, jobs=200)
    >>> env.reset().shape[0], env.masks.shape
    (4, (4, 5))
    """
    check_count("n_envs", n_envs, 1)
    check_threads(threads)
    if seed is not None:
        check_count("seed", seed, 0, MOST_SEED)
    scenario = scenario_of_call(make_sb3_env, env, overrides)
    names = select_fields(fields, scenario, without)
    if scenario.kind.independent and "slice_tasks" not in overrides:
        scenario = scenario.override(slice_tasks=1)
    batch: Any = MitigationVectorEnv(
        scenario, n_envs, copy=False, autoreset_mode=AutoresetMode.SAME_STEP, threads=threads
    )
    made = BatchedVecEnv(batch if names == tuple(INDEX) else VectorSelectFields(batch, names))
    if seed is not None:
        made.seed(seed)
    return made
