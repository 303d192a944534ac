"""Advantages along the chains of decisions that belong together, in one pass over a rollout."""

# Kernels lose their types to the decorator.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["Chains", "chain_advantages"]

_NJIT: Any = numba.njit

Floats = npt.NDArray[np.float64]


class Chains(NamedTuple):
    """A rollout of T steps of N episodes, decision by decision; all arrays [T, N]."""

    unit: npt.NDArray[np.int64]
    """what the decision is about: a number within its episode, from 0 on"""
    starts: npt.NDArray[np.bool_]
    """is it the first decision of an episode?"""
    time: npt.NDArray[np.int64]
    """when it is taken [ms]; only differences within an episode count"""
    cost: Floats
    """what the unit has cost by then"""
    last_cost: Floats
    """what the unit has cost at the end of the episode or of the rollout, whichever is first"""
    closed: npt.NDArray[np.bool_]
    """is that its whole cost?"""
    value: npt.NDArray[np.float32]
    """what the critic expects from there on: minus the cost still to come"""


@_NJIT(cache=True)
def _advantages(
    chains: Chains, units: int, gamma: float, lambda_: float, time_unit: float, advantage: Any
) -> Any:
    steps, episodes = chains.unit.shape
    complete = np.zeros((steps, episodes), dtype=np.bool_)
    following = np.full(units, -1, dtype=np.int64)
    for e in range(episodes):
        following[:] = -1
        for t in range(steps - 1, -1, -1):
            unit, value = chains.unit[t, e], chains.value[t, e]
            after = following[unit]
            if after >= 0:
                discount = gamma
                if time_unit > 0.0:
                    discount = gamma ** ((chains.time[after, e] - chains.time[t, e]) / time_unit)
                reward = chains.cost[t, e] - chains.cost[after, e]
                delta = reward + discount * chains.value[after, e] - value
                advantage[t, e] = delta + discount * lambda_ * advantage[after, e]
                complete[t, e] = True
            elif chains.closed[t, e]:
                advantage[t, e] = chains.cost[t, e] - chains.last_cost[t, e] - value
                complete[t, e] = True
            following[unit] = t
            if chains.starts[t, e]:
                following[:] = -1
    return complete


def chain_advantages(
    chains: Chains, gamma: float = 1.0, lambda_: float = 0.95, time_unit: float = 0.0
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Generalised advantage estimates along the decisions of each unit.

    The decision after one is the next of the same unit in the same episode, and the reward between
    them minus the change of the unit's cost. After the last decision of a unit that is closed its
    remaining cost follows, and nothing else. After the last one of a unit that is not, nothing is
    known: its temporal difference is taken to be 0, so that the decisions before it lean on its
    value.

    Args:
        chains: the rollout.
        gamma: discount of what follows a decision.
        lambda_: of the estimate, per decision of the unit.
        time_unit: gamma discounts so much simulated time [ms]; 0: the step to the next decision.

    Returns:
        The advantages [T, N], and for each decision [T, N] whether what followed it is known.
    """
    advantage = np.zeros(chains.unit.shape)
    units = int(chains.unit.max(initial=-1)) + 1
    complete: npt.NDArray[np.bool_] = _advantages(
        chains, units, gamma, lambda_, time_unit, advantage
    )
    return advantage, complete
