"""What is trained on, and from where: the groups of hyper-parameters that no algorithm knows."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

torch = pytest.importorskip("torch", reason="needs the agents extra")
pytest.importorskip("sb3_contrib", reason="needs the agents extra")

from failgym.agents.algorithms.settings_files import settings_for  # noqa: E402
from failgym.agents.files.policy_file import load_agent  # noqa: E402
from failgym.agents.training.training_settings import TrainingSettings  # noqa: E402
from failgym.envs import SCENARIOS, varying_fields  # noqa: E402
from failgym.evaluation import evaluate  # noqa: E402
from failgym.sim.shared.fields import FIELDS  # noqa: E402
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
        result = run(tmp_path / "run", hyper={"env": {"trace_seed": 7, "spare_attempts": 9}})
        fields = load_agent(result.policy).manifest.environment.fields
        assert (fields["trace_seed"], fields["spare_attempts"]) == (7, 9)
        told = json.loads((tmp_path / "run" / "run.json").read_text())
        assert told["fields"] == fields
        other = run(tmp_path / "other", hyper={"env": {"trace_seed": 8, "spare_attempts": 9}})
        assert other.trace_hash != result.trace_hash

    def test_what_was_asked_for_wins(self, tmp_path: Path) -> None:
        assert scenario().jobs != SCENARIOS["Cloning-v1"].jobs
        result = run(tmp_path / "run", hyper={"env.jobs": 90, "env.trace_seed": 7})
        fields = load_agent(result.policy).manifest.environment.fields
        assert (fields["jobs"], fields["trace_seed"]) == (scenario().jobs, 7)

    def test_what_was_asked_for_by_name_wins(self, tmp_path: Path) -> None:
        hyper = {"env.spare_attempts": 9, "env.trace_seed": 7}
        result = run(tmp_path / "run", hyper=hyper, asked_for=["spare_attempts"])
        fields = load_agent(result.policy).manifest.environment.fields
        assert "spare_attempts" not in fields
        assert fields["trace_seed"] == 7

    def test_what_is_test_remains_so(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="unknown field of a scenario 'boundary'"):
            run(tmp_path / "run", hyper={"env": {"boundary": 0.95}})

    def test_a_run_with_others_is_not_gone_on_with(self, tmp_path: Path) -> None:
        run(tmp_path / "run", hyper={"env": {"trace_seed": 7}})
        with pytest.raises(ValueError, match=r"fields\.trace_seed=7, and now 8 is asked"):
            run(tmp_path / "run", hyper={"env": {"trace_seed": 8}}, resume=True)


def test_a_surrogate_is_learned_from_and_not_scored_with(tmp_path: Path) -> None:
    options: dict[str, Any] = {"env": "failgym/Lineage-v1", "n_envs": 2, "episodes": None}
    plain = run(tmp_path / "plain", hyper={"n_steps": 64}, **options)
    surrogate = {"completion": "tasks", "weight_completion": 0.0, "weight_wasted": 1.0}
    hyper = {"n_steps": 64, "surrogate": surrogate, "credit": {"scale": 2.0}}
    result = run(tmp_path / "run", hyper=hyper, **options)
    assert weights_of(result, tmp_path / "run").tobytes() != (
        weights_of(plain, tmp_path / "plain").tobytes()
    )
    manifest = load_agent(result.policy).manifest
    assert "completion" not in manifest.environment.fields
    scored = evaluate(load_agent(result.policy), scenario("failgym/Lineage-v1"), split="validation")
    assert scored.score == pytest.approx(result.best.score)
    for name in ("boundary", "trace_seed", "jobs"):  # they would change what is learned from
        with pytest.raises(ValueError, match=f"surrogate: unknown field of a surrogate '{name}'"):
            run(tmp_path / "bad", hyper={"surrogate": {name: 0.999}})
    with pytest.raises(ValueError, match=r"^surrogate: weight_wasted"):
        run(tmp_path / "bad", hyper={"surrogate": {"weight_wasted": -1.0}})


class TestFieldsThatAreShown:
    @pytest.mark.parametrize("shown", ["varying", "all"])
    def test_an_agent_learns_from_these(self, shown: Any, tmp_path: Path) -> None:
        result = run(tmp_path / "run", hyper={"without": HIDDEN}, fields=shown)
        groups = {field.name: field.group for field in FIELDS}
        wanted = groups if shown == "all" else varying_fields(scenario())
        left = tuple(f for f in wanted if f not in HIDDEN and groups[f] not in HIDDEN)
        assert 0 < len(left) < len(tuple(wanted))
        assert load_agent(result.policy).manifest.fields == left
        last = checkpoint(tmp_path / "run")["model"]["policy"]
        for name in ("mlp_extractor.policy_net.0.weight", "mlp_extractor.value_net.0.weight"):
            assert last[name].shape == (8, len(left))

    def test_it_is_scored_as_its_file_plays(self, tmp_path: Path) -> None:
        result = run(tmp_path / "run")
        scored = evaluate(
            load_agent(result.policy), scenario().override(slice_tasks=1), split="validation"
        )
        assert scored.score == pytest.approx(result.best.score)

    def test_a_run_with_others_is_not_gone_on_with(self, tmp_path: Path) -> None:
        run(tmp_path / "run")
        with pytest.raises(ValueError, match='fields_shown="varying", and now "all" is'):
            run(tmp_path / "run", fields="all", resume=True)

    def test_one_at_least_is_shown(self, tmp_path: Path) -> None:
        hyper = {"without": sorted({field.group for field in FIELDS})}
        with pytest.raises(ValueError, match=r"^without: leaves no field of the observation$"):
            run(tmp_path / "run", hyper=hyper)
        assert not (tmp_path / "run").exists()

    def test_another_word_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"^fields: expected one of varying, all, got 'some'"):
            TrainingSettings(fields=cast(Any, "some"))


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
    with pytest.raises(ValueError, match=f"{name}: expected none in Mitigation-v1"):
        run(tmp_path / "run", hyper={name: SHAPED[name]}, env="failgym/Mitigation-v1")
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
        ({"env": {"decide": 3}}, "env: decide: expected a text, got 3"),
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
