"""Rules that were chosen on a few traces, judged on these, on fresh ones and elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer import Typer
from typer.testing import CliRunner

from experiments import generalisation
from experiments.generalisation import OWN, buildable, gap, learned, played
from experiments.random_rules import score_on
from failgym.baselines import REGISTRY, DecisionTree
from failgym.envs import Scenario, resolve
from failgym.evaluation import evaluate
from failgym.evaluation.scoring import Score

ENV = "failgym/GracePeriod-v1"
JOBS = 900
WORDS = [
    *("--env", ENV, "--set", f"jobs={JOBS}", "--traces", "1,2", "--rules", "15"),
    *("--slices", "15", "--fresh", "2"),
]
APP = Typer()
APP.command()(generalisation.main)


def run(file: Path, *more: str) -> Any:
    return CliRunner().invoke(APP, [*WORDS, "--json", str(file), *more])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder: Path = tmp_path_factory.mktemp("generalisation")
    more = ("--elsewhere", "opencloud", "--plot", str(folder / "curve.png"))
    done = run(folder / "found.json", *more)
    assert done.exit_code == 0, done.output
    return folder, json.loads((folder / "found.json").read_text("utf-8"))[ENV]


def test_scores_are_those_of_the_rules_on_seen_and_on_fresh_traces(found: Any) -> None:
    _, one = found
    scenario = resolve(ENV, {"jobs": JOBS})
    assert [row["traces"] for row in one["rows"]] == [1, 2]
    rule = DecisionTree(**one["rules"]["1"])
    seen = evaluate(rule, scenario, split="train").score
    assert one["rows"][0]["seen"][0] == pytest.approx(seen, nan_ok=True)
    fresh = played(scenario, [20_000, 20_001], "test", {"rule": rule})
    assert one["rows"][0]["fresh"] == pytest.approx(list(score_on(fresh, "rule")), nan_ok=True)
    assert one["best"] in REGISTRY


def test_elsewhere_a_rule_of_its_past_stands_beside(found: Any) -> None:
    _, one = found
    [place] = one["elsewhere"]
    assert place["trace"] == "opencloud"
    assert set(place["scores"]) == {"of 1", "of 2", OWN}
    assert place["seeds"] == list(range(5))
    assert place["refused"] == {}


def test_traces_that_make_no_world_are_passed_over_and_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def build(scenario: Scenario) -> None:
        if scenario.trace_seed in refusing:
            raise ValueError(f"trace {scenario.trace_seed} is too long")

    monkeypatch.setattr(generalisation, "build_world", build)
    scenario = resolve(ENV, {"jobs": JOBS})
    refusing = {1, 3}
    traces, refused = buildable(scenario, 3)
    assert [trace.trace_seed for trace in traces] == [0, 2, 4]
    assert refused == {1: "trace 1 is too long", 3: "trace 3 is too long"}
    refusing = {0, 1, 2}
    with pytest.raises(ValueError, match="trace 1 is too long"):
        buildable(scenario, 1)


def test_a_curve_is_drawn(found: Any) -> None:
    folder, _ = found
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_rules_are_chosen_once(found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, one = found
    monkeypatch.setattr(generalisation, "learned", None)
    done = run(folder / "found.json")
    assert done.exit_code == 0, done.output
    again = json.loads((folder / "found.json").read_text("utf-8"))[ENV]
    assert again["rows"] == one["rows"]


def test_all_counts_choose_among_the_same_rules_on_the_first_traces() -> None:
    scenario = resolve(ENV, {"jobs": JOBS})
    both = learned(scenario, [1, 2], 30, 20)
    assert both[1] == learned(scenario, [1], 30, 20)[1]
    later = replace(scenario, trace_seed=scenario.trace_seed + 1)
    assert set(both) == {1, 2}
    assert learned(later, [1], 30, 20)[1] != both[1]


def test_the_gap_is_as_wide_as_both_together() -> None:
    assert gap(Score(10.0, 7.0, 13.0), Score(4.0, 0.0, 8.0)) == Score(6.0, 1.0, 11.0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--traces", "3,1"], "expected rising whole numbers"),
        (["--traces", "one"], "expected rising whole numbers"),
        (["--first", "1"], "a rule may not be judged on a trace that it has seen"),
    ],
)
def test_what_means_nothing_is_refused(tmp_path: Path, words: list[str], said: str) -> None:
    done = run(tmp_path / "found.json", *words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.replace("│", " ").split())
    assert not (tmp_path / "found.json").exists()
