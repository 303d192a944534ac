"""Digests tell what differs, and do not call equal what was not compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from experiments import digests

ENV = "failgym/Cloning-v1"
SMALL = {"jobs": 300, "slice_tasks": 4}


def digest(value: Any) -> str:
    made = digests.Digest()
    made.add("x", value)
    return str(made)


def test_names_types_and_shapes_count() -> None:
    array = np.arange(4)
    assert digest(array) == digest(array.copy())
    others = [array.astype(np.int32), array.reshape(2, 2), {"y": array}, array + 1]
    assert len({digest(array), *map(digest, others)}) == 5


def test_arrays_within_arrays_count_by_their_content() -> None:
    def held(value: float) -> Any:
        array = np.array([None, None], dtype=object)
        array[0] = np.full(3, value)
        return array

    assert digest(held(1.0)) == digest(held(1.0)) != digest(held(2.0))
    with pytest.raises(AssertionError, match="cannot digest"):
        digest(np.array([object()], dtype=object))


def test_what_is_in_one_file_only_differs() -> None:
    found = list(digests.differences({"a": "1", "b": "2"}, {"b": "3", "c": "4"}))
    assert found == [
        "differs: a: not there -> 1",
        "differs: b: 3 -> 2",
        "differs: c: 4 -> not there",
    ]


def test_nothing_is_not_equal_to_anything(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing is called nobody"):
        digests.digests({}, ["nobody"], tmp_path / "new.json")
    file = tmp_path / "old.json"
    file.write_text(json.dumps({"a": "1"}))
    with pytest.raises(Exception, match="is what it is compared with"):
        digests.main(file, against=file)
    assert json.loads(file.read_text()) == {"a": "1"}


@pytest.mark.parametrize("mode", AutoresetMode)
def test_the_last_reward_of_an_episode_counts(
    mode: AutoresetMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What happens only where an episode ends is seen, in every mode."""
    monkeypatch.setattr(digests, "BATCHED_STEPS", 30)
    before = digests.batched(ENV, SMALL, mode, 300)
    assert before.ends > 0
    assert str(digests.batched(ENV, SMALL, mode, 300)) == str(before)
    make = gym.make_vec

    def changed(*args: Any, **options: Any) -> Any:
        env: Any = make(*args, **options)
        step = env.step

        def other(actions: Any) -> Any:
            obs, rewards, ended, cut, infos = step(actions)
            return obs, rewards + ended, ended, cut, infos

        env.step = other
        return env

    monkeypatch.setattr(gym, "make_vec", changed)
    assert str(digests.batched(ENV, SMALL, mode, 300)) != str(before)
