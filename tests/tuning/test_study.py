"""`tune`: what it promises of the parameters it finds, and of interruptions."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from failgym.baselines import Replay
from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.baselines.search import Choice, Range, choice, search_space, tuned
from failgym.baselines.young import period_is_over
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors, Score
from failgym.sim.shared.rules import Order
from failgym.tuning import Grounds, Tuned, tune
from failgym.tuning.objective import ADOPTED, SURE, Comparison
from failgym.vocabulary import Action

pytest.importorskip("optuna", reason="needs failgym[tuning]")

TRIALS = 9
HASTY = 0.05
"""Of Young's interval: checkpoints so often that they cost more than they can save."""
KILLED = """
import os, sqlite3, sys
file = sqlite3.connect(sys.argv[1])
file.execute("pragma cache_size = 1")
file.execute("begin")
for number in range(2000):
    file.execute("insert into studies (study_name) values (?)", (f"{number}" * 50,))
os._exit(9)
"""
"""Writes to a database and dies before it is done."""


@dataclass(frozen=True)
class Interval(Heuristic):
    """Checkpoint every so many of Young's intervals, or never."""

    name: ClassVar[str] = "interval"
    needs: ClassVar[frozenset[str]] = frozenset({"checkpoint"})

    factor: float = tuned(8.0, 0.05, 20.0, log=True)
    least: int = tuned(0, 0, 3)
    when: str = choice("period", "never")
    untouched: float = 0.5

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        due = period_is_over(view, self.factor) & (view.count("attempt") >= self.least)
        return choose(due & np.bool_(self.when == "period"), Action.CHECKPOINT)


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    """Checkpoints are dear: too many of them cost something in every job, not in a few."""
    return resolve("failgym/Checkpoint-v1").override(
        trace="system-a-harsh",
        longest=0,
        jobs=6000,
        slice_tasks=8,
        decide="geometric",
        weight_overhead=3.0,
    )


@pytest.fixture(scope="module")
def grounds(scenario: Scenario) -> Grounds:
    return Grounds.of(scenario, seed=3)


@pytest.fixture(scope="module")
def whole(grounds: Grounds) -> Tuned:
    return tune(Interval(factor=HASTY), grounds, trials=TRIALS, seed=3)


def test_declared_parameters_are_the_search_space() -> None:
    assert search_space(Interval) == {
        "factor": Range(0.05, 20.0, log=True),
        "least": Range(0, 3),
        "when": Choice(("period", "never")),
    }
    assert Interval() == Interval(factor=8.0, least=0, when="period")


@pytest.mark.parametrize(
    ("low", "high", "log"),
    [(2.0, 1.0, False), (0.0, 1.0, True), (0.0, math.inf, False)],
)
def test_a_range_that_holds_nothing_is_refused(low: float, high: float, log: bool) -> None:
    with pytest.raises(ValueError, match="search range"):
        Range(low, high, log)


def test_what_proves_better_is_adopted(whole: Tuned, grounds: Grounds) -> None:
    assert whole.adopted
    assert whole.policy == whole.found != Interval(factor=HASTY)
    assert whole.trials == TRIALS
    found = whole.policy
    assert isinstance(found, Interval)
    assert 0.05 <= found.factor <= 20.0
    assert found.untouched == 0.5
    later = grounds.validation
    assert later.measure(later.run(found)).score == pytest.approx(whole.best.value)
    before = later.measure(later.run(Interval(factor=HASTY))).score
    assert before == pytest.approx(whole.default.value)
    assert later.scenario.split == "validation"
    assert whole.proof.value == pytest.approx(whole.best.value - whole.default.value)
    assert whole.proof.low > 0.0
    assert whole.gain.low > 0.0


def test_gains_are_those_on_earlier_slices(whole: Tuned, grounds: Grounds) -> None:
    fit = grounds.fit
    scores = [
        fit.measure(fit.run(policy)).score for policy in (whole.found, Interval(factor=HASTY))
    ]
    assert whole.gain.value == pytest.approx(scores[0] - scores[1])
    assert fit.scenario.split == "fit"


def test_what_is_better_on_the_slices_of_the_search_only_is_not_adopted(
    scenario: Scenario, grounds: Grounds
) -> None:
    free = Anchors.of(scenario.override(weight_overhead=0.0), split="validation")
    given = Interval(factor=HASTY)
    found = tune(given, Grounds(grounds.fit, free), trials=4)
    assert found.found != given
    assert found.gain.low > 0.0 > found.proof.low
    assert not found.adopted
    assert found.policy == given
    assert found.best == found.default


def test_equal_variants_leave_what_was_given(grounds: Grounds) -> None:
    found = tune(Interval(when="never"), grounds, trials=4, fixed=("when",))
    assert not found.adopted
    assert found.policy == found.found == Interval(when="never")
    assert found.gain == found.proof == (0.0, 0.0, 0.0)


