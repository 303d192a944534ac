"""Policy files: what was saved answers as before, and nothing else is loaded."""

from __future__ import annotations

import json
import pickle
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file
from sb3_contrib import QRDQN, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import VecNormalize

import failgym
from failgym.agents.environments.vec_env import BatchedVecEnv, make_sb3_env
from failgym.agents.files.policy_file import load_agent
from failgym.agents.files.trained_policy import Moments, TrainedPolicy
from failgym.agents.files.writing import save_anew, save_policy, save_weights
from failgym.agents.networks.architectures import ARCHITECTURES, describe, kept_weights
from failgym.cli import run
from failgym.envs import FIELDS, resolve
from failgym.worlds.source import whole_trace
from tests.agents.runs import FAILING

torch.set_num_threads(1)

MODELS: dict[str, tuple[Any, str]] = {
    "ppo": (PPO, "MlpPolicy"),
    "a2c": (A2C, "MlpPolicy"),
    "dqn": (DQN, "MlpPolicy"),
    "qrdqn": (QRDQN, "MlpPolicy"),
    "maskable_ppo": (MaskablePPO, "MlpPolicy"),
    "recurrent_ppo": (RecurrentPPO, "MlpLstmPolicy"),
}
SCENARIO = resolve("failgym/Cloning-v1", {"trace": FAILING, "jobs": 300, "slice_tasks": 1})
LANES = 64
KEY = "failgym"


@pytest.fixture(scope="module")
def env() -> BatchedVecEnv:
    return make_sb3_env(SCENARIO, LANES, seed=3, fields="all")


@pytest.fixture(scope="module")
def seen() -> tuple[list[Any], list[Any], list[Any]]:
    """Observations, masks and starts of some steps, drawn so that a network's answers vary."""
    rng = np.random.default_rng(0)
    masks = [rng.random((LANES, 5)) < 0.7 for _ in range(6)]
    for mask in masks:
        mask[:, 0] = True
    observations = [np.hstack([rng.normal(size=(LANES, len(FIELDS) - 5)), mask]) for mask in masks]
    starts = [rng.random(LANES) < 0.3 for _ in masks]
    return [observation.astype(np.float32) for observation in observations], masks, starts


def made(algorithm: str, env: Any, **options: Any) -> Any:
    """A model with random weights, large enough that it chooses now this, now that."""
    kind, policy = MODELS[algorithm]
    model = kind(policy, env, device="cpu", seed=1, policy_kwargs=options or None)
    with torch.no_grad():
        for weights in model.policy.parameters():
            weights.add_(torch.randn(weights.shape) * 0.3)
    return model


def stored(model: Any, folder: Path, **options: Any) -> TrainedPolicy:
    path = folder / "agent.safetensors"
    save_policy(model, path, env=SCENARIO, command="failgym train", **options)
    assert [file.name for file in folder.iterdir()] == [path.name]
    return load_agent(path)


def answers(policy: Any, seen: Any, masked: bool) -> list[Any]:
    """Deterministic actions and states, step after step."""
    state, given = None, []
    for observation, masks, starts in zip(*seen, strict=True):
        options = {"action_masks": masks} if masked else {}
        actions, state = policy.predict(
            observation, state=state, episode_start=starts, deterministic=True, **options
        )
        given.append((actions, state))
    return given


def same(first: Any, second: Any) -> None:
    np.testing.assert_equal(first, second)


KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    **{algorithm: (algorithm, {}) for algorithm in MODELS},
    "one wide layer": ("maskable_ppo", {"net_arch": [200]}),
    "no layer": ("ppo", {"net_arch": []}),
    "two shapes": ("ppo", {"net_arch": {"pi": [32], "vf": [64, 16]}}),
    "an actor alone": ("a2c", {"net_arch": {"pi": [32]}}),
    "relu": ("maskable_ppo", {"activation_fn": torch.nn.ReLU}),
    "values of actions": ("dqn", {"net_arch": [16], "activation_fn": torch.nn.SiLU}),
    "quantiles": ("qrdqn", {"n_quantiles": 7}),
    "deep memory": ("recurrent_ppo", {"lstm_hidden_size": 16, "n_lstm_layers": 2}),
    "shared memory": ("recurrent_ppo", {"shared_lstm": True, "enable_critic_lstm": False}),
    "a critic without memory": ("recurrent_ppo", {"enable_critic_lstm": False}),
}


