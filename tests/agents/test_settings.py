"""Hyper-parameters: every shipped file is sound, and what is wrong is named in one line."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, get_args

import pytest

pytest.importorskip("torch", reason="needs the agents extra")
pytest.importorskip("sb3_contrib", reason="needs the agents extra")

from stable_baselines3.common.utils import LinearSchedule

from failgym.agents.algorithms.hyperparameters import OURS, ActorCritic, Linear
from failgym.agents.algorithms.registry import ALGORITHMS
from failgym.agents.algorithms.settings_files import (
    FOLDER,
    GENERALIST,
    read_values,
    save_settings,
    settings_for,
)
from failgym.agents.counterfactual.train import LEARNER
from failgym.agents.credit.rollout_buffers import MaskableTaskRolloutBuffer
from failgym.agents.environments.vec_env import make_sb3_env
from failgym.agents.networks.architectures import ACTIVATIONS, ARCHITECTURES
from failgym.agents.strict_record import Activation
from failgym.agents.training.preparation import scenario_of
from failgym.agents.training.train import train
from failgym.agents.training.training_settings import TrainingSettings
from failgym.envs import SCENARIOS
from failgym.worlds.source import whole_trace
from tests.agents.runs import scenario
from tests.envs.worlds import small

CLONING = "failgym/Cloning-v1"


@pytest.mark.parametrize("env", SCENARIOS)
@pytest.mark.parametrize("algo", ALGORITHMS)
def test_every_environment_has_settings_for_every_algorithm(env: str, algo: str) -> None:
    settings = settings_for(algo, f"failgym/{env}")
    assert settings.gamma == 1.0


def test_a_file_may_say_how_long(tmp_path: Path) -> None:
    file = tmp_path / "ppo.yaml"
    file.write_text("{steps: 64, n_envs: 4, n_steps: 16, batch_size: 64}")
    short = TrainingSettings("ppo", config=file, episodes=20)
    assert train(scenario(), tmp_path / "run", short).steps == 64
    file.write_text("{n_envs: 4, n_steps: 16, batch_size: 64}")
    with pytest.raises(ValueError, match=r"^steps: expected a number of decisions"):
        train(scenario(), tmp_path / "other", short)


def test_every_shipped_file_is_used() -> None:
    known = {
        FOLDER / env / f"{algo}.yaml"
        for env in (*SCENARIOS, "default")
        for algo in (*ALGORITHMS, LEARNER.name)
    }
    known |= {FOLDER / GENERALIST / f"{LEARNER.name}.yaml"}
    assert set(FOLDER.rglob("*.yaml")) <= known


@pytest.mark.parametrize("env", ["Lineage-v1", "Workflow-v1"])
def test_the_trace_to_learn_from_can_be_made(env: str) -> None:
    chosen = settings_for("maskable_ppo", env).env or {}
    assert whole_trace(scenario_of(SCENARIOS[env], chosen)).rows("jobs") == chosen["jobs"]


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_a_model_is_built_as_the_settings_say(algo: str) -> None:
    rate = {"start": 1e-3, "end": 5e-5}
    hyper: dict[str, Any] = {
        "policy.net_arch": [8],
        "policy.activation": "elu",
        "learning_rate": rate,
    }
    if ALGORITHMS[algo].stochastic:
        hyper["policy.initial_bias"] = -3.0
    settings = settings_for(algo, CLONING, hyper=hyper)
    env = make_sb3_env(CLONING, settings.n_envs, **small(CLONING))
    model: Any = ALGORITHMS[algo].build(settings, env)
    assert type(model).__name__ == ARCHITECTURES[algo].model.__name__
    assert model.policy.activation_fn is ACTIVATIONS["elu"]
    assert [model.lr_schedule(left) for left in (1.0, 0.0)] == pytest.approx([1e-3, 5e-5])
    for name in type(settings).model_fields.keys() - {"learning_rate", "clip_range", *OURS} | {
        "n_envs"
    }:
        expected = getattr(settings, name)
        actual = model.train_freq.frequency if name == "train_freq" else getattr(model, name, None)
        if name not in ("use_rms_prop", "rms_prop_eps"):  # A2C does not keep them
            assert actual == expected, name
    if ALGORITHMS[algo].stochastic:
        actor: Any = model.policy.action_net
        assert set(actor.bias.tolist()) == {0.0, -3.0}


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_defaults_are_those_of_the_library(algo: str) -> None:
    parameters = inspect.signature(ARCHITECTURES[algo].model.__init__).parameters
    own = {"gamma", *OURS}
    for name, field in ALGORITHMS[algo].settings.model_fields.items():
        if name not in own:
            assert field.default == parameters[name].default, name


def test_names_agree_with_those_of_policy_files() -> None:
    assert set(get_args(Activation)) == set(ACTIVATIONS)
    assert ALGORITHMS.keys() == ARCHITECTURES.keys()
    for name, algorithm in ALGORITHMS.items():
        actor_critic = isinstance(algorithm.settings.model_fields["policy"].default, ActorCritic)
        assert ARCHITECTURES[name].actor_critic == actor_critic


def test_credit_per_task_is_a_setting() -> None:
    env_id = "failgym/Mitigation-v1"
    hyper = {"n_steps": 16, "batch_size": 32, "credit": {"share": 0.1, "scale": 5.0}}
    settings = settings_for("maskable_ppo", env_id, hyper=hyper, n_envs=2)
    env = make_sb3_env(env_id, 2, **small(env_id))
    model: Any = ALGORITHMS["maskable_ppo"].build(settings, env)
    buffer = model.rollout_buffer
    assert isinstance(buffer, MaskableTaskRolloutBuffer)
    assert (buffer.share, buffer.scale, buffer.time_unit) == (0.1, 5.0, None)
    with pytest.raises(ValueError, match="credit: expected none for an algorithm with an LSTM"):
        settings_for("recurrent_ppo", env_id, hyper={"credit": {}})


def test_schedules_follow_steps() -> None:
    schedule = Linear(start=1e-3, end=1e-4).at()
    assert isinstance(schedule, LinearSchedule)
    assert [schedule(left) for left in (1.0, 0.5, 0.0, -0.1)] == pytest.approx(
        [1e-3, 5.5e-4, 1e-4, 1e-4]
    )


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_what_is_written_is_read(algo: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    settings = settings_for(algo, CLONING)
    save_settings(settings, file)
    assert settings_for(algo, CLONING, file=file) == settings


def test_values_are_typed_as_yaml_and_replace_those_of_the_file() -> None:
    texts = {"learning_rate": "1e-4", "policy.net_arch": "{pi: [32], vf: [64, 64]}"}
    hyper = read_values({**texts, "target_kl": "null"})
    settings: Any = settings_for("ppo", CLONING, hyper=hyper, n_envs=512)
    assert settings.learning_rate == 1e-4
    assert settings.policy.net_arch.vf == [64, 64]
    assert settings.policy.activation == "tanh"
    assert settings.target_kl is None
    assert settings.n_envs == 512
    shared: Any = settings_for("ppo", "failgym/Mitigation-v1", hyper={"credit.share": 0.5})
    assert shared.credit.share == 0.5
    changed: Any = settings_for("ppo", CLONING, hyper={"learning_rate.end": 0})
    assert changed.learning_rate == Linear(start=1e-3, end=0.0)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("n_step: 3", "unknown hyper-parameter 'n_step' of ppo, did you mean n_steps?"),
        (
            "net_arch: [3]",
            "unknown hyper-parameter 'net_arch' of ppo, did you mean policy.net_arch",
        ),
        (
            "policy: {activatoin: tanh}",
            "'policy.activatoin' of ppo, did you mean policy.activation",
        ),
        ("n_steps: many", "n_steps: input should be a valid integer, got 'many'"),
        ("n_steps: 1.5", "n_steps: input should be a valid integer"),
        ("n_steps: true", "n_steps: input should be a valid integer, got True"),
        ("gamma: 1.5", "gamma: input should be less than or equal to 1, got 1.5"),
        ("learning_rate: .nan", "learning_rate: input should be a finite number, got nan"),
        ("learning_rate: {start: 1}", "learning_rate.end: field required"),
        ("learning_rate: {start: 1, end: x}", "learning_rate.end: input should be a valid number"),
        ("learning_rate: -1", "learning_rate: input should be greater than 0, got -1"),
        ("policy: {net_arch: 64}", "policy.net_arch: input should be a valid list, got 64"),
        ("policy: {net_arch: [0]}", "policy.net_arch.0: input should be greater than or equal"),
        ("policy: {activation: os.system}", "policy.activation: input should be 'tanh', 'relu'"),
        ("policy: 3", "policy: input should be a valid dictionary"),
        ("- 3", "expected names and values, got [3]"),
        ("", "expected names and values, got None"),
        ("n_steps: 3\nn_steps: 4", "line 2: n_steps is given twice"),
        ("n_steps: [", "line 1: "),
        ("n_steps: !!python/object/apply:os.system [true]", "could not determine a constructor"),
        ("gamma: !!bool foo", "expected YAML"),
        ("gamma: !!int ''", "expected YAML"),
        ("gamma: !!map [1]", "mine.yaml: "),
        ("gamma: !!timestamp foo", "expected YAML"),
        ("batch_size: 100", "batch_size: expected a divisor of n_envs x n_steps (1 x 2048 = 2048)"),
    ],
)
def test_what_is_wrong_in_a_file_is_one_line(text: str, line: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"mine\.yaml|^ppo: batch_size") as caught:
        settings_for("ppo", CLONING, file=file)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("algo", "options", "line"),
    [
        ("pop", {}, "unknown algorithm 'pop', did you mean ppo?"),
        ("ppo", {"hyper": {"learning_rte": 1}}, "--hyper: unknown hyper-parameter 'learning_rte'"),
        ("dqn", {"hyper": {"n_epochs": 1}}, "unknown hyper-parameter 'n_epochs' of dqn"),
        ("dqn", {"hyper": {"policy.initial_bias": 1}}, "'policy.initial_bias' of dqn"),
        ("ppo", {"hyper": {"n_steps": "x"}}, "--hyper: n_steps: input should be a valid integer"),
        (
            "ppo",
            {"hyper": {"policy": 3, "policy.activation": "elu"}},
            "policy.activation: policy is 3",
        ),
        ("ppo", {"hyper": {"gamma.start": 3}}, "--hyper: unknown hyper-parameter 'gamma.start'"),
        ("ppo", {"n_envs": 0}, "n_envs: input should be greater than or equal to 1, got 0"),
        ("ppo", {"n_envs": 3}, "ppo: batch_size: expected a divisor of n_envs x n_steps (3 x "),
        ("dqn", {"hyper": {"buffer_size": 9}}, "dqn: buffer_size: expected at least n_envs = 64"),
        ("ppo", {"file": "none.yaml"}, "none.yaml: no such file: expected hyper-parameters"),
        ("ppo", {"file": {}}, "config: expected the path of a file, got {}"),
        ("ppo", {"hyper": 5}, "hyper: expected values by name, got 5"),
        ("ppo", {"hyper": {5: 1}}, "hyper: expected values by name, got {5: 1}"),
        (None, {}, "unknown algorithm None, known: "),
        (
            "ppo",
            {"hyper": 10**5_000},
            "hyper: expected values by name, got one of type int, too long",
        ),
        ("ppo", {"hyper": {"surrogate.weight": 1}}, "did you mean surrogate.weight_"),
    ],
)
def test_what_is_wrong_in_a_call_is_one_line(algo: Any, options: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=re.escape(line)):
        settings_for(algo, CLONING, **options)


def test_a_dot_leads_into_prices_of_a_surrogate() -> None:
    hyper = {"surrogate.weight_completion": 0.1}
    settings = settings_for("maskable_ppo", "Workflow-v1", hyper=hyper)
    assert settings.surrogate == {"completion": "tasks", "weight_completion": 0.1}


def test_a_value_that_is_no_yaml_is_one_line() -> None:
    with pytest.raises(ValueError, match=r"^--hyper n_steps: line 1: "):
        read_values({"n_steps": "["})
