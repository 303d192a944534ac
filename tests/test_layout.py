"""The shape of the repository: the two links, what may be imported where, what must agree."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import failgym

TOP = Path(__file__).parents[1]
LINKS = ("baselines", "agents")
LIBRARY = ("failgym", *LINKS)
# Modules whose readers execute what a file tells them to.
EXECUTING = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}


def sources(*folders: str) -> Iterator[Path]:
    """Every Python file once: the links are not followed."""
    for folder in folders:
        for path in sorted((TOP / folder).rglob("*.py")):
            if not any(parent.is_symlink() for parent in path.parents):
                yield path


def trees(folders: tuple[str, ...], words: set[str]) -> Iterator[tuple[Path, ast.AST]]:
    """Every file that has one of the words anywhere; to parse all takes seconds."""
    for path in sources(*folders):
        text = path.read_text(encoding="utf-8")
        if any(word in text for word in words):
            yield path, ast.parse(text)


def imported(tree: ast.AST) -> Iterator[str]:
    """The absolute module names that a file imports, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def offences(folders: tuple[str, ...], banned: set[str]) -> list[str]:
    """The imports of banned top-level modules, as `file: module`."""
    return [
        f"{path.relative_to(TOP)}: {name}"
        for path, tree in trees(folders, banned)
        for name in imported(tree)
        if name.partition(".")[0] in banned
    ]


def ruff(source: str, name: str) -> str:
    """What the repository's lint says about a file of that name."""
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format=concise"]
    command += ["--stdin-filename", name, "-"]
    return subprocess.run(command, cwd=TOP, input=source, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", LINKS)
def test_public_name_is_a_relative_link_to_the_top_folder(name: str) -> None:
    link = TOP / "failgym" / name
    assert link.is_symlink()
    assert link.readlink() == Path("..") / name
    assert (TOP / name / "__init__.py").is_file()


@pytest.mark.skipif(not (TOP / ".git").exists(), reason="not a git checkout")
@pytest.mark.parametrize("name", LINKS)
def test_link_is_committed_as_a_link(name: str) -> None:
    command = ["git", "ls-files", "--stage", f"failgym/{name}"]
    staged = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True).stdout
    assert staged.startswith("120000 ")


def test_nothing_imports_the_top_folders_by_their_own_names() -> None:
    assert offences((*LIBRARY, "experiments", "tests"), set(LINKS)) == []


def test_library_imports_nothing_that_executes_what_it_loads() -> None:
    assert offences(LIBRARY, EXECUTING) == []


def test_library_never_evaluates_text_or_loads_pickled_arrays() -> None:
    found: list[str] = []
    for path, tree in trees(LIBRARY, {"eval", "exec", "allow_pickle"}):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.id if isinstance(node.func, ast.Name) else ""
            pickled = any(
                keyword.arg == "allow_pickle"
                and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
                for keyword in node.keywords
            )
            if called in {"eval", "exec"} or pickled:
                found.append(f"{path.relative_to(TOP)}:{node.lineno}")
    assert found == []


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("import baselines", "TID251"),
        ("from agents.store import load", "TID251"),
        ("import numpy as np\n\nnp.random.seed(1)", "NPY002"),
        ('eval("1")', "S307"),
        ('import pickle\n\npickle.loads(b"")', "S301"),
    ],
)
def test_lint_catches(statement: str, rule: str) -> None:
    assert rule in ruff(statement + "\n", "failgym/example.py")


def test_lint_allows_the_public_names() -> None:
    assert "TID251" not in ruff("import failgym.baselines\n", "failgym/example.py")


def test_importing_failgym_imports_nothing_heavy() -> None:
    heavy = {"numba", "pandas", "pyarrow", "sklearn", "stable_baselines3", "torch"}
    code = f"import sys, failgym; print(sorted({heavy!r} & set(sys.modules)))"
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_constraints_pin_every_requirement(project: dict[str, Any]) -> None:
    lines = (TOP / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert all(str(pin.specifier).startswith("==") for pin in pins)
    pinned = {canonicalize_name(pin.name): str(pin.specifier)[2:] for pin in pins}
    extras: dict[str, list[str]] = project["project"]["optional-dependencies"]
    extras = {name: lines for name, lines in extras.items() if not name.startswith("clients")}
    for line in [*project["project"]["dependencies"], *(x for xs in extras.values() for x in xs)]:
        wanted = Requirement(line)
        if wanted.name != "failgym" and (wanted.marker is None or wanted.marker.evaluate()):
            assert pinned[canonicalize_name(wanted.name)] in wanted.specifier, line


def test_clients_are_not_bound_by_what_failgym_is_developed_with(project: dict[str, Any]) -> None:
    extras: dict[str, list[str]] = project["project"]["optional-dependencies"]
    groups = {name for name in extras if name.startswith("clients")}
    assert not any(group in line for group in groups for line in extras["all"])
    makefile = (TOP / "Makefile").read_text(encoding="utf-8")
    set_up = re.search(r"^CLIENTS = (.*)$", makefile, re.MULTILINE)
    assert set_up is not None
    assert groups == set(set_up[1].split())
    free = re.search(r"^FREE_INSTALL = (.*)$", makefile, re.MULTILINE)
    assert free is not None
    assert free[1].split()[-2:] == ["--constraint", "tests/clients/constraints.txt"]


def test_core_install_is_small(project: dict[str, Any]) -> None:
    names = {Requirement(line).name for line in project["project"]["dependencies"]}
    expected = {"gymnasium", "numba", "numpy", "pandas", "pyarrow", "pydantic", "rich", "typer"}
    expected |= {"tzdata"}
    assert names == expected


def test_changelog_names_the_version() -> None:
    changelog = (TOP / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {failgym.__version__}" in changelog
