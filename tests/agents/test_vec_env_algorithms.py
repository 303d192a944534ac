"""Every algorithm learns on the batched environment, and stores what it saw, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.envs.worlds import small

sb3 = pytest.importorskip("stable_baselines3", reason="needs the agents extra")
contrib = pytest.importorskip("sb3_contrib", reason="needs the agents extra")

import torch  # noqa: E402
from stable_baselines3.common.vec_env import VecEnvWrapper  # noqa: E402

from failgym.agents.environments.vec_env import make_sb3_env  # noqa: E402

N, STEPS = 4, 8
ON_POLICY: dict[str, tuple[Any, dict[str, Any]]] = {
    "PPO": (sb3.PPO, {"n_steps": STEPS, "batch_size": 16, "n_epochs": 2}),
    "A2C": (sb3.A2C, {"n_steps": STEPS}),
    "MaskablePPO": (contrib.MaskablePPO, {"n_steps": STEPS, "batch_size": 16, "n_epochs": 2}),
    "RecurrentPPO": (
        contrib.RecurrentPPO,
        {
            **{"n_steps": STEPS, "batch_size": 16, "n_epochs": 1},
            "policy_kwargs": {"lstm_hidden_size": 8},
        },
    ),
}
OFF_POLICY: dict[str, tuple[Any, dict[str, Any]]] = {
    "DQN": (sb3.DQN, {"learning_starts": 50, "buffer_size": 400}),
    "QRDQN": (contrib.QRDQN, {"learning_starts": 50, "buffer_size": 400}),
}
ALL = {**ON_POLICY, **OFF_POLICY}
WORLDS = ("failgym/Cloning-v1", "failgym/Mitigation-v1")


class Copying(VecEnvWrapper):
    """Hands out copies: what nobody can overwrite."""

    def reset(self) -> Any:
        return np.copy(self.venv.reset())  # pyright: ignore[reportArgumentType, reportCallIssue]

    def step_wait(self) -> Any:
        obs, *rest = self.venv.step_wait()
        return np.copy(obs), *rest  # pyright: ignore[reportArgumentType, reportCallIssue]


class OneArray(VecEnvWrapper):
    """Hands out one array every time: what stable-baselines3 is not made for."""

    def reset(self) -> Any:
        self.array = np.array(self.venv.reset())
        return self.array

    def step_wait(self) -> Any:
        self.array[:], *rest = self.venv.step_wait()
        return self.array, *rest


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def learned(name: str, env_id: str, steps: int, wrapper: Any = None) -> Any:
    """A model that has learned for a few steps, from the same seed."""
    given: dict[str, Any] = {**small(env_id), "slice_tasks": 1}
    env: Any = make_sb3_env(env_id, N, fields="all", **given)
    kind, settings = ALL[name]
    policy = "MlpLstmPolicy" if name == "RecurrentPPO" else "MlpPolicy"
    network = {"net_arch": [8], **settings.get("policy_kwargs", {})}
    settings = {**settings, "policy_kwargs": network, "seed": 0, "device": "cpu"}
    return kind(policy, wrapper(env) if wrapper else env, **settings).learn(steps)


def stored(model: Any) -> dict[str, Any]:
    """What the buffer of a model holds."""
    names = ["observations", "actions", "rewards", "returns", "action_masks", "episode_starts"]
    buffer = getattr(model, "rollout_buffer", None)
    if buffer is None:
        buffer, names = model.replay_buffer, ["observations", "next_observations", "rewards"]
    return {name: getattr(buffer, name) for name in names if hasattr(buffer, name)}


@pytest.mark.parametrize("env_id", WORLDS)
@pytest.mark.parametrize("name", ALL)
def test_learns_and_stores_what_copies_would_have_held(name: str, env_id: str) -> None:
    ours, reference = (learned(name, env_id, 150, wrapper) for wrapper in (None, Copying))
    assert ours.num_timesteps >= 150
    assert len(ours.ep_info_buffer) > 0
    for field, values in stored(reference).items():
        assert np.array_equal(stored(ours)[field], values), field
    weights = reference.policy.state_dict()
    assert all(torch.equal(w, weights[k]) for k, w in ours.policy.state_dict().items())


def test_one_set_of_arrays_would_be_noticed() -> None:
    right, wrong = (learned("PPO", WORLDS[0], N * STEPS, wrapper) for wrapper in (None, OneArray))
    assert not np.array_equal(stored(right)["observations"], stored(wrong)["observations"])


@pytest.mark.parametrize("env_id", WORLDS)
def test_masked_algorithms_never_choose_what_is_illegal(env_id: str) -> None:
    model = learned("MaskablePPO", env_id, 10 * N * STEPS)
    buffer = stored(model)
    masks = buffer["action_masks"].reshape(-1, 5)
    assert np.array_equal(masks, buffer["observations"].reshape(len(masks), -1)[:, -5:])
    assert masks[np.arange(len(masks)), buffer["actions"].reshape(-1).astype(int)].all()
    assert set(model.env.get_attr("batch")[0].output.illegal) == {0}
