"""Where a scenario's trace comes from."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from failgym.cli import run
from failgym.envs import resolve
from failgym.traces import Trace, generate, twin
from failgym.worlds.source import whole_trace
from tests.traces.recurring import recurring

MITIGATION: dict[str, Any] = {"begin": 0, "slice_tasks": 4, "warmup": 4, "followers": 8}


@pytest.fixture(scope="module")
def trace() -> Trace:
    return generate("google-2011", jobs=150, seed=1)


@pytest.mark.parametrize("split", ["train", "test", "all"])
def test_numbers_of_a_profile_do_not_follow_to_a_trace_without_them(
    split: str, trace: Trace, tmp_path: Path
) -> None:
    """`sampling` and `longest` of Mitigation-v1 are of its profile: a stored trace has no such."""
    trace.save(tmp_path / "t")
    settings: dict[str, Any] = {**MITIGATION, "split": split}
    for given in (str(tmp_path / "t"), trace):
        env = gym.make("failgym/Mitigation-v1", trace=given, **settings)
        env.reset(seed=1)
    texts = [f"--set={name}={value}" for name, value in settings.items()]
    command = ["evaluate", "--env", "Mitigation-v1", "--policy", "replay", "--episodes", "1"]
    assert run([*command, f"--set=trace={tmp_path / 't'}", *texts]) == 0


def test_they_do_to_a_profile_that_has_them() -> None:
    scenario = resolve("Mitigation-v1", {"trace": "google-2011-failing"})
    assert (scenario.sampling, scenario.longest) == (0.05, 24 * 3_600_000)
    other = resolve("Mitigation-v1", {"trace": "lanl-2"})
    assert (other.sampling, other.longest) == (0.0, 0)


@pytest.mark.parametrize(("name", "value"), [("sampling", 0.1), ("longest", 3_600_000)])
def test_stated_for_a_trace_without_them_they_are_refused(
    name: str, value: Any, trace: Trace
) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected 0 for a trace without this"):
        gym.make("failgym/Mitigation-v1", trace=trace, **MITIGATION, **{name: value})


def test_a_path_that_comes_to_mean_another_trace_is_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same relative path in two folders, and a folder replaced by one of the same age."""
    for seed, name in enumerate(("x", "y", "z")):
        generate("google-2011", jobs=40, seed=seed).save(tmp_path / name / "t")
        for file in (tmp_path / name / "t").iterdir():
            os.utime(file, (1_577_836_800, 1_577_836_800))
    wanted = [Trace.load(tmp_path / name / "t").content_hash for name in ("x", "y", "z")]
    scenario = resolve("GracePeriod-v1", {"trace": "t", "split": "all"})
    found: list[str] = []
    for name in ("x", "y"):
        monkeypatch.chdir(tmp_path / name)
        found.append(whole_trace(scenario).content_hash)
    shutil.rmtree("t")
    shutil.copytree(tmp_path / "z" / "t", "t")  # and their times
    found.append(whole_trace(scenario).content_hash)
    assert found == wanted


def test_an_environment_plays_a_twin_of_a_record() -> None:
    record = recurring()
    options: dict[str, Any] = {"trace": record, "twin": 600, "trace_seed": 4, "split": "all"}
    scenario = resolve("failgym/GracePeriod-v1").override(**options)
    made = whole_trace(scenario)
    assert made.content_hash == twin(record, 600, 4).content_hash
    assert whole_trace(scenario) is made
    env: Any = gym.make("failgym/GracePeriod-v1", **options).unwrapped
    assert len(env.world.tasks) == made.rows("tasks")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"twin": -1}, "twin: expected at least 0, got -1"),
        ({"twin": 9}, "twin: expected 0 for a profile: jobs says how many, got 9"),
        ({"twin": 2.5}, "twin: expected int, got 2.5"),
    ],
)
def test_twins_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        resolve("failgym/GracePeriod-v1").override(**options)
