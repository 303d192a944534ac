"""How often attempts of a class and age are interrupted, and what observations show of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from failgym.sim.pinned.simulator import PinnedSimulator
from failgym.sim.reference import ReferenceSimulator
from failgym.sim.shared.context import (
    AGE_BUCKETS,
    CLASSES,
    SYSTEM_FIELDS,
    Context,
    age_bucket,
    interruption_rates,
    interruption_times,
)
from failgym.sim.shared.fields import INDEX
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.rules import Rules
from failgym.traces import Cause, Outcome, Trace
from failgym.traces.synthetic import generate
from failgym.vocabulary import MINUTE, SECOND
from tests.chains import single_jobs
from tests.sim.random_worlds import random_trace


def lives(trace: Trace) -> list[tuple[int, int, bool]]:
    """(class, duration [ms], interrupted) of each attempt that started, one by one."""
    attempts = trace.table("attempts").to_pylist()
    found: list[tuple[int, int, bool]] = []
    for at, row in enumerate(attempts):
        if row["start"] is None:
            continue
        job = trace.column("tasks", "job")[row["task"]]
        scheduling = int(trace.column("jobs", "scheduling_class", missing=0)[job])
        several = int(trace.column("jobs", "width")[job]) > 1
        again = any(
            other["task"] == row["task"]
            and other["start"] is not None
            and other["start"] >= row["end"]
            for other in attempts[at + 1 :]
        )
        ended = row["outcome"] not in (Outcome.FINISH, Outcome.CENSORED)
        found.append((scheduling + 4 * several, row["end"] - row["start"], again and ended))
    return found


def test_an_attempt_of_no_length_is_not_its_own_successor() -> None:
    """Logs in whole seconds hold such jobs; a record without restarts has no interruptions."""
    ends = {"task": [0, 1], "start": [5_000, 0], "end": [5_000, 60_000]}
    told = {"outcome": [Outcome.FAIL, Outcome.FINISH], "cause": [Cause.INTRINSIC, None]}
    trace = single_jobs({**ends, **told}, 2)
    assert not interruption_rates(trace).any()


def edges(bucket: int) -> tuple[int, int]:
    """The ages of a bucket [ms]."""
    return (0 if bucket == 0 else 2 ** (bucket - 1) * SECOND), 2**bucket * SECOND


@pytest.mark.parametrize("seed", range(40))
def test_rates_are_interruptions_over_time_spent_with_one_more_of_the_coarser_rate(
    seed: int,
) -> None:
    trace = random_trace(np.random.default_rng(seed))
    found, rates = lives(trace), interruption_rates(trace)
    time, count = sum(d for _, d, _ in found), sum(lost for *_, lost in found)
    if not count or not time:
        assert (rates == 0).all()
        return
    pooled = count / time
    for bucket in range(AGE_BUCKETS):
        low, high = edges(bucket)
        spent = [(c, min(max(d - low, 0), high - low)) for c, d, _ in found]
        here = [c for c, d, lost in found if lost and age_bucket(np.array([d]))[0] == bucket]
        pooled = (len(here) + 1) / (sum(d for _, d in spent) + 1 / pooled)
        for kind in range(CLASSES):
            own = sum(d for c, d in spent if c == kind)
            expected = (here.count(kind) + 1) / (own + 1 / pooled)
            assert rates[kind, bucket] == pytest.approx(expected, rel=1e-9)


def test_ends_that_nothing_follows_are_no_interruptions() -> None:
    columns = ("task", "start", "end", "outcome", "cause")
    rows = [
        (0, 0, 5_000, Outcome.FAIL, Cause.INTRINSIC),
        (1, 0, 5_000, Outcome.KILL, Cause.WALLTIME),
        (2, 0, 5_000, Outcome.FINISH, None),
        (3, 0, 5_000, Outcome.EVICT, Cause.MACHINE),  # beside the attempt that goes on
        (3, 1_000, 9_000, Outcome.FINISH, None),
        (4, 0, 5_000, Outcome.CENSORED, None),
    ]
    attempts = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    assert (interruption_rates(single_jobs(attempts, 5)) == 0).all()


@pytest.mark.parametrize(
    ("profile", "slope"), [("system-a", (-0.95, -0.6)), ("system-a-harsh", (-0.7, -0.2))]
)
def test_jobs_of_an_hpc_system_are_interrupted_less_and_less_as_they_grow_older(
    profile: str, slope: tuple[float, float]
) -> None:
    """Kumar et al., DSN 2020, Fig. 6: on System A failures fall with node-seconds."""
    rates = interruption_rates(generate(profile, jobs=6_000, seed=1))
    ages = slice(6, 19)  # 32 s to 3 days
    for kind in (2, 3):  # jobs on nodes of their own
        fall = np.polyfit(np.arange(19)[ages], np.log2(rates[kind, ages]), 1)[0]
        assert slope[0] < fall < slope[1]  # Weibull shapes less 1


def test_rare_cells_are_neither_never_nor_always() -> None:
    rates = interruption_rates(generate("system-a", jobs=600, seed=1))
    assert (rates > 0).all()
    assert (rates < 1 / SECOND).all()


SYSTEM_ENDS = [
    (Outcome.EVICT, Cause.PREEMPTION),
    (Outcome.LOST, None),
    (Outcome.FAIL, Cause.MACHINE),
    (Outcome.FAIL, Cause.SHARED),
    (Outcome.KILL, Cause.REQUEUE),
]
OTHER_ENDS = [
    (Outcome.FINISH, None),
    (Outcome.FAIL, Cause.INTRINSIC),
    (Outcome.FAIL, Cause.DEPENDENCY),
    (Outcome.KILL, Cause.USER),
    (Outcome.KILL, Cause.WALLTIME),
    (Outcome.CENSORED, None),
]


def test_the_system_ends_what_neither_the_task_nor_its_user_ended() -> None:
    ends = [*SYSTEM_ENDS, *OTHER_ENDS]
    attempts = {
        "task": list(range(len(ends))),
        "start": [0] * len(ends),
        "end": list(range(1, len(ends) + 1)),
        "outcome": [outcome for outcome, _ in ends],
        "cause": [cause for _, cause in ends],
    }
    times = interruption_times(single_jobs(attempts, len(ends)))
    assert times.tolist() == list(range(1, len(SYSTEM_ENDS) + 1))


def test_what_never_ran_was_not_interrupted() -> None:
    columns = ("task", "start", "end", "outcome", "cause")
    rows = [
        (0, None, 5_000, Outcome.EVICT, Cause.PREEMPTION),
        (0, 7_000, 9_000, Outcome.EVICT, Cause.PREEMPTION),
    ]
    attempts = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    assert interruption_times(single_jobs(attempts, 1)).tolist() == [9_000]


COSTS: dict[str, Any] = {"checkpoint_cost": MINUTE, "restore_cost": MINUTE, "mtbf": 10_000 * SECOND}


def observed(
    kind: type[Any], rules: Rules, rate: float, times: Sequence[int] = (), running: int = 1
) -> list[Any]:
    """Observations of a task that is evicted after 3 hours and finishes after 5 more.

    It is saved after 100 minutes. So many attempts run all the time, and the system ends some at
    the ``times`` [ms].
    """
    columns = ("task", "start", "end", "outcome", "cause", "length")
    length = 300 * MINUTE
    rows = [
        (0, 0, 180 * MINUTE, Outcome.EVICT, Cause.MACHINE, length),
        (0, 180 * MINUTE, 480 * MINUTE, Outcome.FINISH, None, length),
    ]
    trace = single_jobs({name: [row[i] for row in rows] for i, name in enumerate(columns)}, 1)
    context = Context(
        expectations=np.zeros((CLASSES, AGE_BUCKETS, 3)),
        system=np.full((1, SYSTEM_FIELDS), np.log2(1 + running), dtype=np.float32),
        forecast=Forecast.none(trace.content_hash, 1, 1, 2, rules.window),
        interruptions=np.full((CLASSES, AGE_BUCKETS), rate),
        interruption_times=np.array(times, dtype=np.int64),
    )
    sim = kind(trace, rules, context)
    sim.start([0])
    seen: list[Any] = []
    while sim.decision is not None:
        seen.append(sim.observation())
        sim.step(2 if len(seen) == 100 else 0)
    return seen


@pytest.mark.parametrize("kind", [ReferenceSimulator, PinnedSimulator])
class TestFields:
    def test_at_a_constant_rate_the_interval_is_youngs(self, kind: type[Any]) -> None:
        rules = Rules(checkpoint=True, window=MINUTE, **COSTS)
        for observation in observed(kind, rules, 1 / rules.mtbf):
            young = observation[INDEX["unsaved_over_young"]]
            assert observation[INDEX["unsaved_over_lazy"]] == pytest.approx(young, rel=1e-6)
            assert observation[INDEX["mtbf"]] == np.float32(np.log2(1 + 10_000 / 60))

    def test_four_times_the_rate_halves_the_interval(self, kind: type[Any]) -> None:
        rules = Rules(checkpoint=True, window=MINUTE, **COSTS)
        rare, often = (
            [x[INDEX["unsaved_over_lazy"]] for x in observed(kind, rules, rate)]
            for rate in (1e-8, 4e-8)
        )
        assert max(rare) > 0
        assert often == pytest.approx([2 * x for x in rare], rel=1e-6)

    @pytest.mark.parametrize("free", [True, False])
    def test_nothing_is_compared_with_no_interval(self, kind: type[Any], free: bool) -> None:
        """A checkpoint that costs nothing, or nothing that interrupts."""
        rules = Rules(checkpoint=True, window=MINUTE, **COSTS)
        if free:
            rules = replace(rules, checkpoint_cost=0)
        seen = observed(kind, rules, 1e-7 if free else 0.0)
        assert {float(x[INDEX["unsaved_over_lazy"]]) for x in seen} == {0.0}

    def test_the_system_has_ended_attempts_in_the_last_hour(self, kind: type[Any]) -> None:
        """Worked by hand: three ends, four attempts that run; what ends at a decision is known."""
        rules = Rules(checkpoint=True, window=5 * MINUTE, **COSTS)
        times = [7 * MINUTE, 10 * MINUTE, 10 * MINUTE + 1]
        rate = by_minute(observed(kind, rules, 0.0, times, running=4), "interruption_rate")
        expected = {5: 0, 10: 2 / 5, 15: 3 / 5, 65: 3 / 5, 70: 2 / 5, 75: 0}
        assert {minute: rate[minute] for minute in expected} == pytest.approx(expected)

    def test_the_hour_begins_with_a_bin_of_5_minutes(self, kind: type[Any]) -> None:
        rules = Rules(checkpoint=True, window=MINUTE, **COSTS)
        times = [9 * MINUTE, 10 * MINUTE]
        rate = by_minute(observed(kind, rules, 0.0, times), "interruption_rate")
        assert rate[69] == pytest.approx(2 / (64 / 60) / 2)  # since 5 minutes, one attempt runs
        assert rate[70] == pytest.approx(1 / 2)  # since 10 minutes
        assert rate[74] == pytest.approx(1 / (64 / 60) / 2)

    def test_the_time_since_the_last_end(self, kind: type[Any]) -> None:
        rules = Rules(checkpoint=True, window=5 * MINUTE, **COSTS)
        times = [7 * MINUTE, 10 * MINUTE, 10 * MINUTE + 1]
        since = by_minute(observed(kind, rules, 0.0, times), "since_interruption")
        expected = {5: 5, 10: 0, 15: 5 - 1 / 60_000, 90: 80 - 1 / 60_000}
        found = {minute: 2 ** since[minute] - 1 for minute in expected}
        assert found == pytest.approx(expected, abs=1e-4)


def by_minute(seen: list[Any], name: str) -> dict[int, float]:
    """A field of the first attempt's observations, by its age in minutes."""
    first = [x for x in seen if x[INDEX["attempt"]] == 0]
    return {round(2 ** float(x[INDEX["age"]]) - 1): float(x[INDEX[name]]) for x in first}
