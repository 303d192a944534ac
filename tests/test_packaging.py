"""What is published works where it is installed: wheel and sdist, outside of the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.pages import README, TOP


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command that must succeed, free of the caller's Python path; return what it printed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(out: Path, *targets: str) -> None:
    """Build from the repository, with the installed hatchling so that no network is needed."""
    run(sys.executable, "-m", "build", "--no-isolation", *targets, "--outdir", out, TOP, cwd=out)


def modules(folder: Path, prefix: str) -> set[str]:
    """The files of a folder of the repository, under the name they have in an archive."""
    paths = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    return {f"{prefix}/{path.relative_to(folder)}" for path in paths if path.is_file()}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel that was built from that sdist alone."""
    out = tmp_path_factory.mktemp("dist")
    build(out)
    return out


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    return next(dist.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts folder of an environment that holds the wheel and, behind it, its dependencies.

    The dependencies are those of the running environment: a path entry does not process the `.pth`
    files there, so that an editable failgym stays out of sight.
    """
    home = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=home)
    layout = {"base": str(home), "platbase": str(home)}
    scripts = Path(sysconfig.get_path("scripts", "venv", vars=layout))
    site = Path(sysconfig.get_path("purelib", "venv", vars=layout))
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python")
    install = ("install", "--quiet", "--no-compile", "--no-deps", "--no-index", wheel)
    run(*pip, scripts / "python", *install, cwd=home)
    dependencies = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (site / "dependencies.pth").write_text("\n".join(dependencies) + "\n", encoding="utf-8")
    return scripts


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A user's own project: it has folders named like the two at the top of the repository."""
    for name in ("agents", "baselines"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('not this one')\n")
    return tmp_path


def test_wheel_holds_the_library_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder in ("baselines", "agents"):
        assert modules(TOP / folder, f"failgym/{folder}") <= names
    assert "failgym/py.typed" in names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"failgym"}


def test_sdist_holds_real_files_where_the_repository_has_links(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        members = {name.partition("/")[2]: archive.getmember(name) for name in archive.getnames()}
    assert all(member.isfile() for member in members.values())
    for folder in ("baselines", "agents"):
        assert modules(TOP / folder, f"failgym/{folder}") <= members.keys()
    assert not any(name.startswith(("experiments/", "tests/")) for name in members)
    linked = {link.partition("#")[0] for link in README.links if ":" not in link} - {""}
    assert linked <= members.keys()


def test_sdist_and_repository_build_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    build(tmp_path, "--wheel")
    assert next(tmp_path.glob("*.whl")).read_bytes() == wheel.read_bytes()


def test_wheel_is_imported_beside_folders_of_the_same_names(
    installed: Path, elsewhere: Path
) -> None:
    for name in ("failgym", "failgym.baselines", "failgym.agents"):
        code = f"import {name} as module; print(module.__file__)"
        place = Path(run(installed / "python", "-c", code, cwd=elsewhere).strip())
        assert place.is_relative_to(installed.parent)


def test_command_runs_from_the_wheel(installed: Path, elsewhere: Path) -> None:
    assert "failgym/Cloning-v1" in run(installed / "failgym", "envs", cwd=elsewhere)
