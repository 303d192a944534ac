"""`train`: what is in the folder, what it says, and what it refuses."""

from __future__ import annotations

import json
import pickle
import re
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the agents extra")
pytest.importorskip("sb3_contrib", reason="needs the agents extra")

from failgym.agents.algorithms.registry import ALGORITHMS  # noqa: E402
from failgym.agents.algorithms.settings_files import settings_for  # noqa: E402
from failgym.agents.environments.vec_env import make_sb3_env  # noqa: E402
from failgym.agents.files.policy_file import load_agent  # noqa: E402
from failgym.agents.training.actor import Actor, asked  # noqa: E402
from failgym.agents.training.random_states import random_states  # noqa: E402
from failgym.agents.training.result import NoneAcceptable  # noqa: E402
from failgym.agents.training.run_folder import RunFolder  # noqa: E402
from failgym.agents.training.train import train  # noqa: E402
from failgym.agents.training.training_settings import (  # noqa: E402
    VALIDATIONS,
    TrainingSettings,
)
from failgym.agents.training.validation import Validation, Validator  # noqa: E402
from failgym.envs import resolve  # noqa: E402
from failgym.evaluation import evaluate  # noqa: E402
from failgym.files import PARTIAL  # noqa: E402
from tests.agents.runs import CLONING, SHORT, STEPS, checkpoint, scenario, short_run  # noqa: E402


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run."""
    out = tmp_path_factory.mktemp("runs") / "run"
    short_run(out, "maskable_ppo", episodes=None, tensorboard=False)
    return out


def test_the_folder_says_what_came_out(run: Path) -> None:
    assert {file.name for file in run.iterdir()} == {
        *("run.json", "settings.yaml", "checkpoint.pt", "evaluations.json"),
        *("best.safetensors", "result.json"),
    }
    result = json.loads((run / "result.json").read_text())
    assert result["steps"] == STEPS
    assert [one["steps"] for one in result["validations"]] == [256, 512]
    assert result["validations"] == json.loads((run / "evaluations.json").read_text())
    assert result["best"] in result["validations"]
    assert result["seconds"] > result["validation_seconds"] > 0
    assert result["steps_per_second"] > 0
    assert "stable-baselines3" in result["versions"]
    assert len(result["trace_hash"]) == 64


def test_the_score_is_that_of_evaluate(run: Path) -> None:
    """Whole slices or a task at a time: the sums are the same."""
    agent = load_agent(run / "best.safetensors")
    scores = agent.manifest.scores
    assert isinstance(scores, dict)
    best: Any = scores["validation"]
    fields: dict[str, Any] = dict(agent.manifest.environment.fields)
    assert fields["split"] == "fit"
    fields["split"] = "validation"
    evaluation = evaluate(agent, resolve(CLONING, fields), split="validation")
    assert evaluation.score == pytest.approx(best["score"]) != 0.0


def test_settings_are_used_again(run: Path, tmp_path: Path) -> None:
    again = short_run(
        tmp_path / "again", "maskable_ppo", config=run / "settings.yaml", hyper={}, episodes=None
    )
    assert again.to_json()["validations"] == json.loads((run / "evaluations.json").read_text())


def test_a_finished_run_is_only_read(run: Path) -> None:
    before = (run / "result.json").stat().st_mtime_ns
    result = short_run(run, "maskable_ppo", episodes=None, resume=True)
    assert result.to_json() == json.loads((run / "result.json").read_text())
    assert result.policy == run / "best.safetensors"
    assert (run / "result.json").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"steps": 640}, "steps=512, and now 640"),
        ({"seed": 1}, "seed=0, and now 1"),
        ({"n_envs": 16}, "settings.n_envs=8, and now 16"),
        ({"algo": "ppo"}, 'algo="maskable_ppo", and now "ppo"'),
        ({"env": "failgym/GracePeriod-v1"}, 'env="failgym/Cloning-v1", and now'),
        ({"split": "train"}, 'fields.split="fit", and now'),
        ({"keep": "stochastic"}, 'keep="deterministic", and now "stochastic"'),
        (
            {"hyper": {**SHORT["maskable_ppo"], "batch_size": 32, "policy.net_arch": [8]}},
            "settings.batch_size=64, and now 32",
        ),
    ],
)
def test_another_run_is_not_gone_on_with(run: Path, options: dict[str, Any], line: str) -> None:
    given: dict[str, Any] = {"algo": "maskable_ppo", "episodes": None, **options}
    with pytest.raises(ValueError, match=re.escape(line)):
        short_run(run, **given, resume=True)


def test_folders_that_are_not_for_this(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds a training run: go on with it with --resume"):
        short_run(run)
    with pytest.raises(ValueError, match="no training run to go on with"):
        short_run(tmp_path / "none", resume=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(ValueError, match="exists already: expected a new folder"):
        short_run(tmp_path / "other")
    (tmp_path / "other" / "run.json").write_text('{"format": "something"}')
    with pytest.raises(ValueError, match=r"run\.json: not a training run"):
        short_run(tmp_path / "other", resume=True)
    assert {file.name for file in tmp_path.rglob("*")} == {"other", "letter.txt", "run.json"}


def test_a_finished_run_whose_files_were_changed_is_refused(run: Path, tmp_path: Path) -> None:
    for file in run.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    options: dict[str, Any] = {"algo": "maskable_ppo", "episodes": None, "resume": True}
    result = json.loads((run / "result.json").read_text())
    (tmp_path / "result.json").write_text(json.dumps({**result, "best": {}}))
    with pytest.raises(ValueError, match=r"result\.json: best\.steps: field required"):
        short_run(tmp_path, **options)
    (tmp_path / "result.json").write_text(json.dumps({**result, "steps": "many"}))
    with pytest.raises(ValueError, match=r"result\.json: steps: input should be a valid integer"):
        short_run(tmp_path, **options)
    (tmp_path / "result.json").write_text(json.dumps({**result, "steps": "5"}))
    with pytest.raises(ValueError, match=r"result\.json: steps: input should be a valid integer"):
        short_run(tmp_path, **options)
    more = {**result, "best": {**result["best"], "extra": 1}}
    (tmp_path / "result.json").write_text(json.dumps(more))
    with pytest.raises(ValueError, match=r"result\.json: best\.extra: unexpected"):
        short_run(tmp_path, **options)
    (tmp_path / "best.safetensors").unlink()
    with pytest.raises(ValueError, match=r"best\.safetensors: no such file"):
        short_run(tmp_path, **options)


def test_what_a_kill_left_of_a_beginning_is_no_run(tmp_path: Path) -> None:
    (tmp_path / PARTIAL.replace("*", "123")).write_text("{")
    RunFolder(tmp_path).check_new()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"steps": 0}, "steps: expected a whole number, at least 1, got 0"),
        ({"seed": -1}, "seed: expected a whole number, 0 to 4294967295, got -1"),
        ({"seed": 2**32}, "seed: expected a whole number, 0 to 4294967295, got 4294967296"),
        ({"threads": -1}, "threads: expected"),
        ({"threads": 100_000}, "threads: expected a whole number, 0 to 1024, got 100000"),
        ({"validate_every": 0}, "validate_every: expected"),
        ({"checkpoint_every": 0}, "checkpoint_every: expected"),
        ({"episodes": 0}, "episodes: expected"),
        ({"split": "test"}, "split: expected 'fit' or 'train', got 'test'"),
        ({"keep": "all"}, "keep: expected one of deterministic, stochastic, got 'all'"),
        ({"episodes": 1, "seed": 3}, "validation split: nothing to gain here"),
    ],
)
def test_bad_input_leaves_no_folder(options: dict[str, Any], line: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(line)):
        short_run(tmp_path / "run", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [MemoryError, RuntimeError, OSError])
def test_what_cannot_be_prepared_leaves_no_folder(
    error: type[Exception], tmp_path: Path, monkeypatch: Any
) -> None:
    """The corrected command is not told to go on with a run that never was."""

    def fails(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("failgym.agents.training.train.make_sb3_env", fails)
    with pytest.raises(error):
        short_run(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_counts_may_be_those_of_numpy(tmp_path: Path) -> None:
    counts: dict[str, Any] = {
        "steps": np.int64(STEPS),
        "seed": np.int64(0),
        "episodes": np.int64(50),
    }
    result = short_run(tmp_path / "run", validate_every=np.int64(256), **counts)
    assert result.steps == STEPS
    for command in (5, Path("train")):
        with pytest.raises(ValueError, match="command: expected a text, got"):
            short_run(tmp_path / "other", command=command)
    hyper = {"surrogate.weight_completion": float("nan")}
    with pytest.raises(ValueError, match=r"surrogate.*expected a finite number, got nan"):
        train("Workflow-v1", tmp_path / "other", TrainingSettings(steps=1, hyper=hyper))
    with pytest.raises(ValueError, match=r"seed: expected a whole number, .*too long to show"):
        short_run(tmp_path / "other", seed=10**5_000)
    assert {file.name for file in tmp_path.iterdir()} == {"run"}


def test_what_is_no_environment_or_folder_is_one_line(tmp_path: Path) -> None:
    for env in (5, None):
        with pytest.raises(ValueError, match="environment: expected a name or a scenario, got"):
            train(cast(Any, env), tmp_path / "run", TrainingSettings(steps=1))
    with pytest.raises(ValueError, match="out: expected the path of a folder, got None"):
        train(scenario(), cast(Any, None), TrainingSettings(steps=1))


def test_a_damaged_checkpoint_is_refused(run: Path, tmp_path: Path) -> None:
    for file in run.iterdir():
        if file.name != "result.json":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    checkpoint = tmp_path / "checkpoint.pt"
    whole = checkpoint.read_bytes()
    options: dict[str, Any] = {"algo": "maskable_ppo", "episodes": None, "resume": True}
    damaged = (whole[: len(whole) // 2], b"", b"\x80\x02\x85.")
    for content in (*damaged, pickle.dumps({"format": "failgym checkpoint"})):
        checkpoint.write_bytes(content)
        with pytest.raises(ValueError, match=r"checkpoint\.pt: (not a checkpoint|format version)"):
            short_run(tmp_path, **options)


def test_a_checkpoint_without_a_part_names_it(run: Path, tmp_path: Path) -> None:
    for file in run.iterdir():
        if file.name != "result.json":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    options: dict[str, Any] = {"algo": "maskable_ppo", "episodes": None, "resume": True}
    whole = checkpoint(tmp_path)
    torch.save({n: part for n, part in whole.items() if n != "log"}, tmp_path / "checkpoint.pt")
    with pytest.raises(ValueError, match=r"checkpoint\.pt: damaged: there is no 'log'"):
        short_run(tmp_path, **options)
    for wrong in ("many", float("nan"), True):
        whole["model"]["counters"]["num_timesteps"] = wrong
        torch.save(whole, tmp_path / "checkpoint.pt")
        with pytest.raises(ValueError, match=r"num_timesteps is .*, expected a number"):
            short_run(tmp_path, **options)
    del whole["model"]["counters"]
    torch.save(whole, tmp_path / "checkpoint.pt")
    with pytest.raises(ValueError, match=r"damaged: there is no 'counters'"):
        short_run(tmp_path, **options)


@pytest.mark.parametrize("part", ["episodes", "tally", "policy", "best_policy"])
def test_the_best_agent_stays_if_a_checkpoint_is_of_something_else(
    part: str, run: Path, tmp_path: Path
) -> None:
    for file in run.iterdir():
        if file.name != "result.json":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    best = tmp_path / "best.safetensors"
    best.write_bytes(best.read_bytes() + b" ")  # as nobody would write it
    before = best.read_bytes()
    options: dict[str, Any] = {"algo": "maskable_ppo", "episodes": None, "resume": True}
    content = checkpoint(tmp_path)
    holder = content["log"] if part == "best_policy" else content["model"]
    for name, tensor in holder[part].items():
        if isinstance(tensor, torch.Tensor):
            holder[part][name] = tensor[:0]
    torch.save(content, tmp_path / "checkpoint.pt")
    with pytest.raises(ValueError, match=r"checkpoint\.pt: "):
        short_run(tmp_path, **options)
    assert best.read_bytes() == before


def test_tensorboard_is_told_how_training_goes(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="writes for TensorBoard")
    accumulator: Any = import_module("tensorboard.backend.event_processing.event_accumulator")
    short_run(tmp_path / "run", tensorboard=True)
    read = accumulator.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    read.Reload()
    tags = set(read.Tags()["scalars"])
    assert {"validation/score", "rollout/ep_rew_mean", "train/loss", "time/fps"} <= tags
    assert [event.step for event in read.Scalars("validation/score")] == [256, 512]
    evaluations = json.loads((tmp_path / "run" / "evaluations.json").read_text())
    scores = [event.value for event in read.Scalars("validation/score")]
    assert scores == pytest.approx([one["score"] for one in evaluations], abs=1e-4)


def test_without_tensorboard_it_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("failgym.agents.training.training_settings.find_spec", {}.get)
    with pytest.raises(ValueError, match="tensorboard: is not installed: pip install tensorboard"):
        short_run(tmp_path / "run", tensorboard=True)
    assert not (tmp_path / "run").exists()


class _Harmful:
    """Would show that it was made."""

    def __reduce__(self) -> Any:
        return print, ("executed",)


def test_nothing_in_a_checkpoint_executes(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in ("run.json", "settings.yaml"):
        (tmp_path / file).write_bytes((run / file).read_bytes())
    torch.save(
        {"format": "failgym checkpoint", "version": 2, "log": _Harmful()},
        tmp_path / "checkpoint.pt",
    )
    with pytest.raises(ValueError, match="not a checkpoint"):
        short_run(tmp_path, "maskable_ppo", episodes=None, resume=True)
    assert "executed" not in capsys.readouterr().out


def test_training_that_diverges_says_so(tmp_path: Path) -> None:
    hyper = {"n_steps": 16, "batch_size": 64, "learning_rate": 1e30, "max_grad_norm": 1e30}
    with pytest.raises(ValueError, match=r"training diverged within (128|256) steps"):
        short_run(tmp_path / "run", hyper=hyper)


@pytest.mark.parametrize("algo", ["ppo", "maskable_ppo"])
def test_the_fast_actor_answers_as_the_model(algo: str) -> None:
    fast_and_slow: list[Any] = []
    env = make_sb3_env(scenario(), 64, seed=0)
    hyper = {"n_steps": 16, "batch_size": 64, "policy.initial_bias": 0}
    model: Any = ALGORITHMS[algo].build(settings_for(algo, CLONING, hyper=hyper, n_envs=64), env, 0)
    fast = asked(model, 0)
    assert isinstance(fast, Actor)
    obs = env.reset()
    more = {"action_masks": env.masks} if algo == "maskable_ppo" else {}
    for policy in (fast, model):
        fast_and_slow.append(policy.predict(obs, deterministic=True, **more)[0])
    assert np.array_equal(*fast_and_slow)
    for policy in (fast, model):
        drawn = [policy.predict(obs, deterministic=False, **more)[0] for _ in range(400)]
        fast_and_slow.append(np.stack([(np.stack(drawn) == a).mean() for a in range(5)]))
    assert fast_and_slow[2] == pytest.approx(fast_and_slow[3], abs=0.02)


def test_scoring_leaves_training_as_it_was() -> None:
    algorithm = ALGORITHMS["ppo"]
    env = make_sb3_env(scenario(), 8, seed=0)
    settings = settings_for("ppo", CLONING, hyper={"n_steps": 16, "batch_size": 64}, n_envs=8)
    model = algorithm.build(settings, env, 0)
    validator = Validator(resolve(scenario()), algorithm, seed=0, episodes=50)
    state = torch.get_rng_state(), random_states(model.action_space)["numpy"]["keys"].tolist()
    first, second = validator.validate(model), validator.validate(model)
    assert first == second
    assert torch.equal(state[0], torch.get_rng_state())
    assert state[1] == random_states(model.action_space)["numpy"]["keys"].tolist()


def test_who_is_asked_without_end_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no patience every agent is overruled at once, and scores what replay does."""
    monkeypatch.setattr("failgym.agents.training.validation.PATIENCE", 0)
    with pytest.raises(NoneAcceptable, match="every agent of this run was asked more than"):
        short_run(tmp_path / "run", "maskable_ppo")
    found = json.loads((tmp_path / "run" / "evaluations.json").read_text())
    assert [(one["overruled"], one["score"], one["stochastic"]) for one in found] == [
        (True, 0, 0)
    ] * 2
    assert not (tmp_path / "run" / "best.safetensors").exists()
    assert not (tmp_path / "run" / "result.json").exists()


def test_what_is_kept_is_the_best_by_the_score_that_is_asked_for() -> None:
    early = Validation(steps=1, score=0.0, low=0.0, high=0.0, stochastic=3.0)
    later = Validation(steps=2, score=0.0, low=0.0, high=0.0, stochastic=5.0)
    sharp = Validation(steps=3, score=1.0, low=0.0, high=0.0, stochastic=2.0)
    assert max((early, later, sharp), key=lambda v: v.rank("deterministic")) is sharp
    assert max((early, later, sharp), key=lambda v: v.rank("stochastic")) is later
    assert max((early, later), key=lambda v: v.rank("deterministic")) is later


def test_a_tenth_of_the_steps_lies_between_two_scores(tmp_path: Path) -> None:
    result = short_run(tmp_path / "run", validate_every=None, checkpoint_every=None, steps=1_280)
    assert len(result.validations) == VALIDATIONS
    assert RunFolder(tmp_path / "run").described()["validate_every"] == 128
