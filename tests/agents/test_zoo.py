"""Agents that come with failgym load, are small, and say how they came about."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the agents extra")
pytest.importorskip("sb3_contrib", reason="needs the agents extra")

from experiments.zoo import command
from failgym.agents import load_agent
from failgym.agents.algorithms.settings_files import settings_for
from failgym.envs import SCENARIOS
from failgym.evaluation import Anchors
from failgym.leaderboard.suite.suites import RELEASED
from tests.envs.worlds import small

ZOO = Path(__file__).parents[2] / "agents" / "zoo"
FILES = sorted(ZOO.rglob("*.safetensors"))
LARGEST = 5_000_000
"""Of all files together [bytes]."""


def test_there_is_one_of_each_released_environment() -> None:
    assert Counter(file.parent.name for file in FILES) == dict.fromkeys(RELEASED, 1)


def test_they_are_small() -> None:
    assert sum(file.stat().st_size for file in FILES) < LARGEST


@pytest.mark.parametrize("file", FILES, ids=lambda f: f"{f.parent.name}-{f.stem}")
def test_they_say_how_they_came_about(file: Path) -> None:
    manifest = load_agent(file).manifest
    env, (algorithm, seed) = file.parent.name, file.stem.rsplit("-", 1)
    assert manifest.environment.id == f"failgym/{env}"
    assert (manifest.algorithm, manifest.seed) == (algorithm, int(seed))
    words = shlex.split(manifest.command)
    assert words[:6] == ["failgym", "train", "--env", f"failgym/{env}", "--algo", algorithm]
    assert words[words.index("--seed") + 1] == seed
    # What they learned from is no trace that they are judged on, or the train split of one.
    learned_from = SCENARIOS[env].override(**manifest.environment.fields)
    assert learned_from.split == "fit"
    assert learned_from.trace_seed not in range(1_000, 10_000)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f"{f.parent.name}-{f.stem}")
def test_their_command_and_hyper_parameters_are_those_of_now(file: Path) -> None:
    """Who types the command today trains with what they were trained with."""
    manifest = load_agent(file).manifest
    assert manifest.command == command(file.parent.name, int(file.stem.rsplit("-", 1)[1]))
    settings = settings_for(manifest.algorithm, file.parent.name)
    assert manifest.settings == settings.model_dump(mode="json")


@pytest.mark.parametrize("env", RELEASED)
def test_they_decide(env: str) -> None:
    scenario = SCENARIOS[env].override(**small(f"failgym/{env}"))
    anchors = Anchors.of(scenario, episodes=2)
    agent = load_agent(next(file for file in FILES if file.parent.name == env))
    assert np.isfinite(anchors.run(agent).costs).all()
