"""Rollout buffers that credit a decision with what it was about: returns and advantages per task.

In the scheduled world the decisions of many tasks interleave. To a rollout buffer that takes each
step for the successor of the one before, the cost of every other task is noise in the return of a
decision, and the value that it leans on is that of another task. Here the successor of a decision
is the next one of the same task, and the reward between the two is the change of that task's own
cost, as if every task were an agent of its own and all shared one policy (independent learners with
parameter sharing: de Witt et al., "Is independent learning all you need in the StarCraft
multi-agent challenge?", 2020). Advantages along each task's decisions are those of Schulman et al.
("High-dimensional continuous control using generalized advantage estimation", ICLR 2016).

What a decision is credited with
    The *unit*: in Mitigation-v1 the task; where completion is that of jobs, the job (Workflow-v1:
    one of ten; Lineage-v1: the only one, so that there the two buffers differ only at the end of a
    rollout). Its cost is made of the terms and prices of the episode's, and the costs of the units
    sum to it (`failgym.sim.scheduled.units`). What others wait is not in it.

``share``
    A part of the episode's cost mixed into it: (1 - share) x own + share x episode. 0 trusts the
    own cost; 1 is what is to be minimised in the end. But then the return of a decision holds the
    cost of all tasks until the end of the episode, and only episodes that end within the rollout
    count.

``gamma``
    1, unless there is a reason. Costs are charged when they arise, the work that a kill forfeits at
    once and what waiting costs later: discounting prefers to put costs off, and an agent that
    discounts learns to do so. Tasks end, and so do sums.

``time_unit``
    With it gamma is not per decision but per so many ms of simulated time: the process is
    semi-Markov (Bradtke and Duff, "Reinforcement learning methods for continuous-time Markov
    decision problems", NIPS 1994), and decisions are minutes or days apart. The cost between two
    decisions counts undiscounted.

``scale``
    What costs are divided by. A critic learns values near 1 soonest; a task costs some units, a
    large one hundreds. Advantages are normalised anyway. Costs are read from the engine: wrappers
    that change or scale rewards change nothing here.

Where a rollout ends
    The last decision of a task that has not settled has no successor yet. No value of another task
    stands in for it: its temporal difference is taken to be 0, its predecessors lean on its value,
    and it is itself left out of the minibatches. So ``n_steps`` should be several times the number
    of decisions between two of the same task (Mitigation-v1: half of them within 52, 95 % within
    121): an algorithm with 64 steps of 1,024 environments would learn from next to nothing, one
    with 1,024 steps of 64 leaves out a few in a hundred. A task that has settled counts as known.
    Where outputs are lost (Lineage-v1, with tasks for units) its output may be lost after the
    rollout: that is not seen. To leave such tasks out until the episode ends is worse: rollouts
    then teach of short jobs only, and the agent writes down everything.
"""

# numpy arrays of stable-baselines3 are not typed.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.vec_env import VecEnv

from failgym.agents.credit.advantages import Chains, chain_advantages
from failgym.envs import MitigationVectorEnv
from failgym.sim.scheduled.batch import ScheduledBatch

__all__ = ["MaskableTaskRolloutBuffer", "TaskRolloutBuffer"]


