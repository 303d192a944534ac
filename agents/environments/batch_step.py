"""A step of a batched environment, from the engine itself or through Gymnasium's interface."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from gymnasium.vector import VectorEnv

from failgym.envs import MitigationVectorEnv, VectorSelectFields

__all__ = ["Step", "stepper"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Shown = Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]
"""Of whole observations [N, fields], what a learner is shown, in an array of its own."""


class Step(NamedTuple):
    """Outcome of a step of N episodes, of which k ended and began anew."""

    observations: npt.NDArray[np.float32]
    rewards: npt.NDArray[Any]
    dones: Bools
    tasks: Ints | None
    """trace rows of the tasks of the open decisions, [N]; None where there are no tasks"""
    elapsed: Ints | None
    """ms since the last decision, [N]; None where there are no tasks"""
    ended: Ints
    """which episodes ended, [k]"""
    last: list[npt.NDArray[np.float32]]
    """their last observations, [k]"""
    cut: list[bool]
    """were they truncated and not terminated? [k]"""
    last_elapsed: list[int]
    """ms since their last decision, [k]; empty where there are no tasks"""
    costs: Floats | None
    """what they cost by reward term, [k, 5]; None where there are no such terms, or none ended"""


def stepper(env: VectorEnv[Any, Any, Any]) -> Callable[[Ints], Step]:
    """What answers decisions: the engine itself where nothing else has a say in a step."""
    inner, shown = cast(Any, env), cast("Shown | None", None)
    if type(inner) is VectorSelectFields:
        inner, shown = inner.env, inner.shown
    if type(inner) is MitigationVectorEnv:
        return partial(step_engine, inner, shown=shown)
    return partial(step_vector_env, env)


def step_engine(env: MitigationVectorEnv, actions: Ints, shown: Shown | None) -> Step:
    """Answer the open decisions, without the infos that Gymnasium asks for.

    In most steps of a small batch no episode ends: then nothing is gathered.

    Args:
        env: the environment.
        actions: of each episode, [N].
        shown: selects what is shown; None: observations are handed out whole.
    """
    out = env.answer(actions)
    ended = out.terminated.nonzero()[0]
    count = len(ended)
    if shown is None:
        shown = np.copy if env.copy else _as_it_is
    return Step(
        observations=shown(out.obs),
        rewards=out.reward,
        dones=out.terminated.copy(),
        tasks=out.task,
        elapsed=out.elapsed,
        ended=ended,
        last=list(shown(env.last_observations(count))) if count else [],
        cut=[False] * count,
        last_elapsed=out.final_elapsed[ended].tolist() if count else [],
        costs=out.final["cost"][ended] if count else None,
    )


def _as_it_is(observations: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return observations


def step_vector_env(env: VectorEnv[Any, Any, Any], actions: Ints) -> Step:
    """Answer the open decisions of any batched environment that begins anew in the same step."""
    observations, rewards, terminated, truncated, info = env.step(actions)
    dones = terminated | truncated
    ended = np.flatnonzero(dones)
    bare: Any = env.unwrapped
    ours, some = isinstance(bare, MitigationVectorEnv), len(ended) > 0
    return Step(
        observations=observations,
        rewards=rewards,
        dones=dones,
        tasks=info["task"] if ours else None,
        elapsed=info["elapsed"] if ours else None,
        ended=ended,
        last=info["final_obs"][ended].tolist() if some else [],
        cut=(truncated & ~terminated)[ended].tolist(),
        last_elapsed=info["final_info"]["elapsed"][ended].tolist() if ours and some else [],
        costs=bare.batch.output.final["cost"][ended] if ours and some else None,
    )
