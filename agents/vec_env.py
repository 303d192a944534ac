"""The batched environment behind stable-baselines3's `VecEnv`."""

# stable-baselines3 and Gymnasium annotate spaces without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

from failgym.agents.episodes import EpisodeTally
from failgym.envs import MitigationVectorEnv, Scenario, resolve

__all__ = ["BatchedVecEnv", "make_sb3_env"]

MASKS = "action_masks"
"""What sb3-contrib calls the method that tells which actions are legal."""


class BatchedVecEnv(VecEnv):
    """A batched Gymnasium environment as stable-baselines3 takes one: N episodes, stepped at once.

    There are no environments behind the N slots: one engine steps them all. So ``get_attr`` answers
    for all slots alike, ``set_attr`` sets what all share, and ``env_method`` knows ``action_masks``
    only. Per step there is a dict for each slot, since the interface asks for it:

    | key | in | meaning |
    |---|---|---|
    | task | every step | trace row of the task of the open decision, -1 after an end |
    | elapsed | every step | simulated ms since the last decision |
    | terminal_observation | at an end | the last observation of the episode |
    | TimeLimit.truncated | at an end | was the episode cut short? |
    | episode | at an end | `Monitor`'s ``r``, ``l``, ``t``, and the cost by reward term |

    The same is there as arrays, without a dict: `masks`, `tasks`, `elapsed`.

    Observations are handed out as the engine wrote them, into two sets of arrays in turn: what a
    step returned is overwritten by the step after next. That is what stable-baselines3 needs,
    which stores the last observation after the next step. Whoever keeps them longer copies them.

    Args:
        env: a batched environment that begins anew in the step in which an episode ends.

    Raises:
        ValueError: for another way of beginning anew.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        mode = env.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            raise ValueError(f"env: expected autoreset mode SAME_STEP, got {mode}")
        self.env = env
        self._info: dict[str, Any] = {}
        self._actions = np.zeros(env.num_envs, dtype=np.int64)
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        bare: Any = env.unwrapped
        self._tally = EpisodeTally(env.num_envs)
        self._masked = bare.single_action_space == self.action_space and hasattr(bare, MASKS)

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
        if not self._masked:
            raise AttributeError(f"env: expected {MASKS}; it has none, or a wrapper has lost them")
        bare: Any = self.env.unwrapped
        return bare.action_masks()

    @property
    def tasks(self) -> npt.NDArray[np.int64]:
        """Trace rows of the tasks of the open decisions, int64 [N]."""
        return self._column("task").copy()

    @property
    def elapsed(self) -> npt.NDArray[np.int64]:
        """Simulated time between the last decision of the episode and the open one [ms], [N]."""
        return self._column("elapsed").copy()

    def _column(self, name: str) -> npt.NDArray[Any]:
        """An array of the last info. Raises AttributeError where there is none."""
        if name not in self._info:
            raise AttributeError(f"env: expected {name!r} in the info of its last reset or step")
        return self._info[name]

    def reset(self) -> npt.NDArray[np.float32]:
        """Begin all episodes, with the seeds and options that were set for this reset.

        Raises:
            ValueError: for options that differ between the slots.
        """
        options = self._options[0]
        if any(other != options for other in self._options):
            raise ValueError("options: expected the same for every environment of a batch")
        observations, self._info = self.env.reset(seed=self._seeds[0], options=options or None)
        self._reset_seeds()
        self._reset_options()
        self._tally.clear()
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
        observations, rewards, terminated, truncated, self._info = self.env.step(self._actions)
        self._tally.add(rewards)
        dones = terminated | truncated
        infos = self._infos()
        if dones.any():
            self._add_ends(infos, np.flatnonzero(dones), truncated & ~terminated)
        return observations, rewards.astype(np.float32), dones, infos

    def _infos(self) -> list[dict[str, Any]]:
        """A dict for each slot, with what is known at every step."""
        if "task" not in self._info:
            return [{} for _ in range(self.num_envs)]
        tasks, elapsed = self._info["task"].tolist(), self._info["elapsed"].tolist()
        return [{"task": t, "elapsed": ms} for t, ms in zip(tasks, elapsed, strict=True)]

    def _add_ends(
        self,
        infos: list[dict[str, Any]],
        ended: npt.NDArray[np.int64],
        cut: npt.NDArray[np.bool_],
    ) -> None:
        """Say what the episodes that ended in this step ended with."""
        last: list[Any] = self._info["final_obs"][ended].tolist()
        episodes = self._tally.close(ended, self._costs(ended))
        columns = (ended.tolist(), last, cut[ended].tolist(), episodes)
        for i, observation, truncated, episode in zip(*columns, strict=True):
            self.reset_infos[i] = infos[i]
            infos[i] = {
                "terminal_observation": observation,
                "TimeLimit.truncated": truncated,
                "episode": episode,
            }
        if "task" in self._info:
            elapsed = self._info["final_info"]["elapsed"][ended].tolist()
            for i, ms in zip(columns[0], elapsed, strict=True):
                infos[i]["task"] = -1
                infos[i]["elapsed"] = ms

    def _costs(self, ended: npt.NDArray[np.int64]) -> npt.NDArray[np.float64] | None:
        """What the episodes that ended cost by reward term, [k, 4]."""
        bare: Any = self.env.unwrapped
        if not isinstance(bare, MitigationVectorEnv):
            return None
        return bare.batch.output.final["cost"][ended]

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
        if attr_name == MASKS and self._masked:
            return [partial(self._mask, i) for i in slots]
        return [getattr(self.env, attr_name)] * len(slots)

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
        setattr(self.env, attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Call a method of every slot that is meant: ``action_masks``.

        Raises:
            AttributeError: for another one.
        """
        slots = self._slots(indices)
        if method_name != MASKS:
            raise AttributeError(f"{method_name}: expected {MASKS}, the only method of a slot")
        masks = self.masks
        return list(masks) if indices is None else [masks[i] for i in slots]

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """True for `Monitor`: its statistics are here without it. No other wrapper is there."""
        return [issubclass(wrapper_class, Monitor)] * len(self._slots(indices))


def make_sb3_env(
    env: str | Scenario,
    n_envs: int = 1,
    *,
    threads: int = 1,
    seed: int | None = None,
    **fields: Any,
) -> BatchedVecEnv:
    """A batch of environments for stable-baselines3.

    In the pinned world an episode is one task (``slice_tasks=1``) unless ``slice_tasks`` is given
    here: tasks do not touch each other there, and in longer episodes they drown each other's
    credit.

    Args:
        env: a registered name or a `Scenario`.
        n_envs: how many episodes run at once.
        threads: threads per step, 0 for as many as there are processors.
        seed: of the first episode, the others counting up.
        fields: fields of the scenario that are changed.

    Raises:
        ValueError: for an unknown environment or field, or a value out of range.

    >>> from failgym.agents.vec_env import make_sb3_env
    >>> env = make_sb3_env("failgym/Checkpoint-v0", 4, seed=1, jobs=200)
    >>> env.reset().shape[0], env.masks.shape
    (4, (4, 5))
    """
    scenario = resolve(env, fields)
    if scenario.world == "pinned" and "slice_tasks" not in fields:
        scenario = scenario.override(slice_tasks=1)
    batch = MitigationVectorEnv(scenario, n_envs, threads=threads)
    made = BatchedVecEnv(cast("VectorEnv[Any, Any, Any]", batch))
    if seed is not None:
        made.seed(seed)
    return made
