"""The pages of results have a row for all that is released, and agree with each other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from experiments.measures_alone import offered
from experiments.off_policy import QUESTIONS
from experiments.readme import MEASURED, Figures
from experiments.result_tables.baselines import scores
from experiments.results_pages import PAGES, TEST_SPLIT, part
from experiments.rllib_ppo import BUDGETS
from experiments.tuned import APART
from experiments.tuned import OUT as TUNED
from failgym.baselines import REGISTRY
from failgym.envs import SCENARIOS
from failgym.leaderboard import suite_named
from failgym.leaderboard.page.source import read_source
from failgym.leaderboard.suite.suites import RELEASED, Suite
from tests.pages import PAGES as ALL
from tests.pages import Page, page, table, tables

OF_VERSION_0 = ("docs/results/information.md",)
"""The only page that may name environments of version 0, which says so above its tables."""
RESULTS = [p for p in ALL if p.name.startswith("docs/results/")]
IDS = {env: f"failgym/{env}" for env in RELEASED}
"""What pages call each released environment."""


def generated(name: str) -> str:
    return page(PAGES[name]).generated(name)


@pytest.mark.parametrize("shown", [*RESULTS, Page("experiments/README.md")], ids=lambda p: p.name)
def test_a_page_names_environments_that_there_are(shown: Page) -> None:
    past = set(re.findall(r"\b[A-Z]\w+-v\d+\b", shown.text)) - {*SCENARIOS, "CartPole-v1"}
    assert not past or shown.name in OF_VERSION_0


def fitting(env: str, names: list[str]) -> bool:
    """Are these rules of the environment, each named once, and replay among them?"""
    able = {name for name, rule in REGISTRY.items() if rule.compatible(SCENARIOS[env])}
    return len(set(names)) == len(names) and {"replay"} < set(names) <= able


def test_scores_are_of_rules_that_there_are() -> None:
    """In one table for each environment, the best on fresh traces first."""
    shown = tables(generated("scores"))
    said = re.findall(
        r"^`failgym/(.*)`: traces .*100 is (?:the|a) (\w+)\.", generated("scores"), re.M
    )
    assert said == [(env, SCENARIOS[env].kind.bound_name) for env in RELEASED]
    for rows, env in zip(shown, RELEASED, strict=True):
        assert fitting(env, [row[0] for row in rows[1:]])
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


def test_scores_are_those_that_are_stored() -> None:
    stored = json.loads((MEASURED / "scores.json").read_text("utf-8"))
    assert part(scores, stored).strip() == generated("scores").strip()


def test_the_page_names_the_rules_whose_scores_are_not_measured_yet() -> None:
    """A rule that is new is measured when all are; until then `make lists` says so."""
    shown = {row[0] for rows in tables(generated("scores")) for row in rows[1:]}
    told = re.findall(r"^Not among the scores yet: (.*)\.$", page(PAGES["scores"]).text, re.M)
    missing = [f"`{name}`" for name in REGISTRY if name not in shown]
    assert told == ([", ".join(missing)] if missing else [])


def test_measures_are_those_of_the_environment() -> None:
    rows = [row[0] for row in table(generated("measures"))]
    assert rows == ["together", *offered(SCENARIOS["Mitigation-v1"])]


def test_speed_is_given_for_every_environment() -> None:
    assert [row[0] for row in table(generated("speed"))] == [
        *IDS.values(),
        "CartPole-v1",
    ]


def suite_shown() -> Suite:
    """The suite that the leaderboard is of."""
    (name,) = set(re.findall(r"suite `([\w-]+)`", page(PAGES["leaderboard"]).text))
    return suite_named(name)


def test_the_leaderboard_has_a_row_for_each_environment_and_forecast() -> None:
    cells = dict.fromkeys((cell.env, cell.forecast) for cell in suite_shown().cells())
    assert [row[:2] for row in table(generated("leaderboard"))] == [
        [IDS[env], forecast] for env, forecast in cells
    ]


def test_the_leaderboard_has_every_policy_that_was_played() -> None:
    """In two tables for each environment: scores with all forecasts, and what stands beside."""
    shown = tables(generated("policies"))
    played = read_source(MEASURED / suite_shown().name).results
    for course, rows, beside in zip(suite_shown().courses, shown[::2], shown[1::2], strict=True):
        assert rows[0] == ["policy", "runs", *course.forecasts]
        there = {row[0] for row in rows[1:]}
        assert there == {row[0] for row in beside[1:]} >= {"replay", "random"}
        assert there - {*played.policy} == set()
        assert all(all(row) for row in rows[1:])


def test_agents_are_judged_in_every_environment_on_both() -> None:
    shown = table(generated("agents"))
    names, learners = [*IDS.values()], {row[3] for row in shown}
    assert learners == {"maskable_ppo", "counterfactual"}
    for learner in learners:
        on = [
            [row[0] for row in shown if row[3] == learner and (row[1] == TEST_SPLIT) == test]
            for test in (True, False)
        ]
        assert on[0] == on[1] == [name for name in names if name in on[0]]
        assert on[0] == names or learner == "counterfactual"


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
    """Of the rules that were tuned, and of no other."""
    files = {str(file.relative_to(TUNED)) for file in TUNED.rglob("*.json")}
    stored = json.loads((MEASURED / "tuned.json").read_text("utf-8"))
    rows = [(env, row) for env, found in stored.items() for row in found["rows"]]
    assert files == {f"{env}/{row['policy']}.json" for env, row in rows if row["tuned"]}
    assert {env for env, _ in rows} <= set(RELEASED)
    assert {row["policy"] for _, row in rows} <= set(REGISTRY) - APART
    for file in files:
        about = json.loads((TUNED / file).read_text("utf-8"))["about"]
        assert about["env"] == f"failgym/{Path(file).parent}"


def test_a_page_says_where_no_random_rule_was_judged() -> None:
    judged = [row[0] for row in table(generated("random_rules"))]
    released = [*IDS.values()]
    assert judged == [env for env in released if env in judged]
    told = re.findall(r"^Not measured: (.*)\.$", page(PAGES["random_rules"]).text, re.MULTILINE)
    missing = [env for env in released if env not in judged]
    assert told == ([", ".join(f"`{env}`" for env in missing)] if missing else [])


def test_rankings_are_compared_in_every_environment() -> None:
    """But for those of which the page says that they are not measured yet."""
    later = re.findall(r"\*\*(\S+) is not measured yet", page(PAGES["sensitivity"]).text)
    there = [env for env in RELEASED if env not in later]
    shown = generated("sensitivity")
    assert re.findall(r"^### (.*)$", shown, re.MULTILINE) == there
    for rows, env in zip(tables(shown), there, strict=True):
        assert fitting(env, rows[0][2:])
        assert rows[1][0] == "as it is"
    assert {row[0] for row in table(generated("turns"))} == set(there)


def test_the_papers_figures_are_counted_as_on_the_page_of_experiments() -> None:
    """By what nothing was fitted to, not by the verdict: what was fitted may lie outside, too."""
    counted = Page("experiments/README.md").generated("results")
    (shown,) = re.findall(r"(\d+) within, (\d+) outside, (\d+) fitted", counted)
    count = Figures.counted()
    assert count.exact + count.predicted == int(shown[0])
    assert count.missed + count.fitted_missed == int(shown[1])
    assert count.fitted - count.fitted_missed == int(shown[2])
    told = " ".join(page("docs/results/README.md").text.split())
    unfitted = count.exact + count.predicted + count.missed
    assert f"Nothing was fitted to {unfitted} of the figures that are judged" in told
    assert f"{count.exact} are exact" in told
    assert f"{count.predicted} were predicted and lie within their bands" in told
    assert f"{count.missed} do not" in told
    assert f"For {count.unnamed} of the {count.predicted} the paper has no number" in told
    assert f"Another {count.fitted} were fitted" in told
    assert f"{count.fitted_missed} of these lie outside" in told


def test_off_policy_estimates_are_given_for_every_policy_that_is_asked_about() -> None:
    asked = [[f"failgym/{env}", name] for env, q in QUESTIONS.items() for name in q.targets]
    assert [row[:2] for row in table(generated("off_policy"))] == asked


def test_rllib_and_evaluate_agree_on_what_its_agents_cost() -> None:
    shown = table(generated("rllib"))
    assert [row[0] for row in shown] == [f"failgym/{env}" for env in BUDGETS]
    assert all(row[3] == row[4] for row in shown)
