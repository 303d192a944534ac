"""What must come out of Google's trace of 2011: task_events parts 0 to 8, job_events parts 0 to 19.

The figures were derived twice, independently, from the published files.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
import pytest

from failgym.traces import Cause, Outcome, Trace, read_google_2011
from failgym.traces.describe import Description, describe
from tests.traces.real_data import google_2011

FINISH, FAIL, KILL = Outcome.FINISH, Outcome.FAIL, Outcome.KILL
EVICT, CENSORED = Outcome.EVICT, Outcome.CENSORED
ORDER = (FINISH, KILL, FAIL, EVICT, CENSORED)
PARTS = [f"part-{number:05}-of-00500.csv.gz" for number in range(9)]


@pytest.fixture(scope="module")
def trace() -> Trace:
    folder = google_2011()
    if sorted(file.name for file in (folder / "task_events").iterdir()) != PARTS:
        pytest.skip("the figures are those of task_events parts 0 to 8")
    begin = time.perf_counter()
    trace = read_google_2011(folder)
    assert time.perf_counter() - begin < 60
    return trace


@pytest.fixture(scope="module")
def description(trace: Trace) -> Description:
    return describe(trace)


def counts(outcome: npt.NDArray[np.int8]) -> list[int]:
    return [int((outcome == code).sum()) for code in ORDER]


def column(trace: Trace, name: str) -> npt.NDArray[np.int64]:
    return trace.column("attempts", name).astype(np.int64)


def test_rows_read_dropped_and_repaired(trace: Trace) -> None:
    meta = trace.meta
    assert meta.end == 45_699_265
    assert meta.rows_read["task events"] == 1_561_991
    assert meta.dropped["task event: UPDATE"] == 45
    assert meta.dropped["job without tasks"] == 5
    assert set(meta.dropped) == {
        "task event: UPDATE",
        "job without tasks",
        "job event after the last task event",
    }
    assert list(meta.noted.values()) == [37_627, 35_257, 1_762]


def test_tasks_and_attempts(trace: Trace) -> None:
    assert (trace.rows("tasks"), trace.rows("attempts")) == (416_356, 581_726)
    assert counts(trace.column("jobs", "outcome")) == [6_229, 3_167, 122, 0, 3_984]
    assert counts(trace.task_outcome) == [194_992, 62_317, 729, 7, 158_311]
    ran = trace.present("attempts", "start")
    outcome = trace.column("attempts", "outcome")
    assert counts(outcome[ran]) == [194_992, 100_058, 12_021, 106_984, 142_750]
    assert counts(outcome[~ran]) == [0, 9_237, 0, 123, 15_561]
    spent = (column(trace, "end") - column(trace, "start"))[ran]
    assert int(spent.sum()) == 6_298_268_687_334


def test_requeues_and_reruns(trace: Trace) -> None:
    task, outcome = column(trace, "task"), column(trace, "outcome")
    ran = trace.present("attempts", "start")
    requeued = task[1:] == task[:-1]
    before = outcome[:-1][requeued]
    assert int(requeued.sum()) == 165_370
    assert int((before == FAIL).sum()) == 11_292
    assert int(((before == FAIL) & ~ran[1:][requeued]).sum()) == 32
    assert int((before != FAIL).sum()) == 154_078
    cause = trace.column("attempts", "cause")
    killed = outcome == KILL
    assert set(cause[killed & np.append(requeued, False)]) == {Cause.REQUEUE}
    assert set(cause[killed & ~np.append(requeued, False)]) == {Cause.USER}


def test_tasks_by_number_of_attempts(trace: Trace) -> None:
    task, start = column(trace, "task"), column(trace, "start")
    attempts = np.diff(trace.task_first)
    runs = np.bincount(task[start >= 0], minlength=trace.rows("tasks"))
    assert int((attempts > 1).sum()) == 60_755
    assert int((runs == 0).sum()) == 18_264
    job, index = trace.column("tasks", "job"), trace.column("tasks", "index")
    _, group, times = np.unique(
        job * (index.max() + 1) + index, return_inverse=True, return_counts=True
    )
    # Ran once, from a start that was seen to an end, and not again by the user.
    once = (attempts == 1) & (runs == 1) & (trace.task_outcome != CENSORED)
    once &= (start[trace.task_first[:-1]] > 0) & (times[group] == 1)
    assert int(once.sum()) == 214_016


def test_success_by_past_failures(description: Description) -> None:
    table = description.table("success_by_failures")
    assert table.cell("0", "P(FINISH) all") == pytest.approx(0.959, abs=5e-4)
    assert table.cell("1", "P(FINISH) all") == pytest.approx(0.525, abs=5e-4)
    assert table.cell("2", "P(FINISH) all") == pytest.approx(0.025, abs=5e-4)
    assert (table.cell("3+", "all: FINISH"), table.cell("3+", "all: attempts")) == (0, 2_327)
    assert table.cell("0", "P(FINISH) single") == pytest.approx(0.976, abs=5e-4)
    assert (table.cell("1", "single: FINISH"), table.cell("1", "single: attempts")) == (12, 43)
    assert (table.cell("2", "single: FINISH"), table.cell("2", "single: attempts")) == (0, 22)
    multi = [table.cell(k, "P(FINISH) multi") for k in ("0", "1", "2")]
    assert multi == pytest.approx([0.959, 0.530, 0.027], abs=6e-4)


def test_failed_tasks_and_jobs(trace: Trace) -> None:
    attempts = np.diff(trace.task_first)[trace.task_outcome == FAIL]
    shares = [float((attempts >= n).mean()) for n in (2, 3, 4)]
    assert shares == pytest.approx([0.863, 0.073, 0.036], abs=5e-4)
    assert attempts.max() == 12
    failed = column(trace, "task")[column(trace, "outcome") == FAIL]
    outcome = trace.column("jobs", "outcome")[np.unique(trace.column("tasks", "job")[failed])]
    assert (int((outcome == FAIL).sum()), int((outcome == FINISH).sum())) == (120, 19)


def test_run_times_and_gaps(description: Description) -> None:
    table = description.table("run_times")
    for outcome, expected in {
        "FINISH": (76, 415.8, 3_810),
        "FAIL": (35, 111.1, 6_233),
        "EVICT": (414, 5_828, 32_532),
        "KILL": (23, 173.3, 9_016),
    }.items():
        found = [table.cell(outcome, percent) for percent in ("p10", "p50", "p90")]
        assert found == pytest.approx(expected, abs=0.51), outcome
    gaps = description.table("requeue_gaps")
    found = [gaps.cell(after, "p50") for after in ("all", "EVICT", "FAIL", "KILL")]
    assert found == pytest.approx([3.83, 25.2, 1.71, 1.60], rel=3e-3)


def test_tasks_per_job(description: Description) -> None:
    table = description.table("tasks_per_job")
    found = dict(zip(table.columns, table.rows[0], strict=True))
    assert found["share single-task"] == pytest.approx(0.735, abs=5e-4)
    assert (found["p90"], found["max"]) == (20, 20_010)
    assert found["p99"] == pytest.approx(650, abs=0.5)


def test_machine_time(trace: Trace, description: Description) -> None:
    table = description.table("machine_time")
    shares = [table.cell(o, "share") for o in ("CENSORED", "KILL", "FINISH", "FAIL")]
    assert shares == pytest.approx([0.905, 0.044, 0.052, 0.000], abs=6e-4)
    assert table.cell("all", "machine-time [ms]") == 6_298_268_687_334


def test_windows_of_five_minutes(trace: Trace) -> None:
    ran = trace.present("attempts", "start")
    spent = (column(trace, "end") - column(trace, "start"))[ran]
    outcome = trace.column("attempts", "outcome")[ran]
    window = 300_000
    assert int((spent // window).sum()) == pytest.approx(20.75e6, rel=3e-4)
    ceil = -(-spent // window)
    assert int(ceil.sum()) == pytest.approx(21.31e6, rel=3e-4)
    found = [int(ceil[outcome == code].sum()) for code in (FINISH, FAIL, EVICT, KILL)]
    assert found == pytest.approx([1.151e6, 0.111e6, 4.188e6, 1.226e6], rel=5e-3)


def test_running_at_zero_and_peak(trace: Trace) -> None:
    ran = trace.present("attempts", "start")
    start, end = column(trace, "start")[ran], column(trace, "end")[ran]
    assert int((start == 0).sum()) == 132_982
    waiting = ~ran & (column(trace, "queued") == 0)
    late = ran & (column(trace, "queued") == 0) & (column(trace, "start") > 0)
    assert int(waiting.sum() + late.sum()) == 11_357
    times = np.concatenate([start, end])
    change = np.concatenate([np.ones_like(start), -np.ones_like(end)])
    order = np.lexsort((change, times))
    running = np.cumsum(change[order])
    assert int(running.max()) == 145_385
    assert int(times[order][int(running.argmax())]) == 28_755_388
