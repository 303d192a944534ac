"""Class grace periods learned from a train split."""

from __future__ import annotations

import dataclasses
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pytest

from failgym.baselines import GracePeriod
from failgym.envs import resolve
from failgym.evaluation import run_policy, whole_trace_world
from failgym.predictors import Calibrated, Forecast, TwoLevelNetwork
from failgym.predictors.base import task_classes
from failgym.predictors.network.grace_periods import (
    UNKNOWN,
    class_grace_periods,
    execution_times,
    learn_grace_periods,
    mitigated_false_negatives,
    task_grace_periods,
)
from failgym.sim.shared.rules import Rules
from failgym.traces import Cause, Meta, Outcome, Trace, generate
from failgym.traces.synthetic import PROFILES, Google2011
from failgym.vocabulary import MINUTE

PAPER = {"grace_evict": 324 * MINUTE, "grace_fail": 56 * MINUTE, "grace_kill": 83 * MINUTE}


def confident(trace: Trace, confidence: npt.ArrayLike, jobs: npt.ArrayLike = 1.0) -> Forecast:
    counts = (trace.rows("jobs"), trace.rows("tasks"), trace.rows("attempts"))
    return dataclasses.replace(
        Forecast.none(trace.content_hash, *counts, 5 * MINUTE),
        confidence=np.asarray(confidence, dtype=np.float32),
        job_confidence=np.broadcast_to(np.asarray(jobs, dtype=np.float32), counts[0]),
    )


def tasks_of(times: list[int], outcomes: list[Outcome]) -> Trace:
    """One job; tasks of given execution times [ms] and outcomes."""
    causes = {Outcome.FAIL: Cause.INTRINSIC, Outcome.EVICT: Cause.PREEMPTION}
    number = len(times)
    return Trace.of(
        Meta("one job"),
        jobs={"original_id": ["a"], "submit": 0, "width": number, "outcome": Outcome.KILL},
        tasks={"job": 0, "index": range(number), "width": 1},
        attempts={
            "task": range(number),
            "start": 1000,
            "end": [1000 + time for time in times],
            "outcome": outcomes,
            "cause": [None if o == Outcome.FINISH else causes.get(o, Cause.USER) for o in outcomes],
        },
    )


@lru_cache(maxsize=1)
def google() -> tuple[Trace, Forecast]:
    trace = generate("google-2011", jobs=500, seed=9, usage=False)
    return trace, Calibrated.rosa(seed=1).predict(trace)


@pytest.mark.parametrize(
    ("confidence", "minutes"),
    [((0.1, 0.1, 0.2, 0.6), 103.778), ((0.1, 0.05, 0.05, 0.8), 94.889), ((0.0, 1, 0, 0), 324)],
)
def test_the_papers_grace_periods(confidence: tuple[float, ...], minutes: float) -> None:
    """GP = sum(o_i CG_i) / sum(o_i) over evict, fail and kill (Rosà et al., section III-4)."""
    trace = tasks_of([1], [Outcome.FINISH])
    period = task_grace_periods(confident(trace, [confidence]), PAPER)
    _, *weights = confidence
    exact = np.dot(weights, list(PAPER.values())) / sum(weights)
    assert period[0] / MINUTE == pytest.approx(minutes, abs=5e-4)
    assert period[0] == pytest.approx(exact, abs=1.0)
    assert {name: getattr(Rules(), name) for name in PAPER} == PAPER


def test_execution_times_count_from_the_first_start_as_a_kill_does() -> None:
    trace = Trace.of(
        Meta("by hand"),
        jobs={"original_id": ["a"], "submit": 0, "width": 4, "outcome": Outcome.KILL},
        tasks={"job": 0, "index": [0, 1, 2, 3], "width": 1},
        attempts={
            "task": [0, 0, 0, 1, 2, 3],
            "queued": [0, 15, 40, 0, 0, 0],
            "start": [5, 20, 45, None, 3, 10],
            "end": [12, 60, 99, 30, 80, 25],
            "outcome": [
                *(Outcome.EVICT, Outcome.FINISH, Outcome.FINISH),
                *(Outcome.KILL, Outcome.CENSORED, Outcome.FAIL),
            ],
            "cause": [Cause.PREEMPTION, None, None, Cause.USER, None, Cause.INTRINSIC],
        },
    )
    assert execution_times(trace).tolist() == [55, UNKNOWN, UNKNOWN, 15]


def test_class_grace_periods_are_percentiles_of_the_class() -> None:
    outcomes = [Outcome.FAIL] * 3 + [Outcome.KILL] * 2 + [Outcome.FINISH]
    trace = tasks_of([10, 20, 40, 100, 201, 9999], outcomes)
    assert class_grace_periods(trace, 50) == {
        "grace_evict": 40,  # none was evicted: of all five that did not finish
        "grace_fail": 20,
        "grace_kill": 151,  # 150.5, half up
    }
    assert class_grace_periods(trace, 75)["grace_fail"] == 30
    with pytest.raises(ValueError, match="did not finish"):
        class_grace_periods(tasks_of([5], [Outcome.FINISH]), 50)


