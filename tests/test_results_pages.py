"""The pages of results have a row for all that is released, and agree with each other."""

from __future__ import annotations

import re

import pytest

from experiments.results_pages import PAGES, TEST_SPLIT
from failgym.baselines import REGISTRY
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
    """In one table for the environments of each world, below what 100 is there."""
    shown = tables(generated("scores"))
    assert len(shown) == 2
    for rows, world, bound in zip(
        shown, ("pinned", "scheduled"), ("clairvoyant", "bound"), strict=True
    ):
        scenarios = [SCENARIOS[env] for env in RELEASED if SCENARIOS[env].world == world]
        assert rows[0] == ["policy", *(ids("scores")[scenario.name] for scenario in scenarios)]
        scored = {row[0]: [bool(cell) for cell in row[1:]] for row in rows[1:]}
        compatible = {
            name: [baseline.compatible(scenario) for scenario in scenarios]
            for name, baseline in REGISTRY.items()
        }
        expected = {name: where for name, where in compatible.items() if any(where)}
        assert scored == {bound: [True] * len(scenarios), **expected}
        assert list(scored) == [bound, *expected]


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


def test_the_tuned_ones_are_given_for_every_environment() -> None:
    assert [row[0] for row in table(generated("tuned"))] == [*ids("tuned").values()]


def test_rankings_are_compared_in_every_environment() -> None:
    """But for those of which the page says that they are not measured yet."""
    later = re.findall(r"\*\*(\S+) is not measured yet", page(PAGES["sensitivity"]).text)
    there = [env for env in RELEASED if env not in later]
    shown = generated("sensitivity")
    assert re.findall(r"^### (.*)$", shown, re.MULTILINE) == there
    for rows, env in zip(tables(shown), there, strict=True):
        rules = {name for name, rule in REGISTRY.items() if rule.compatible(SCENARIOS[env])}
        assert set(rows[0][2:]) == rules
        assert rows[1][0] == "as it is"
    assert {row[0] for row in table(generated("turns"))} == set(there)


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
