"""Agents learn from selected fields, and find them by name wherever they play."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the agents extra")
pytest.importorskip("sb3_contrib", reason="needs the agents extra")

import gymnasium as gym  # noqa: E402
from sb3_contrib import MaskablePPO, RecurrentPPO  # noqa: E402
from stable_baselines3 import DQN, PPO  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize  # noqa: E402

import failgym  # noqa: E402
from failgym.agents.environments.vec_env import make_sb3_env  # noqa: E402
from failgym.agents.files.policy_file import load_agent  # noqa: E402
from failgym.agents.files.trained_policy import TrainedPolicy  # noqa: E402
from failgym.agents.files.writing import save_policy  # noqa: E402
from failgym.envs import (  # noqa: E402
    FIELDS,
    MitigationEnv,
    MitigationVectorEnv,
    SelectFields,
    resolve,
    varying_fields,
)
from failgym.leaderboard.policy_process.players import Players  # noqa: E402
from failgym.sim.shared.fields import INDEX  # noqa: E402
from tests.agents.runs import FAILING  # noqa: E402

SCENARIO = resolve("failgym/Cloning-v1", {"trace": FAILING, "jobs": 300, "slice_tasks": 1})
VARYING = varying_fields(SCENARIO)
WHOLE = tuple(INDEX)
MODELS: dict[str, tuple[Any, str]] = {
    "maskable_ppo": (MaskablePPO, "MlpPolicy"),
    "dqn": (DQN, "MlpPolicy"),
    "recurrent_ppo": (RecurrentPPO, "MlpLstmPolicy"),
}
ROWS = 200


def made(algorithm: str = "maskable_ppo", env: Any = None, fields: Any = "varying") -> Any:
    """A model whose answers vary."""
    kind, policy = MODELS[algorithm]
    env = env or make_sb3_env(SCENARIO, 4, seed=3, fields=fields)
    model = kind(policy, env, device="cpu", seed=1)
    with torch.no_grad():
        for weights in model.policy.parameters():
            weights.add_(torch.randn(weights.shape) * 0.3)
    return model


def stored(model: Any, folder: Path) -> TrainedPolicy:
    save_policy(model, folder / "agent.safetensors", env=SCENARIO, command="")
    return load_agent(folder / "agent.safetensors")


def observations() -> Any:
    """Whole observations, every field of which is another number."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(ROWS, len(FIELDS))).astype(np.float32)
    rows[:, -5:] = rng.random((ROWS, 5)) < 0.7
    rows[:, -5] = 1.0
    return rows


def of(fields: Any, rows: Any) -> Any:
    """Some fields of whole observations."""
    return rows[:, [INDEX[name] for name in fields]]


def answers(model: Any, rows: Any, masks: Any = None) -> Any:
    """Its best actions."""
    legal = {} if masks is None else {"action_masks": masks}
    return model.predict(rows, deterministic=True, **legal)[0]


def test_fields_and_groups_of_them_can_be_left_out() -> None:
    groups = {field.name: field.group for field in FIELDS}
    env: Any = make_sb3_env(SCENARIO, 4, without=["system", "risk"])
    left = [name for name in VARYING if groups[name] != "system" and name != "risk"]
    assert list(env.fields) == left
    assert set(VARYING) - set(left) > {"risk"}
    whole = make_sb3_env(SCENARIO, 4, seed=7)
    env.seed(7)
    np.testing.assert_array_equal(env.reset(), whole.reset()[:, [VARYING.index(n) for n in left]])
    with pytest.raises(ValueError, match=r"field or group of fields 'rik', did you mean risk\?"):
        make_sb3_env(SCENARIO, 4, without="rik")
    with pytest.raises(ValueError, match="without: leaves no field of the observation"):
        make_sb3_env(SCENARIO, 4, fields=["risk"], without=["risk"])