class TaskRolloutBuffer(RolloutBuffer):
    """A rollout buffer of stable-baselines3 with advantages per task; see the module.

    To be given to an on-policy algorithm, with the environment that it learns on:

    >>> from stable_baselines3 import PPO
    >>> from failgym.agents.environments.vec_env import make_sb3_env
    >>> env = make_sb3_env("failgym/Workflow-v1", 2, jobs=40)
    >>> model = PPO(
    ...     "MlpPolicy",
    ...     env,
    ...     gamma=1.0,
    ...     n_steps=256,
    ...     rollout_buffer_class=TaskRolloutBuffer,
    ...     rollout_buffer_kwargs={"env": env},
    ... )

    A model is saved without its environment by ``exclude=["rollout_buffer_kwargs"]``, and loaded
    with another by ``load(path, env=env, rollout_buffer_kwargs={"env": env})``.

    Args:
        rollout: as `RolloutBuffer` takes them: steps of a rollout T, spaces, device.
        env: the environment that the algorithm learns on, wrapped or not; the buffer reads the
            costs of its tasks.
        share: part of the episode's cost in what a decision is credited with, 0 to 1.
        time_unit: simulated time that gamma discounts [ms]; None: the step to the next decision.
        scale: what costs are divided by.
        more: as `RolloutBuffer` takes them, ``gamma`` 1 by default: the discount per decision of a
            task, or per ``time_unit``.

    Raises:
        ValueError: for an environment that is not of the scheduled world or has another number of
            slots, or a value out of range.
    """

    def __init__(
        self,
        *rollout: Any,
        env: VecEnv,
        share: float = 0.0,
        time_unit: float | None = None,
        scale: float = 1.0,
        **more: Any,
    ) -> None:
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"share: expected 0 to 1, got {share}")
        if time_unit is not None and not time_unit > 0.0:
            raise ValueError(f"time_unit: expected more than 0 ms, or None, got {time_unit}")
        if not scale > 0.0:
            raise ValueError(f"scale: expected more than 0, got {scale}")
        self.share, self.time_unit, self.scale = share, time_unit, scale
        self.batch = _batch_of(env)
        super().__init__(*rollout, **{"gamma": 1.0, **more})
        if len(self.batch) != self.n_envs:
            raise ValueError(f"env: expected {self.n_envs} slots, got {len(self.batch)}")

    def reset(self) -> None:
        """Begin a rollout where the environment stands."""
        super().reset()
        shape = self.buffer_size, self.n_envs
        self.units = np.zeros(shape, dtype=np.int64)
        self.times = np.zeros(shape, dtype=np.int64)
        self.unit_costs, self.last_unit_costs = np.zeros(shape), np.zeros(shape)
        self.episode_costs, self.last_episode_costs = np.zeros(shape), np.zeros(shape)
        self.settled = np.zeros(shape, dtype=np.bool_)
        self.ended = np.zeros(shape, dtype=np.bool_)
        self.complete = np.zeros(shape, dtype=np.bool_)
        """[T, N] is it known what followed the decision?"""
        self._begun = np.zeros(self.n_envs, dtype=np.int64)
        self._time = np.zeros(self.n_envs, dtype=np.int64)
        self._episode_cost = np.zeros(self.n_envs)
        self._look()

    def _look(self) -> None:
        """Remember what the open decisions are about."""
        out = self.batch.output
        self._unit, self._unit_cost = out.unit.copy(), out.unit_cost.copy()
        self._turn = self.batch.turn

    def add(self, *args: Any, **kwargs: Any) -> None:
        """Take what `RolloutBuffer.add` takes, after each step of the environment.

        Raises:
            RuntimeError: if the environment has not been stepped since.
        """
        if self.batch.turn == self._turn:
            raise RuntimeError("env: expected the environment that the algorithm learns on")
        step, out = int(self.pos), self.batch.output  # pyright: ignore[reportUnknownArgumentType]
        super().add(*args, **kwargs)
        self.units[step], self.unit_costs[step] = self._unit, self._unit_cost
        self.times[step], self.episode_costs[step] = self._time, self._episode_cost
        self._time += out.elapsed
        self._episode_cost -= out.reward
        for e in np.flatnonzero(out.terminated).tolist():
            self._close(e, step + 1, out.final_unit_costs[e])
            self.ended[self._begun[e] : step + 1, e] = True
            self.settled[self._begun[e] : step + 1, e] = True
            self._begun[e] = step + 1
        self._look()

    def _close(self, e: int, end: int, costs: npt.NDArray[np.float64]) -> None:
        """Write down the costs of the units of the present episode, and its own, up to now."""
        rows = slice(self._begun[e], end)
        self.last_unit_costs[rows, e] = costs[self.units[rows, e]]
        self.last_episode_costs[rows, e] = self._episode_cost[e]

    def compute_returns_and_advantage(self, last_values: torch.Tensor, dones: Any) -> None:
        """Compute advantages along the decisions of each unit, and their returns.

        Args:
            last_values: what the critic expects of the open decisions. Not used: they are others'.
            dones: not used, for the same reason.

        Raises:
            ValueError: if nothing is known of what followed any decision.
        """
        costs, settled = self.batch.unit_costs()
        for e in range(self.n_envs):
            rows = slice(self._begun[e], self.buffer_size)
            self._close(e, self.buffer_size, costs[e])
            self.settled[rows, e] = settled[e, self.units[rows, e]]
        advantages, self.complete = chain_advantages(
            self._chains(), self.gamma, self.gae_lambda, self.time_unit or 0.0
        )
        if self.complete.sum() < 2:
            raise ValueError("n_steps: expected enough for some task to be asked about twice")
        self.advantages = advantages.astype(np.float32)
        self.returns = self.advantages + self.values

    def _chains(self) -> Chains:
        """The rollout, its costs mixed by ``share`` and scaled."""
        own, all_, closed = (1.0 - self.share) / self.scale, self.share / self.scale, self.settled
        return Chains(
            unit=self.units,
            starts=self.episode_starts.astype(np.bool_),
            time=self.times,
            cost=own * self.unit_costs + all_ * self.episode_costs,
            last_cost=own * self.last_unit_costs + all_ * self.last_episode_costs,
            closed=closed if self.share == 0.0 else closed & self.ended,
            value=self.values,
        )

    def get(self, batch_size: int | None = None) -> Generator[Any, None, None]:
        """Minibatches, shuffled, of the decisions of which it is known what followed.

        One that would be left over alone joins the minibatch before: the advantages of a minibatch
        are divided by their standard deviation.
        """
        if not self.generator_ready:
            self._flatten()
        known = np.random.permutation(np.flatnonzero(self.complete))  # noqa: NPY002 - SB3's source
        size = batch_size or len(known)
        cuts = [*range(0, len(known), size), len(known)]
        if len(cuts) > 2 and cuts[-1] - cuts[-2] == 1:
            del cuts[-2]
        for start, end in pairwise(cuts):
            yield self._get_samples(known[start:end])

    def _flatten(self) -> None:
        """Lay the arrays out as the minibatches are drawn: environment after environment."""
        names = ["observations", "actions", "values", "log_probs", "advantages", "returns"]
        for name in [
            *names,
            "complete",
            *(["action_masks"] if hasattr(self, "action_masks") else []),
        ]:
            setattr(self, name, self.swap_and_flatten(getattr(self, name)))
        self.generator_ready = True


class MaskableTaskRolloutBuffer(TaskRolloutBuffer, MaskableRolloutBuffer):
    """`TaskRolloutBuffer` for sb3-contrib's MaskablePPO."""


def _batch_of(env: VecEnv) -> ScheduledBatch:
    """The episodes behind an environment of stable-baselines3. Raises ValueError."""
    batched: Any = getattr(env.unwrapped, "env", None)
    inner = getattr(batched, "unwrapped", None)
    if not isinstance(inner, MitigationVectorEnv):
        raise ValueError(
            f"env: expected one made by make_sb3_env, got {type(env.unwrapped).__name__}"
        )
    if not isinstance(inner.batch, ScheduledBatch):
        raise ValueError(
            f"env: expected a scheduled world, got {inner.scenario.name or inner.scenario.world};"
            " there one slot is one task, which any rollout buffer credits"
        )
    return inner.batch
