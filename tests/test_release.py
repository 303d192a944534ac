"""What `make release-check` refuses, and that it uploads nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from failgym import __version__
from tests.pages import TOP
from tests.release import (
    content_problems,
    metadata_problems,
    stated_versions,
    tree_problems,
    version_problems,
)

STATED = ("failgym/__init__.py", "CITATION.cff", "docs/cite.md", "CHANGELOG.md")
PROJECT = {
    "name": "failgym",
    "dependencies": ["numpy>=2"],
    "optional-dependencies": {"plots": ["matplotlib"]},
}
METADATA = (
    f"Name: failgym\nVersion: {__version__}\nLicense-Expression: MIT\nRequires-Dist: numpy>=2\n"
    "Requires-Dist: matplotlib; extra == 'plots'\nProvides-Extra: plots\n"
)


def test_one_version_stands_everywhere() -> None:
    stated = stated_versions(TOP)
    assert tuple(stated) == STATED
    assert not list(version_problems(stated))


@pytest.mark.parametrize("name", STATED[1:])
def test_another_version_is_named(tmp_path: Path, name: str) -> None:
    for each in STATED:
        (tmp_path / each).parent.mkdir(exist_ok=True)
        shutil.copy(TOP / each, tmp_path / each)
    text = (TOP / name).read_text("utf-8")
    (tmp_path / name).write_text(text.replace(__version__, "9.9", 1), "utf-8")
    (problem,) = version_problems(stated_versions(tmp_path))
    assert problem == f"{name}: expected version {__version__}, found 9.9"


def test_a_changelog_that_calls_it_unreleased_is_refused(tmp_path: Path) -> None:
    for each in STATED:
        (tmp_path / each).parent.mkdir(exist_ok=True)
        shutil.copy(TOP / each, tmp_path / each)
    text = (TOP / "CHANGELOG.md").read_text("utf-8")
    heading = f"## {__version__}\n"
    assert heading in text
    later = text.replace(heading, f"## {__version__} (unreleased)\n")
    (tmp_path / "CHANGELOG.md").write_text(later, "utf-8")
    (problem,) = version_problems(stated_versions(tmp_path))
    assert problem == f"CHANGELOG.md: expected version {__version__}, found none"


def test_what_is_not_committed_is_named(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    assert not list(tree_problems(tmp_path))
    (tmp_path / "left_over.py").touch()
    assert list(tree_problems(tmp_path)) == ["not committed: left_over.py"]


def test_what_an_archive_lacks_or_holds_beside_is_named() -> None:
    tracked = {"README.md", "agents/a.py", "failgym/agents", "failgym/b.py"}
    whole = {"README.md", "failgym/agents/a.py", "failgym/b.py", "PKG-INFO"}
    assert not list(content_problems(whole, tracked))
    assert list(content_problems(whole - {"failgym/agents/a.py"}, tracked)) == [
        "lacks failgym/agents/a.py"
    ]
    assert list(content_problems(whole | {"failgym/secret.env"}, tracked)) == [
        "holds failgym/secret.env, which is not in the repository"
    ]


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("Name: failgym", "Name: failsafe", "Name"),
        (f"Version: {__version__}", "Version: 9.9", "Version"),
        ("MIT", "GPL-3.0-only", "License-Expression"),
        ("Requires-Dist: numpy>=2\n", "", "dependencies"),
        ("Provides-Extra: plots\n", "", "extras"),
    ],
)
def test_metadata_that_differs_is_named(before: str, after: str, named: str) -> None:
    assert not list(metadata_problems(METADATA.encode(), PROJECT, __version__))
    changed = METADATA.replace(before, after)
    (problem,) = metadata_problems(changed.encode(), PROJECT, __version__)
    assert problem.startswith(named)


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_target_checks_everything_and_uploads_nothing() -> None:
    plan = subprocess.run(
        ["make", "--dry-run", "release-check"], cwd=TOP, capture_output=True, text=True, check=True
    ).stdout
    order = [plan.index(word) for word in ("pyright", "-m pytest", "mkdocs build", "tests.release")]
    assert order == sorted(order)
    assert "upload" not in plan
