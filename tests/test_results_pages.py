"""The pages of results have a row for all that is released, and agree with each other."""

from __future__ import annotations

import re

from experiments.results_pages import PAGES, TEST_SPLIT
from failgym.baselines import REGISTRY
from failgym.envs import SCENARIOS
from failgym.leaderboard import suite_named
from failgym.leaderboard.suite.suites import RELEASED
from tests.pages import README, Page, page, table, tables


def generated(name: str) -> str:
    return page(PAGES[name]).generated(name)


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
    assert [row[0] for row in table(generated("speed"))] == [
        *(f"failgym/{name}" for name in RELEASED),
        "CartPole-v1",
    ]


def test_the_leaderboard_has_a_row_for_each_environment_and_forecast() -> None:
    cells = dict.fromkeys((cell.env, cell.forecast) for cell in suite_named("v1").cells())
    assert [row[:2] for row in table(generated("leaderboard"))] == [
        [f"failgym/{env}", forecast] for env, forecast in cells
    ]


def test_agents_are_judged_in_every_environment_on_both() -> None:
    shown = [row[:2] for row in table(generated("agents"))]
    assert [env for env, place in shown if place == TEST_SPLIT] == [
        f"failgym/{name}" for name in RELEASED
    ]
    assert [env for env, place in shown if place != TEST_SPLIT] == [
        f"failgym/{name}" for name in RELEASED
    ]


def test_the_readme_shows_the_agents_of_the_page_on_unseen_traces() -> None:
    page_rows = table(generated("agents"))
    assert table(generated("unseen")) == [row for row in page_rows if row[1] != TEST_SPLIT]


def test_the_tuned_ones_are_given_for_every_environment() -> None:
    assert [row[0] for row in table(generated("tuned"))] == [f"failgym/{name}" for name in RELEASED]


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
