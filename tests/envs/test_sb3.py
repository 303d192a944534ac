"""stable-baselines3 and sb3-contrib take every environment as they take any other."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tests.envs.worlds import IDS, legal, make

sb3 = pytest.importorskip("stable_baselines3", reason="needs the agents extra")
contrib = pytest.importorskip("sb3_contrib", reason="needs the agents extra")

pytestmark = pytest.mark.parametrize("env_id", IDS)

ONE_OF_EACH_WORLD = ("failgym/Cloning-v1", "failgym/Mitigation-v1")


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def test_checker(env_id: str) -> None:
    from stable_baselines3.common.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(env_id).unwrapped, warn=True)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_subproc_vec_env(env_id: str, method: str) -> None:
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

    if method == "spawn" and env_id not in ONE_OF_EACH_WORLD:
        pytest.skip("slow, and the same in every environment of a world")

    makers = [lambda: make(env_id)] * (1 if method == "spawn" else 2)
    apart = SubprocVecEnv(makers, start_method=method)
    try:
        together = DummyVecEnv(makers)
        apart.seed(5)
        together.seed(5)
        first: Any = apart.reset()
        second: Any = together.reset()
        rng = np.random.default_rng(0)
        for _ in range(30):
            assert np.array_equal(first, second)
            masks = np.stack(apart.env_method("action_masks"))
            actions = legal(masks, rng)
            first, second = apart.step(actions)[0], together.step(actions)[0]
    finally:
        apart.close()


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("PPO", {"n_steps": 250, "batch_size": 250, "n_epochs": 2}),
        ("A2C", {"n_steps": 50}),
        ("DQN", {"learning_starts": 500, "train_freq": 50}),
    ],
)
def test_learns_through_sb3_wrappers(env_id: str, name: str, settings: dict[str, Any]) -> None:
    model = getattr(sb3, name)(
        "MlpPolicy", make(env_id), gamma=1.0, seed=0, device="cpu", **settings
    )
    model.learn(1_000)
    obs, _ = make(env_id).reset(seed=1)
    action, _ = model.predict(obs)
    assert 0 <= int(action) < 5


def test_maskable_ppo_never_acts_illegally(env_id: str) -> None:
    env = make(env_id, strict=True)
    model = contrib.MaskablePPO(
        "MlpPolicy", env, gamma=1.0, n_steps=500, batch_size=250, n_epochs=2, seed=0, device="cpu"
    )
    model.learn(2_000)


def test_evaluate_policy_runs_a_baseline(env_id: str) -> None:
    from stable_baselines3.common.evaluation import evaluate_policy

    from failgym.baselines import REGISTRY
    from failgym.envs import resolve

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Evaluation environment is not wrapped")
        for baseline in REGISTRY.values():
            if baseline.compatible(resolve(env_id)):
                policy: Any = baseline()
                mean, spread = evaluate_policy(policy, make(env_id), n_eval_episodes=2)
                assert np.isfinite(mean)
                assert np.isfinite(spread)


def test_rollout_buffer_holds_what_an_independent_rollout_sees(env_id: str) -> None:
    from stable_baselines3.common.callbacks import BaseCallback

    class Keep(BaseCallback):
        seen: np.ndarray[Any, Any]
        actions: np.ndarray[Any, Any]

        def _on_step(self) -> bool:
            return True

        def _on_rollout_end(self) -> None:
            buffer = self.model.rollout_buffer  # type: ignore[attr-defined]
            self.seen, self.actions = buffer.observations.copy(), buffer.actions.copy()

    model = sb3.PPO("MlpPolicy", make(env_id), n_steps=200, batch_size=200, seed=3, device="cpu")
    keep = Keep()
    model.learn(200, callback=keep)
    env = make(env_id)
    obs, _ = env.reset(seed=3)
    for stored, action in zip(keep.seen[:, 0], keep.actions[:, 0], strict=True):
        assert (stored == obs).all()
        obs, _, ended, _, _ = env.step(int(action.item()))
        if ended:
            obs, _ = env.reset()
