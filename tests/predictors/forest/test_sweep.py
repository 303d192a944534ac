"""The experiments of El-Sayed et al. (ICDCS 2017, section V) on the google-2011 profile."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from failgym.predictors.features.config import MISSING, learn_vocabulary
from failgym.predictors.features.usage import RESOURCES
from failgym.predictors.forest.cases import JOB_FLAGS, JOB_USAGE, _jobs
from failgym.predictors.forest.rows import SCENARIOS, Knowledge
from failgym.predictors.forest.sweep import sweep
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.traces.readers.google_2011 import read_google_2011
from failgym.traces.synthetic import generate
from failgym.vocabulary import MINUTE
from tests.traces.real_data import google_2011

pytest.importorskip("sklearn")


@lru_cache(maxsize=1)
def many_jobs() -> Trace:
    return generate("google-2011", jobs=20_000, seed=0)


@lru_cache(maxsize=1)
def few_jobs() -> Trace:
    return generate("google-2011", jobs=1_500, seed=2)


def test_the_flag_tells_more_of_a_job_failure_than_usage_and_that_more_than_configuration() -> None:
    # Figure 8: a job has failed tasks before it fails, and early usage improves "to some extent".
    auc = {
        scenario: sweep(many_jobs(), "job", scenario, ratios=(0.1,)).auc[0.1]
        for scenario in SCENARIOS
    }
    assert auc["config"] + 0.02 < auc["usage"]
    assert auc["usage"] + 0.02 < auc["flags"]
    assert auc["flags"] < auc["all"]


def test_a_task_that_failed_is_told_by_its_failed_attempts() -> None:
    # Figure 10(a): the AttemptFailFlag improves most, recall above all.
    found = {
        scenario: sweep(few_jobs(), "task", scenario, ratios=(0.1,), thresholds=(0.3,))
        for scenario in ("config", "flags")
    }
    assert found["config"].auc[0.1] + 0.05 < found["flags"].auc[0.1]
    assert found["config"].points[0].recall + 0.3 < found["flags"].points[0].recall


def test_kills_are_told_by_configuration_alone_and_by_the_degree_of_parallelism() -> None:
    # Figure 7, section V-B.
    found = sweep(many_jobs(), "job", "config", target="kill", thresholds=(0.5,))
    assert found.points[0].precision > 0.8
    assert found.points[0].recall > 0.8
    assert max(found.importance[1.0], key=lambda name: found.importance[1.0][name]) == "num_tasks"


@pytest.mark.parametrize("level", ["job", "task", "attempt"])
def test_higher_thresholds_flag_less_and_smaller_ratios_more(level: str) -> None:
    found = sweep(few_jobs(), level, "all", target="kill", ratios=(1.0, 0.2), trees=10)
    points = {(point.ratio, point.threshold): point for point in found.points}
    assert len(points) == 18
    for ratio in (1.0, 0.2):
        along = [point for point in found.points if point.ratio == ratio]
        for measure in ("recall", "false_positive_rate", "work_recall"):
            values = [getattr(point, measure) for point in along]
            assert values == sorted(values, reverse=True)
    assert points[0.2, 0.5].recall > points[1.0, 0.5].recall
    assert points[0.2, 0.5].false_positive_rate > points[1.0, 0.5].false_positive_rate
    assert sum(found.importance[0.2].values()) == pytest.approx(1)
    assert 0 < found.positive < found.tested


def test_attempts_outnumber_tasks_and_tasks_jobs() -> None:
    tested = [
        sweep(few_jobs(), level, "config", trees=2).tested for level in ("job", "task", "attempt")
    ]
    assert tested == sorted(tested)
    assert 0.28 * 1_500 < tested[0] <= 0.31 * 1_500


def two_tasks() -> Trace:
    """A job of two tasks, of which one fails twice, and one of a task that fails once."""
    return Trace.of(
        Meta("two jobs"),
        jobs={"original_id": ["a", "b"], "submit": 0, "width": [2, 1], "outcome": Outcome.FAIL},
        tasks={"job": [0, 0, 1], "index": [0, 1, 0], "width": 1},
        attempts={
            "task": [0, 1, 1, 2],
            "start": [0, MINUTE, 8 * MINUTE, 0],
            "end": [30 * MINUTE, 7 * MINUTE, 40 * MINUTE, 2 * MINUTE],
            "outcome": [Outcome.KILL, Outcome.FAIL, Outcome.FAIL, Outcome.FAIL],
            "cause": [Cause.USER, *[Cause.INTRINSIC] * 3],
        },
        windows={
            "attempt": [0, 0, 1, 2, 3],
            "offset": [0, 5 * MINUTE, 0, 0, 0],
            "cpu": [0.25, 1.0, 0.75, 1.0, 0.5],
        },
    )


def rows_of(trace: Trace, scenario: str) -> Any:
    known = Knowledge.of(trace, learn_vocabulary(trace), SCENARIOS["config"], sliding=False)
    case = _jobs(known, scenario)
    return [dict(zip(case.names, row, strict=True)) for row in case.rows.tolist()]


def test_early_usage_of_a_job_is_that_of_the_first_five_minutes_of_its_tasks() -> None:
    wide, single = rows_of(two_tasks(), "usage")
    assert set(JOB_USAGE) < set(wide)
    assert wide["cpu: mean"] == 0.5
    assert wide["cpu: variation"] == 0.5
    assert (single["cpu: mean"], single["cpu: variation"]) == (0.5, 0.0)
    others = set(RESOURCES) - {"cpu"}
    assert {wide[f"{name}: mean"] for name in others} == {np.float32(MISSING)}


def test_the_failure_that_ends_a_job_is_not_among_those_that_tell_of_it() -> None:
    wide, single = rows_of(two_tasks(), "flags")
    assert [wide[name] for name in JOB_FLAGS] == [1, 1]
    assert [single[name] for name in JOB_FLAGS] == [0, 0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"level": "machine"}, "level: expected one of job, task, attempt"),
        ({"scenario": "none"}, "scenario: expected one of config"),
        ({"target": "evict"}, "target: expected one of fail, kill"),
        ({"trace": two_tasks()}, "no job whose end is known among the jobs of"),
    ],
)
def test_wrong_input_is_named(wrong: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"trace": few_jobs(), "level": "job", "scenario": "all", **wrong}
    with pytest.raises(ValueError, match=message):
        sweep(**arguments)


def test_on_the_real_trace_configuration_tells_kills_and_half_of_the_failures() -> None:
    # Section V-B: kills "very accurately"; V-C: up to 79.5 % precision at a recall above 50 %.
    trace = read_google_2011(google_2011())
    kills = sweep(trace, "job", "config", target="kill", thresholds=(0.5,)).points[0]
    assert min(kills.precision, kills.recall) > 0.9
    failures = sweep(trace, "job", "config", ratios=(0.1,), thresholds=(0.5,)).points[0]
    assert min(failures.precision, failures.recall) > 0.5