@pytest.mark.parametrize("algorithm", MODELS)
def test_a_file_names_what_its_agent_reads_and_finds_it(algorithm: str, tmp_path: Path) -> None:
    model, rows = made(algorithm), observations()
    agent = stored(model, tmp_path)
    assert agent.manifest.fields == VARYING
    masks = rows[:, -5:] > 0 if algorithm == "maskable_ppo" else None
    expected = answers(model, of(VARYING, rows), masks)
    assert len(np.unique(expected)) > 1
    np.testing.assert_array_equal(answers(agent, rows), expected)
    for fields in (tuple(reversed(WHOLE)), (*VARYING, "may_continue", "may_checkpoint")):
        np.testing.assert_array_equal(answers(agent.reading(fields), of(fields, rows)), expected)
    shown = agent.reading(VARYING)
    np.testing.assert_array_equal(answers(shown, of(VARYING, rows), masks), expected)


def test_fields_are_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    fields, rows = ("risk", "age", "clones"), observations()
    model = made(fields=fields)
    agent, masks = stored(model, tmp_path), rows[:, -5:] > 0
    assert agent.manifest.fields == fields
    expected = answers(model, of(fields, rows), masks)
    np.testing.assert_array_equal(answers(agent, rows), expected)
    others = np.setdiff1d(np.arange(len(FIELDS) - 5), [INDEX[name] for name in fields])
    rows[:, others] = 7.0
    np.testing.assert_array_equal(answers(agent, rows), expected)


def test_what_an_environment_does_not_show_is_one_line(tmp_path: Path) -> None:
    agent = stored(made(), tmp_path)
    lacking = [name for name in WHOLE if name != "risk"]
    with pytest.raises(ValueError, match=r"^fields: the observation has no 'risk'"):
        agent.reading(lacking)
    few = observations()[:, :-1]
    expected = "observation: expected [88] or [batch, 88], got [200, 87]; of other fields, say"
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}"):
        agent.predict(few)
    expected = "action_masks: expected: fields: the observation has no 'may_continue'"
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}"):
        agent.reading(VARYING).predict(of(VARYING, observations()))


def test_normalised_observations(tmp_path: Path) -> None:
    env = VecNormalize(make_sb3_env(SCENARIO, 4, seed=4), clip_obs=3.0)
    env.reset()
    for _ in range(20):
        env.step(np.zeros(4, dtype=np.int64))
    model, rows = made("dqn", env), observations()
    agent = stored(model, tmp_path)
    assert agent.moments is not None
    assert agent.moments.mean.shape == (len(VARYING),)
    expected = answers(model, env.normalize_obs(of(VARYING, rows)))
    np.testing.assert_array_equal(answers(agent, rows), expected)


def test_a_model_is_shown_what_it_has_learned_from_wherever_it_is_asked(tmp_path: Path) -> None:
    model = made()
    path = tmp_path / "model.zip"
    model.save(path)
    policies = [model, MaskablePPO.load(path, device="cpu"), stored(model, tmp_path)]
    found = [failgym.evaluate(one, SCENARIO, episodes=60).cost for one in policies]
    assert found[0] == found[1] == found[2]
    reordered = stored(made(fields=VARYING[::-1]), tmp_path)
    assert found[0] != failgym.evaluate(reordered, SCENARIO, episodes=60).cost


def test_single_environments_put_together_name_their_fields(tmp_path: Path) -> None:
    env = DummyVecEnv([lambda: SelectFields(MitigationEnv(SCENARIO), ["age", "risk"])])
    assert stored(PPO("MlpPolicy", env, device="cpu"), tmp_path).manifest.fields == ("age", "risk")


def test_stacked_fields_are_not_saved(tmp_path: Path) -> None:
    def stacked() -> Any:
        inner: Any = SelectFields(MitigationEnv(SCENARIO), ["age", "risk"])
        return gym.wrappers.FlattenObservation(gym.wrappers.FrameStackObservation(inner, 2))

    model = PPO("MlpPolicy", DummyVecEnv([stacked]), device="cpu")
    with pytest.raises(ValueError, match=r"^observation_space: expected failgym's fields, got Box"):
        stored(model, tmp_path)


