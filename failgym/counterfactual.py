"""Branching: what every legal answer to an open decision would cost in the end.

An episode can be copied exactly, and fates are keyed: what befalls a task does not depend on who
asks. So every action can be tried on copies that meet the same fate, and what comes out is no
estimate. Learners can take the difference of two actions for what it is, or of two policies.

>>> import gymnasium as gym, failgym
>>> from failgym.counterfactual import branch
>>> env = gym.make_vec("failgym/Checkpoint-v1", num_envs=4, jobs=200, slice_tasks=1)
>>> _ = env.reset(seed=1)
>>> tried = branch(env)
>>> tried.costs.shape, bool((tried.gains[:, 0] == 0.0).all())
((4, 5, 5), True)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.evaluation.caller import Caller, Predicts, playing_by, policy_name
from failgym.sim.shared.batch import EpisodeBatch
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import ACTIONS, TERMS

__all__ = ["Branches", "branch", "follow"]

Floats = npt.NDArray[np.float64]


class Branches(NamedTuple):
    """What N episodes cost in the end, by the answer to their open decision."""

    costs: Floats
    """[N, ACTIONS, 5] by term, in the order of `failgym.envs.TERMS`, of the whole episode; NaN for
    what is illegal, and for all answers of an episode that is over"""

    @property
    def gains(self) -> Floats:
        """What each answer saves beside CONTINUE, [N, ACTIONS]; NaN for what is illegal."""
        total = self.costs.sum(axis=2)
        return total[:, :1] - total


def branch(env: Any, policy: Predicts | None = None, *, deterministic: bool = True) -> Branches:
    """Try every legal action in the open decision of each episode; the episodes stay as they are.

    The costs are, to the bit, those of an episode in which that action is taken and the policy
    answers all later decisions. Only an episode of a slice of one task (``slice_tasks=1``) is as
    quick to play to its end as it can be.

    Args:
        env: an environment of failgym, single or batched, wrapped or not; or an `EpisodeBatch`.
        policy: answers the later decisions; CONTINUE, if None.
        deterministic: passed to the policy. One that samples gives a sample of costs.

    Raises:
        ValueError: for another environment; and, naming the policy, if it was made for other rules,
            carries a state from step to step, or answers what is no action.
    """
    batch = _batch_of(env)
    if policy is None:
        return Branches(batch.branched())
    player = playing_by(policy, _rules_of(env))
    legal = (batch.output.mask > 0) & ~batch.state.episodes["done"][:, np.newaxis]
    episode, action = np.nonzero(legal)
    costs = np.full((len(batch), ACTIONS, len(TERMS)), np.nan)
    for part in batch.parts(len(episode)):
        twin = batch.taken(episode[part])
        twin.step(action[part].astype(np.int64))
        costs[episode[part], action[part]] = _played(twin, player, deterministic)
    return Branches(costs)


def follow(
    env: Any, policies: Sequence[Predicts], *, deterministic: bool = True
) -> npt.NDArray[np.float64]:
    """What N episodes cost in the end if from now on one of some policies answers.

    The episodes stay as they are. Arguments and errors are those of `branch`, whose costs are these
    where the tried action is what the policy answers.

    Returns:
        float64 [N, policies, 5] by term, of the whole episode; NaN where it is over.
    """
    batch = _batch_of(env)
    players = [playing_by(policy, _rules_of(env)) for policy in policies]
    costs = np.full((len(batch), len(players), len(TERMS)), np.nan)
    episodes = np.flatnonzero(~batch.state.episodes["done"])
    for part in batch.parts(len(episodes)):
        some = episodes[part]
        for number, player in enumerate(players):
            costs[some, number] = _played(batch.taken(some), player, deterministic)
    return costs


def _played(batch: EpisodeBatch, player: Predicts, deterministic: bool) -> Floats:
    """What all episodes cost once a policy has played them to their ends, [N, 5].

    What it made of earlier decisions is unknown. So one that carries a state would begin in the
    middle of an episode, and is refused. Where half of the episodes are over the rest go on as a
    batch of their own.
    """
    name, costs = policy_name(player), np.empty((len(batch), len(TERMS)))
    rows = np.arange(len(batch))
    while True:
        caller = Caller(player, len(batch), deterministic, name)
        while 2 * np.count_nonzero(live := ~batch.state.episodes["done"]) > len(batch):
            actions = caller.act(batch.output, live)
            if caller.carries_state:
                raise ValueError(
                    f"policy {name!r}: expected one without a state, which is not known here"
                )
            batch.step(actions)
        costs[rows] = batch.state.episodes["cost"]
        if not live.any():
            return costs
        batch, rows = batch.taken(np.flatnonzero(live)), rows[live]


def _batch_of(env: Any) -> EpisodeBatch:
    if isinstance(env, EpisodeBatch):
        return env
    batch = getattr(getattr(env, "unwrapped", env), "batch", None)
    if not isinstance(batch, EpisodeBatch):
        raise ValueError(f"env: expected an environment of failgym, got {type(env).__name__}")
    return batch


def _rules_of(env: Any) -> Rules:
    """An environment's scenario; what a batch was made for."""
    rules = getattr(env, "rules", None) or getattr(getattr(env, "unwrapped", env), "scenario", None)
    if not isinstance(rules, Rules):
        raise ValueError(f"env: expected one that has rules, got {type(env).__name__}")
    return rules
