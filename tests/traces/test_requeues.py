"""Traces without what the cluster ran again."""

from __future__ import annotations

import numpy as np

from failgym.traces import first_runs, generate


def test_the_first_run_of_every_job_is_left_as_it_was() -> None:
    trace = generate("system-a", jobs=300, seed=1)
    first = first_runs(trace)
    rows = trace.task_first[:-1]
    assert len(rows) == first.rows("attempts") < trace.rows("attempts")
    for name in ("start", "end", "outcome", "cause", "exit_code"):
        ours, theirs = first.column("attempts", name), trace.column("attempts", name)
        np.testing.assert_array_equal(ours, theirs[rows])
    for name in ("jobs", "tasks", "machines", "outages"):
        assert first.table(name).equals(trace.table(name))
    holder, kept = (
        trace.column("windows", "attempt"),
        np.isin(trace.column("windows", "attempt"), rows),
    )
    assert first.rows("windows") == kept.sum() < len(holder)
    places = np.searchsorted(rows, holder[kept])
    np.testing.assert_array_equal(first.column("windows", "attempt"), places)


def test_nothing_more_is_left_out_the_second_time() -> None:
    first = first_runs(generate("system-b", jobs=200, seed=2))
    assert first_runs(first).content_hash == first.content_hash