def test_false_negatives_outlast_their_grace_or_not() -> None:
    outcomes = [Outcome.FINISH] * 4 + [Outcome.KILL]
    trace = tasks_of([100, 101, 500, 500, 500], outcomes)
    killed, finishes = [0.2, 0, 0, 0.8], [0.9, 0, 0, 0.1]
    forecast = confident(trace, [killed, killed, killed, finishes, killed])
    periods = {"grace_evict": 0, "grace_fail": 0, "grace_kill": 100}
    # An end at the very moment of the kill wins; of five tasks two are killed and would finish.
    assert mitigated_false_negatives(trace, forecast, periods) == 2 / 5
    nobody = confident(trace, forecast.confidence, jobs=0.4)
    assert np.isnan(mitigated_false_negatives(trace, nobody, periods))


def test_the_lowest_percentile_that_meets_the_target_is_learned() -> None:
    trace, forecast = google()
    learned = learn_grace_periods(trace, forecast, target=0.02)
    rates = [
        mitigated_false_negatives(trace, forecast, class_grace_periods(trace, percentile))
        for percentile in range(1, 101)
    ]
    assert rates == sorted(rates, reverse=True)
    lowest = next(p for p, rate in enumerate(rates, start=1) if rate <= 0.02)
    assert 1 < lowest < 100
    assert learned.percentile == lowest
    assert learned.mitigated == rates[lowest - 1] <= 0.02 < rates[lowest - 2]
    assert learned.periods == class_grace_periods(trace, lowest)
    assert learned.false_negatives > rates[0]
    stricter = learn_grace_periods(trace, forecast, target=0.005)
    assert stricter.percentile > lowest
    assert stricter.false_negatives == learned.false_negatives


def test_a_target_that_nothing_meets() -> None:
    trace = tasks_of([900, 50], [Outcome.FINISH, Outcome.KILL])
    forecast = confident(trace, [[0, 0, 0, 1]] * 2)
    with pytest.raises(ValueError, match=r"target: no percentile .* 0\.1 .*, got 0\.5"):
        learn_grace_periods(trace, forecast, target=0.1)
    with pytest.raises(ValueError, match="no task is considered"):
        learn_grace_periods(trace, confident(trace, forecast.confidence, jobs=0.0))


@pytest.mark.campaign
def test_periods_meet_the_target_on_later_days() -> None:
    """Chosen on two weeks, judged on the nine days after them, a tenth of the cluster's jobs.

    With networks trained anew each day: one for all days flags tasks that finish, weeks later.
    """
    pytest.importorskip("torch", reason="needs failgym[predictors]")
    shape = PROFILES["google-2011"]
    assert isinstance(shape, Google2011)
    month = dataclasses.replace(shape, sampling=0.1)
    trace = generate(month, jobs=35_000, seed=1, usage=False)
    first, rest = trace.split("train", 0.2), trace.split("test", 0.2)
    earlier = rest.split("train", 5 / 8)
    network = TwoLevelNetwork(memory=29 * 24 * 60 * MINUTE).fit(first)
    learned = learn_grace_periods(earlier, network.predict(earlier), target=0.01)
    forecast = network.predict(rest)
    late = rest.column("jobs", "submit") > earlier.column("jobs", "submit").max()
    told = np.where(late, forecast.job_confidence, np.float32(0))  # only these are considered
    forecast = dataclasses.replace(forecast, job_confidence=told)
    unmitigated = dict.fromkeys(learned.periods, 0)
    mitigated = mitigated_false_negatives(rest, forecast, learned.periods)
    assert mitigated <= 0.01 + 0.004
    assert mitigated <= mitigated_false_negatives(rest, forecast, unmitigated)


def test_the_engine_kills_as_many_with_the_periods_learned() -> None:
    """A scenario takes the periods as they are, and leaves as many false negatives as foretold."""
    trace, forecast = google()
    learned = learn_grace_periods(trace, forecast, target=0.03)
    scenario = resolve("GracePeriod-v1").override(
        trace=trace, split="all", forecast=forecast, decide="every", **learned.periods
    )
    world = whole_trace_world(trace, scenario, known_only=True)
    table = run_policy(world, scenario, GracePeriod(), lanes=64).outcomes
    killed = table["killed"] & (table["recorded_outcome"] == Outcome.FINISH)
    jobs = forecast.job_confidence[trace.column("tasks", "job")] >= 0.5
    considered = jobs & (trace.task_outcome != Outcome.CENSORED)
    assert killed.sum() / considered.sum() == pytest.approx(learned.mitigated, rel=1e-12)
    assert task_classes(trace)[considered].mean() > 0
