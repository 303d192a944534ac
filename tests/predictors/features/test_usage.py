"""Usage features: what the windows of an attempt tell by a moment, and nothing later."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from failgym.predictors.features.usage import RESOURCES, USAGE, known_windows, usage_features
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.traces.synthetic import generate
from failgym.vocabulary import MINUTE

WINDOW = 5 * MINUTE


def by_hand(**windows: Any) -> Trace:
    """One job of one task with two attempts: of 22 minutes, from minute 10, and of 3 after that."""
    return Trace.of(
        Meta("by hand"),
        jobs={"original_id": ["a"], "submit": [0], "width": 1, "outcome": Outcome.FINISH},
        tasks={"job": [0], "index": [0], "width": 1, "cpu": 0.5, "memory": 0.25},
        attempts={
            "task": [0, 0],
            "start": [10 * MINUTE, 40 * MINUTE],
            "end": [32 * MINUTE, 43 * MINUTE],
            "outcome": [Outcome.FAIL, Outcome.FINISH],
            "cause": [Cause.INTRINSIC, None],
        },
        windows={
            "attempt": [0, 0, 0, 0, 1],
            "offset": [0, 5 * MINUTE, 10 * MINUTE, 20 * MINUTE, 0],
            **windows,
        },
    )


def at(trace: Trace, attempt: int, minute: float) -> dict[str, float]:
    """The features of an attempt at a time since the trace's origin, by name."""
    time = np.array([round(minute * MINUTE)])
    values, names = usage_features(trace, np.array([attempt]), time, WINDOW)
    return dict(zip(names, values[0].tolist(), strict=True))


def test_a_window_counts_once_its_span_is_over() -> None:
    trace = by_hand(cpu=[0.25, 0.5, 0.125, 1.0, 0.75])
    assert [at(trace, 0, minute)["windows"] for minute in (10, 14.9, 15, 20, 25, 29, 31.9)] == [
        *(0, 0, 1, 2, 3, 3, 3),
    ]
    assert at(trace, 0, 32)["windows"] == 4  # the last span ends with the attempt
    assert at(trace, 1, 42.9)["windows"] == 0
    assert at(trace, 1, 43)["cpu: last"] == 0.75


def test_the_statistics_are_those_of_the_windows_so_far() -> None:
    known = at(by_hand(cpu=[0.25, 0.5, 0.125, 1.0, 0.75]), 0, 26)
    assert known["cpu: last"] == 0.125
    assert known["cpu: mean"] == pytest.approx(0.875 / 3)
    assert known["cpu: largest"] == 0.5
    assert known["cpu: deviation"] == pytest.approx(np.std([0.25, 0.5, 0.125]))
    assert known["cpu: trend"] == -0.125
    assert known["cpu: change"] == -0.375
    assert known["cpu: largest over request"] == 1.0


def test_what_is_not_known_is_nan() -> None:
    trace = by_hand(memory=[None, 0.25, None, 0.5, 0.125], max_memory=[0.5, None, None, 1.0, None])
    before = at(trace, 0, 12)
    assert before.pop("windows") == 0
    assert np.isnan(list(before.values())).all()
    first, third = at(trace, 0, 15), at(trace, 0, 26)
    assert np.isnan(first["memory: last"])
    assert first["memory: largest over request"] == 2.0
    assert (third["memory: last"], third["max_memory: last"]) == (0.25, 0.5)
    assert np.isnan(third["memory: change"])
    assert np.isnan(third["cpu: last"])


def test_a_trace_without_windows_tells_nothing() -> None:
    trace = generate("system-a", jobs=20, seed=1, usage=False)
    attempt = np.arange(trace.rows("attempts"))
    time = trace.column("attempts", "end")
    values, names = usage_features(trace, attempt, time, WINDOW)
    assert values.shape == (len(attempt), len(names))
    assert np.isnan(values[:, :-1]).all()
    assert not values[:, -1].any()


