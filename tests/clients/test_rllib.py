"""RLlib: PPO with masks; what its runners keep, and its agent as a policy file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import failgym
from failgym import agents
from failgym.contrib import rllib
from failgym.contrib.masks import MASK, OBSERVATIONS, DictObservation
from failgym.contrib.rllib import EnvSettings, Shaping, settings_of
from failgym.contrib.rllib.environment import SETTINGS
from failgym.envs import resolve
from failgym.evaluation import run_policy
from failgym.worlds.build import build_world
from tests.clients.installed import client
from tests.clients.transitions import IDS, make, small_fields, stream

ray = client("ray")
client("torch")
client("stable_baselines3")
ppo = client("ray.rllib.algorithms.ppo")
callbacks = client("ray.rllib.callbacks.callbacks")
specs = client("ray.rllib.core.rl_module.rl_module")
examples = client("ray.rllib.examples.rl_modules.classes.action_masking_rlm")
registry = client("ray.tune.registry")

pytestmark = pytest.mark.filterwarnings("default")

SHOWN, CLIENT = "RLlib (ray)", "ray"
STEPS, COUNT, SEED = 64, 3, 9
KINDS = ("sync", "vector_entry_point")
PROCESSES = 4


class Numbers(callbacks.RLlibCallback):
    """Writes into each episode which environment it is of."""

    def on_episode_start(self, *, episode: Any, env_index: int, **_: Any) -> None:
        episode.custom_data["environment"] = env_index


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """Ray of the test's own, as small as it can be."""
    ray.init(
        address="local",
        num_cpus=PROCESSES,
        include_dashboard=False,
        object_store_memory=100 * 2**20,
    )
    yield
    ray.shutdown()


