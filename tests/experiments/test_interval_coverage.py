"""The simulation of coverage: what is judged, what traces differ by, how it is counted."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.interval_coverage import PARTITIONS, Sums, compared, coverage, differing

TRUTH = 30.0


def traces(count: int, jobs: int = 60) -> list[Sums]:
    """Two policies: one saves 30 % of the room, the other 20 %; tasks of a job in three slices."""
    rng, found = np.random.default_rng(3), list[Sums]()
    for _ in range(count):
        room = rng.gamma(4.0, 0.25, jobs)
        saved = [room * (of + 0.5 * rng.standard_normal(jobs)) for of in (0.3, 0.2)]
        table = np.column_stack([*saved, room, room])
        found.append(Sums(table, np.repeat(table / 3.0, 3, axis=0)))
    return found


def test_policies_and_what_the_first_is_above_the_others_are_judged() -> None:
    cases = compared(traces(3), ["a", "b"])
    assert list(cases) == ["a", "b", "a - b"]
    a, b, above = (cases[name][1].jobs for name in cases)
    np.testing.assert_allclose(above[:, 0], a[:, 0] - b[:, 0])
    assert (above[:, 1:] == a[:, 1:]).all()


def test_what_traces_differ_by_leaves_the_truth_and_has_the_stated_variance() -> None:
    found = compared(traces(200), ["a", "b"])["a"]
    more = differing(found, 3.0)
    before, after = (np.array([each.jobs.sum(axis=0) for each in of]) for of in (found, more))
    assert after[:, 0].sum() == pytest.approx(before[:, 0].sum())
    assert (after[:, 1:] == before[:, 1:]).all()
    added = after[:, 0] - before[:, 0]
    residual = before[:, 0] - before[:, 0].sum() / before[:, 1].sum() * before[:, 1]
    assert (added**2).sum() == pytest.approx(3.0 * (residual**2).sum())


@pytest.mark.parametrize("differ", [0.0, 2.0])
def test_jobs_and_traces_hold_the_truth_where_slices_do_not(differ: float) -> None:
    found = differing(compared(traces(100), ["a", "b"])["a"], differ)
    row = coverage(found, "a", differ, 5)
    assert (row.groups, row.intervals) == (20, 20 * PARTITIONS)
    assert row.truth == pytest.approx(TRUTH, abs=1.0)
    assert row.held >= 0.9 * row.intervals
    assert row.held_blocks >= 0.88 * row.intervals
    assert row.held_slices < 0.85 * row.intervals
    assert row.width_slices < row.width
