"""System features: against a slow count, a case by hand, and what may not matter."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from failgym.predictors.features import system
from failgym.predictors.features.system import NEVER, SYSTEM, Load, system_features
from failgym.traces import Cause, Meta, Outcome, Trace, generate
from failgym.vocabulary import MINUTE

WINDOW = 5 * MINUTE


def slow(
    load: Load, moment: int, priority: int, window: int, samples: int
) -> dict[tuple[str, str, str, str], float]:
    """The features of one row, by counting event by event."""
    part = window // samples
    last = moment // window * window - window
    sign = {"same": 0, "lower": -1, "higher": 1}
    features: dict[tuple[str, str, str, str], float] = {}
    for variant, wanted in sign.items():
        events = [
            (int(arrived), int(left))
            for p, arrived, left in zip(load.priority, load.arrived, load.left, strict=True)
            if np.sign(int(p) - priority) == wanted
        ]
        series: dict[str, list[float]] = {"arrival_rate": [], "throughput": [], "in_system": []}
        for begin in range(last - window, last + window, part):
            inside = range(begin, begin + part)
            came = sum(arrived in inside for arrived, _ in events)
            went = sum(left in inside for _, left in events)
            there = sum(arrived < begin <= left for arrived, left in events)
            series["arrival_rate"].append(came / (part / MINUTE))
            series["throughput"].append(went / (part / MINUTE))
            series["in_system"].append(there)
        for indicator, values in series.items():
            value = values[samples:]
            change = [now - then for now, then in zip(value, values[:samples], strict=True)]
            for name, numbers in (("value", value), ("change", change)):
                mean = sum(numbers) / samples
                features[indicator, variant, name, "mean"] = mean
                spread = sum((number - mean) ** 2 for number in numbers) / samples
                features[indicator, variant, name, "deviation"] = math.sqrt(spread)
    return features


def a_load(seed: int, attempts: int = 60) -> Load:
    """Arrivals and ends over an hour, many of them at the edges of parts of windows."""
    rng = np.random.default_rng(seed)
    arrived = rng.integers(0, 60 * MINUTE, attempts)
    arrived[::3] = arrived[::3] // MINUTE * MINUTE
    left = arrived + rng.integers(0, 30 * MINUTE, attempts)
    left[::4] = left[::4] // MINUTE * MINUTE + MINUTE
    left[::7] = NEVER
    return Load(rng.choice([-1, 0, 2, 9], attempts), arrived, left)


def column(features: np.ndarray, name: str) -> np.ndarray:  # type: ignore[type-arg]
    return features[:, SYSTEM.index(name)]


def test_there_are_36_of_them() -> None:
    """Rosà et al., section III-2: three indicators in three variants, with their variation, of
    each the average and the standard deviation.
    """
    expected = itertools.product(
        ("arrival_rate", "throughput", "in_system"),
        ("same", "lower", "higher"),
        ("value", "change"),
        ("mean", "deviation"),
    )
    assert sorted(SYSTEM) == sorted("_".join(parts) for parts in expected)
    assert len(set(SYSTEM)) == 36


@pytest.mark.parametrize(
    ("window", "samples"), [(WINDOW, 5), (WINDOW, 1), (2 * MINUTE, 4), (70_000, 7)]
)
@pytest.mark.parametrize("seed", range(3))
def test_they_equal_a_slow_count(seed: int, window: int, samples: int) -> None:
    rng = np.random.default_rng(seed)
    load = a_load(seed)
    moment = np.sort(rng.integers(0, 90 * MINUTE, 40))
    moment[::2] = moment[::2] // window * window
    priority = rng.choice([-1, 0, 1, 2, 9, 11], 40)
    features, names = system_features(load, moment, priority, window=window, samples=samples)
    assert features.shape == (40, 36)
    assert features.dtype == np.float32
    assert np.abs(features).sum() > 0
    for row, (at, p) in enumerate(zip(moment.tolist(), priority.tolist(), strict=True)):
        expected = slow(load, at, p, window, samples)
        expected = {"_".join(key): value for key, value in expected.items()}
        got = dict(zip(names, features[row].tolist(), strict=True))
        assert got == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_of_a_trace_against_the_slow_count() -> None:
    trace = generate("google-2011", jobs=60, seed=3, usage=False)
    load = Load.of(trace)
    job = trace.column("tasks", "job")
    priority = trace.column("jobs", "priority")[job].astype(np.int64)
    features, names = system_features(load, trace.task_submit, priority)
    for row in range(0, trace.rows("tasks"), 97):
        expected = slow(load, int(trace.task_submit[row]), int(priority[row]), WINDOW, 5)
        got = dict(zip(names, features[row].tolist(), strict=True))
        assert got == pytest.approx({"_".join(k): v for k, v in expected.items()}, abs=1e-5)


def test_a_case_by_hand() -> None:
    # Five of priority 1 arrive one per minute from minute 5 on; two are gone by minute 8. One of
    # priority 0 is there from the beginning.
    minutes = np.array([5, 6, 7, 8, 9, 0], dtype=np.int64)
    left = np.array([7, 7, 30, 30, 30, NEVER // MINUTE], dtype=np.int64)
    load = Load(np.array([1, 1, 1, 1, 1, 0]), minutes * MINUTE, left * MINUTE)
    features, _ = system_features(load, np.array([10 * MINUTE, 14 * MINUTE]), np.array([1, 0]))
    assert column(features, "arrival_rate_same_value_mean")[0] == 1.0
    assert column(features, "arrival_rate_same_value_deviation")[0] == 0.0
    assert column(features, "arrival_rate_same_change_mean")[0] == 1.0  # none in minutes 0 to 4
    assert column(features, "throughput_same_value_mean")[0] == pytest.approx(0.4)
    assert column(features, "throughput_same_value_deviation")[0] == pytest.approx(0.8)  # 0 0 2 0 0
    assert column(features, "in_system_same_value_mean")[0] == pytest.approx(1.2)  # 0 1 2 1 2
    assert column(features, "in_system_lower_value_mean")[0] == 1.0
    assert column(features, "in_system_higher_value_mean")[0] == 0.0
    # The same window is the last one until minute 15; the other row has the lower priority.
    assert column(features, "in_system_higher_value_mean")[1] == pytest.approx(1.2)
    assert column(features, "in_system_same_value_mean")[1] == 1.0


def test_what_comes_after_the_last_whole_window_does_not_matter() -> None:
    load, moment = a_load(5), 32 * MINUTE
    known = 30 * MINUTE  # the last window ends here
    arrived = np.where(load.arrived >= known, load.arrived + 77_777, load.arrived)
    left = np.where(load.left >= known, NEVER, load.left)
    rows = np.array([moment, moment]), np.array([0, 9])
    other = system_features(Load(load.priority, arrived, left), *rows)[0]
    assert np.array_equal(system_features(load, *rows)[0], other)
    left = np.where(load.left == load.left[load.left < known].max(), NEVER, load.left)
    changed = system_features(Load(load.priority, load.arrived, left), *rows)[0]
    assert not np.array_equal(system_features(load, *rows)[0], changed)


def test_a_block_at_a_time_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    load, moment = a_load(6), np.arange(0, 80 * MINUTE, 100_000, dtype=np.int64)
    priority = np.resize([0, 9, 2], len(moment))
    whole, _ = system_features(load, moment, priority)
    monkeypatch.setattr(system, "BLOCK", 1)
    assert np.array_equal(system_features(load, moment, priority)[0], whole)


def test_what_left_long_ago_may_be_dropped() -> None:
    load, moment = a_load(7), np.array([40 * MINUTE, 47 * MINUTE])
    since = load.since(30 * MINUTE)  # the first of the two windows of the first row begins then
    assert 0 < len(since.left) < len(load.left)
    rows = moment, np.array([2, 0])
    assert np.array_equal(system_features(since, *rows)[0], system_features(load, *rows)[0])


def test_a_load_is_what_a_trace_says_of_its_attempts() -> None:
    trace = Trace.of(
        Meta("by hand"),
        jobs={
            "original_id": ["a", "b"],
            "submit": [0, 5],
            "width": 1,
            "outcome": [Outcome.FINISH, Outcome.CENSORED],
            "priority": [3, None],
        },
        tasks={"job": [0, 1], "index": 0, "width": 1},
        attempts={
            "task": [0, 0, 0, 1],
            "queued": [10, None, None, 50],
            "start": [20, 40, None, 60],
            "end": [30, 45, 47, 99],
            "outcome": [Outcome.FAIL, Outcome.FINISH, Outcome.KILL, Outcome.CENSORED],
            "cause": [Cause.INTRINSIC, None, Cause.USER, None],
        },
    )
    load = Load.of(trace)
    assert load.priority.tolist() == [3, 3, 3, -1]
    assert load.arrived.tolist() == [10, 40, 47, 50]
    assert load.left.tolist() == [30, 45, 47, NEVER]
    both = load + load.since(46)
    assert both.arrived.tolist() == [10, 40, 47, 50, 47, 50]


def test_nothing_came_and_nothing_is_asked() -> None:
    empty = Load.of(Trace(Meta("nothing")))
    none = np.zeros(0, dtype=np.int64)
    assert system_features(empty, none, none)[0].shape == (0, 36)
    features, _ = system_features(empty, np.array([0, WINDOW]), np.array([1, -1]))
    assert not features.any()


@pytest.mark.parametrize(("window", "samples"), [(WINDOW, 7), (3, 5), (WINDOW, 0)])
def test_a_window_has_whole_parts(window: int, samples: int) -> None:
    with pytest.raises(ValueError, match="multiple of samples"):
        system_features(a_load(0), np.array([0]), np.array([0]), window=window, samples=samples)
