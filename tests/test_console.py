"""What pages show of a terminal is what the command prints: `console` blocks, with `...` for more.

Blocks with a title are files, which the commands find in the current folder. An entry point of a
`pyproject.toml` among them is installed.
"""

from __future__ import annotations

import doctest
import importlib
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from failgym.cli import run
from tests.pages import PAGES, Page

TALKING = [page for page in PAGES if page.dialogues]


def install(folder: Path, project: str) -> None:
    """Leave what pip leaves of a package: what its metadata says."""
    about = tomllib.loads(project)["project"]
    where = folder / f"{about['name']}-{about['version']}.dist-info"
    where.mkdir()
    head = f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n"
    (where / "METADATA").write_text(head, "utf-8")
    lines: list[str] = []
    for group, entries in about["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in entries.items())]
    (where / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")


def write_files(page: Page, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the files that a page shows into a folder, where Python finds them."""
    monkeypatch.syspath_prepend(folder)
    for name, content in page.files.items():
        monkeypatch.delitem(sys.modules, Path(name).stem, raising=False)
        (folder / name).write_text(content, "utf-8")
    if "pyproject.toml" in page.files:
        install(folder, page.files["pyproject.toml"])
    importlib.invalidate_caches()


def lines(text: str) -> str:
    """The lines of a text that hold anything, without blanks behind them."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines() if line.strip())


def said(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints, that must succeed."""
    name, *words = shlex.split(command)
    assert name == "failgym"
    capsys.readouterr()
    status = run(words)
    shown = capsys.readouterr()
    assert status == 0, shown.err
    return shown.out


@pytest.mark.usefixtures("shared_worlds")
@pytest.mark.parametrize("page", TALKING, ids=lambda page: page.name)
def test_commands_print_what_is_shown(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(page, tmp_path, monkeypatch)
    checker, loose = doctest.OutputChecker(), doctest.ELLIPSIS
    for command, shown in page.dialogues:
        got = lines(said(command, capsys))
        assert checker.check_output(lines(shown), got, loose), f"$ {command}\n{got}"


def test_pages_that_show_a_terminal_are_found() -> None:
    assert {"docs/start.md", "docs/tutorials/policy.md"} <= {page.name for page in TALKING}
