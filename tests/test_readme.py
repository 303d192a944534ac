"""What the README says is so: its code runs, its tables and commands name what there is."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
import typer.main

import failgym
from failgym.baselines import REGISTRY, GracePeriod
from failgym.baselines.base import DECISIONS
from failgym.cli import app, run
from failgym.cli.entries import ALL_BASELINES
from failgym.cli.options import override
from failgym.cli.patterns import ENV, pattern_files
from failgym.cli.specs import load_policy
from failgym.envs import SCENARIOS, resolve
from failgym.leaderboard import suite_named
from failgym.traces import FORMATS
from failgym.traces.synthetic import PROFILES

TOP = Path(__file__).parents[1]
README = (TOP / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
PYTHON = [code for language, code in BLOCKS if language == "python"]
LINES = [
    line
    for language, code in BLOCKS
    if language == "sh"
    for line in code.replace("\\\n", "").splitlines()
]
INLINE = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", README, flags=re.S | re.M))
LEARNS = "model.learn("
"""In the code that trains an agent."""


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def tables(text: str) -> list[list[list[str]]]:
    """The rows of the tables of a text, heads first and without code marks."""
    found: list[str] = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    rows = [[line for i, line in enumerate(t.splitlines()) if i != 1] for t in found]
    return [
        [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]
        for lines in rows
    ]


def table(text: str) -> list[list[str]]:
    """The rows of the first table of a text, without its head and without code marks."""
    found = tables(text)
    assert found, "expected a table"
    return found[0][1:]


def commands() -> Iterator[list[str]]:
    """Every command line of failgym that is written out, in words, without its name."""
    for line in (*LINES, *INLINE):
        words = shlex.split(line, comments=True)
        if words[:1] == ["failgym"] and len(words) > 1:
            yield words[1:]


def parse(words: list[str]) -> dict[str, Any]:
    """What the command line parser makes of a command, which fails on what it does not know."""
    command: Any = typer.main.get_command(app)
    context: Any = command.make_context("failgym", list(words))
    while hasattr(command, "commands"):
        name, command, words = command.resolve_command(context, words)
        context = command.make_context(name, list(words), parent=context)
    return context.params


def run_as_printed(code: str) -> dict[str, Any]:
    """Run code of the README; what it has named."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "README.md", "exec"), names)  # noqa: S102 - our own README
    return names


@pytest.mark.parametrize("code", [code for code in PYTHON if LEARNS not in code])
def test_python_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some of it writes a file
    run_as_printed(code)


def test_an_agent_learns_more_than_the_rule_of_the_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sb3_contrib", reason="needs the agents extra")
    pytest.importorskip("torch").set_num_threads(1)
    monkeypatch.chdir(tmp_path)
    (code,) = (code for code in PYTHON if LEARNS in code)
    result = run_as_printed(code)["result"]
    trace: dict[str, Any] = {
        name: int(re.findall(rf"{name}=(\d[\d_]*)", code)[-1]) for name in ("jobs", "trace_seed")
    }
    paper = failgym.evaluate(GracePeriod(), "failgym/GracePeriod-v0", **trace)
    assert result.low > 0.0
    assert result.score > paper.score
    assert Path("mine.safetensors").exists()


def test_every_environment_is_listed_as_it_is() -> None:
    listed = [row[:3] for row in table(section("Environments"))]
    assert listed == [
        [f"failgym/{name}", s.trace, ", ".join(d for d in DECISIONS if getattr(s, d))]
        for name, s in SCENARIOS.items()
    ]


def test_every_baseline_is_listed() -> None:
    listed = [row[0] for row in table(section("Baselines"))]
    assert listed == [*REGISTRY, "clairvoyant"]


