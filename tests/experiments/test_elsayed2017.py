"""The experiments on El-Sayed, Zhu and Schroeder (ICDCS 2017)."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from experiments import elsayed2017_figure6, elsayed2017_table3, elsayed2017_table5
from experiments.elsayed2017 import Cell, described, percent, traced
from experiments.elsayed2017_figure9 import life_left
from experiments.elsayed2017_retry_cap import EXPERIMENT as RETRY_CAP
from experiments.proactive_cloning import (
    CLONES,
    FALSE_POSITIVES,
    RECALL,
    THRESHOLDS,
    predictor,
    recalls,
    sample,
)
from experiments.reproduction import Experiment, Measured, Options, Row
from failgym import metrics
from failgym.evaluation import Record
from failgym.traces import Cause, Meta, Outcome, Trace

QUICK = Options(seeds=1, quick=True)
MINUTE = 60_000
CHEAP = ("table1", "table2", "table3", "configuration", "figure2", "figure4", "figure9", "figure11")
"""Experiments that take a second or less when quick."""


def experiment(item: str) -> Experiment:
    found: Experiment = import_module(f"experiments.elsayed2017_{item}").EXPERIMENT
    return found


EVIDENCE = {
    "table1": set[str](),
    "table2": set[str](),
    "table3": set[str](),
    "figure4": set[str](),
    "configuration": {
        "CMU: all jobs that disable speculative execution [%]",
        "CMU: all jobs with the default skip mode [%]",
    },
}
"""Judged rows of which the profiles were not given the figure."""


@pytest.mark.parametrize("item", EVIDENCE)
def test_what_a_profile_was_given_is_no_evidence(item: str) -> None:
    judged = [row for row in experiment(item).run(QUICK)[0].rows if row.band is not None]
    assert {row.name for row in judged if not row.fitted} == EVIDENCE[item]
    assert len(judged) > len(EVIDENCE[item])


def row(measured: Measured, name: str) -> Row:
    (found,) = (row for row in measured.rows if row.name == name)
    return found


@pytest.mark.parametrize("item", CHEAP)
def test_the_same_seeds_give_the_same_result(item: str) -> None:
    made = experiment(item)
    first = made.result(made.run(QUICK)[0], QUICK, 0.0)
    for kept in (traced, described, sample, elsayed2017_table3.lanl):
        kept.cache_clear()
    assert repr(made.result(made.run(QUICK)[0], QUICK, 0.0)) == repr(first)
    assert first["rows"]


@pytest.mark.parametrize("item", CHEAP)
def test_pictures_are_drawn_from_the_series_alone(item: str) -> None:
    made = experiment(item)
    if made.draw is None:
        pytest.skip("a table")
    from matplotlib.figure import Figure

    series = made.run(QUICK)[0].series
    figure = Figure()
    made.draw(Measured((), series), figure)
    assert figure.axes


def test_retry_cap_is_exact() -> None:
    measured, _ = RETRY_CAP.run(Options(seeds=0))
    assert [row.verdict for row in measured.rows] == ["within"] * 6
    assert row(measured, "Google, 1 retries").ours == pytest.approx(0.0116, abs=1e-12)
    assert row(measured, "OpenCloud, 2 retries").ours == pytest.approx(0.019224, abs=1e-12)


class TestBands:
    def test_of_shares(self) -> None:
        assert percent(63.0) == (62.0, 64.0)
        assert percent(1.0) == pytest.approx((0.8, 1.2))

    def test_only_what_is_outside_is_explained(self) -> None:
        inside = Row("x", 1.0, 1.0, band=(0.5, 1.5))
        assert not inside.because("found").note
        assert replace(inside, ours=2.0).because("found").note == "found"

    def test_a_table_that_a_trace_does_not_have_gives_no_number(self) -> None:
        cell = Cell("x", "LANL", "speculation", "all", "share off", None)
        assert math.isnan(cell.of(described("LANL", 0, quick=True), "all"))


class TestProactiveCloning:
    def test_the_predictor_is_of_the_stated_quality(self) -> None:
        tasks = sample(0, quick=True)
        outcome = tasks.trace.column("attempts", "outcome")
        begin, count = tasks.forecast.offset[:-1], np.diff(tasks.forecast.offset)
        highest = np.array(
            [
                tasks.forecast.risk[a : a + n].max(initial=0.0)
                for a, n in zip(begin, count, strict=True)
            ]
        )
        other = (outcome != Outcome.FAIL) & (count > 0)
        for threshold, rate in zip(THRESHOLDS, FALSE_POSITIVES, strict=True):
            # the share of some 4,000 attempts
            flagged = (highest[other] >= np.float32(threshold)).mean()
            assert flagged == pytest.approx(rate, abs=4 * (rate / other.sum()) ** 0.5)

    def test_recall_falls_through_the_fitted_point(self) -> None:
        assert recalls()[THRESHOLDS.index(0.9)] == pytest.approx(RECALL)
        assert list(recalls()) == sorted(recalls(), reverse=True)

    def test_a_perfect_prediction_costs_nothing(self) -> None:
        tasks = sample(0, quick=True).with_failures()
        told = replace(predictor(0), threshold=0.5, recall=1.0, fpr=0.0, at_start=1.0)
        tasks = replace(tasks, forecast=told.predict(tasks.trace))
        outcomes = tasks.replay(0.5, 1)
        before = Record.of(tasks.trace).work[outcomes["task"]]
        assert len(before) > 20
        assert (metrics.task_work(outcomes) <= before).all()
        assert (metrics.completion_ratios(outcomes) <= 1.0).all()

    def test_a_falsely_flagged_task_costs_what_its_clones_run(self) -> None:
        """40 minutes, flagged after one window, each clone a window after the one before."""
        trace = Trace.of(
            Meta("one task"),
            jobs={"original_id": ["0"], "submit": 0, "width": 1, "outcome": Outcome.FINISH},
            tasks={"job": [0], "index": [0], "width": 1},
            attempts={
                "task": [0],
                "start": [0],
                "end": [40 * MINUTE],
                "outcome": [Outcome.FINISH],
            },
        )
        tasks = elsayed2017_table5.Sample.of(trace, 0)
        told = replace(predictor(0), threshold=0.9, recall=1.0, fpr=1.0 - 1e-12)
        tasks = replace(tasks, forecast=told.predict(trace))
        overheads = [tasks.overhead(0.9, clones) for clones in CLONES]
        assert overheads == pytest.approx([100 * x / 40 for x in (35, 35 + 30, 35 + 30 + 25)])

    def test_overheads_of_several_clones_are_predicted_within_their_bands(self) -> None:
        tasks = [sample(seed, quick=True) for seed in (0, 1, 2)]
        found = [{0.1: [one.overhead(0.1, clones) for clones in CLONES]} for one in tasks]
        one, two, three = (sum(made[0.1][n] for made in found) for n in range(3))
        for clones, several in ((2, two), (3, three)):
            low, high = elsayed2017_table5.RATIOS[clones]
            assert low <= several / one <= high


def test_shares_of_what_outages_end_sum_to_all() -> None:
    trace = elsayed2017_table3.lanl(0, elsayed2017_table3.QUICK_JOBS)
    assert sum(left for left, _ in elsayed2017_table3.shares(trace).values()) == pytest.approx(100)


def hadoop() -> Trace:
    """A job of one mapper that fails, then succeeds, and one of two mappers that succeed."""
    return Trace.of(
        Meta("by hand"),
        jobs={
            "original_id": ["0", "1"],
            "submit": 0,
            "width": [2, 2],
            "outcome": Outcome.FINISH,
        },
        stages={"job": [0, 0, 1], "stage": [0, 1, 0], "name": ["map", "reduce", "map"]},
        tasks={"job": [0, 0, 1, 1], "index": [0, 1, 0, 1], "stage": [0, 1, 2, 2], "width": 1},
        attempts={
            "task": [0, 0, 1, 2, 3],
            "start": [0, 20, 40, 0, 0],
            "end": [10, 40, 50, 10, 10],
            "outcome": [Outcome.FAIL, *[Outcome.FINISH] * 4],
            "cause": [Cause.INTRINSIC, *[None] * 4],
        },
    )


def test_parallelism_at_opencloud_is_the_number_of_mappers() -> None:
    with np.errstate(invalid="ignore"):
        single = elsayed2017_figure6.success(hadoop(), single=True)
        multi = elsayed2017_figure6.success(hadoop(), single=False)
    assert single[:2] == [0.5, 1.0]
    assert multi[0] == 1.0
    assert math.isnan(multi[1])


def test_life_left_of_failed_tasks() -> None:
    """10 ms until the first failure, 30 ms after it."""
    trace = Trace.of(
        Meta("by hand"),
        jobs={"original_id": ["0"], "submit": 0, "width": 1, "outcome": Outcome.FAIL},
        tasks={"job": [0], "index": [0], "width": 1},
        attempts={
            "task": [0, 0],
            "start": [0, 100],
            "end": [10, 130],
            "outcome": [Outcome.FAIL, Outcome.FAIL],
            "cause": Cause.INTRINSIC,
        },
    )
    assert life_left(trace) == pytest.approx(0.75)
