"""stable-baselines3: rollout buffer and replay buffer, over single and batched environments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.clients.installed import client
from tests.clients.transitions import IDS, make, small_fields, stream

sb3 = client("stable_baselines3")
contrib = client("sb3_contrib")
monitor = client("stable_baselines3.common.monitor")
vec_env = client("stable_baselines3.common.vec_env")

from failgym.agents import make_sb3_env  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")

CLIENT = "stable-baselines3"
STEPS, COUNT, SEED, ACTIONS = 64, 3, 6, 5
SMALL_NET = {"net_arch": [8]}


def made(kind: str, env_id: str) -> Any:
    """Environments as stable-baselines3 takes them."""
    if kind == "batched":
        return make_sb3_env(env_id, COUNT, fields="all", **small_fields(env_id))
    return vec_env.DummyVecEnv([lambda: monitor.Monitor(make(env_id))] * COUNT)


@pytest.mark.parametrize("kind", ["single", "batched"])
@pytest.mark.parametrize("env_id", IDS)
def test_rollout_buffer_of_maskable_ppo(kind: str, env_id: str, compare: Any) -> None:
    env = made(kind, env_id)
    model = contrib.MaskablePPO(
        "MlpPolicy", env, n_steps=STEPS, batch_size=STEPS, seed=SEED, policy_kwargs=SMALL_NET
    )
    model.learn(STEPS * COUNT)
    kept = model.rollout_buffer
    # Buffers are flattened, environment by environment, when batches are drawn from them.
    shape = (COUNT, STEPS)
    for i in range(COUNT):
        actions = kept.actions.reshape(*shape)[i].astype(np.int64)
        expected = stream(env_id, actions, seed=SEED + i)
        stored = {
            "obs": kept.observations.reshape(*shape, -1)[i],
            "action": actions,
            "reward": kept.rewards.T[i],
            "mask": kept.action_masks.reshape(*shape, -1)[i] == 1.0,
        }
        compare(stored, expected)
        starts = kept.episode_starts.T[i] == 1.0
        assert np.array_equal(starts, np.concatenate([[True], expected.terminated[:-1]]))


@pytest.mark.parametrize("kind", ["single", "batched"])
@pytest.mark.parametrize("env_id", IDS)
def test_replay_buffer_of_dqn(kind: str, env_id: str, compare: Any) -> None:
    env = made(kind, env_id)
    model = sb3.DQN(
        "MlpPolicy",
        env,
        buffer_size=STEPS * COUNT,
        learning_starts=10,
        batch_size=8,
        seed=SEED,
        policy_kwargs=SMALL_NET,
    )
    model.learn(STEPS * COUNT)
    kept = model.replay_buffer
    for i in range(COUNT):
        actions = kept.actions[:, i, 0]
        stored = {
            "obs": kept.observations[:, i],
            "action": actions,
            "reward": kept.rewards[:, i],
            "terminated": kept.dones[:, i] == 1.0,
            "successor": kept.next_observations[:, i],
        }
        compare(stored, stream(env_id, actions, seed=SEED + i))
