"""What README and docs/ say is so: their code runs, their commands and links exist."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
import typer.main

from failgym.cli import app
from failgym.cli.entries import ALL_BASELINES
from failgym.cli.options import override
from failgym.cli.patterns import ENV, pattern_files
from failgym.cli.specs import load_policy
from failgym.envs import SCENARIOS, resolve
from tests.pages import (
    LEARNS,
    LONGEST_SENTENCE,
    PAGES,
    README,
    TOP,
    Page,
    clients_of,
    run_as_printed,
)

CODE = [
    code
    for page in PAGES
    for code in page.blocks("python")
    if LEARNS not in code and not clients_of(code)  # tests/clients/test_pages.py runs these
]
WRITTEN = [words for page in PAGES for words in page.commands()]
COMMANDS = [words for words in WRITTEN if not words[0].startswith("-")]
SHOWN = [shlex.split(command)[1:] for page in PAGES for command, _ in page.dialogues]
"""Commands that tests/test_console.py runs, with the files that their page has for them."""
ALONE = sorted({words[0] for words in WRITTEN if words[0].startswith("-")})
"""Options of the command itself, which do at once what they are for: one changes the shell."""
MADE = {out for words in COMMANDS for told, out in pairwise(words) if told == "--out"}
"""What commands of the pages write, and others of them read."""
LINKED = [*PAGES, Page("experiments/README.md")]
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def parent(spec: str) -> str:
    """The folder of a file."""
    return spec.rpartition("/")[0]


def parse(words: list[str]) -> dict[str, Any]:
    """What the command line parser makes of a command, which fails on what it does not know."""
    command: Any = typer.main.get_command(app)
    context: Any = command.make_context("failgym", list(words))
    while hasattr(command, "commands") and (words or not command.invoke_without_command):
        name, command, words = command.resolve_command(context, words)
        context = command.make_context(name, list(words), parent=context)
    return context.params


@pytest.mark.parametrize("code", CODE)
def test_python_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some of it writes a file
    run_as_printed(code)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_command_exists(words: list[str]) -> None:
    given = parse(words)
    if words in SHOWN:
        return
    policies = [given["policy"]] if isinstance(given.get("policy"), str) else given.get("policy")
    for spec in policies or []:
        if ENV in spec:
            assert any(pattern_files(spec.partition("=")[2], env) for env in SCENARIOS)
        elif "mine:" not in spec and spec != ALL_BASELINES and not MADE & {spec, parent(spec)}:
            name, _, named = spec.partition("=")
            load_policy(named if named and ":" not in name else spec)
    several = given.get("env") or "Cloning-v1"
    for env in [several] if isinstance(several, str) else several:
        override(resolve(env), given.get("settings"))


@pytest.mark.parametrize("option", ALONE)
def test_option_without_a_command_exists(option: str) -> None:
    command: Any = typer.main.get_command(app)
    assert option in [name for parameter in command.params for name in parameter.opts]


@pages
def test_make_targets_exist(page: Page) -> None:
    makefile = (TOP / "Makefile").read_text("utf-8")
    written = "\n".join((*page.command_lines(), *page.inline))
    assert all(f"\n{target}:" in makefile for target in re.findall(r"\bmake ([a-z-]+)\b", written))


@pages
def test_modules_to_run_exist(page: Page) -> None:
    for module in re.findall(r"python -m ([\w.]+)", page.text):
        assert find_spec(module), module


@pages
def test_names_and_paths_exist(page: Page) -> None:
    for text in page.inline:
        if re.fullmatch(r"failgym(\.\w+)+", text):
            assert resolve_name(text) is not None
        if re.fullmatch(r"(failgym|baselines|agents|tests|docs|experiments)/[\w/.]*", text):
            assert (TOP / text).exists(), text


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Page) -> None:
    for link in page.links:
        name, _, anchor = link.partition("#")
        if not re.match(r"https?:", link):
            target = page.path if not name else (page.path.parent / name).resolve()
            assert target.is_file(), link
            found = Page(str(target.relative_to(TOP)))
            assert not anchor or anchor in found.anchors, link


def test_the_readme_leads_to_every_page() -> None:
    """Or the index of results does, for the pages of results; pictures stand on pages."""
    index = Page("docs/results/README.md")
    led = {(page.path.parent / link).resolve() for page in (README, index) for link in page.links}
    assert {page.path for page in PAGES if page.name.startswith("docs/")} <= led


def test_the_readme_is_short() -> None:
    assert len(README.text.splitlines()) <= 180


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_sentences_are_short(page: Page) -> None:
    long = [words for words in page.sentences() if len(words.split()) > LONGEST_SENTENCE]
    assert long == [], f"{page.name}: expected at most {LONGEST_SENTENCE} words in a sentence"