@pytest.mark.parametrize("shown", ["varying", "all"])
def test_it_plays_in_another_environment(shown: Any, tmp_path: Path) -> None:
    """Its fields are there in every environment, whatever varies there."""
    stored(made(fields=shown), tmp_path)
    agent = load_agent(tmp_path / "agent.safetensors", anywhere=True)
    small: dict[str, Any] = {"jobs": 200, "slice_tasks": 4}
    result = failgym.evaluate(agent, "failgym/GracePeriod-v1", episodes=8, **small)
    assert result.decisions > 0
    env: Any = gym.make("failgym/GracePeriod-v1", **small)
    whole, info = env.reset(seed=1)
    own = whole[[INDEX[name] for name in agent.manifest.fields]]
    network: Any = agent.network
    expected = network.predict(own, action_masks=info["action_mask"], deterministic=True)[0]
    assert agent.predict(whole, action_masks=info["action_mask"])[0] == expected


def test_an_agent_that_answers_now_and_then_reads_what_varies(tmp_path: Path) -> None:
    """`window` cannot vary where nothing else is asked."""
    seldom = resolve("failgym/Checkpoint-v1", {"jobs": 200, "every": 5, "slice_tasks": 1})
    save_policy(
        made(env=make_sb3_env(seldom, 4, seed=3)),
        tmp_path / "a.safetensors",
        env=seldom,
        command="",
    )
    often = resolve("failgym/Checkpoint-v1", {"jobs": 200})
    agent = load_agent(tmp_path / "a.safetensors").playing_by(often)
    fields = varying_fields(often)
    assert "window" not in fields
    envs = MitigationVectorEnv(often, 16)
    rows, _ = envs.reset(seed=1)
    columns = [INDEX[name] for name in fields]
    for _ in range(30):
        masks = rows[:, -5:] > 0
        whole, _ = agent.predict(rows, action_masks=masks)
        some, _ = agent.reading(fields).predict(rows[:, columns], action_masks=masks)
        np.testing.assert_array_equal(whole, some)
        rows = envs.step(np.asarray(whole, dtype=np.int64))[0]


def test_agents_of_the_same_weights_and_other_fields_are_not_the_same(tmp_path: Path) -> None:
    orders = list(itertools.permutations(("risk", "age", "clones")))[:3]
    digests = {stored(made(fields=fields), tmp_path).digest for fields in orders}
    assert len(digests) == len(orders)


@pytest.mark.parametrize("kind", ["file", "code"])
def test_a_process_of_its_own_answers_the_same(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent out of a policy file, and a model that code of the submitter's loads."""
    from failgym.cli.policy_process import COMMAND
    from failgym.cli.specs import load_policy

    model = made()
    agent = stored(model, tmp_path)
    spec = str(tmp_path / "agent.safetensors")
    if kind == "code":
        model.save(tmp_path / "model.zip")
        loads = "import sb3_contrib\ndef make():\n    return sb3_contrib.MaskablePPO.load({!r})\n"
        (tmp_path / "its_code.py").write_text(loads.format(str(tmp_path / "model.zip")))
        monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
        spec = "its_code:make"
    env = MitigationVectorEnv(SCENARIO, 6, autoreset_mode="SameStep")
    env.reset(seed=1)
    players = Players(load_policy, COMMAND)
    player = players.player("agent", spec)
    try:
        player.begin(6)
        live, fresh, at = np.ones(6, np.bool_), np.ones(6, np.bool_), np.arange(6)
        for _ in range(20):
            out = env.batch.output
            actions = player.act(out, live, fresh, at)
            np.testing.assert_array_equal(actions, answers(agent, out.obs))
            fresh = env.answer(actions).terminated.copy()
    finally:
        players.close()