def test_every_compatible_baseline_has_a_score() -> None:
    """In one table for the environments of each world, below what 100 is there."""
    scores = README.partition("<!-- scores -->")[2].partition("<!-- /scores -->")[0]
    shown = tables(scores)
    assert len(shown) == 2
    for rows, world, bound in zip(
        shown, ("pinned", "scheduled"), ("clairvoyant", "bound"), strict=True
    ):
        scenarios = [scenario for scenario in SCENARIOS.values() if scenario.world == world]
        assert rows[0] == ["policy", *(f"failgym/{scenario.name}" for scenario in scenarios)]
        scored = {row[0]: [bool(cell) for cell in row[1:]] for row in rows[1:]}
        compatible = {
            name: [baseline.compatible(scenario) for scenario in scenarios]
            for name, baseline in REGISTRY.items()
        }
        expected = {name: where for name, where in compatible.items() if any(where)}
        assert scored == {bound: [True] * len(scenarios), **expected}
        assert list(scored) == [bound, *expected]


def test_speed_is_given_for_every_environment() -> None:
    speed = README.partition("<!-- speed -->")[2].partition("<!-- /speed -->")[0]
    assert [row[0] for row in table(speed)] == [
        *(f"failgym/{name}" for name in failgym.ENVIRONMENTS),
        "CartPole-v1",
    ]


def test_the_leaderboard_has_a_row_for_each_environment_and_forecast() -> None:
    found = README.partition("<!-- leaderboard -->")[2].partition("<!-- /leaderboard -->")[0]
    cells = dict.fromkeys((cell.env, cell.forecast) for cell in suite_named("v1").cells())
    assert [row[:2] for row in table(found)] == [
        [f"failgym/{env}", forecast] for env, forecast in cells
    ]


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_command_exists(words: list[str]) -> None:
    given = parse(words)
    policies = [given["policy"]] if isinstance(given.get("policy"), str) else given.get("policy")
    for spec in policies or []:
        if ENV in spec:
            assert any(pattern_files(spec.partition("=")[2], env) for env in SCENARIOS)
        elif not spec.startswith("mine:") and spec != ALL_BASELINES:
            load_policy(spec)
    override(resolve(given.get("env") or "Cloning-v0"), given.get("settings"))


def test_own_policy_is_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = next(code for code in PYTHON if "class Impatient" in code)
    (tmp_path / "mine.py").write_text(code, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    words = next(words for words in commands() if any("mine:" in word for word in words))
    assert run([*words, "--episodes", "1", "--set", "jobs=600"]) == 0


def test_make_targets_exist() -> None:
    makefile = (TOP / "Makefile").read_text("utf-8")
    named = re.findall(r"\bmake ([a-z]+)\b", "\n".join((*LINES, *INLINE)))
    assert {"demo", "test"} <= set(named)
    assert all(f"\n{target}:" in makefile for target in named)


def test_modules_to_run_exist() -> None:
    for module in re.findall(r"python -m ([\w.]+)", README):
        assert find_spec(module), module


def test_names_and_paths_exist() -> None:
    for text in INLINE:
        if re.fullmatch(r"failgym(\.\w+)+", text):
            assert resolve_name(text) is not None
        if re.fullmatch(r"(failgym|baselines|agents|tests)/[\w/.]*", text):
            assert (TOP / text).exists(), text


def test_layers_are_those_that_the_tool_checks() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
    layers = [
        name.strip("()") for name in project["tool"]["importlinter"]["contracts"][0]["layers"]
    ]
    there = [name for name in layers if find_spec(f"failgym.{name}")]
    listed = [row[0] for row in table(section("How the layers lie"))]
    assert listed == ["experiments", *(f"failgym.{name}" for name in there)]


def test_formats_and_their_options_are_all_listed() -> None:
    listed = {
        row[0]: set(re.findall(r"--([\w-]+)", row[2])) for row in table(section("Your own trace"))
    }
    options = {
        name: {option.replace("_", "-") for option in form.options}
        for name, form in FORMATS.items()
    }
    assert listed == options


def test_profiles_are_all_listed() -> None:
    assert [row[0] for row in table(section("Synthetic traces"))] == list(PROFILES)
