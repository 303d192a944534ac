"""Tasks are met as often as much is at stake on them: importance sampling of episodes.

Most tasks cost little whatever is done, and a few cost, or would cost, more than all of these: a
job of thirty tasks that finish in the end, killed for nothing, loses more than a policy gains on a
thousand others. Drawn alike, such tasks are seen seldom, and the gradient of a rollout depends on
whether one was in it.

Here the *stake* of a task is the most that it costs under replay, or under policies that take
certain actions whenever they may; small ones are raised to a floor, and all to a power. Tasks are
drawn in proportion to it, and the rewards of a task are divided by how much more often than on
average it is met. So the expected gradient of the policy is that of tasks drawn alike, whatever the
stakes are, and the reward of no task is much larger than that of another (Rubinstein, "Simulation
and the Monte Carlo Method", 1981; for experience: Schaul et al., "Prioritized experience replay",
ICLR 2016).
The critic, for its part, learns values in the divided unit, and fits best what is met most.

The draw is systematic (the cumulative stakes at equal distances, from a random beginning on) and
written down as the list of tasks that episodes are drawn from: an environment costs nothing more in
a step. The list follows from settings and seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import VectorEnv

from failgym.agents.environments.task_costs import TaskCosts
from failgym.agents.environments.vec_env import BatchedVecEnv
from failgym.sim.pinned.batch import Batch
from failgym.sim.shared.fields import MASK
from failgym.vocabulary import Action

__all__ = ["Eager", "draw_by_stakes", "stakes"]

MOST_DRAWS = 1 << 21
"""Length of the list of tasks at most; each is in it once at least if that is enough. Where it is
not, those with the least at stake are in some lists and not in others, as often as they should."""
STREAM = 2
"""Of the seed's streams of random numbers, the one that tasks are drawn from."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Eager:
    """Takes the first legal of some actions whenever it may, and else continues.

    Args:
        actions: numbers of actions.
    """

    def __init__(self, actions: Sequence[int]) -> None:
        self.actions = tuple(actions)
        self.name = "always " + " or ".join(Action(action).name for action in actions)

    def predict(
        self,
        observation: npt.NDArray[np.float32],
        state: Any = None,
        episode_start: npt.NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Ints, Any]:
        """Choose an action for each observation of a batch, as `failgym.policy.Policy` says."""
        legal = observation[:, MASK] > 0
        chosen = np.full(len(observation), int(Action.CONTINUE), dtype=np.int64)
        for action in reversed(self.actions):
            chosen[legal[:, action]] = action
        return chosen, state


def stakes(
    costs: TaskCosts, against: Sequence[Sequence[int]], power: float = 1.0, floor: float = 0.05
) -> Floats:
    """What is at stake on every task of the episodes, [episodes].

    Args:
        costs: of the tasks.
        against: actions, each a list of which a policy takes the first legal one.
        power: of the stakes.
        floor: least stake, a share of the mean.
    """
    most = costs.replay[costs.tasks]
    for actions in against:
        most = np.maximum(most, costs.of(Eager(actions))[costs.tasks])
    if not most.any():
        return np.ones(len(most))
    return np.maximum(most, floor * most.mean()) ** power


def draw_by_stakes(
    env: BatchedVecEnv | VectorEnv[Any, Any, Any], weights: Floats, seed: int
) -> Floats:
    """Let an environment draw its tasks in proportion to weights, from its next reset on.

    Args:
        env: of the pinned world, one task an episode, with the list of tasks it was made with.
        weights: of each episode, [episodes].
        seed: of the draw.

    Returns:
        What the rewards of each task are to be divided by, by trace row: how often it is expected
        in the list over the mean of all tasks; 1 for tasks of no episode.
    """
    inner: Any = (env.env if isinstance(env, BatchedVecEnv) else env).unwrapped
    batch: Any = inner.batch
    assert isinstance(batch, Batch)
    world, tasks = batch.world, batch.world.order
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, STREAM])))
    # The compiled world is shared: only this environment's is changed.
    drawn = tasks[_drawn(weights, rng)]
    batch.world = world._replace(order=drawn, slices=np.arange(len(drawn) + 1, dtype=np.int64))
    batch.slices = len(drawn)
    divisors = np.ones(len(world.tasks))
    divisors[tasks] = weights * len(weights) / weights.sum()
    return divisors


def _drawn(weights: Floats, rng: np.random.Generator) -> Ints:
    """Positions in proportion to weights, in any order."""
    share = weights / weights.sum()
    enough = max(len(weights), int(np.ceil(1.0 / share.min())))
    count = min(enough, max(MOST_DRAWS, len(weights)))
    at = (np.arange(count) + rng.random()) / count
    drawn = np.searchsorted(np.cumsum(share), at, side="right")
    drawn = np.minimum(drawn, len(weights) - 1)
    rng.shuffle(drawn)
    return drawn
