"""What networks misclassify and save, against sums that are made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.rosa2015 import CLASS_MINUTES, population
from experiments.rosa2015_learned import found_on
from experiments.rosa2015_learned_measures import (
    BOUNDARY,
    Judged,
    judged,
    largest_job,
    share_of,
    together,
)
from failgym.predictors import TwoLevelNetwork
from failgym.predictors.network.misclassification import misclassified
from failgym.traces import Outcome, Trace
from failgym.vocabulary import MINUTE


@pytest.fixture(scope="module")
def trace() -> Trace:
    """A task has one attempt, so that what a grace period saves is seen at once."""
    return population(0, jobs=80)


@pytest.fixture(scope="module")
def found(trace: Trace) -> Judged:
    return judged(trace, TwoLevelNetwork())


def ratio(judged: Judged, name: str) -> float:
    counted, of = judged.sums[name]
    return float(counted.sum() / of.sum())


def test_foretold_rightly_grace_periods_save_what_comes_after_them(
    trace: Trace, found: Judged
) -> None:
    late = trace.split("test", BOUNDARY)
    length = (late.column("attempts", "end") - late.column("attempts", "start")) / MINUTE
    outcome = late.task_outcome
    spent = saved = 0.0
    for name, minutes in CLASS_MINUTES.items():
        of = length[outcome == Outcome[name.upper()]]
        spent, saved = spent + of.sum(), saved + np.maximum(of - minutes, 0.0).sum()
    assert saved > 0.0
    assert ratio(found, "saved, time, foretold rightly") == pytest.approx(saved / spent, rel=1e-6)


def test_rates_are_those_of_the_library(trace: Trace, found: Judged) -> None:
    early, late = (trace.split(part, BOUNDARY) for part in ("train", "test"))
    rates = misclassified(late, TwoLevelNetwork().fit(early).predict(late))
    assert ratio(found, "jobs misclassified") == pytest.approx(rates.job_rate)
    assert ratio(found, "tasks misclassified") == pytest.approx(rates.task_rate)
    assert ratio(found, "false negatives") == pytest.approx(rates.task_false_negatives)


def test_no_grace_saves_more_and_no_more_is_killed_than_was_flagged(found: Judged) -> None:
    assert ratio(found, "saved, time, without grace") >= ratio(found, "saved, time")
    assert ratio(found, "false negatives killed") <= ratio(found, "false negatives")
    for counted, of in found.sums.values():
        assert ((counted >= 0.0) & (counted <= of)).all()


def made(counted: list[float], of: list[float]) -> Judged:
    return Judged(
        np.arange(len(of)) * 1_000,
        {"saved, time": (np.array(counted), np.array(of))},
        None,
    )


def test_a_share_of_several_traces_is_a_ratio_of_sums() -> None:
    traces = [made([1.0] * 40, [2.0] * 40), made([0.0] * 40, [6.0] * 40)]
    found = share_of(traces, traces, "saved, time")
    assert found.value == pytest.approx(40 / 320)
    assert (found.lowest, found.highest) == (0.0, 0.5)
    assert found.low < 0.05
    assert found.high > 0.3, "traces differ by more than their jobs say"


def test_one_job_that_holds_nearly_all_leaves_nothing_sure() -> None:
    even = made([1.0, 0.0] * 50, [1.0] * 100)
    heavy = made([99.0] + [0.0] * 99, [99.0] + [1.0] * 99)
    assert (largest_job(even), largest_job(heavy)) == (0.01, 0.5)
    sure, unsure = (share_of([one], [one], "saved, time") for one in (even, heavy))
    assert (sure.value, unsure.value) == (0.5, 0.5)
    assert sure.high - sure.low < 0.4
    assert unsure.high - unsure.low > 0.9


def test_seeds_of_the_networks_are_taken_together_on_one_trace() -> None:
    one, other = made([1.0] * 40, [4.0] * 40), made([3.0] * 40, [4.0] * 40)
    both = share_of([together([one, other])], [one, other], "saved, time")
    assert (both.value, both.lowest, both.highest) == (0.5, 0.25, 0.75)


def test_kinds_of_traces_are_judged_by_seed_or_by_trace(trace: Trace) -> None:
    one = found_on("one", [lambda: trace], 1)
    two = found_on("two", [lambda: trace, lambda: population(1, jobs=80)], 9)
    assert (one.count, two.count) == (1, 2)
    late = trace.split("test", BOUNDARY)
    assert one.jobs == late.rows("jobs")
    assert {share.what for share in one.shares} <= {share.what for share in two.shares}
    assert one.minutes == (None,), "so few jobs leave no percentile that would do"
    assert one.hours == pytest.approx(14 * 24, rel=0.1)
