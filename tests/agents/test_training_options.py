"""What is trained on, and from where: the groups of hyper-parameters that no algorithm knows."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the agents extra")
pytest.importorskip("sb3_contrib", reason="needs the agents extra")

from failgym.agents.algorithms.registry import ALGORITHMS  # noqa: E402
from failgym.agents.algorithms.settings_files import settings_for  # noqa: E402
from failgym.agents.environments.vec_env import make_sb3_env  # noqa: E402
from failgym.agents.files.policy_file import load_agent  # noqa: E402
from failgym.agents.networks.hidden_fields import columns  # noqa: E402
from failgym.envs import SCENARIOS  # noqa: E402
from failgym.evaluation import evaluate  # noqa: E402
from failgym.sim.fields import FIELDS  # noqa: E402
from failgym.vocabulary import ACTIONS  # noqa: E402
from tests.agents.runs import (  # noqa: E402
    CLONING,
    SHORT,
    assert_resumes,
    checkpoint,
    scenario,
    short_run,
)

HIDDEN = ["system", "age"]
SHAPED: dict[str, Any] = {
    "reward": {"scale": 2.0, "reference": "replay", "by_cost": 0.5, "by_width": True},
    "stakes": {"against": ["KILL", ["CLONE", "RETRY"]]},
    "without": HIDDEN,
}


def run(out: Path, algo: str = "ppo", hyper: Any = None, **options: Any) -> Any:
    """A short run with some hyper-parameters more."""
    given = {**SHORT[algo], "policy.net_arch": [8], **(hyper or {})}
    return short_run(out, algo, hyper=given, **options)


class TestFieldsOfTheScenario:
    def test_they_are_trained_in_and_written_down(self, tmp_path: Path) -> None:
        result = run(tmp_path / "run", hyper={"env": {"trace_seed": 7, "restart_limit": 9}})
        fields = load_agent(result.policy).manifest.environment.fields
        assert (fields["trace_seed"], fields["restart_limit"]) == (7, 9)
        told = json.loads((tmp_path / "run" / "run.json").read_text())
        assert told["fields"] == fields
        other = run(tmp_path / "other", hyper={"env": {"trace_seed": 8, "restart_limit": 9}})
        assert other.trace_hash != result.trace_hash

    def test_what_was_asked_for_wins(self, tmp_path: Path) -> None:
        assert scenario().jobs != SCENARIOS["Cloning-v0"].jobs
        result = run(tmp_path / "run", hyper={"env.jobs": 90, "env.trace_seed": 7})
        fields = load_agent(result.policy).manifest.environment.fields
        assert (fields["jobs"], fields["trace_seed"]) == (scenario().jobs, 7)

    def test_what_was_asked_for_by_name_wins(self, tmp_path: Path) -> None:
        hyper = {"env.restart_limit": 9, "env.trace_seed": 7}
        result = run(tmp_path / "run", hyper=hyper, asked_for=["restart_limit"])
        fields = load_agent(result.policy).manifest.environment.fields
        assert "restart_limit" not in fields
        assert fields["trace_seed"] == 7

    def test_what_is_test_remains_so(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="unknown field of a scenario 'boundary'"):
            run(tmp_path / "run", hyper={"env": {"boundary": 0.95}})

    def test_a_run_with_others_is_not_gone_on_with(self, tmp_path: Path) -> None:
        run(tmp_path / "run", hyper={"env": {"trace_seed": 7}})
        with pytest.raises(ValueError, match=r"its fields\.trace_seed is 7, not 8"):
            run(tmp_path / "run", hyper={"env": {"trace_seed": 8}}, resume=True)


def test_a_surrogate_is_learned_from_and_not_scored_with(tmp_path: Path) -> None:
    options: dict[str, Any] = {"env": "failgym/Lineage-v0", "n_envs": 2, "episodes": None}
    plain = run(tmp_path / "plain", hyper={"n_steps": 64}, **options)
    surrogate = {"completion": "tasks", "weight_completion": 0.0, "weight_wasted": 1.0}
    hyper = {"n_steps": 64, "surrogate": surrogate, "credit": {"scale": 2.0}}
    result = run(tmp_path / "run", hyper=hyper, **options)
    assert weights_of(result, tmp_path / "run").tobytes() != (
        weights_of(plain, tmp_path / "plain").tobytes()
    )
    manifest = load_agent(result.policy).manifest
    assert "completion" not in manifest.environment.fields
    scored = evaluate(load_agent(result.policy), scenario("failgym/Lineage-v0"), split="validation")
    assert scored.score == pytest.approx(result.best.score)
    for name in ("boundary", "trace_seed", "jobs"):  # they would change what is learned from
        with pytest.raises(ValueError, match=f"surrogate: unknown field of a surrogate '{name}'"):
            run(tmp_path / "bad", hyper={"surrogate": {name: 0.999}})
    with pytest.raises(ValueError, match=r"^surrogate: weight_wasted"):
        run(tmp_path / "bad", hyper={"surrogate": {"weight_wasted": -1.0}})


class TestHiddenFields:
    @pytest.mark.parametrize("algo", ALGORITHMS)
    def test_choices_do_not_depend_on_them(self, algo: str, tmp_path: Path) -> None:
        result = run(tmp_path / "run", algo, {"without": HIDDEN, "learning_rate": 0.01})
        agent: Any = load_agent(result.policy)
        hidden = columns(HIDDEN)
        assert len(hidden) == 1 + sum(field.group == "system" for field in FIELDS)
        rng = np.random.default_rng(0)
        shown = rng.normal(size=(400, len(FIELDS))).astype(np.float32)
        shown[:, -ACTIONS:] = 1.0
        changed = shown.copy()
        changed[:, hidden] = rng.normal(size=(400, len(hidden))) * 100.0
        others = shown.copy()
        others[:, np.setdiff1d(np.arange(len(FIELDS) - ACTIONS), hidden)] *= -3.0
        np.testing.assert_array_equal(answers(agent, shown), answers(agent, changed))
        assert (answers(agent, shown) != answers(agent, others)).any()
        last = checkpoint(tmp_path / "run")["model"]["policy"]
        reading = [w for w in last.values() if w.ndim == 2 and w.shape[1] == len(FIELDS)]
        assert len(reading) >= 2
        assert all((weights[:, hidden] == 0.0).all() for weights in reading)

    @pytest.mark.parametrize("critic", ["own", "shared", "none"])
    def test_of_every_kind_of_memory(self, critic: str) -> None:
        hyper = {"policy.critic_lstm": critic, "policy.lstm_hidden_size": 8, "without": ["mask"]}
        model = untrained("recurrent_ppo", hyper)
        for name, weights in model.policy.state_dict().items():
            if weights.ndim == 2 and weights.shape[1] == len(FIELDS):
                assert (weights[:, columns(["mask"])] == 0.0).all(), name

    def test_of_networks_without_hidden_layers(self) -> None:
        model = untrained("ppo", {"policy.net_arch": [], "without": ["cpu"]})
        for layer in (model.policy.action_net, model.policy.value_net):
            assert (layer.weight[:, columns(["cpu"])] == 0.0).all()
            assert (layer.weight[:, columns(["memory"])] != 0.0).all()


def untrained(algo: str, hyper: dict[str, Any]) -> Any:
    """A model before its first step."""
    settings = settings_for(algo, CLONING, hyper={**SHORT[algo], **hyper}, n_envs=8)
    return ALGORITHMS[algo].build(settings, make_sb3_env(scenario(), 8), 0)


def answers(agent: Any, observations: Any) -> Any:
    """What is known of what an agent would do: probabilities or values of actions, or actions."""
    network = agent.network
    shown = torch.as_tensor(observations)
    with torch.no_grad():
        if hasattr(network, "q_net"):
            return network.q_net(shown).numpy()
        if hasattr(network, "quantile_net"):
            return network.quantile_net(shown).numpy()
        if hasattr(network, "lstm_actor"):
            return network.lstm_actor(shown)[0].numpy()
        return network.get_distribution(shown).distribution.logits.numpy()


@pytest.mark.parametrize("algo", ["maskable_ppo", "dqn"])
def test_runs_with_other_rewards_and_tasks_are_resumed(algo: str, tmp_path: Path) -> None:
    assert_resumes(tmp_path, partial(run, algo=algo, hyper=SHAPED))


def test_stakes_and_rewards_change_what_is_learned(tmp_path: Path) -> None:
    learned = [weights_of(run(tmp_path / "plain"), tmp_path / "plain")]
    for name in ("reward", "stakes"):
        out = tmp_path / name
        learned.append(weights_of(run(out, hyper={name: SHAPED[name]}), out))
    assert len({one.tobytes() for one in learned}) == 3


def weights_of(result: Any, out: Path) -> Any:
    assert result.steps == 512
    return checkpoint(out)["model"]["policy"]["action_net.weight"].numpy()


@pytest.mark.parametrize("name", ["reward", "stakes"])
def test_they_are_of_pinned_worlds(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected none in Mitigation-v0"):
        run(tmp_path / "run", hyper={name: SHAPED[name]}, env="failgym/Mitigation-v0")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("algo", "hyper", "line"),
    [
        ("ppo", {"env": {"jbos": 3}}, "env: unknown field of a scenario 'jbos', did you mean jobs"),
        ("ppo", {"env.jbos": 3}, "unknown hyper-parameter 'env.jbos' of ppo, did you mean env.job"),
        ("ppo", {"env.split": "test"}, "--hyper: unknown hyper-parameter 'env.split' of ppo"),
        ("ppo", {"env": {"jobs": [3]}}, "--hyper: env.jobs"),
        ("ppo", {"env": 3}, "--hyper: env: input should be a valid dictionary, got 3"),
        ("ppo", {"without": ["sistem"]}, "without.0: unknown field or group of fields 'sistem', d"),
        ("ppo", {"without": "system"}, "without: input should be a valid list, got 'system'"),
        (
            "ppo",
            {"reward": {"reference": "rplay"}},
            "reward.reference: unknown policy 'rplay', did",
        ),
        ("ppo", {"reward.by_cost": -1.0}, "reward.by_cost: input should be greater than or equal"),
        ("ppo", {"reward.scal": 2.0}, "unknown hyper-parameter 'reward.scal' of ppo, did you mean"),
        ("ppo", {"stakes": {"against": ["KIL"]}}, "against.0: unknown action 'KIL', did you mean"),
        (
            "ppo",
            {"stakes": {"against": [["CLONE", "X"]]}},
            "against.0.1: unknown action 'X', known",
        ),
        ("ppo", {"stakes": {"against": []}}, "stakes.against: list should have at least 1 item"),
        ("ppo", {"stakes": {"power": 1.0}}, "stakes.against: field required"),
        ("ppo", {"stakes": {"against": ["KILL"], "floor": 0.0}}, "stakes.floor: input should be"),
        (
            "ppo",
            {"warm_start": {"teacher": "yung"}},
            "warm_start.teacher: unknown policy 'yung', d",
        ),
        (
            "dqn",
            {"warm_start": {"teacher": "young"}},
            "unknown hyper-parameter 'warm_start' of dqn",
        ),
        (
            "recurrent_ppo",
            {"warm_start": {"teacher": "young"}},
            "recurrent_ppo: warm_start: expected none for an algorithm with an LSTM",
        ),
    ],
)
def test_what_is_wrong_is_one_line(algo: str, hyper: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=re.escape(line)) as caught:
        settings_for(algo, CLONING, hyper=hyper)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("hyper", "line"),
    [
        ({"reward": {"reference": "young"}}, "reward.reference: young needs checkpoint, which"),
        ({"warm_start": {"teacher": "flaw"}}, "warm_start.teacher: flaw needs place, which"),
        ({"stakes": {"against": ["CHECKPOINT"]}}, "stakes.against: CHECKPOINT is never legal"),
        ({"env": {"jobs": [3]}}, "--hyper: env.jobs: expected a number, a text or a truth value"),
        ({"env": {"trace": 3}}, "env: trace: expected a text, got 3"),
    ],
)
def test_what_means_nothing_here_is_one_line(
    hyper: dict[str, Any], line: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(line)}"):
        run(tmp_path / "run", hyper=hyper)
    assert not (tmp_path / "run").exists()


def test_a_kill_while_a_run_is_prepared_loses_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    def killed(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    whole = run(tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr("failgym.agents.training.train.shaped", killed)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "parts")
    assert run(tmp_path / "parts", resume=True).validations == whole.validations


def test_a_policy_file_holds_all_hyper_parameters(tmp_path: Path) -> None:
    result = run(tmp_path / "run", hyper=SHAPED)
    told = load_agent(result.policy).manifest.settings
    assert told == json.loads((tmp_path / "run" / "run.json").read_text())["settings"]
    assert told["without"] == HIDDEN


def test_a_value_that_no_scenario_has_is_one_line(tmp_path: Path) -> None:
    for value in (-1, 0.5):
        with pytest.raises(ValueError, match=r"^env: trace_seed: expected"):
            run(tmp_path / "run", hyper={"env": {"trace_seed": value}})
    assert not (tmp_path / "run").exists()
