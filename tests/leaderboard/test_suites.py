"""Suites are fixed for good, and what they are made of is what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import failgym
from failgym.baselines import RandomPolicy
from failgym.evaluation import Anchors
from failgym.leaderboard import SUITES, SuiteWorlds, suite_named
from failgym.leaderboard.policy_process.players import OwnPolicy
from failgym.leaderboard.submission.same_predictor import same_predictor
from failgym.leaderboard.suite.episodes import play
from failgym.leaderboard.suite.suites import FORECASTS, Cell, Course
from failgym.leaderboard.verification.recorded_actions import RecordedActions
from failgym.predictors import GradientBoosting, save_predictor
from failgym.traces import Trace, generate
from failgym.traces.synthetic import PROFILES
from failgym.worlds.build import split_of

DIGESTS = {
    "smoke": "13e8731bc6386e728572c71e67a026167877c6f37b48eabef2750ad8695425e4",
    "v2": "37feb69a14b9b7ee11207ea12dc079dbd15103d72c35d28b377aee3bffe851cc",
    "v2-lite": "5be78d372922ebc9acf5136b493087a7d329921e88ad321d20c0ecc6b4024dd4",
    "v2-real": "76ecf8dd007c7e02d9b8ccfe0a430f185792821d3590bd29a48e1aacfb5259ab",
}
PUBLISHED = tuple(DIGESTS)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_suite_never_changes(name: str) -> None:
    found = SUITES[name].digest
    assert found == DIGESTS[name], (
        "if on purpose: give the suite another version; a new field goes into LATER"
    )


def test_what_lies_behind_names_is_fixed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    name = str(SUITES["v2"].course("Mitigation-v1").scenario().trace)
    other: Any = replace(PROFILES[name], unfinished_all=0.01)
    monkeypatch.setitem(PROFILES, name, other)
    assert SUITES["v2"].digest != DIGESTS["v2"]
    monkeypatch.undo()
    assert SUITES["v2"].digest == DIGESTS["v2"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_suite_holds_every_environment_of_its_version_in_the_order_of_tables(name: str) -> None:
    played = [course.env for course in SUITES[name].courses]
    version = [suite for suite in SUITES.values() if suite.version == SUITES[name].version]
    known = {course.env for suite in version for course in suite.courses}
    assert played == [env for env in failgym.ENVIRONMENTS if env in known]


@pytest.mark.parametrize("name", PUBLISHED)
def test_an_environment_is_played_without_forecasts_and_with_those_there_are(name: str) -> None:
    suite = SUITES[name]
    for course in suite.courses:
        assert course.scenario().split == "test"
        shown = {cell.forecast for cell in suite.cells() if cell.env == course.env}
        assert "none" in shown
        if course.scenario().forecast != "none":
            assert shown == set(FORECASTS)
    assert len(set(suite.cells())) == len(list(suite.cells()))


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_suite_asks_as_often_as_its_environments_do(name: str) -> None:
    """A policy in a process of its own is not told the rules, which say when an agent is due."""
    for course in SUITES[name].courses:
        assert not {"decide", "every", "window"} & course.changes.keys()


def test_an_unknown_suite_is_one_line() -> None:
    with pytest.raises(
        ValueError, match=r"expected one of smoke, v2, v2-lite, v2-real.*, got 'v1'"
    ):
        suite_named("v1")


@pytest.mark.parametrize("env", ["Cloning-v1", "Checkpoint-v1", "Workflow-v1"])
def test_a_forecast_changes_what_is_seen_and_never_what_happens(env: str) -> None:
    """So actions that were taken with any forecast are played again without."""
    worlds = SuiteWorlds.of(SUITES["smoke"])
    assert not worlds.suite.course(env).forecast_matters
    shown, blind = (Cell(env, forecast, 0) for forecast in ("drawn", "none"))
    anchors = Anchors.of(worlds.scenario(blind), episodes=1)
    slices, replayed = anchors.replay.slices, anchors.replayed
    policy = OwnPolicy(lambda spec: RandomPolicy(), "random")
    played = play(worlds.world(shown), worlds.scenario(shown), slices, policy, replayed)
    answers = RecordedActions(played.actions, played.offset)
    again = play(worlds.world(blind), worlds.scenario(blind), slices, answers, replayed)
    assert np.array_equal(played.costs, again.costs)
    assert np.array_equal(played.account, again.account, equal_nan=True)
    assert np.array_equal(played.decisions, again.decisions)
    assert not answers.missing.any()
    assert not answers.surplus.any()
    assert len(played.actions) >= played.decisions.sum() > 10  # a decision may be asked again


def test_trained_forecasts_come_from_the_train_split(tmp_path: Path) -> None:
    pytest.importorskip("xgboost", reason="needs failgym[predictors]")
    course = Course(
        "GracePeriod-v1", {"target": "unfinished", "trees": 2}, slices=1, changes={"jobs": 300}
    )
    suite = SUITES["smoke"]
    worlds = SuiteWorlds(type(suite)("one", 1, (course,)), predictors=tmp_path)
    worlds.train_predictor("GracePeriod-v1")
    trained, drawn = (
        worlds.world(Cell("GracePeriod-v1", f, 0)).tables for f in ("trained", "drawn")
    )
    assert not np.array_equal(trained.risk, drawn.risk)
    assert len(trained.risk) == len(drawn.risk)


def test_folds_are_what_traces_are_elsewhere(tmp_path: Path) -> None:
    trace = tmp_path / "mine"
    generate("google-2011", jobs=300, seed=5).save(trace)
    worlds = SuiteWorlds.of(SUITES["v2-real"], {"GracePeriod-v1": str(trace)})
    worlds = replace(worlds, predictors=tmp_path)
    [course] = worlds.suite.courses
    cells = [cell for cell in worlds.suite.cells() if cell.forecast == "trained"]
    scenarios = [worlds.scenario(cell) for cell in cells]
    assert [one.fold for one in scenarios] == [1, 2, 3, 4, 5]
    assert len({one.forecast for one in scenarios}) == 5
    assert {worlds.trace_hash(replace(cell, forecast="none")) for cell in cells} == {
        Trace.load(trace).content_hash
    }
    assert sorted(course.predictors) == [Path(str(one.forecast)).stem for one in scenarios]
    assert SUITES["smoke"].course("Workflow-v1").predictors == {"Workflow-v1": 0}


def test_a_fold_is_shown_what_its_past_has_taught(tmp_path: Path) -> None:
    pytest.importorskip("xgboost", reason="needs failgym[predictors]")
    trace = tmp_path / "mine"
    generate("google-2011", jobs=300, seed=5).save(trace)
    course = SUITES["v2-real"].course("GracePeriod-v1")
    course = replace(course, trained={"target": "unfinished", "trees": 2}, seeds=(1, 4))
    suite = replace(SUITES["v2-real"], courses=(course,))
    worlds = SuiteWorlds(suite, {course.env: str(trace)}, predictors=tmp_path)
    worlds.train_predictor(course.env)
    for seed in course.seeds:
        past = split_of(worlds.scenario(Cell(course.env, "none", seed)), "train")
        wanted = GradientBoosting(window=course.scenario().window, target="unfinished", trees=2)
        save_predictor(wanted.fit(past), tmp_path / "wanted.npz")
        assert same_predictor(tmp_path / "wanted.npz", worlds.predictor_file(course.env, seed))
    first, second = (worlds.predictor_file(course.env, seed) for seed in course.seeds)
    assert not same_predictor(first, second)


def test_an_environment_that_cannot_be_played_is_left_out_with_a_line(tmp_path: Path) -> None:
    trace, short = tmp_path / "mine", tmp_path / "short"
    generate("google-2011", jobs=300, seed=5).save(trace)
    generate("google-2011", jobs=3, seed=5).save(short)
    given = {"GracePeriod-v1": str(trace), "Checkpoint-v1": str(short)}
    worlds = SuiteWorlds.of(SUITES["v2-real"], given).playable()
    assert [course.env for course in worlds.suite.courses] == ["GracePeriod-v1"]
    assert worlds.traces == {"GracePeriod-v1": str(trace)}
    [(env, reason)] = worlds.unplayable.items()
    assert env == "Checkpoint-v1"
    assert reason.startswith("fold 1: ")
    with pytest.raises(ValueError, match=r"^--trace: no environment can be played on it: Check"):
        SuiteWorlds.of(SUITES["v2-real"], {"Checkpoint-v1": str(short)}).playable()
    assert SuiteWorlds.of(SUITES["smoke"]).playable().suite == SUITES["smoke"]
