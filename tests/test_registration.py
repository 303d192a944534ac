"""Environments are found by their files, baselines and all else that is listed likewise."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import gymnasium as gym
import pytest

import failgym
from failgym.envs import SCENARIOS
from failgym.envs.scenarios import scenario_in
from failgym.registration import environments_of
from failgym.worlds.scenario import Scenario


def test_every_scenario_is_registered_by_the_name_of_its_file() -> None:
    assert tuple(SCENARIOS) == failgym.ENVIRONMENTS
    for name in SCENARIOS:
        assert gym.spec(f"failgym/{name}").kwargs == {"scenario": name}


def test_a_new_file_is_a_new_environment(tmp_path: Path) -> None:
    for file in ("two_words", "cloning_v1", "cloning", "another"):
        (tmp_path / f"{file}.py").touch()
    names = ("Cloning-v0", "Cloning-v1", "Another-v0", "TwoWords-v0")
    assert environments_of(tmp_path) == names


@pytest.mark.parametrize("names", [(), ("Batch-v0",), ("Batch-v0", "Two-Words-v0")])
def test_a_scenario_that_is_not_named_as_its_file_is_refused(names: tuple[str, ...]) -> None:
    module = ModuleType("failgym.envs.scenarios.two_words")
    vars(module).update({name: Scenario(name=name) for name in names})
    with pytest.raises(
        ValueError, match=r"scenarios\.two_words: .* 'TwoWords-v0', got (none|Batch)"
    ):
        scenario_in(module)
    vars(module).update(TWO_WORDS=Scenario(name="TwoWords-v0"))
    assert scenario_in(module).name == "TwoWords-v0"


def test_what_policies_are_written_with_is_exported() -> None:
    for name in failgym.__all__:
        assert getattr(failgym, name) is not None
    assert failgym.Action.CLONE