def test_a_heavy_job_does_not_decide(grounds: Grounds) -> None:
    """A variant that is better on one job by much, and worse on all others, is no sure gain."""
    comparison = Comparison(Interval(), grounds.fit)
    possible, job = comparison.evidence.possible, comparison.evidence.units.of_row
    heavy = np.where(job == job[0], -np.sum(possible) / np.sum(job == job[0]), 0.01 * possible)
    lucky, steady = comparison.given + heavy, comparison.given - 0.02 * possible

    def gain(tried: Any, confidence: float = SURE) -> Score:
        return comparison.gain(tried, comparison.all, confidence)

    assert gain(lucky).value > gain(steady).value > 0.0
    assert gain(lucky).low < 0.0 < gain(steady).low
    assert gain(steady, ADOPTED).low == pytest.approx(2.0)


def test_an_interrupted_search_goes_on_as_if_it_had_not_been(
    whole: Tuned, grounds: Grounds, tmp_path: Path
) -> None:
    file = tmp_path / "interval.trials"
    done: list[int] = []
    for trials in (1, 5, TRIALS):
        done.clear()
        parts = tune(
            Interval(factor=HASTY),
            grounds,
            trials=trials,
            seed=3,
            storage=file,
            progress=done.append,
        )
    assert (parts.found, parts.gain, parts.proof) == (whole.found, whole.gain, whole.proof)
    assert (parts.policy, parts.best) == (whole.policy, whole.best)
    assert done[0] == 5
    assert sum(done) == TRIALS


def test_fixed_parameters_keep_their_value(grounds: Grounds) -> None:
    given = Interval(factor=3.0, least=1)
    found = tune(given, grounds, trials=6, fixed=("factor", "least")).found
    assert isinstance(found, Interval)
    assert (found.factor, found.least) == (3.0, 1)


def test_the_trials_of_another_search_are_not_taken_up(grounds: Grounds, tmp_path: Path) -> None:
    file = tmp_path / "trials"
    tune(Interval(), grounds, trials=1, storage=file)
    with pytest.raises(ValueError, match="trials of another search: its seed was 0, is 1"):
        tune(Interval(), grounds, trials=2, seed=1, storage=file)
    with pytest.raises(ValueError, match=r"its policy was untouched=0\.5, is untouched=0\.1"):
        tune(Interval(untouched=0.1), grounds, trials=2, storage=file)


def test_a_file_that_is_something_else_is_refused_and_kept(
    grounds: Grounds, tmp_path: Path
) -> None:
    text, other = tmp_path / "text", tmp_path / "other.db"
    text.write_text("no database\n" * 100)
    with sqlite3.connect(other) as connection:
        connection.execute("create table studies (x int)")
    connection.close()
    for file in (text, other):
        before = file.read_bytes()
        with pytest.raises(ValueError, match="not a file of trials"):
            tune(Interval(), grounds, trials=1, storage=file)
        assert file.read_bytes() == before
    with pytest.raises(ValueError, match="no such folder"):
        tune(Interval(), grounds, trials=1, storage=tmp_path / "none" / "trials")


def test_a_file_is_there_whole_or_not_at_all(
    grounds: Grounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    file = tmp_path / "trials"
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            tune(Interval(), grounds, trials=1, storage=file)
    assert list(tmp_path.iterdir()) == []
    file.touch()  # as mktemp makes it
    done: list[int] = []
    for _ in range(2):
        done.clear()
        tune(Interval(), grounds, trials=1, storage=file, progress=done.append)
    assert done == [1]  # the one that was kept


def test_a_kill_in_the_midst_of_writing_costs_no_trial_before(
    grounds: Grounds, tmp_path: Path
) -> None:
    file, done = tmp_path / "trials", list[int]()
    tune(Interval(), grounds, trials=1, storage=file)
    subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
    assert Path(f"{file}-journal").stat().st_size
    tune(Interval(), grounds, trials=1, storage=file, progress=done.append)
    assert done == [1]


def test_a_heuristic_without_parameters_or_decisions_is_refused(scenario: Scenario) -> None:
    with pytest.raises(ValueError, match="replay: no parameter to tune"):
        tune(Replay(), scenario)
    with pytest.raises(
        ValueError,
        match="needs decisions that GracePeriod-v1 does not offer: set checkpoint=true",
    ):
        tune(Interval(), resolve("failgym/GracePeriod-v1").override(jobs=300, slice_tasks=16))


@pytest.mark.parametrize("order", ["task", "time"])
def test_slices_cost_what_they_cost_one_after_the_other(scenario: Scenario, order: Order) -> None:
    anchors = Anchors.of(scenario.override(order=order), split="fit", episodes=9)
    comparison = Comparison(Interval(factor=1.0), anchors)
    rows = np.array([7, 0, 4])
    first = np.concatenate([[0], np.cumsum(anchors.world.own_sizes[anchors.replay.slices])])
    costs = anchors.run(Interval(factor=1.0)).costs.sum(axis=1)
    assert np.add.reduceat(comparison.given, first[:-1]) == pytest.approx(costs)
    tried, at = comparison.costs(Interval(factor=2.0), rows), 0
    expected = anchors.run(Interval(factor=2.0)).costs.sum(axis=1)
    for row in rows.tolist():
        tasks = int(first[row + 1] - first[row])
        assert tried[at : at + tasks].sum() == pytest.approx(expected[row])
        at += tasks
    again = comparison.costs(Interval(factor=1.0), rows)
    assert (again == comparison.given[comparison.rows(rows)]).all()
