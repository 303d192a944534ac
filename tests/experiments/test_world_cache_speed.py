"""What a kept world costs: the steps are those that the cache takes, in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.world_cache_speed import CHECKOUT, Kind, parts_of, played
from failgym.traces import generate
from failgym.world_cache import file


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    generate("google-2011", jobs=60, seed=2).save(tmp_path / "trace")
    return tmp_path / "trace"


def test_the_steps_of_keeping_a_world(stored: Path, tmp_path: Path) -> None:
    parts = parts_of("Cloning-v1", {"trace": str(stored)}, 1, tmp_path)
    kept = file.look_at(tmp_path / "measured.world")
    assert kept is not None
    assert kept.trace == str(stored)
    assert 0 < parts.size <= kept.size
    assert min(parts.sources, parts.read) > 0


def test_a_process_that_makes_an_environment(stored: Path, tmp_path: Path) -> None:
    kind = Kind("second", CHECKOUT, {"trace": str(stored)})
    wall, processor, peak = played(kind, "Cloning-v1", tmp_path / "worlds")
    assert min(wall, processor) > 0
    assert peak > 1e7
