"""How applications recur in a record: what profiles with applications are estimated from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments.google_2011_applications import alternate, catalogue, in_turns, keyed, per_job
from experiments.swf_applications import found, office, regularity, runs_of
from failgym.traces import Trace, generate
from failgym.traces.synthetic import A_RECURRING
from failgym.vocabulary import DAY, HOUR
from tests.traces.recurring import recurring

MONDAY = 4 * DAY
"""The first one after 1970-01-01, in UTC."""


@pytest.fixture(scope="module")
def trace() -> Trace:
    return recurring(900, 1)


def test_runs_that_alternate() -> None:
    one, other = np.arange(0, 100, 10), np.arange(3, 103, 10)
    assert alternate(one, other) == 1.0
    assert alternate(one, one + 200) == pytest.approx(1 / 19)


def test_what_takes_turns_has_a_number_in_common() -> None:
    steps = [np.arange(0, 1_000, 100), np.arange(5, 1_000, 100), np.arange(500, 508)]
    campaign = np.arange(499, 509)
    assert in_turns([0, 0, 0, 0], [*steps, campaign], 1_000.0) == [1, 1, 2, 2]
    assert in_turns([0, 1, 2, 3], [*steps, campaign], 1_000.0) == [0, 0, 0, 0]


def test_a_catalogue_of_a_record_by_rule(trace: Trace) -> None:
    jobs = keyed(per_job(_requesting(trace)))
    listed = catalogue(jobs, 5)
    common = listed.jobs.sum() + listed.rare.sum()
    assert 0.8 * len(jobs) < common <= len(jobs)
    assert (listed.jobs >= 5).all()
    assert listed.sort_values("jobs", ascending=False).jobs.tolist() == listed.jobs.tolist()


def _requesting(trace: Trace) -> Trace:
    """With priorities and classes, as Google's record has them."""
    tables = {name: trace.frame(name).to_dict("list") for name in ("jobs", "tasks", "attempts")}
    jobs = trace.rows("jobs")
    tables["jobs"] |= {"priority": [0] * jobs, "scheduling_class": [1] * jobs}
    tables["tasks"] |= {"disk": [0.0] * trace.rows("tasks")}
    plain: dict[str, dict[str, Any]] = {
        table: {
            str(column): np.ma.masked_invalid(values) if column == "cause" else values
            for column, values in columns.items()
            if any(value == value and value is not None for value in values)
        }
        for table, columns in tables.items()
    }
    return Trace.of(trace.meta, **plain)


def test_sittings_of_a_trace_that_has_them() -> None:
    """What the profile was made after is found in it again."""
    made = generate(A_RECURRING, jobs=6_000, seed=2, usage=False)
    rows = found(runs_of(made, 1.0, False, 44.0))
    assert 20 < rows["jobs per sitting, mean"] < 80
    assert rows["log_run, correlation in a sitting"] > 0.5
    assert rows["nodes, same in a sitting"] > 0.85
    assert 0.6 < rows["walltime, same in a sitting"] < 0.95


def test_office_hours_and_regularity(trace: Trace) -> None:
    jobs = runs_of(trace, 1.0, False, 44.0)
    jobs["sitting"] = np.arange(len(jobs))
    jobs["submit"] = np.arange(len(jobs)) % 8 * HOUR + 9 * HOUR
    assert office(jobs.assign(submit=jobs.submit - 12 * HOUR), MONDAY, "UTC") == 0.0
    half = np.arange(len(jobs)) % 2 == 0
    mixed = jobs.assign(submit=np.where(half, 10 * HOUR, 20 * HOUR))
    assert office(mixed, MONDAY, "UTC") == pytest.approx(128 / 40, rel=0.01)
    spaced = jobs.assign(sitting=0, submit=np.cumsum(np.resize([1_000, 3_000], len(jobs))))
    assert regularity(spaced) == pytest.approx(4.0, rel=0.02)
