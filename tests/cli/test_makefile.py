"""The Makefile: an environment whose set-up was interrupted is set up again."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]


def plan(folder: Path) -> str:
    """What `make demo` would do there."""
    done = subprocess.run(
        ["make", "--dry-run", "demo"], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_an_interrupted_set_up_starts_again(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(TOP / name, tmp_path)
    binaries = tmp_path / ".venv" / "bin"
    binaries.mkdir(parents=True)
    for name in ("python", "pip"):
        (binaries / name).touch()
    assert "-m venv --clear .venv" in plan(tmp_path)
    (tmp_path / ".venv" / "venv.stamp").touch()
    assert "-m venv" not in plan(tmp_path)
    assert "install" in plan(tmp_path)
    later = os.stat(tmp_path / ".venv" / "venv.stamp").st_mtime + 60
    (tmp_path / ".venv" / "demo.stamp").touch()
    os.utime(tmp_path / ".venv" / "demo.stamp", (later, later))
    assert "install" not in plan(tmp_path)