def config_of(env_id: str, runners: int = 0, shaping: Shaping | None = None, **more: Any) -> Any:
    """PPO as a user configures it, in a small environment."""
    fields: dict[str, Any] = {**small_fields(env_id), **more}
    settings = settings_of(env_id, fields="all", shaping=shaping, **fields)
    config = rllib.ppo_config(
        settings,
        decisions=10 * STEPS * COUNT,
        env_runners=runners,
        episodes_at_once=COUNT,
        batch=STEPS * COUNT,
        minibatch=64,
        epochs=1,
        seed=SEED,
    )
    config.callbacks(Numbers)
    return config


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("env_id", IDS)
def test_ppo(kind: str, env_id: str, compare: Any) -> None:
    config = config_of(env_id)
    config.env_runners(gym_env_vectorize_mode=kind)
    algo = config.build_algo()
    runner = algo.env_runner
    kept = runner.sample(num_timesteps=STEPS * COUNT)
    for i in range(COUNT):
        parts = [one for one in kept if one.custom_data["environment"] == i]
        seen = [one.get_observations() for one in parts]
        actions = np.concatenate([one.get_actions() for one in parts])
        stored = {
            "obs": np.concatenate([one[OBSERVATIONS][:-1] for one in seen]),
            "successor": np.concatenate([one[OBSERVATIONS][1:] for one in seen]),
            "action": actions,
            "reward": np.concatenate([one.get_rewards() for one in parts]),
            "terminated": np.concatenate([ends(one) for one in parts]),
            "mask": np.concatenate([one[MASK][:-1] for one in seen]) == 1,
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


def returns(runner: Any, episodes: int) -> list[float]:
    """What a runner's next episodes return."""
    return [one.get_return() for one in runner.sample(num_episodes=episodes)]


def test_several_runners_and_a_policy_file_that_plays_as_rllib_does(tmp_path: Path) -> None:
    """The same cost of every slice, by RLlib's runner, by its `evaluate` and by failgym's."""
    fields: dict[str, Any] = {"jobs": 600, "slice_tasks": 4}
    config = config_of(IDS[0], runners=2, slice_tasks=1)
    slices = rllib.evaluated_on(config, IDS[0], **fields)
    algo = config.build_algo()
    before = algo.learner_group.get_weights()["default_policy"]["pi.net.mlp.0.weight"]
    learned = [algo.train() for _ in range(2)][-1]
    assert learned["env_runners"]["num_env_steps_sampled_lifetime"] >= 2 * STEPS * COUNT
    after = algo.learner_group.get_weights()["default_policy"]["pi.net.mlp.0.weight"]
    assert (np.asarray(before) != np.asarray(after)).any()
    rllib.save_agent(algo, tmp_path / "agent.safetensors", command="a test")
    theirs = algo.evaluate()["env_runners"]
    played = algo.eval_env_runner_group.foreach_env_runner(
        returns,
        kwargs={"episodes": slices},
        local_env_runner=False,
    )[0]
    algo.stop()
    agent, scenario = (
        agents.load_agent(tmp_path / "agent.safetensors"),
        resolve(IDS[0]).override(**fields),
    )
    scenario = replace(scenario, split="test")
    run = run_policy(build_world(scenario), scenario, agent, order=scenario.order)
    assert played == pytest.approx((-run.costs.sum(axis=1)).tolist())
    result = failgym.evaluate(agent, IDS[0], bound=None, **fields)
    assert result.episodes == theirs["num_episodes"] == slices
    assert -theirs["episode_return_mean"] * slices == pytest.approx(result.cost)
    assert result.decisions > result.illegal == 0
    assert agent.name == "rllib_ppo"
    assert agent.manifest.versions["ray"] == ray.__version__
    assert agent.manifest.steps >= 2 * STEPS * COUNT


def test_rewards_can_be_shaped_and_illegal_actions_are_never_taken() -> None:
    """Of what is paid back at the end nothing is left where the agent does what it is held to."""
    shaping = Shaping(reference="replay", stakes=("RETRY",))
    config = config_of(IDS[0], shaping=shaping, slice_tasks=1, clone=False, retry=True)
    config.env_runners(num_envs_per_env_runner=64)
    algo = config.build_algo()
    kept = algo.env_runner.sample(num_timesteps=64 * STEPS)
    still = [one for one in kept if one.is_done and len(one) and not one.get_actions().any()]
    whole = [one for one in still if one.t_started == 0]
    assert whole
    assert [one.get_return() for one in whole] == pytest.approx([0.0] * len(whole), abs=1e-9)
    for one in kept:
        mask = one.get_observations()[MASK][: len(one)]
        assert mask[np.arange(len(one)), one.get_actions()].all()
    algo.stop()


def test_masks_in_a_dict_are_what_rllibs_own_example_takes() -> None:
    def made(_: Any) -> gym.Env[Any, Any]:
        return DictObservation(make(IDS[0]))

    registry.register_env("failgym-dict", made)
    config = ppo.PPOConfig().environment("failgym-dict")
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=COUNT)
    config.training(train_batch_size_per_learner=STEPS, minibatch_size=32, num_epochs=1)
    module = specs.RLModuleSpec(
        module_class=examples.ActionMaskingTorchRLModule, model_config={"fcnet_hiddens": [8]}
    )
    config.rl_module(rl_module_spec=module)
    config.debugging(seed=SEED, log_level="ERROR")
    algo = config.build_algo()
    for one in algo.env_runner.sample(num_timesteps=STEPS):
        mask = one.get_observations()[MASK][: len(one)]
        assert mask[np.arange(len(one)), one.get_actions()].all()
    assert algo.train()["num_env_steps_sampled_lifetime"] >= STEPS
    algo.stop()


def test_another_algorithm_is_not_saved(tmp_path: Path) -> None:
    algo = ppo.PPOConfig().environment("CartPole-v1").env_runners(num_env_runners=0).build_algo()
    with pytest.raises(ValueError, match=r"^algorithm: expected one that a ppo_config built$"):
        rllib.save_agent(algo, tmp_path / "agent.safetensors", command="a test")
    assert not list(tmp_path.iterdir())
    algo.stop()


def test_wrong_settings_are_said_in_a_line() -> None:
    with pytest.raises(ValueError, match=r"^initial_bias: expected 5 numbers, got 1$"):
        rllib.ppo_config(settings_of(IDS[0], jobs=200), decisions=10, initial_bias=(0.0,))
    with pytest.raises(ValueError, match=r"^shaping: expected the pinned world and slice_tasks=1"):
        settings_of(IDS[0], shaping=Shaping(), slice_tasks=4, jobs=200)
    with pytest.raises(ValueError, match="did you mean algorithm_1"):
        Shaping(reference="algoritm_1")
    settings = rllib.ppo_config(settings_of(IDS[0], jobs=200), decisions=10).env_config[SETTINGS]
    assert isinstance(settings, EnvSettings)
    assert settings.scenario.slice_tasks == 1
