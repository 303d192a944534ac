"""What boosted trees learn from: what counts as failure, kinds of jobs, when something is new."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from failgym.predictors.base import window_offsets
from failgym.predictors.boosting.examples import (
    JOB_TYPES,
    age_steps,
    failed,
    fates_known,
    job_types,
    moments,
    sampled,
    spread_over_classes,
    task_examples,
)
from failgym.predictors.features.config import learn_vocabulary
from failgym.predictors.features.usage import known_windows
from failgym.predictors.learned import window_moments
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.traces.synthetic import generate
from failgym.vocabulary import MINUTE

WINDOW = 5 * MINUTE
ENDS = (
    (Outcome.FINISH, None),
    (Outcome.FAIL, Cause.INTRINSIC),
    (Outcome.FAIL, Cause.MACHINE),
    (Outcome.FAIL, Cause.SHARED),
    (Outcome.KILL, Cause.WALLTIME),
    (Outcome.KILL, Cause.USER),
    (Outcome.EVICT, Cause.PREEMPTION),
    (Outcome.CENSORED, None),
)


def one_of_each(**jobs: Any) -> Trace:
    """Eight jobs of one attempt each, one for each way to end."""
    count = len(ENDS)
    return Trace.of(
        Meta("by hand"),
        jobs={
            "original_id": [str(number) for number in range(count)],
            "submit": 0,
            "width": 1,
            "outcome": [outcome for outcome, _ in ENDS],
        }
        | jobs,
        tasks={"job": list(range(count)), "index": [0] * count, "width": [1, 2] * (count // 2)},
        attempts={
            "task": list(range(count)),
            "start": [0] * count,
            "end": [WINDOW] * count,
            "outcome": [outcome for outcome, _ in ENDS],
            "cause": [cause for _, cause in ENDS],
        },
    )


def test_what_counts_as_failure() -> None:
    by_hand = one_of_each()
    assert np.flatnonzero(failed(by_hand, "fail")).tolist() == [1, 2, 3]
    assert np.flatnonzero(failed(by_hand, "system")).tolist() == [2, 3]
    assert np.flatnonzero(failed(by_hand, "unfinished")).tolist() == [1, 2, 3, 4, 5, 6]
    assert np.flatnonzero(~fates_known(by_hand, "system")).tolist() == [4, 7]
    assert np.flatnonzero(~fates_known(by_hand, "unfinished")).tolist() == [7]


def test_environments_and_job_types() -> None:
    shared = [True, True, False, False, None, None, False, True]
    width = [1, 1, 1, 1, 1, 1, 2, 3]
    kinds = job_types(one_of_each(shared=shared, width=width))
    names = [JOB_TYPES[kind].removeprefix("non") for kind in kinds]
    assert names[:2] == ["shared single", "shared multi"]
    assert [JOB_TYPES[kind] for kind in kinds[2:]] == [
        *("nonshared single", "nonshared multi", "any", "any", "nonshared multi", "shared multi"),
    ]


def test_at_moments_with_nothing_new_the_risk_stays() -> None:
    trace = generate("system-a-harsh", jobs=500, seed=3)
    at = moments(trace, WINDOW, 0)
    assert np.array_equal(at.offset, window_offsets(trace, WINDOW))
    assert at.new[at.offset[:-1][np.diff(at.offset) > 0]].all()
    assert at.new.mean() < 0.5


@pytest.mark.parametrize("period", [0, 7 * MINUTE])
def test_what_is_new_at_a_moment(period: int) -> None:
    """A window of usage, a step of the age or a period that was not there one moment before."""
    trace = generate("system-a-harsh", jobs=300, seed=4)
    at = moments(trace, WINDOW, period)
    _, attempt, time = window_moments(trace, WINDOW)
    start = trace.column("attempts", "start")[attempt]
    told = zip(
        attempt.tolist(),
        known_windows(trace, attempt, time, WINDOW).tolist(),
        age_steps(time - start, WINDOW).tolist(),
        (time // period if period else 0 * time).tolist(),
        strict=True,
    )
    rows = list(told)
    new = [row == 0 or rows[row] != rows[row - 1] for row in range(len(rows))]
    np.testing.assert_array_equal(at.new, new)
    np.testing.assert_array_equal(at.attempt, attempt[at.new])
    np.testing.assert_array_equal(at.time, time[at.new])


@pytest.mark.parametrize(("most", "kept"), [(1_000, (30, 300)), (100, (30, 70)), (40, (20, 20))])
def test_a_sample_stands_for_all(most: int, kept: tuple[int, int]) -> None:
    bad = np.arange(330) % 11 == 0
    rows, weight = sampled(bad, most, np.random.default_rng(0))
    assert (np.sum(bad[rows]), np.sum(~bad[rows])) == kept
    assert np.all(np.diff(rows) > 0)
    assert np.sum(weight[bad[rows]]) == pytest.approx(30)
    assert np.sum(weight[~bad[rows]]) == pytest.approx(300)


def test_a_task_that_was_tried_again_did_not_finish_until_then() -> None:
    """Evicted at 100 and queued again at 150, the first task finishes at 300; the other fails."""
    trace = Trace.of(
        Meta("by hand"),
        jobs={"original_id": ["a"], "submit": [0], "width": 2, "outcome": [Outcome.FAIL]},
        tasks={"job": [0, 0], "index": [0, 1], "width": 1},
        attempts={
            "task": [0, 0, 1],
            "queued": [0, 150, 0],
            "start": [0, 200, 0],
            "end": [100, 300, 50],
            "outcome": [Outcome.EVICT, Outcome.FINISH, Outcome.FAIL],
            "cause": [Cause.PREEMPTION, None, Cause.INTRINSIC],
        },
    )
    tasks = task_examples(trace, learn_vocabulary(trace))
    assert (tasks.bad.tolist(), tasks.end.tolist()) == ([True, False, True], [100, 300, 50])
    assert tasks.in_the_end().bad.tolist() == [False, True]
    for now, known in ((50, [True]), (120, [True, True]), (200, [True]), (300, [False, True])):
        assert tasks.within(-1, now).bad.tolist() == known


def test_what_does_not_finish_is_shared_as_often_as_each_end_occurred() -> None:
    unfinished = np.array([0.0, 0.4], dtype=np.float32)
    said = spread_over_classes(unfinished, np.array([0.6, 0.1, 0.0, 0.3]))
    np.testing.assert_allclose(said, [[1, 0, 0, 0], [0.6, 0.1, 0, 0.3]], atol=1e-7)
    said = spread_over_classes(unfinished, np.array([1.0, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(said[1], [0.6, 0.4 / 3, 0.4 / 3, 0.4 / 3], atol=1e-7)
