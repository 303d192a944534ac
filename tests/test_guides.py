"""What the guides in docs/ list is what there is."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.util import find_spec

import pytest

from experiments.lists import LISTS, written
from failgym.baselines import REGISTRY
from failgym.envs import SCENARIOS
from failgym.predictors import LEARNED
from failgym.traces import FORMATS
from failgym.traces.synthetic import PROFILES
from failgym.worlds.forecast import DRAWN, FOR_SCENARIO
from tests.pages import TOP, page, table


def test_layers_are_those_that_the_tool_checks() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
    layers = [
        name.strip("()") for name in project["tool"]["importlinter"]["contracts"][0]["layers"]
    ]
    there = [name for name in layers if find_spec(f"failgym.{name}")]
    listed = [row[0] for row in table(page("docs/extending.md").section("How the layers lie"))]
    assert listed == ["experiments", *(f"failgym.{name}" for name in there)]


@pytest.mark.parametrize("name", LISTS)
def test_what_there_is_is_listed_as_it_is(name: str) -> None:
    text = page(LISTS[name][0]).text
    assert written(name, text) == text, "make lists"


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("environments", [f"failgym/{name}" for name in SCENARIOS]),
        ("rules", [*REGISTRY, "clairvoyant"]),
        ("formats", FORMATS),
        ("profiles", PROFILES),
    ],
)
def test_a_list_has_a_row_for_each_that_says_what_it_is(name: str, known: Iterable[str]) -> None:
    listed = table(page(LISTS[name][0]).generated(name))
    assert [row[0] for row in listed] == list(known)
    assert all(len(row[1]) > 3 for row in listed)


def test_get_started_lists_every_extra_for_users() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
    ours = {"all", "dev"} | {n for n in project["optional-dependencies"] if n.startswith("clients")}
    listed = table(page("docs/start.md").section("Install"))
    assert {name for row in listed for name in re.findall(r"\w+", row[0])} == (
        project["optional-dependencies"].keys() - ours
    )


def test_the_tutorial_counts_the_formats_that_need_no_columns() -> None:
    """All but `table`; three are named beside the number."""
    others = FORMATS.keys() - {"sacct", "torque", "swf", "table"}
    number = {8: "eight", 9: "nine", 10: "ten", 11: "eleven", 12: "twelve"}[len(others)]
    said = page("docs/tutorials/own_trace.md").text
    assert f"Slurm, PBS, SWF and {number} more formats" in said


def test_predictors_are_all_listed() -> None:
    shown = table(page("docs/forecasts.md").text)
    assert [name for row in shown for name in re.findall(r"\w+", row[0])] == [
        *DRAWN,
        *LEARNED,
        *FOR_SCENARIO,
    ]


def test_whoever_a_rule_is_after_is_cited() -> None:
    """By the first word and the year, in one entry of the sources or in the file of the rule."""
    entries = re.findall(r"^- .*(?:\n  .*)*", page("docs/sources.md").text, re.MULTILINE)
    for name, rule in REGISTRY.items():
        named = re.findall(r"^[\w-]+|\d{4}", rule.after)
        cited = [*entries, f"{sys.modules[rule.__module__].__doc__} {rule.__doc__}"]
        assert not named or any(all(word in entry for word in named) for entry in cited), name


def test_settings_of_training_name_their_modules() -> None:
    shown = table(page("docs/training.md").section("Settings of a run"))
    for row in shown:
        assert find_spec(f"failgym.agents.{row[2]}"), row[2]
