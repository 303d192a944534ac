"""skrl: PPO's rollout memory, and a memory with next observations, over single and batched ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tests.clients.installed import client
from tests.clients.transitions import IDS, batched, make, rows, stream, sync

skrl = client("skrl")
torch = client("torch")
wrappers = client("skrl.envs.wrappers.torch")
memories = client("skrl.memories.torch")
models = client("skrl.models.torch")
ppo = client("skrl.agents.torch.ppo")
trainers = client("skrl.trainers.torch")

pytestmark = pytest.mark.filterwarnings("default")

CLIENT = "skrl"
STEPS, COUNT, SEED, ACTIONS = 64, 3, 1, 5
KINDS = ("single", "sync", "batched", "batched, same step")


class Policy(models.CategoricalMixin, models.Model):
    """Illegal actions have no chance."""

    def __init__(self, env: Any) -> None:
        models.Model.__init__(
            self,
            observation_space=env.observation_space,
            action_space=env.action_space,
            device=env.device,
        )
        models.CategoricalMixin.__init__(self)
        self.net = torch.nn.Linear(self.num_observations, ACTIONS)

    def compute(self, inputs: Any, role: str = "") -> Any:
        obs = inputs["observations"]
        return self.net(obs).masked_fill(obs[:, -ACTIONS:] != 1.0, -1e8), {}


class Value(models.DeterministicMixin, models.Model):
    """A linear value."""

    def __init__(self, env: Any) -> None:
        models.Model.__init__(
            self,
            observation_space=env.observation_space,
            action_space=env.action_space,
            device=env.device,
        )
        models.DeterministicMixin.__init__(self)
        self.net = torch.nn.Linear(self.num_observations, 1)

    def compute(self, inputs: Any, role: str = "") -> Any:
        return self.net(inputs["observations"]), {}


def wrapped(kind: str, env_id: str) -> tuple[Any, AutoresetMode]:
    """An environment as skrl takes it, and its mode."""
    mode = AutoresetMode.SAME_STEP if "same" in kind else AutoresetMode.NEXT_STEP
    made: Any = make(env_id)
    if kind != "single":
        made = (sync if kind == "sync" else batched)(env_id, COUNT, mode)
    env = wrappers.wrap_env(made, wrapper="gymnasium", verbose=False)
    env._seed = SEED  # skrl seeds the first reset with its own global seed
    return env, mode


def expected(kind: str, env_id: str, mode: AutoresetMode, actions: Any) -> Any:
    """What should be stored under actions [S, E] or [S, 1]."""
    if kind == "single":
        return stream(env_id, actions[:, 0], seed=SEED)
    return rows(env_id, actions, seed=SEED, mode=mode)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("env_id", IDS)
def test_ppo(kind: str, env_id: str, tmp_path: Path, compare: Any) -> None:
    torch.manual_seed(SEED)
    env, mode = wrapped(kind, env_id)
    memory = memories.RandomMemory(memory_size=STEPS, num_envs=env.num_envs, device=env.device)
    cfg = ppo.PPO_CFG(rollouts=STEPS, mini_batches=2, learning_epochs=1)
    cfg.experiment.directory = str(tmp_path)
    cfg.experiment.write_interval = cfg.experiment.checkpoint_interval = 0
    policy = Policy(env)
    before = policy.net.weight.detach().clone()
    agent = ppo.PPO(
        models={"policy": policy, "value": Value(env)},
        memory=memory,
        cfg=cfg,
        observation_space=env.observation_space,
        action_space=env.action_space,
        device=env.device,
    )
    trainer = trainers.SequentialTrainer(
        env=env,
        agents=agent,
        cfg={"timesteps": STEPS, "headless": True, "disable_progressbar": True},
    )
    trainer.train()
    kept = {
        name: memory.get_tensor_by_name(name)
        for name in ("observations", "actions", "rewards", "terminated", "truncated")
    }
    actions = kept["actions"].long().numpy()[..., 0]
    stored = {
        "obs": kept["observations"],
        "action": actions,
        "reward": kept["rewards"],
        "terminated": kept["terminated"],
        "truncated": kept["truncated"],
        "mask": kept["observations"][..., -ACTIONS:] == 1.0,
    }
    compare(stored, expected(kind, env_id, mode, actions))
    assert (policy.net.weight != before).any()


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_in_a_list(kind: str, compare: Any) -> None:
    env_id = IDS[0]
    env, mode = wrapped(kind, env_id)
    rng = np.random.default_rng(SEED)
    obs, _ = env.reset()
    kept: list[tuple[Any, ...]] = []
    for _ in range(STEPS):
        weight = torch.as_tensor(rng.random((env.num_envs, ACTIONS))) * (obs[:, -ACTIONS:] == 1.0)
        actions = weight.argmax(dim=1, keepdim=True)
        after, reward, terminated, truncated, _ = env.step(actions)
        kept.append((obs, actions, reward, terminated, truncated, after))
        obs = env.reset()[0] if kind == "single" and terminated.any() else after
    successor = "successor" if kind == "single" else "next_obs"
    names = ("obs", "action", "reward", "terminated", "truncated", successor)
    stored = {
        name: torch.stack(one) for name, one in zip(names, zip(*kept, strict=True), strict=True)
    }
    compare(stored, expected(kind, env_id, mode, stored["action"].numpy()[..., 0]))
