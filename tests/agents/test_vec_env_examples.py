"""Examples from the documentation of stable-baselines3 and sb3-contrib, on the batched environment.

As they stand there, but for the environment, the algorithm where it needs continuous actions, and
how long they take.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.envs.worlds import small

sb3 = pytest.importorskip("stable_baselines3", reason="needs the agents extra")
pytest.importorskip("sb3_contrib", reason="needs the agents extra")

import torch  # noqa: E402
from sb3_contrib import QRDQN, MaskablePPO, RecurrentPPO  # noqa: E402
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback  # noqa: E402
from sb3_contrib.common.maskable.evaluation import (  # noqa: E402
    evaluate_policy as evaluate_masked,
)
from sb3_contrib.common.maskable.utils import get_action_masks  # noqa: E402
from stable_baselines3 import A2C, DQN, PPO  # noqa: E402
from stable_baselines3.common.callbacks import (  # noqa: E402
    CallbackList,
    CheckpointCallback,
    EvalCallback,
    EveryNTimesteps,
    LogEveryNTimesteps,
    StopTrainingOnMaxEpisodes,
    StopTrainingOnNoModelImprovement,
    StopTrainingOnRewardThreshold,
)
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.monitor import load_results  # noqa: E402
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize  # noqa: E402

from failgym.agents.environments.vec_env import make_sb3_env  # noqa: E402

ID = "failgym/Cloning-v1"
make_vec_env = partial(make_sb3_env, ID, **{**small(ID), "slice_tasks": 1})
SHORT: dict[str, Any] = {"n_steps": 8, "batch_size": 16, "n_epochs": 1, "device": "cpu"}
TINY: dict[str, Any] = {"learning_starts": 20, "buffer_size": 200, "device": "cpu"}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    monkeypatch.chdir(tmp_path)


def test_maskable_ppo_with_its_evaluation() -> None:
    env: Any = make_vec_env()
    model = MaskablePPO("MlpPolicy", env, gamma=0.4, seed=32, **SHORT)
    model.learn(50)
    evaluate_masked(model, env, n_eval_episodes=20, reward_threshold=-1e9)
    model.save("ppo_mask")
    del model
    model = MaskablePPO.load("ppo_mask")
    obs = env.reset()
    for _ in range(20):
        action_masks = get_action_masks(env)
        action, _states = model.predict(obs, action_masks=action_masks)
        assert action_masks[0, action[0]]
        obs, *_ = env.step(action)


def test_eval_callback_with_masks() -> None:
    callback = MaskableEvalCallback(
        make_vec_env(2, split="validation"), eval_freq=10, log_path="logs", verbose=0
    )
    MaskablePPO("MlpPolicy", make_vec_env(4), **SHORT).learn(100, callback=callback)
    evaluations = np.load("logs/evaluations.npz")
    assert evaluations["timesteps"].tolist() == [40, 80, 120]
    assert evaluations["results"].shape == (3, 5)


def test_eval_callback() -> None:
    n_training_envs = 2
    train_env = make_vec_env(n_envs=n_training_envs, seed=0)
    eval_env = make_vec_env(n_envs=5, seed=0, weight_wasted=0.3)
    eval_callback = EvalCallback(
        eval_env,
        best_model_save_path="eval_logs",
        log_path="eval_logs",
        eval_freq=max(20 // n_training_envs, 1),
        n_eval_episodes=5,
        deterministic=True,
        render=False,
    )
    DQN("MlpPolicy", train_env, **TINY).learn(60, callback=eval_callback)
    assert (Path("eval_logs") / "best_model.zip").exists()


def test_checkpoints_with_a_replay_buffer_and_normalisation() -> None:
    checkpoint_callback = CheckpointCallback(
        save_freq=10,
        save_path="./logs/",
        name_prefix="rl_model",
        save_replay_buffer=True,
        save_vecnormalize=True,
    )
    DQN("MlpPolicy", VecNormalize(make_vec_env(2)), **TINY).learn(20, callback=checkpoint_callback)
    assert sorted(path.name for path in Path("logs").iterdir()) == [
        "rl_model_20_steps.zip",
        "rl_model_replay_buffer_20_steps.pkl",
        "rl_model_vecnormalize_20_steps.pkl",
    ]


def test_a_list_of_callbacks_and_one_every_so_many_steps() -> None:
    checkpoint_callback = CheckpointCallback(save_freq=10, save_path="./logs/")
    eval_callback = EvalCallback(
        make_vec_env(), best_model_save_path="best", log_path="results", eval_freq=10, verbose=0
    )
    on_event = CheckpointCallback(save_freq=1, save_path="./every/")
    event_callback = EveryNTimesteps(n_steps=20, callback=on_event)
    callback = CallbackList([checkpoint_callback, eval_callback, event_callback])
    PPO("MlpPolicy", make_vec_env(4), **SHORT).learn(40, callback=callback)
    assert list(Path("logs").iterdir())
    assert list(Path("every").iterdir())
    model: Any = PPO("MlpPolicy", make_vec_env(4), **SHORT)
    model.learn(40, callback=LogEveryNTimesteps(n_steps=20), log_interval=None)


def test_callbacks_that_stop() -> None:
    on_best = StopTrainingOnRewardThreshold(reward_threshold=-1e9)
    stop_early = EvalCallback(make_vec_env(), callback_on_new_best=on_best, eval_freq=10, verbose=0)
    no_improvement = StopTrainingOnNoModelImprovement(max_no_improvement_evals=1, min_evals=1)
    stop_late = EvalCallback(
        make_vec_env(seed=0), eval_freq=5, callback_after_eval=no_improvement, verbose=0
    )
    few_episodes = StopTrainingOnMaxEpisodes(max_episodes=5)
    for callback in (stop_early, stop_late, few_episodes):
        model = A2C("MlpPolicy", make_vec_env(4), device="cpu")
        model.learn(int(1e10), callback=callback)
        assert 0 < model.num_timesteps < 10_000


def test_training_saving_loading() -> None:
    env = make_vec_env()
    for kind in (DQN, QRDQN):
        model: Any = kind("MlpPolicy", env, **TINY)
        model.learn(total_timesteps=60, log_interval=4)
        model.save("model")
        model = kind.load("model", env=env)
        mean_reward, std_reward = evaluate_policy(model, model.get_env(), n_eval_episodes=10)
        assert np.isfinite([mean_reward, std_reward]).all()
        vec_env = model.get_env()
        obs = vec_env.reset()
        for _ in range(10):
            action, _states = model.predict(obs, deterministic=True)
            obs, *_ = vec_env.step(action)


def test_recurrent_policies() -> None:
    network = {"lstm_hidden_size": 8, "net_arch": [8]}
    model = RecurrentPPO("MlpLstmPolicy", make_vec_env(), policy_kwargs=network, **SHORT)
    model.learn(40)
    vec_env: Any = model.get_env()
    evaluate_policy(model, vec_env, n_eval_episodes=20, warn=False)
    obs = vec_env.reset()
    lstm_states = None
    episode_starts = np.ones((1,), dtype=bool)
    for _ in range(10):
        action, lstm_states = model.predict(
            obs, state=lstm_states, episode_start=episode_starts, deterministic=True
        )
        obs, _, episode_starts, _ = vec_env.step(action)


def test_normalisation() -> None:
    vec_env = make_vec_env(n_envs=2)
    vec_env = VecNormalize(vec_env, norm_obs=True, norm_reward=True, clip_obs=10.0)
    model = PPO("MlpPolicy", vec_env, **SHORT)
    model.learn(total_timesteps=40)
    model.save("ppo")
    mean = vec_env.obs_rms.mean.copy()  # pyright: ignore[reportAttributeAccessIssue]
    vec_env.save("vec_normalize.pkl")
    del model, vec_env
    vec_env = VecNormalize.load("vec_normalize.pkl", make_vec_env(n_envs=2))
    vec_env.training = False
    vec_env.norm_reward = False
    model = PPO.load("ppo", env=vec_env)
    evaluate_policy(model, vec_env, n_eval_episodes=5)
    assert np.array_equal(vec_env.obs_rms.mean, mean)  # pyright: ignore


def test_monitor_on_top_writes_its_file() -> None:
    Path("logs").mkdir()
    with pytest.warns(UserWarning, match="already wrapped with a `Monitor`"):
        env = VecMonitor(make_vec_env(2, seed=0), "logs/", info_keywords=("elapsed",))
    model = PPO("MlpPolicy", env, **SHORT)
    model.learn(total_timesteps=40)
    env.close()
    written = load_results("logs")
    assert len(written) == env.episode_count > 0
    assert (written["l"] >= 1).all()
    assert "elapsed" in written
