"""Agents that come with failgym load, are small, and say how they came about."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the agents extra")
pytest.importorskip("sb3_contrib", reason="needs the agents extra")

from experiments.zoo import ALGORITHM, ASKED_FOR, GENERALIST, command, main
from failgym.agents import load_agent
from failgym.agents.algorithms.settings_files import settings_for, settings_of
from failgym.agents.counterfactual.train import LEARNER
from failgym.envs import SCENARIOS
from failgym.evaluation import Anchors
from failgym.leaderboard.suite.suites import RELEASED
from tests.envs.worlds import small

ZOO = Path(__file__).parents[2] / "agents" / "zoo"
FILES = sorted(ZOO.rglob("*.safetensors"))
LARGEST = 5_000_000
"""Of all files together [bytes]."""


def algorithm_of(file: Path) -> str:
    return file.stem.rsplit("-", 1)[0]


@pytest.mark.parametrize("algorithm", [ALGORITHM, "counterfactual"])
def test_training_runs_of_an_environment_are_numbered_from_0(algorithm: str) -> None:
    seeds: dict[str, list[int]] = {}
    for file in (one for one in FILES if algorithm_of(one) == algorithm):
        seeds.setdefault(file.parent.name, []).append(int(file.stem.rpartition("-")[2]))
    assert set(RELEASED) <= set(seeds) or algorithm != ALGORITHM
    assert all(sorted(found) == list(range(len(found))) for found in seeds.values())


def test_they_are_small() -> None:
    assert sum(file.stat().st_size for file in FILES) < LARGEST


@pytest.mark.parametrize("file", FILES, ids=lambda f: f"{f.parent.name}-{f.stem}")
def test_they_say_how_they_came_about(file: Path) -> None:
    manifest = load_agent(file).manifest
    place, (algorithm, seed) = file.parent.name, file.stem.rsplit("-", 1)
    env = ASKED_FOR if place == GENERALIST else place
    assert manifest.environment.id == f"failgym/{env}"
    if place == GENERALIST:
        assert {one.id for one in manifest.environments} == {f"failgym/{name}" for name in RELEASED}
    assert "/" not in manifest.command.replace("failgym/", "")  # no folder of who trained it
    assert (manifest.algorithm, manifest.seed) == (algorithm, int(seed))
    words = shlex.split(manifest.command)
    assert words[:6] == ["failgym", "train", "--env", f"failgym/{env}", "--algo", algorithm]
    assert words[words.index("--seed") + 1] == seed
    # What they learned from is no trace that they are judged on, or the train split of one.
    for one in manifest.environments or (manifest.environment,):
        name = one.id.removeprefix("failgym/")
        learned_from = SCENARIOS[name].override(**one.fields)
        assert learned_from.split == "fit"
        assert learned_from.trace_seed not in range(1_000, 10_000)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f"{f.parent.name}-{f.stem}")
def test_their_command_and_hyper_parameters_are_those_of_now(file: Path) -> None:
    """Who types the command today trains with what they were trained with."""
    manifest = load_agent(file).manifest
    seed, algorithm, env = manifest.seed, algorithm_of(file), file.parent.name
    assert seed is not None
    if algorithm == ALGORITHM:
        assert manifest.command == command(env, seed)
        settings = settings_for(algorithm, env)
    else:
        assert manifest.command == command(env, seed, algorithm="counterfactual")
        config = GENERALIST if env == GENERALIST else None
        settings = settings_of(LEARNER, ASKED_FOR if config else env, file=config)
    # A hyper-parameter that is younger than the file had its default then.
    assert type(settings).model_validate(manifest.settings, strict=False) == settings


@pytest.mark.parametrize("env", RELEASED)
def test_they_decide(env: str) -> None:
    scenario = SCENARIOS[env].override(**small(f"failgym/{env}"))
    anchors = Anchors.of(scenario, episodes=2)
    for file in (file for file in FILES if file.parent.name in (env, GENERALIST)):
        assert np.isfinite(anchors.run(load_agent(file)).costs).all()


def test_files_are_written_anew_in_their_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ZOO / "GracePeriod-v1"
    files = [tmp_path / f"{name}-0.safetensors" for name in (ALGORITHM, "counterfactual")]
    for file in files:
        shutil.copyfile(place / file.name, file)
    main(anew=files, without_critic=True)
    for file, told in zip(files, capsys.readouterr().out.splitlines(), strict=True):
        before, now = load_agent(place / file.name), load_agent(file)
        assert now.digest == before.digest
        assert now.manifest == before.manifest.model_copy(update={"critic": False})
        assert f"now {file.stat().st_size:,}" in told
        assert file.stat().st_size < (place / file.name).stat().st_size