def slowly(trace: Trace, attempt: int, time: int, resource: str) -> list[float]:
    """The six statistics of one resource, from its list of values."""
    column = {n: trace.column("windows", n) for n in ("attempt", "offset", resource)}
    start, end = (int(trace.column("attempts", name)[attempt]) for name in ("start", "end"))
    sampled = trace.sampling_window or WINDOW
    rows = [
        (int(offset), float(value))
        for holder, offset, value in zip(*column.values(), strict=True)
        if holder == attempt and min(start + int(offset) + sampled, end) <= time
    ]
    known = [value for _, value in sorted(rows) if not np.isnan(value)]
    if not known:
        return [np.nan] * 6
    change = known[-1] - known[-2] if len(known) > 1 else np.nan
    spread = float(np.std(known))
    return [known[-1], float(np.mean(known)), max(known), spread, known[-1] - known[0], change]


@pytest.mark.parametrize("profile", ["system-a", "google-2011"])
def test_a_slow_count_agrees(profile: str) -> None:
    trace = generate(profile, jobs=60, seed=3)
    rng = np.random.default_rng(0)
    attempt, time = moments(trace, 150, rng)
    values, names = usage_features(trace, attempt, time, WINDOW)
    assert names == USAGE
    for number, resource in enumerate(RESOURCES):
        expected = np.array(
            [slowly(trace, a, t, resource) for a, t in zip(attempt, time, strict=True)]
        )
        np.testing.assert_allclose(
            values[:, 6 * number : 6 * number + 6], expected, rtol=1e-5, atol=1e-6
        )


def moments(
    trace: Trace, count: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Random moments of started attempts, some past the end."""
    started = np.flatnonzero(trace.present("attempts", "start"))
    attempt = rng.choice(started, count)
    start, end = (trace.column("attempts", name)[attempt] for name in ("start", "end"))
    share = rng.choice([0.0, 0.3, 0.9, 1.0, 1.5], count)
    return attempt, (start + share * (end - start)).astype(np.int64)


def test_the_order_of_rows_and_of_windows_does_not_matter() -> None:
    trace = generate("system-a", jobs=60, seed=3)
    rng = np.random.default_rng(1)
    attempt, time = moments(trace, 200, rng)
    shuffled = rng.permutation(trace.rows("windows"))
    other = replace(trace, windows=trace.windows.take(shuffled))
    rows = rng.permutation(len(attempt))
    np.testing.assert_array_equal(
        usage_features(trace, attempt, time, WINDOW)[0][rows],
        usage_features(other, attempt[rows], time[rows], WINDOW)[0],
    )


def test_between_moments_with_as_many_windows_nothing_changes() -> None:
    trace = generate("system-a", jobs=60, seed=5)
    attempt, time = moments(trace, 400, np.random.default_rng(2))
    known = known_windows(trace, attempt, time, WINDOW)
    values, _ = usage_features(trace, attempt, time, WINDOW)
    np.testing.assert_array_equal(known, values[:, -1])
    seen: dict[tuple[int, int], npt.NDArray[np.float32]] = {}
    for a, count, row in zip(attempt.tolist(), known.tolist(), values, strict=True):
        np.testing.assert_array_equal(seen.setdefault((a, count), row), row)


def test_nothing_later_is_read() -> None:
    """The trace as it was known at a boundary gives the same features up to there."""
    trace = generate("system-a", jobs=400, seed=7)
    early = trace.split("train", 0.5)
    at, kept = trace.boundary(0.5), trace.column("jobs", "submit") <= trace.boundary(0.5)
    whole = np.flatnonzero(
        kept[trace.column("tasks", "job")[trace.column("attempts", "task")]]
        & trace.present("attempts", "start")
        & (trace.column("attempts", "start") <= at)
    )
    cut = np.flatnonzero(early.present("attempts", "start"))
    start = trace.column("attempts", "start")[whole]
    np.testing.assert_array_equal(start, early.column("attempts", "start")[cut])
    for age in (0, WINDOW, 3 * WINDOW, 40 * WINDOW):
        time = np.minimum(start + age, np.minimum(early.column("attempts", "end")[cut], at - 1))
        np.testing.assert_array_equal(
            usage_features(trace, whole, time, WINDOW)[0],
            usage_features(early, cut, time, WINDOW)[0],
        )
