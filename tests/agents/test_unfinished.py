"""Episodes that were kept by what was answered in them go on bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the agents extra")
pytest.importorskip("sb3_contrib", reason="needs the agents extra")

from failgym.agents.environments.vec_env import BatchedVecEnv, make_sb3_env  # noqa: E402
from failgym.agents.training.episode_replay import (  # noqa: E402
    ActionRecord,
    continue_episodes,
    unfinished_episodes,
)
from failgym.sim.shared.fields import INDEX  # noqa: E402
from tests.envs.worlds import IDS, legal, small  # noqa: E402

CLONING = "failgym/Cloning-v1"


def play(
    env: BatchedVecEnv, rng: np.random.Generator, steps: int, record: ActionRecord
) -> list[tuple[bytes, ...]]:
    """What a random legal policy sees."""
    seen: list[tuple[bytes, ...]] = []
    for _ in range(steps):
        actions = legal(env.masks, rng)
        obs, rewards, dones, _ = env.step(actions)
        record.add(actions, dones)
        arrays: tuple[Any, ...] = (obs, rewards, dones, env.masks, env.tasks, env.elapsed)
        seen.append(tuple(array.tobytes() for array in arrays))
    return seen


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("steps", [0, 1, 150])
def test_episodes_go_on_bit_for_bit(env_id: str, steps: int) -> None:
    env, record = make_sb3_env(env_id, 5, seed=1, **small(env_id)), ActionRecord(5)
    env.reset()
    play(env, np.random.default_rng(0), steps, record)
    kept = unfinished_episodes(env, record)
    last = kept["observations"].numpy()[:, [INDEX[name] for name in env.fields or ()]]
    expected = play(env, np.random.default_rng(1), 60, record)

    other, again = make_sb3_env(env_id, 5, seed=2, **small(env_id)), ActionRecord(5)
    assert np.array_equal(continue_episodes(other, kept, again), last)
    assert play(other, np.random.default_rng(1), 60, again) == expected
    for name, tensor in unfinished_episodes(env, record).items():
        assert torch.equal(tensor, unfinished_episodes(other, again)[name]), name


def test_episodes_of_another_scenario_are_refused() -> None:
    env, record = make_sb3_env(CLONING, 3, seed=1, **small(CLONING)), ActionRecord(3)
    env.reset()
    play(env, np.random.default_rng(0), 40, record)
    kept = unfinished_episodes(env, record)
    other = make_sb3_env(CLONING, 3, trace_seed=1, **small(CLONING))
    with pytest.raises(ValueError, match=r"episodes: they do not go on as they were|slice:"):
        continue_episodes(other, kept, ActionRecord(3))
    with pytest.raises(ValueError, match="episodes: expected 2 of them, got shape"):
        continue_episodes(make_sb3_env(CLONING, 2, **small(CLONING)), kept, ActionRecord(2))
    kept["actions"] += 9
    with pytest.raises(ValueError, match="episodes: expected actions from 0 to 4"):
        continue_episodes(env, kept, ActionRecord(3))
