"""The pages of results have a row for all that is released, and agree with each other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from experiments.measures_alone import offered
from experiments.results_pages import PAGES, TEST_SPLIT
from experiments.tuned import APART
from experiments.tuned import OUT as TUNED
from failgym.baselines import REGISTRY
from failgym.baselines.search import search_space
from failgym.envs import SCENARIOS
from failgym.leaderboard import suite_named
from failgym.leaderboard.suite.suites import RELEASED
from tests.pages import README, Page, page, table, tables

OLD = "environments of version 0, whose rules failgym no longer has"
"""What the first paragraph of a page says whose tables are of version 0."""
DATED = [
    "agents",
    "baselines",
    "forecasts",
    "information",
    "leaderboard",
    "leaderboard_v1",
    "speed",
    "README",
]
"""Pages of results with tables that name environments."""


def generated(name: str) -> str:
    return page(PAGES[name]).generated(name)


def first_paragraph(shown: Page) -> str:
    return " ".join(shown.text.split("\n\n")[1].split())


def ids(name: str) -> dict[str, str]:
    """What the page of a generated part calls each released environment.

    By its name, or the one of version 0 if the page says that it was measured there.
    """
    old = OLD in first_paragraph(page(PAGES[name]))
    versions = {env: f"{env.rpartition('-')[0]}-v0" if old else env for env in RELEASED}
    return {env: f"failgym/{called}" for env, called in versions.items()}


@pytest.mark.parametrize("name", DATED)
def test_a_page_says_so_if_its_environments_are_of_the_past(name: str) -> None:
    shown = page(f"docs/results/{name}.md")
    past = set(re.findall(r"\b[A-Z]\w+-v\d+\b", shown.text)) - {*SCENARIOS, "CartPole-v1"}
    assert (OLD in first_paragraph(shown)) == bool(past)


def test_every_baseline_is_listed() -> None:
    listed = [row[0] for row in table(page("docs/results/baselines.md").text)]
    assert listed == [*REGISTRY, "clairvoyant"]


def test_every_compatible_baseline_has_a_score() -> None:
    """In one table for each environment, the best on fresh traces first."""
    shown = tables(generated("scores"))
    said = re.findall(
        r"^`failgym/(.*)`: traces .*100 is (?:the|a) (\w+)\.", generated("scores"), re.M
    )
    assert said == [(env, SCENARIOS[env].kind.bound_name) for env in RELEASED]
    for rows, env in zip(shown, RELEASED, strict=True):
        compatible = [n for n, kind in REGISTRY.items() if kind.compatible(SCENARIOS[env])]
        assert sorted(row[0] for row in rows[1:]) == sorted(compatible)
        fresh = [score(row[1]) for row in rows[1:]]
        assert fresh == sorted(fresh, reverse=True)
        assert [score(row[2]) for row in rows[1:]] == pytest.approx(
            [fresh[0] - each for each in fresh], abs=0.11
        )
        assert all(score(row[3]) <= 100.0 for row in rows[1:])


def score(cell: str) -> float:
    """The number before its interval."""
    value, low, high = re.fullmatch(r"(\S+) \[(\S+), (\S+)\]", cell).groups()  # type: ignore[union-attr]
    assert float(low) <= float(value) <= float(high)
    return float(value)


def test_measures_are_those_of_the_environment() -> None:
    rows = [row[0] for row in table(generated("measures"))]
    assert rows == ["together", *offered(SCENARIOS["Mitigation-v1"])]


def test_speed_is_given_for_every_environment() -> None:
    assert [row[0] for row in table(generated("speed"))] == [
        *ids("speed").values(),
        "CartPole-v1",
    ]


def test_the_leaderboard_has_a_row_for_each_environment_and_forecast() -> None:
    cells = dict.fromkeys((cell.env, cell.forecast) for cell in suite_named("v1").cells())
    assert [row[:2] for row in table(generated("leaderboard"))] == [
        [ids("leaderboard")[env], forecast] for env, forecast in cells
    ]


def test_agents_are_judged_in_every_environment_on_both() -> None:
    shown = [row[:2] for row in table(generated("agents"))]
    names = [*ids("agents").values()]
    assert [env for env, place in shown if place == TEST_SPLIT] == names
    assert [env for env, place in shown if place != TEST_SPLIT] == names


def test_the_tuned_ones_are_given_and_the_others_named() -> None:
    """Each environment of which there are files has a row; the text says which have none."""
    tuned = [env for env in RELEASED if (TUNED / env).is_dir()]
    assert tuned
    assert [row[0] for row in table(generated("tuned"))] == [f"failgym/{env}" for env in tuned]
    told = " ".join(page("docs/results/baselines.md").section("Tuned").split())
    named = re.findall(r"Not tuned yet: ([^.]*)\.", told)
    left = [env for env in RELEASED if env not in tuned]
    assert [re.findall(r"\w+-v\d+", names) for names in named] == ([left] if left else [])


def test_what_tuning_found_lies_in_a_file_for_each_rule() -> None:
    """Of the environments of now, and of no other."""
    files = {str(file.relative_to(TUNED)) for file in TUNED.rglob("*.json")}
    assert files == {
        f"{env}/{name}.json"
        for env in RELEASED
        if (TUNED / env).is_dir()
        for name, kind in REGISTRY.items()
        if kind.compatible(SCENARIOS[env]) and search_space(kind) and name not in APART
    }
    for file in files:
        about = json.loads((TUNED / file).read_text("utf-8"))["about"]
        assert about["env"] == f"failgym/{Path(file).parent}"


def test_the_papers_figures_are_counted_as_on_the_page_of_experiments() -> None:
    counted = Page("experiments/README.md").generated("results")
    (shown,) = re.findall(r"(\d+) within, (\d+) outside, (\d+) fitted", counted)
    within, outside, fitted = shown
    told = " ".join(page("docs/results/README.md").text.split())
    assert f"{within} figures that nothing was fitted to lie within" in told
    assert f"and {outside} outside" in told
    assert f"Another {fitted} were fitted" in told
    front = " ".join(README.text.split())
    assert (
        f"of {int(within) + int(outside)} figures that nothing was fitted to, {within} lie" in front
    )
    assert f"and {outside} outside" in front
