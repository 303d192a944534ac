"""Environments are found by their files, baselines and all else that is listed likewise."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym

import failgym
from failgym.envs import SCENARIOS
from failgym.registration import environments_of


def test_every_scenario_is_registered_by_the_name_of_its_file() -> None:
    assert tuple(SCENARIOS) == failgym.ENVIRONMENTS
    for name in SCENARIOS:
        assert gym.spec(f"failgym/{name}").kwargs == {"scenario": name}


def test_a_new_file_is_a_new_environment(tmp_path: Path) -> None:
    for file in ("two_words", "cloning_v1", "cloning", "another"):
        (tmp_path / f"{file}.py").touch()
    names = ("Cloning-v0", "Cloning-v1", "Another-v0", "TwoWords-v0")
    assert environments_of(tmp_path) == names


def test_what_policies_are_written_with_is_exported() -> None:
    for name in failgym.__all__:
        assert getattr(failgym, name) is not None
    assert failgym.Action.CLONE
