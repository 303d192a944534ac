"""What the papers claim, on synthetic traces with fixed seeds."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from experiments.paper_worlds import CLONING, GRACE_PERIOD
from failgym import metrics
from failgym.baselines import Algorithm1, GracePeriod, Replay, Young
from failgym.envs import Scenario
from failgym.evaluation import run_policy, whole_trace_world
from failgym.predictors import Calibrated, Perfect
from failgym.sim.shared.rules import Rules
from failgym.traces import Cause, Outcome, Trace
from failgym.traces.synthetic import generate
from failgym.vocabulary import MINUTE, SECOND
from failgym.worlds.build import build_world
from tests.chains import MOST_ATTEMPTS, WINDOW, chains, flickering, outcomes, single_jobs

READINGS: tuple[Literal["chain", "burst"], ...] = ("chain", "burst")
CLONES = (0, 1, 2, 3)
THRESHOLDS = (0.1, 0.5, 0.9, 0.95, 0.99)


def test_youngs_period_is_near_the_best_of_a_grid_under_exponential_failures() -> None:
    """Young, CACM 1974; Kumar et al., DSN 2020, section VI-A."""
    trace = exponential_failures(tasks=600, mtbf=10_000 * SECOND, length=20_000 * SECOND)
    scenario = Scenario(
        trace=trace,
        split="all",
        checkpoint=True,
        window=20 * SECOND,
        checkpoint_cost=60 * SECOND,
        restore_cost=60 * SECOND,
        mtbf=10_000 * SECOND,
        slice_tasks=8,
    )
    waste = {f: young_waste(scenario, f) for f in (0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 2.0)}
    assert waste[1.0] <= 1.05 * min(waste.values())
    assert waste[0.5] > 1.1 * waste[1.0] < waste[2.0]


def exponential_failures(tasks: int, mtbf: int, length: int) -> Trace:
    """Tasks of one length that are struck at exponential intervals until they finish."""
    rng = np.random.default_rng(1)
    columns = ("task", "start", "end", "outcome", "cause", "length")
    attempts: dict[str, list[Any]] = {name: [] for name in columns}
    for task in range(tasks):
        now, kind = 0, (Outcome.EVICT, Cause.MACHINE)
        while kind[0] != Outcome.FINISH:
            run = int(rng.exponential(mtbf))
            if run >= length:
                run, kind = length, (Outcome.FINISH, None)
            for name, value in zip(columns, (task, now, now + run, *kind, length), strict=True):
                attempts[name].append(value)
            now += run
    return single_jobs(attempts, tasks)


def young_waste(scenario: Scenario, factor: float) -> int:
    table = run_policy(build_world(scenario), scenario, Young(factor=factor)).outcomes
    assert (table["outcome"] == Outcome.FINISH).all()
    return metrics.wasted_work(table) + metrics.checkpoint_work(table)


@pytest.mark.parametrize(
    ("confidences", "minutes"),
    [((0.1, 0.2, 0.6), 103.778), ((0.05, 0.05, 0.8), 94.889), ((0.0, 0.0, 0.0), 154.333)],
)
def test_grace_periods_of_the_compiled_world(
    confidences: tuple[float, float, float], minutes: float
) -> None:
    """Rosà et al., IWQoS 2015, section III-4: 324, 56 and 83 minutes, weighted."""
    trace = chains(np.random.default_rng(0), 1, evicted=0.0, finished=1.0)
    forecast = flickering(np.random.default_rng(0), trace)
    given = np.array([[0.0, *confidences]], dtype=np.float32)
    rules = Rules(kill=True)
    scenario = Scenario(trace=trace, split="all", forecast=replace(forecast, confidence=given))
    grace = compiled_grace(scenario, trace)
    evict, fail, kill = given[0, 1:].astype(np.float64)
    exact = float(metrics.grace_period(evict, fail, kill, rules)) * MINUTE
    assert grace == np.floor(exact + 0.5)
    assert grace / MINUTE == pytest.approx(minutes, abs=1e-3)


def compiled_grace(scenario: Scenario, trace: Trace) -> int:
    rules = replace(scenario, kill=True, window=WINDOW)
    return int(build_world(rules).tasks["grace"][0])


# --- Algorithm 1 of El-Sayed et al., ICDCS 2017 --------------------------------------------------


def cloning_rules(clones: int, beyond_record: Literal["ghost", "paper"] = "ghost") -> Rules:
    return Rules(
        clone=True,
        retry=True,
        give_up=True,
        max_extra=MOST_ATTEMPTS - 1,
        max_clones=clones,
        restart_limit=0,
        window=WINDOW,
        beyond_record=beyond_record,
    )


def algorithm_1(clones: int, reading: Literal["chain", "burst"]) -> Algorithm1:
    return Algorithm1(threshold=0.5, max_clones=clones, reading=reading)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("finished", [0.0, 0.5, 1.0])
def test_more_clones_never_delay_a_task(
    reading: Literal["chain", "burst"], finished: float
) -> None:
    """Where only failures end attempts: each start comes no later if one comes earlier."""
    rng = np.random.default_rng(3)
    trace = chains(rng, 1_500, evicted=0.0, finished=finished)
    forecast = flickering(rng, trace)
    ends = [
        outcomes(trace, cloning_rules(clones), forecast, algorithm_1(clones, reading))["end"]
        for clones in CLONES
    ]
    for fewer, more in itertools.pairwise(ends):
        assert (more <= fewer).all()
    assert (ends[1] < ends[0]).any()
    assert (ends[2] < ends[1]).any()


@pytest.mark.parametrize("reading", READINGS)
def test_more_clones_never_delay_a_task_of_the_profile(reading: Literal["chain", "burst"]) -> None:
    trace = generate("google-2011-failing", jobs=500, seed=2)
    ends: list[Any] = []
    for clones in CLONES:
        scenario = CLONING.override(max_clones=clones, decide="every")
        world = whole_trace_world(trace, scenario, known_only=True)
        policy = Algorithm1(threshold=0.5, max_clones=clones, reading=reading)
        table = run_policy(world, scenario, policy, lanes=128).outcomes
        ends.append(table["end"][only_failures(trace)[table["task"]]])
    assert len(ends[0]) > 500
    assert all((more <= fewer).all() for fewer, more in itertools.pairwise(ends))
    assert (ends[1] < ends[0]).any()


def only_failures(trace: Trace) -> Any:
    """Tasks of at most `MOST_ATTEMPTS` attempts, one after the other, that fail or finish."""
    task, start = trace.column("attempts", "task"), trace.column("attempts", "start", missing=-1)
    outcome, end = trace.column("attempts", "outcome"), trace.column("attempts", "end")
    cause = trace.column("attempts", "cause", missing=int(Cause.INTRINSIC))
    other = ~np.isin(outcome, (Outcome.FINISH, Outcome.FAIL)) | (cause != Cause.INTRINSIC)
    other[1:] |= (task[1:] == task[:-1]) & (start[1:] < end[:-1])
    bad = np.bincount(task, other | (start < 0), trace.rows("tasks")) > 0
    return ~bad & (np.bincount(task, minlength=trace.rows("tasks")) <= MOST_ATTEMPTS)


@pytest.mark.parametrize("reading", READINGS)
def test_clones_never_delay_a_task_that_finishes(reading: Literal["chain", "burst"]) -> None:
    """Evicted or not: with clones it is never later than without, nor than in the record.

    Here more clones may be worse than fewer: see the next test.
    """
    rng = np.random.default_rng(4)
    trace = chains(rng, 1_500, evicted=0.4, finished=1.0)
    forecast = flickering(rng, trace)
    tables = [
        outcomes(trace, cloning_rules(clones), forecast, algorithm_1(clones, reading))
        for clones in CLONES
    ]
    for table in tables:
        assert (table["outcome"] == Outcome.FINISH).all()
        assert (table["end"] <= tables[0]["end"]).all()
        assert (table["end"] <= table["recorded_end"]).all()


def test_after_evictions_a_second_clone_can_delay() -> None:
    """A restart is dropped while something lives, and so its short gap may be lost.

    Attempt 0 is evicted at 100 and followed by a gap of 1000. With one clone attempt 3 follows
    attempt 2 at once, at 110, and the last one at 120. With two, attempts 1 to 3 are over before
    attempt 0 is, and what restarts the task is the end of attempt 0, after its long gap.
    """
    evicted, failed = (Outcome.EVICT, Cause.PREEMPTION), (Outcome.FAIL, Cause.INTRINSIC)
    spans = [(0, 100), (1100, 1150), (1150, 1210), (1210, 1220), (1220, 1230)]
    kinds = [evicted, failed, evicted, evicted, (Outcome.FINISH, None)]
    attempts: dict[str, list[Any]] = {
        "task": [0] * 5,
        "start": [start for start, _ in spans],
        "end": [end for _, end in spans],
        "outcome": [outcome for outcome, _ in kinds],
        "cause": [cause for _, cause in kinds],
    }
    trace = single_jobs(attempts, 1)
    forecast = flickering(np.random.default_rng(0), trace)
    flagged = np.repeat(np.arange(5) < 2, np.diff(forecast.offset)).astype(np.float32)
    forecast = replace(forecast, risk=flagged)
    ends = [
        int(outcomes(trace, cloning_rules(c), forecast, algorithm_1(c, "chain"))["end"][0])
        for c in (0, 1, 2)
    ]
    assert ends == [1230, 130, 1110]


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("clones", CLONES)
def test_a_perfect_forecast_costs_no_work_and_delays_no_task(
    reading: Literal["chain", "burst"], clones: int
) -> None:
    """Section VI-B: "the amount of work would be the same as in the original system"."""
    rng = np.random.default_rng(5)
    trace = chains(rng, 1_500, evicted=0.3, finished=0.6)
    forecast = Perfect(window=WINDOW).predict(trace)
    rules = cloning_rules(clones, "paper")
    replayed = outcomes(trace, rules, forecast, Replay())
    table = outcomes(trace, rules, forecast, algorithm_1(clones, reading))
    assert (table["end"] <= table["recorded_end"]).all()
    assert (table["end"] < table["recorded_end"]).any()
    assert metrics.forfeited(table) == metrics.rescued(table) == 0
    assert (metrics.task_work(table) <= metrics.task_work(replayed)).all()


def test_a_failure_is_answered_by_one_attempt() -> None:
    """Algorithm 1, lines 11 to 16; so without clones attempts never run side by side."""
    rng = np.random.default_rng(6)
    trace = chains(rng, 500, evicted=0.0, finished=0.5)
    table = outcomes(trace, cloning_rules(0), flickering(rng, trace), algorithm_1(0, "chain"))
    assert (table["retries"] == np.minimum(table["failures"], MOST_ATTEMPTS - 1)).all()
    assert not table["redundant"].any()


def test_a_forecast_that_never_alarms_makes_no_clones() -> None:
    rng = np.random.default_rng(7)
    trace = chains(rng, 500, evicted=0.3, finished=0.6)
    silent = Calibrated(threshold=0.5, recall=0.0, fpr=0.0, window=WINDOW).predict(trace)
    for reading in READINGS:
        table = outcomes(trace, cloning_rules(3), silent, algorithm_1(3, reading))
        assert not table["clones"].any()
        without = outcomes(trace, cloning_rules(0), silent, algorithm_1(0, reading))
        assert (table["end"] == without["end"]).all()


@pytest.fixture(scope="module")
def google() -> Trace:
    """Of the natural mix of jobs."""
    return generate("google-2011", jobs=1_000, seed=3)


def test_overhead_falls_as_the_threshold_rises() -> None:
    """Table V; and more clones cost more."""
    trace = generate("google-2011", jobs=400, seed=3)
    overhead = {c: [cloning_overhead(trace, c, t) for t in THRESHOLDS] for c in (1, 3)}
    for rising in overhead.values():
        assert all(np.diff(rising) < 0.0)
    assert all(three > one for one, three in zip(overhead[1], overhead[3], strict=True))


def cloning_overhead(trace: Trace, clones: int, threshold: float) -> float:
    rules = CLONING.override(beyond_record="paper", max_extra=4, max_clones=clones, decide="every")
    world = whole_trace_world(trace, rules, known_only=True)
    policy = Algorithm1(threshold=threshold, max_clones=clones)
    runs = [run_policy(world, rules, p, lanes=128) for p in (policy, Replay())]
    return metrics.cloning_overhead(runs[0].outcomes, runs[1].outcomes)


# --- The grace period of Rosà et al., IWQoS 2015 --------------------------------------------------


@pytest.mark.parametrize("factor", [0.0, 0.1, 1.0, 10.0])
def test_what_grace_periods_save_is_at_most_the_recall_by_work(
    google: Trace, factor: float
) -> None:
    rules = with_grace(factor)
    reduction, recall, _ = graced(google, rules)
    assert 0.0 <= reduction <= recall + 1e-12
    if factor == 1.0:
        assert 0.1 < reduction < recall


def test_longer_grace_kills_fewer_by_mistake_and_saves_less(google: Trace) -> None:
    results = [graced(google, with_grace(factor)) for factor in (0.0, 0.1, 0.5, 1.0, 3.0, 10.0)]
    for shorter, longer in itertools.pairwise(results):
        assert longer[0] <= shorter[0]
        assert longer[2] <= shorter[2]
    assert results[0][2] > results[-1][2]


def with_grace(factor: float) -> Scenario:
    """The world of the paper with all class grace periods changed alike."""
    names = ("grace_evict", "grace_fail", "grace_kill")
    return GRACE_PERIOD.override(**{n: round(factor * getattr(GRACE_PERIOD, n)) for n in names})


def graced(trace: Trace, rules: Scenario) -> tuple[float, float, int]:
    """RRC and recall by work of the tasks that do not finish, and false kills."""
    world = whole_trace_world(trace, rules, known_only=True)
    replayed = run_policy(world, rules, Replay(), lanes=128).outcomes
    table = run_policy(world, rules, GracePeriod(), lanes=128).outcomes
    unfinished = replayed["recorded_outcome"] != Outcome.FINISH
    work = metrics.task_work(replayed)
    recall = metrics.detection(unfinished, table["armed"], work).recall
    return metrics.resource_reduction(table, replayed), recall, metrics.false_kills(table)
