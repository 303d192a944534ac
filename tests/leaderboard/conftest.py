"""A sound submission, and a copy to be changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from failgym.leaderboard import Entry
from tests.leaderboard.boards import baseline, submit


@pytest.fixture(scope="package")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of two policies that played."""
    folder = tmp_path_factory.mktemp("board") / "sound"
    submit(folder, baseline("replay"), baseline("random"))
    return folder


@pytest.fixture(scope="package")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of one that failed, and one that played."""
    folder = tmp_path_factory.mktemp("board") / "failed"
    command = ("false",)
    dead = Entry("dead", "code", {"GracePeriod-v1": "mine:Dead"})
    submit(folder, dead, baseline("random"), policy_command=command)
    return folder


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "copy"))
