"""A step of a batched environment, from the engine itself or through Gymnasium's interface."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium.vector import VectorEnv

from failgym.envs import MitigationVectorEnv

__all__ = ["Step", "step_engine", "step_vector_env"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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
    """what they cost by reward term, [k, 4]; None where there are no such terms, or none ended"""


def step_engine(env: MitigationVectorEnv, actions: Ints) -> Step:
    """Answer the open decisions, without the infos that Gymnasium asks for.

    In most steps of a small batch no episode ends: then nothing is gathered.
    """
    out = env.answer(actions)
    ended = out.terminated.nonzero()[0]
    count = len(ended)
    return Step(
        observations=out.obs.copy() if env.copy else out.obs,
        rewards=out.reward,
        dones=out.terminated.copy(),
        tasks=out.task,
        elapsed=out.elapsed,
        ended=ended,
        last=list(env.last_observations(count)) if count else [],
        cut=[False] * count,
        last_elapsed=out.final_elapsed[ended].tolist() if count else [],
        costs=out.final["cost"][ended] if count else None,
    )


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
