"""What the guides in docs/ list is what there is."""

from __future__ import annotations

import re
import tomllib
from importlib.util import find_spec

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


def test_formats_and_their_options_are_all_listed() -> None:
    shown = table(page("docs/traces.md").section("Your own trace"))
    options = {
        name: {option.replace("_", "-") for option in form.options}
        for name, form in FORMATS.items()
    }
    assert {row[0]: set(re.findall(r"--([\w-]+)", row[2])) for row in shown} == options


def test_profiles_are_all_listed() -> None:
    shown = table(page("docs/traces.md").section("Synthetic traces"))
    assert [row[0] for row in shown] == list(PROFILES)


def test_predictors_are_all_listed() -> None:
    shown = table(page("docs/forecasts.md").text)
    assert [name for row in shown for name in re.findall(r"\w+", row[0])] == [
        *DRAWN,
        *LEARNED,
        *FOR_SCENARIO,
    ]


def test_whoever_a_rule_is_after_is_among_the_sources() -> None:
    """By the first word and the year, which stand in one entry."""
    entries = re.findall(r"^- .*(?:\n  .*)*", page("docs/sources.md").text, re.MULTILINE)
    *rules, clairvoyant = table(page("docs/results/baselines.md").text)
    assert clairvoyant[0] == "clairvoyant"
    for name, _, after in rules:
        named = re.findall(r"^[\w-]+|\d{4}", after)
        assert not named or any(all(word in entry for word in named) for entry in entries), name


def test_settings_of_training_name_their_modules() -> None:
    shown = table(page("docs/training.md").section("Settings of a run"))
    for row in shown:
        assert find_spec(f"failgym.agents.{row[2]}"), row[2]
