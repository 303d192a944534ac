"""RLlib: PPO with masks; the episodes that its runner keeps of batched and of single ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.clients.installed import client
from tests.clients.transitions import IDS, small_fields, stream

ray = client("ray")
torch = client("torch")
ppo = client("ray.rllib.algorithms.ppo")
modules = client("ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module")
callbacks = client("ray.rllib.callbacks.callbacks")
columns = client("ray.rllib.core.columns")
specs = client("ray.rllib.core.rl_module.rl_module")

pytestmark = pytest.mark.filterwarnings("default")

SHOWN, CLIENT = "RLlib (ray)", "ray"
STEPS, COUNT, SEED, ACTIONS = 64, 3, 9, 5
LOGITS = columns.Columns.ACTION_DIST_INPUTS
KINDS = ("sync", "vector_entry_point")


class MaskedPPO(modules.DefaultPPOTorchRLModule):
    """PPO's module, in which illegal actions have no chance: the mask ends the observation."""

    def _forward(self, batch: Any, **more: Any) -> Any:
        return self.masked(batch, super()._forward(batch, **more))

    def _forward_train(self, batch: Any, **more: Any) -> Any:
        return self.masked(batch, super()._forward_train(batch, **more))

    def masked(self, batch: Any, found: Any) -> Any:
        """Outputs with the logits of illegal actions far below the others."""
        legal = batch[columns.Columns.OBS][..., -ACTIONS:] == 1.0
        return {**found, LOGITS: torch.where(legal, found[LOGITS], torch.tensor(-1e8))}


class Numbers(callbacks.RLlibCallback):
    """Writes into each episode which environment it is of."""

    def on_episode_start(self, *, episode: Any, env_index: int, **_: Any) -> None:
        episode.custom_data["environment"] = env_index


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """Ray, as small as it can be."""
    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=100 * 2**20)
    yield
    ray.shutdown()


def algorithm(kind: str, env_id: str) -> Any:
    """PPO as a user configures it."""
    config = ppo.PPOConfig()
    config.environment(env_id, env_config=small_fields(env_id))
    config.env_runners(
        num_env_runners=0,
        num_envs_per_env_runner=COUNT,
        gym_env_vectorize_mode=kind,
        rollout_fragment_length=STEPS,
    )
    config.training(train_batch_size_per_learner=STEPS * COUNT, minibatch_size=64, num_epochs=1)
    config.rl_module(
        rl_module_spec=specs.RLModuleSpec(
            module_class=MaskedPPO, model_config={"fcnet_hiddens": [8]}
        )
    )
    config.callbacks(Numbers)
    config.debugging(seed=SEED, log_level="ERROR")
    return config.build_algo()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("env_id", IDS)
def test_ppo(kind: str, env_id: str, compare: Any) -> None:
    algo = algorithm(kind, env_id)
    runner = algo.env_runner
    kept = runner.sample(num_timesteps=STEPS * COUNT)
    for i in range(COUNT):
        parts = [one for one in kept if one.custom_data["environment"] == i]
        actions = np.concatenate([one.get_actions() for one in parts])
        stored = {
            "obs": np.concatenate([one.get_observations()[:-1] for one in parts]),
            "successor": np.concatenate([one.get_observations()[1:] for one in parts]),
            "action": actions,
            "reward": np.concatenate([one.get_rewards() for one in parts]),
            "terminated": np.concatenate([ends(one) for one in parts]),
            "mask": np.concatenate([masks(one)[:-1] for one in parts]),
        }
        compare(stored, stream(env_id, actions, seed=runner._seed + i))
        legal = np.take_along_axis(stored["mask"], actions[:, None], axis=1)
        assert legal.all()
    learned = algo.train()
    assert learned["num_env_steps_sampled_lifetime"] >= STEPS * COUNT
    algo.stop()


def ends(episode: Any) -> Any:
    """Where an episode terminates, bool [steps]."""
    found = np.zeros(len(episode), dtype=np.bool_)
    found[-1] = episode.is_terminated
    return found


def masks(episode: Any) -> Any:
    """The masks in an episode's infos, bool [steps + 1, 5]."""
    return np.stack([info["action_mask"] for info in episode.get_infos()]) == 1
