"""Tianshou: what its collector puts into the replay buffer, infos and masks too; a step of DQN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from failgym.envs.spaces import TOTALS
from tests.clients.installed import client
from tests.clients.transitions import IDS, make, stream

data = client("tianshou.data")
vector = client("tianshou.env")
base = client("tianshou.algorithm.algorithm_base")
dqn = client("tianshou.algorithm.modelfree.dqn")
optim = client("tianshou.algorithm.optim")
net = client("tianshou.utils.net.common")

pytestmark = pytest.mark.filterwarnings("default")

CLIENT = "tianshou"
STEPS, COUNT, SEED, ACTIONS = 60, 3, 4, 5


class LegalPlay(base.Policy):
    """Draws legal actions, from the masks that the collector hands on."""

    def __init__(self, action_space: Any) -> None:
        super().__init__(action_space=action_space)
        self.rng = np.random.default_rng(SEED)

    def forward(self, batch: Any, state: Any = None, **_: Any) -> Any:
        masks = np.stack([np.asarray(info.action_mask) for info in batch.info])
        weight = self.rng.random(masks.shape) * masks
        return data.Batch(act=weight.argmax(axis=1))


def collector(kind: Any, env_id: str) -> Any:
    """A collector over several environments, begun."""
    envs = kind([lambda: make(env_id)] * COUNT)
    buffer = data.VectorReplayBuffer(STEPS * COUNT, COUNT)
    policy = LegalPlay(make(env_id).action_space)
    found = data.Collector(policy, envs, buffer)
    # Tianshou seeds all environments alike.
    found.reset(gym_reset_kwargs={"seed": SEED})
    return found


@pytest.mark.parametrize("kind", ["DummyVectorEnv", "SubprocVectorEnv", "ShmemVectorEnv"])
@pytest.mark.parametrize("env_id", IDS)
def test_replay_buffer(kind: str, env_id: str, compare: Any) -> None:
    found = collector(getattr(vector, kind), env_id)
    try:
        found.collect(n_step=STEPS * COUNT)
    finally:
        found.close()
    for part in found.buffer.buffers:
        kept = part[:]
        stored = {
            "obs": kept.obs,
            "action": kept.act,
            "reward": kept.rew,
            "terminated": kept.terminated,
            "truncated": kept.truncated,
            "successor": kept.obs_next,
        }
        expected = stream(env_id, kept.act, seed=SEED)
        compare(stored, expected)
        masks = np.asarray(kept.info.action_mask)
        assert np.array_equal(masks == 1, expected.successor[:, -ACTIONS:] == 1.0)
        ends = np.asarray(kept.info.totals)[:, TOTALS.index("tasks")] > 0
        assert np.array_equal(ends, expected.terminated)


def test_dqn_learns_from_the_buffer() -> None:
    found = collector(vector.DummyVectorEnv, IDS[0])
    found.collect(n_step=STEPS * COUNT)
    space = make(IDS[0])
    model = net.Net(
        state_shape=space.observation_space.shape,
        action_shape=ACTIONS,
        hidden_sizes=[8],
    )
    policy = dqn.DiscreteQLearningPolicy(
        model=model,
        action_space=space.action_space,
        observation_space=space.observation_space,
    )
    algorithm = dqn.DQN(policy=policy, optim=optim.AdamOptimizerFactory(lr=1e-3))
    before = [one.detach().clone() for one in model.parameters()]
    with base.policy_within_training_step(policy):
        stats = algorithm.update(buffer=found.buffer, sample_size=32)
    assert np.isfinite(stats.loss)
    assert any((a != b).any() for a, b in zip(before, model.parameters(), strict=True))