def test_every_algorithm_is_tested() -> None:
    assert set(MODELS) == set(ARCHITECTURES)


@pytest.mark.parametrize("critic", [True, False], ids=["critic", "actor"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_answers_as_the_model_did(
    kind: str, critic: bool, env: BatchedVecEnv, seen: Any, tmp_path: Path
) -> None:
    algorithm, options = KINDS[kind]
    model = made(algorithm, env, **options)
    agent = stored(model, tmp_path, critic=critic)
    masked = ARCHITECTURES[algorithm].masked
    expected = answers(model, seen, masked)
    same(answers(agent, seen, masked), expected)
    assert len(np.unique(np.concatenate([actions for actions, _ in expected]))) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_written_anew_with_or_without_its_value_function(
    kind: str, env: BatchedVecEnv, tmp_path: Path
) -> None:
    algorithm, options = KINDS[kind]
    model = made(algorithm, env, **options)
    model.normalize = VecNormalize(env, norm_reward=False)
    model.get_vec_normalize_env = lambda: model.normalize
    first, actor, again = (tmp_path / f"{name}.safetensors" for name in ("1", "2", "3"))
    save_policy(model, first, env=SCENARIO, command="failgym train")
    save_policy(model, actor, env=SCENARIO, command="failgym train", critic=False)
    assert load_agent(first).moments is not None
    save_anew(first, again)
    assert again.read_bytes() == first.read_bytes()
    save_anew(first, again, critic=False)
    assert again.read_bytes() == actor.read_bytes()
    assert load_agent(again).digest == load_agent(first).digest
    save_anew(actor, again)  # what is not there cannot be kept
    assert again.read_bytes() == actor.read_bytes()


@pytest.mark.parametrize("algorithm", MODELS)
def test_one_observation_is_answered_as_in_a_batch(
    algorithm: str, env: BatchedVecEnv, seen: Any, tmp_path: Path
) -> None:
    agent = stored(made(algorithm, env), tmp_path)
    observation, masks = seen[0][0][7], seen[1][0][7]
    action, _ = agent.predict(observation, action_masks=masks)
    assert np.ndim(action) == 0
    batch, _ = agent.predict(seen[0][0][7:8], action_masks=masks[None])
    same(batch, [action])


@pytest.mark.parametrize("algorithm", ["ppo", "maskable_ppo", "recurrent_ppo"])
def test_samples_are_those_of_the_model(
    algorithm: str, env: BatchedVecEnv, seen: Any, tmp_path: Path
) -> None:
    model = made(algorithm, env)
    agent = stored(model, tmp_path)
    masked = ARCHITECTURES[algorithm].masked
    options = {"action_masks": seen[1][0]} if masked else {}
    drawn: list[Any] = []
    for policy in (model, agent):
        torch.manual_seed(5)
        drawn.append(policy.predict(seen[0][0], deterministic=False, **options)[0])
    same(*drawn)


def test_masks_are_read_from_the_observation_if_not_given(
    env: BatchedVecEnv, seen: Any, tmp_path: Path
) -> None:
    agent = stored(made("maskable_ppo", env), tmp_path)
    for observation, masks in zip(*seen[:2], strict=True):
        given, _ = agent.predict(observation, action_masks=masks)
        same(agent.predict(observation)[0], given)
        assert masks[np.arange(LANES), given].all()


def test_normalised_observations(seen: Any, tmp_path: Path) -> None:
    normalising = VecNormalize(make_sb3_env(SCENARIO, LANES, seed=4, fields="all"), clip_obs=3.0)
    normalising.reset()
    for _ in range(5):
        normalising.step(np.zeros(LANES, dtype=np.int64))
    model = made("ppo", normalising)
    agent = stored(model, tmp_path)
    expected, _ = model.predict(normalising.normalize_obs(seen[0][0]), deterministic=True)
    same(agent.predict(seen[0][0])[0], expected)
    assert (expected != model.predict(seen[0][0], deterministic=True)[0]).any()


def test_what_a_file_says_of_itself(env: BatchedVecEnv, tmp_path: Path) -> None:
    manifest = stored(made("maskable_ppo", env), tmp_path, scores={"validation": 12.5}).manifest
    assert manifest.environment.id == "failgym/Cloning-v1"
    assert manifest.environment.fields == {"trace": FAILING, "jobs": 300, "slice_tasks": 1}
    assert manifest.environment.decisions == ("clone", "give_up", "retry")
    assert [field.name for field in manifest.observation] == [f.name for f in FIELDS]
    assert (manifest.algorithm, manifest.policy) == ("maskable_ppo", "MaskableActorCriticPolicy")
    network: Any = manifest.network
    assert (network.actor, network.activation) == ((64, 64), "tanh")
    assert (manifest.command, manifest.steps, manifest.seed) == ("failgym train", 0, 1)
    assert manifest.trace_hash == whole_trace(SCENARIO).content_hash
    assert manifest.versions["failgym"] == failgym.__version__
    # The plain release calls itself "+cu130", its package does not; CPU builds say "+cpu" in both.
    assert manifest.versions["torch"].partition("+")[0] == torch.__version__.partition("+")[0]
    assert manifest.scores == {"validation": 12.5}


def test_the_same_model_makes_the_same_file(env: BatchedVecEnv, tmp_path: Path) -> None:
    model = made("ppo", env)
    files = [tmp_path / "a.safetensors", tmp_path / "b.safetensors"]
    for file in files:
        save_policy(model, file, env=SCENARIO, command="")
    assert files[0].read_bytes() == files[1].read_bytes()


def test_loading_draws_no_random_numbers(env: BatchedVecEnv, tmp_path: Path) -> None:
    model = made("recurrent_ppo", env)
    before = torch.random.get_rng_state()
    stored(model, tmp_path)
    assert torch.equal(before, torch.random.get_rng_state())


def test_scores_are_those_of_the_model(env: BatchedVecEnv, tmp_path: Path) -> None:
    model = made("maskable_ppo", env)
    agent = stored(model, tmp_path)
    first, second = (failgym.evaluate(p, SCENARIO, episodes=30) for p in (model, agent))
    assert (first.cost, first.decisions) == (second.cost, second.decisions)
    assert (second.policy, second.illegal) == ("maskable_ppo", 0)


def test_another_environment_is_refused(env: BatchedVecEnv, tmp_path: Path) -> None:
    agent = stored(made("ppo", env), tmp_path)
    with pytest.raises(ValueError, match=r"trained in failgym/Cloning-v1, not in failgym/Grace"):
        failgym.evaluate(agent, "failgym/GracePeriod-v1")
    with pytest.raises(ValueError, match=r"trained to decide clone, give_up, retry; here"):
        failgym.evaluate(agent, SCENARIO.override(clone=False))
    assert failgym.evaluate(agent, SCENARIO.override(max_attempts=20), episodes=3).episodes == 3
    free = load_agent(tmp_path / "agent.safetensors", anywhere=True)
    assert failgym.evaluate(free, SCENARIO.override(clone=False), episodes=3).episodes == 3


def test_the_command_evaluates_a_policy_file(
    env: BatchedVecEnv, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = stored(made("maskable_ppo", env), tmp_path)
    path, table = tmp_path / "agent.safetensors", tmp_path / "table.json"
    options = ["--set", "jobs=300", "--set", "slice_tasks=1", "--set", f"trace={FAILING}"]
    options += ["--episodes", "30"]
    command = ["evaluate", "--policy", str(path), "--json", str(table), *options]
    assert run([*command, "--env", "failgym/Cloning-v1"]) == 0
    written = json.loads(table.read_text())["policies"][0]
    assert written["cost"] == failgym.evaluate(agent, SCENARIO, episodes=30).cost
    capsys.readouterr()
    assert run([*command, "--env", "failgym/GracePeriod-v1"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_without_the_extra_a_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.delitem(sys.modules, "failgym.agents.files.policy_file")
    spec = ["--policy", "agent.safetensors"]
    assert run(["evaluate", "--env", "failgym/Cloning-v1", *spec]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pip install 'failgym[agents]'" in said


@pytest.fixture(scope="module")
def whole(env: BatchedVecEnv, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound policy file."""
    path = tmp_path_factory.mktemp("whole") / "agent.safetensors"
    save_policy(made("maskable_ppo", env), path, env=SCENARIO, command="train")
    return path


def taken_apart(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    opened: Any = safe_open
    with opened(path, framework="np") as content:
        manifest = json.loads(content.metadata()[KEY])
        return manifest, {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118


class Bomb:
    """Says so when it is unpickled."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("a pickle was loaded",)


def test_files_that_may_hold_code_are_refused(
    env: BatchedVecEnv, tmp_path: Path, whole: Path
) -> None:
    file = tmp_path / "agent.safetensors"
    file.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match="a pickle, which may hold code"):
        load_agent(file)
    made("ppo", env).save(tmp_path / "model.zip")
    (tmp_path / "model.zip").rename(file)
    with pytest.raises(ValueError, match="a zip archive, which may hold code"):
        load_agent(file)
    torch.save({"bomb": Bomb()}, file)
    with pytest.raises(ValueError, match="a zip archive, which may hold code"):
        load_agent(file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.write(whole)
    with pytest.raises(ValueError, match="a zip archive, which may hold code"):
        load_agent(file)


def test_what_is_no_policy_file_is_refused(tmp_path: Path, whole: Path) -> None:
    file = tmp_path / "agent.safetensors"
    with pytest.raises(ValueError, match="no such file"):
        load_agent(file)
    with pytest.raises(ValueError, match="no such file"):
        load_agent(tmp_path)
    content = whole.read_bytes()
    for damaged in (b"", b"{}", content[:4], content[:100], content[:-1], b"\xff" * 8 + content):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match="not a policy file") as caught:
            load_agent(file)
        assert "\n" not in str(caught.value)
    save_file(taken_apart(whole)[1], file, metadata={"format": "pt"})
    with pytest.raises(ValueError, match="no 'failgym' in its metadata"):
        load_agent(file)


Edit = Callable[[dict[str, Any], dict[str, Any]], Any]

EDITS: dict[str, tuple[Edit, str]] = {
    "another format": (lambda m, w: m.update(format="x"), "manifest: format: .*'failgym agent'"),
    "another version": (lambda m, w: m.update(version=2), "manifest: version"),
    "an entry too many": (lambda m, w: m.update(code="import os"), "manifest: code: .*not perm"),
    "an entry missing": (lambda m, w: m.pop("actions"), "manifest: actions: .*required"),
    "a number as text": (lambda m, w: m.update(steps="9"), "manifest: steps: .*integer"),
    "negative steps": (lambda m, w: m.update(steps=-9), "manifest: steps"),
    "an unknown field": (
        lambda m, w: m["observation"][4].update(name="armd"),
        "observation: fields: the observation has no 'armd', did you mean armed?",
    ),
    "a field twice": (
        lambda m, w: m["observation"].append(m["observation"][4]),
        "observation: fields: 'armed' is named twice",
    ),
    "no fields": (lambda m, w: m.update(observation=[]), "observation: fields: expected at least"),
    "a field of another range": (
        lambda m, w: m["observation"][4].update(high=2.0),
        r"observation: armed \[0/1, 0 to 2\], expected armed \[0/1, 0 to 1\]",
    ),
    "a name for a terminal": (lambda m, w: m.update(name="\x1b[2J"), "manifest: name"),
    "no name": (lambda m, w: m.update(name=""), "manifest: name"),
    "a field missing": (
        lambda m, w: m["observation"].pop(),
        r"weights: .* \[64, 88\], .* \[64, 87\]",
    ),
    "another alphabet": (lambda m, w: m["actions"].append("FLY"), "actions: trained on .*FLY, exp"),
    "an unknown algorithm": (lambda m, w: m.update(algorithm="sac"), "unknown algorithm 'sac'"),
    "another algorithm": (lambda m, w: m.update(algorithm="ppo"), "policy 'Maskable"),
    "another policy": (lambda m, w: m.update(policy="os.system"), "policy 'os.system': expected"),
    "an unknown activation": (
        lambda m, w: m["network"].update(activation="tahn"),
        "unknown activation 'tahn', did you mean tanh",
    ),
    "a huge layer": (lambda m, w: m["network"].update(actor=[10**9]), "manifest: network.actor"),
    "very many layers": (lambda m, w: m["network"].update(actor=[1] * 99), "manifest: network.act"),
    "a layer of nothing": (lambda m, w: m["network"].update(actor=[0]), "manifest: network.actor"),
    "a number for a network": (lambda m, w: m.update(network=5), "manifest: network: Input should"),
    "nothing for a network": (
        lambda m, w: m.update(network=None),
        "manifest: network: Input should",
    ),
    "a list for a network": (lambda m, w: m.update(network=[1]), "manifest: network: Input should"),
    "sizes of small networks": (
        lambda m, w: m["network"].update(units=3),
        "manifest: network.decides: Field required",
    ),
    "another size": (
        lambda m, w: m["network"].update(actor=[64, 32]),
        r"weights: action_net.weight is torch.float32 \[5, 64\], expected torch.float32 \[5, 32\]",
    ),
    "no value function": (lambda m, w: m["network"].update(critic=None), "critic: expected True"),
    "quantiles": (lambda m, w: m["network"].update(quantiles=5), "quantiles: expected False"),
    "the critic's weights": (lambda m, w: m.update(critic=False), "weights: unknown 'mlp_extr"),
    "weights missing": (lambda m, w: w.pop("action_net.bias"), "weights: action_net.bias is miss"),
    "weights too many": (lambda m, w: w.update(more=np.ones(3, "f4")), "weights: unknown 'more'"),
    "weights of another type": (
        lambda m, w: w.update({"action_net.bias": np.zeros(5, np.int64)}),
        "weights: action_net.bias is I64, expected F32",
    ),
    "weights of another precision": (
        lambda m, w: w.update({"action_net.bias": np.zeros(5)}),
        "weights: action_net.bias is torch.float64",
    ),
    "no number": (
        lambda m, w: w.update({"action_net.bias": np.full(5, np.nan, "f4")}),
        "weights: action_net.bias has a value that is not finite",
    ),
    "a normalisation without numbers": (
        lambda m, w: m.update(scaling={"epsilon": 1e-8, "clip": 10.0}),
        "observation.mean: expected .* finite numbers",
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_file_that_says_something_else_is_refused(edit: str, whole: Path, tmp_path: Path) -> None:
    manifest, weights = taken_apart(whole)
    change, message = EDITS[edit]
    change(manifest, weights)
    file = tmp_path / "agent.safetensors"
    save_file(weights, file, metadata={KEY: json.dumps(manifest)})
    with pytest.raises(ValueError, match=message) as caught:
        load_agent(file)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(file))


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "[" * 100_000, "null", '{"format": NaN}'])
def test_a_manifest_that_is_none_is_refused(text: str, whole: Path, tmp_path: Path) -> None:
    file = tmp_path / "agent.safetensors"
    save_file(taken_apart(whole)[1], file, metadata={KEY: text})
    with pytest.raises(ValueError, match=r"manifest: |no 'failgym'") as caught:
        load_agent(file)
    assert "\n" not in str(caught.value)


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_damaged_files_are_loaded_or_refused_in_one_line(
    data: st.DataObject, whole: Path, tmp_path: Path
) -> None:
    content = bytearray(whole.read_bytes())
    header = 8 + int.from_bytes(content[:8], "little")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, header - 1) | st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    file = tmp_path / "agent.safetensors"
    file.write_bytes(content[: data.draw(st.just(len(content)) | st.integers(0, len(content)))])
    error = refusal(file)
    assert error is None or error.startswith(str(file))
    assert error is None or "\n" not in error


def refusal(file: Path) -> str | None:
    """Why a file is refused, None if it is not and its agent answers."""
    try:
        agent = load_agent(file)
    except ValueError as error:
        return str(error)
    assert agent.predict(np.zeros((2, len(FIELDS)), dtype=np.float32))[0].shape == (2,)
    return None


class Doubled(FlattenExtractor):
    """A features extractor of one's own."""


def test_models_that_cannot_be_built_again_are_not_saved(
    env: BatchedVecEnv, tmp_path: Path
) -> None:
    path = tmp_path / "agent.safetensors"
    own = made("ppo", env, features_extractor_class=Doubled)
    with pytest.raises(ValueError, match="features extractor: expected FlattenExtractor, got Dou"):
        save_policy(own, path, env=SCENARIO, command="")
    unusual = made("ppo", env, activation_fn=torch.nn.Hardtanh)
    with pytest.raises(ValueError, match="activation Hardtanh: expected one of tanh"):
        save_policy(unusual, path, env=SCENARIO, command="")
    diverged = made("ppo", env)
    with torch.no_grad():
        diverged.policy.action_net.bias[0] = float("nan")
    with pytest.raises(ValueError, match=r"action_net.bias .* not finite: training diverged"):
        save_policy(diverged, path, env=SCENARIO, command="")
    with pytest.raises(ValueError, match=r"expected a name that ends in \.safetensors"):
        save_policy(made("ppo", env), tmp_path / "agent.zip", env=SCENARIO, command="")
    cart = PPO("MlpPolicy", "CartPole-v1")
    with pytest.raises(
        ValueError,
        match=r"^observation_space: expected failgym's fields, got Box\(\(4,\), f",
    ):
        save_policy(cart, tmp_path / "agent.safetensors", env=SCENARIO, command="")
    assert not list(tmp_path.iterdir())


def test_observations_that_are_no_numbers_are_refused(env: BatchedVecEnv, tmp_path: Path) -> None:
    path = tmp_path / "agent.safetensors"
    save_policy(made("ppo", env), path, env=SCENARIO, command="")
    seen = np.full((2, len(FIELDS)), np.nan, dtype=np.float32)
    with pytest.raises(ValueError, match=r"^observation: expected finite numbers$"):
        load_agent(path).predict(seen)


def test_weights_of_another_library_answer_as_the_model_that_they_are_of(
    env: BatchedVecEnv, seen: Any, tmp_path: Path
) -> None:
    model, path = made("maskable_ppo", env, net_arch=[32]), tmp_path / "agent.safetensors"
    names = tuple(field.name for field in FIELDS)
    moments = Moments(np.full(len(names), 0.2), np.full(len(names), 1.5), 1e-8, 10.0)
    given: dict[str, Any] = {
        "network": describe(model.policy, ARCHITECTURES["maskable_ppo"]),
        "algorithm": "maskable_ppo",
        "env": SCENARIO,
        "fields": names,
        "command": "another library",
        "steps": 12,
        "seed": 3,
        "libraries": ["numpy"],
    }
    weights = kept_weights(model.policy, critic=True)
    save_weights(weights, path, moments=moments, **given)
    agent = load_agent(path)
    assert agent.manifest.steps == 12
    assert agent.manifest.versions.keys() == {"failgym", "numpy"}
    shown = [moments.normalised(observation) for observation in seen[0]]
    expected = answers(model, (shown, *seen[1:]), True)
    same([action for action, _ in answers(agent, seen, True)], [a for a, _ in expected])
    before = path.read_bytes()
    wrong = {name: w for name, w in weights.items() if name != "action_net.bias"}
    with pytest.raises(ValueError, match=r"^weights: action_net.bias is missing"):
        save_weights(wrong, path, moments=None, **given)
    other: dict[str, Any] = {**given, "algorithm": "maskable_pp"}
    with pytest.raises(ValueError, match=r"^unknown algorithm 'maskable_pp', did you mean"):
        save_weights(weights, path, moments=None, **other)
    with pytest.raises(ValueError, match=r"expected a name that ends in \.safetensors"):
        save_weights(weights, tmp_path / "agent.pt", moments=None, **given)
    assert path.read_bytes() == before
