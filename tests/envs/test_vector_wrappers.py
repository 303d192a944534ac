"""Gymnasium's vector wrappers over the batched environment, as over its own vector environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as wrappers

from failgym.envs import FIELDS
from tests.envs.vectors import assert_same, batched, one_by_one
from tests.envs.worlds import legal

ID = "failgym/Cloning-v1"
N = 3
STEPS = 51


def doubled(values: Any) -> Any:
    """Twice as much."""
    return 2.0 * values


BOX = gym.spaces.Box(-np.inf, np.inf, (len(FIELDS),), np.float32)
OBSERVATIONS: dict[str, Callable[[Any], Any]] = {
    "TransformObservation": lambda env: wrappers.TransformObservation(
        env, doubled, single_observation_space=BOX
    ),
    "VectorizeTransformObservation": lambda env: wrappers.VectorizeTransformObservation(
        env, gym.wrappers.TransformObservation, func=doubled, observation_space=BOX
    ),
    "FlattenObservation": wrappers.FlattenObservation,
    "ReshapeObservation": lambda env: wrappers.ReshapeObservation(env, (1, len(FIELDS))),
    "RescaleObservation": lambda env: wrappers.RescaleObservation(env, -1.0, 1.0),
    "DtypeObservation": lambda env: wrappers.DtypeObservation(env, np.float64),
    "NormalizeObservation": wrappers.NormalizeObservation,
}
"""Those of a flat box; the others are for pictures, and for observations in parts."""
OTHERS: dict[str, Callable[[Any], Any]] = {
    "RecordEpisodeStatistics": wrappers.RecordEpisodeStatistics,
    "DictInfoToList": wrappers.DictInfoToList,
    "NormalizeReward": wrappers.NormalizeReward,
    "ClipReward": lambda env: wrappers.ClipReward(env, -0.5, 0.0),
    "TransformReward": lambda env: wrappers.TransformReward(env, doubled),
    "TransformAction": lambda env: wrappers.TransformAction(env, np.zeros_like),
}


def steps(wrap: Callable[[Any], Any], mode: AutoresetMode) -> Iterator[tuple[Any, Any]]:
    """What a wrapped batch returns beside the same over Gymnasium's, all kept to the end."""
    bare = batched(ID, N, mode, slice_tasks=1)
    ours, theirs = wrap(bare), wrap(one_by_one(ID, N, mode, slice_tasks=1))
    rng = np.random.default_rng(0)
    pairs = [(ours.reset(seed=5), theirs.reset(seed=5))]
    for _ in range(STEPS):
        actions = legal(bare.action_masks(), rng)
        pairs.append((ours.step(actions), theirs.step(actions)))
        over = pairs[-1][0][2]
        if mode is AutoresetMode.DISABLED and over.any():
            resets = (env.reset(options={"reset_mask": over.copy()}) for env in (ours, theirs))
            pairs.append((next(resets), next(resets)))
    yield from pairs


NOT_DISABLED = {
    "NormalizeObservation": "takes NEXT_STEP alone",
    "RecordEpisodeStatistics": "never sees the reset mask over Gymnasium's own, which removes it",
}
"""What cannot be compared where episodes are reset by a mask."""


def without_clock(returned: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without what `RecordEpisodeStatistics` says in seconds."""
    if isinstance(returned[-1], dict):
        returned[-1].get("episode", {}).pop("t", None)
    return returned


@pytest.mark.filterwarnings("ignore")  # of Gymnasium's, on the bounds of boxes
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED])
@pytest.mark.parametrize("name", [*OBSERVATIONS, *OTHERS])
def test_a_wrapper_gives_what_it_gives_over_gymnasiums_own(name: str, mode: AutoresetMode) -> None:
    if mode is AutoresetMode.DISABLED and name in NOT_DISABLED:
        pytest.skip(NOT_DISABLED[name])
    for ours, theirs in steps((OBSERVATIONS | OTHERS)[name], mode):
        assert_same(without_clock(ours), without_clock(theirs))


@pytest.mark.parametrize("name", OTHERS)
def test_a_wrapper_of_anything_else_takes_the_same_step_too(name: str) -> None:
    for ours, theirs in steps(OTHERS[name], AutoresetMode.SAME_STEP):
        assert_same(without_clock(ours), without_clock(theirs))


def test_statistics_of_episodes_that_are_reset_by_a_mask() -> None:
    bare = batched(ID, N, AutoresetMode.DISABLED, slice_tasks=1)
    env, rng = wrappers.RecordEpisodeStatistics(bare), np.random.default_rng(0)
    env.reset(seed=5)
    lengths, episodes = np.zeros(N, dtype=np.int64), 0
    while episodes < 10:
        _, _, over, _, info = env.step(legal(bare.action_masks(), rng))
        lengths += 1
        if over.any():
            episodes += int(over.sum())
            assert info["episode"]["l"][over].tolist() == lengths[over].tolist()
            lengths[over] = 0
            env.reset(options={"reset_mask": over.copy()})


def test_tensors_keep_what_they_held() -> None:
    for name in ("torch", "array_api_compat"):
        pytest.importorskip(name, reason=f"needs {name}")
    kept = list(steps(wrappers.NumpyToTorch, AutoresetMode.NEXT_STEP))
    assert len(kept) == STEPS + 1
    for ours, theirs in kept:
        assert ours[0].tolist() == theirs[0].tolist()
