"""Usage records and machine removals find their attempts: against plain Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from failgym.traces import Cause, Outcome, Trace, read_google_2011
from failgym.traces.readers.google_2011 import parts, runs
from failgym.traces.readers.google_2011 import usage as google_2011_usage
from failgym.traces.readers.google_2011.kernel import ATTEMPT
from failgym.traces.readers.google_2011.machines import ADD, REMOVAL_SLACK, REMOVE, Machines
from tests.traces.readers.google_2011.nasty import job_row, task_row, write_part
from tests.traces.readers.google_2011.test_random import random_rows

Window = tuple[int, int, float]
"""Attempt, offset [ms], processor usage."""


def random_usage(rng: np.random.Generator, end: int) -> list[str]:
    rows: list[str] = []
    for number in range(150):
        begin = int(rng.integers(0, end))
        stop = begin + int(rng.choice([0, 2, 1000, 300_000]))
        job, index = int(rng.integers(1, 5)), int(rng.integers(0, 3))
        rows.append(f"{begin},{stop},{job},{index},7,{number}" + "," * 14)
    return rows


def windows_of(trace: Trace, rows: list[str]) -> list[Window]:
    """Each record of `rows` with the last attempt that started by its middle, if it still ran."""
    job = trace.column("jobs", "original_id").astype(int)[trace.column("tasks", "job")]
    index, task = trace.column("tasks", "index"), trace.column("attempts", "task")
    start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
    found: list[Window] = []
    for row in rows:
        begin, stop, of_job, of_index, _, cpu = map(int, row.split(",")[:6])
        middle = (begin + stop) // 2 // 1000
        started = [
            (int(start[at]), at)
            for at in range(len(task))
            if (job[task[at]], index[task[at]]) == (of_job, of_index) and 0 <= start[at] <= middle
        ]
        at = max(started)[1] if started else -1
        if at >= 0 and end[at] >= middle:
            found.append((at, max(begin // 1000 - int(start[at]), 0), float(cpu)))
    return sorted(found, key=lambda window: window[:2])


@pytest.mark.parametrize("ordered", [True, False])
def test_usage_belongs_to_the_attempt_that_ran_at_its_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ordered: bool
) -> None:
    rng = np.random.default_rng(5)
    found = 0
    for case in range(12):
        folder = tmp_path / str(case)
        events = random_rows(rng, legal_start=True)
        end = int(events[-1].split(",")[0]) + 1
        rows = random_usage(rng, end)
        if ordered:
            rows.sort(key=lambda row: int(row.split(",")[0]))
        write_part(folder / "task_events", 0, events)
        write_part(folder / "job_events", 0, [job_row("0", "1", "0")])
        for number in range(3):
            write_part(folder / "task_usage", number, rows[number * 50 : number * 50 + 50])
        monkeypatch.setattr(parts, "BLOCK_BYTES", int(rng.choice([1, 300, 1 << 24])))
        monkeypatch.setattr(runs, "BATCH_ROWS", int(rng.choice([1, 4, 1 << 12])))
        monkeypatch.setattr(runs, "RANGE_ROWS", int(rng.choice([1, 10, 1 << 20])))
        monkeypatch.setattr(google_2011_usage, "SLACK", int(rng.choice([0, 500, 3_600_000])))
        trace = read_google_2011(folder)
        columns = [trace.column("windows", name) for name in ("attempt", "offset", "cpu")]
        windows = list(zip(*(values.tolist() for values in columns), strict=True))
        assert windows == windows_of(trace, rows)
        found += len(windows)
        dropped = trace.meta.dropped.get("usage of no known attempt", 0)
        assert (trace.meta.rows_read["task usage"], dropped) == (150, 150 - len(windows))
    assert found > 100


def test_a_middle_between_odd_microseconds_is_exact(tmp_path: Path) -> None:
    events = [("0", "-", "0"), ("600001000", "7", "1"), ("600002000", "7", "4")]
    rows = [task_row(time, "1", "0", machine, kind) for time, machine, kind in events]
    write_part(tmp_path / "task_events", 0, rows)
    write_part(tmp_path / "job_events", 0, [job_row("0", "1", "0")])
    begins = (600_000_999, 600_000_997)  # the second one's middle is before the start
    usage = [f"{begin},600001001,1,0,7,0.5" + "," * 14 for begin in begins]
    write_part(tmp_path / "task_usage", 0, usage)
    assert read_google_2011(tmp_path).rows("windows") == 1


def test_machine_events_make_capacities_and_outages(tmp_path: Path) -> None:
    events = [  # time, machine, type, platform, CPUs, memory
        "0,7,0,p,,",
        "1000,7,1,p,0.5,0.25",  # down; the first to state a capacity
        "2000,7,1,p,1,1",  # dropped: it is down
        "3000,8,0,p,1,0.5",
        "5000,7,0,p,1,1",  # up
        "4000,7,1,p,1,1",  # dropped: out of order
        "9000,7,2,p,0.75,1",
        "9000,7,1,p,1,1",  # down until the end
    ]
    write_part(tmp_path / "task_events", 0, [task_row("600000000", "1", "0", "-", "0")])
    write_part(tmp_path / "job_events", 0, [job_row("0", "1", "0")])
    write_part(tmp_path / "machine_events", 0, events)
    trace = read_google_2011(tmp_path)
    machines = [
        (row["original_id"], row["cpu"], row["memory"]) for row in trace.machines.to_pylist()
    ]
    assert machines == [("7", 0.5, 0.25), ("8", 1.0, 0.5)]
    outages = [(row["machine"], row["down"], row["up"]) for row in trace.outages.to_pylist()]
    assert outages == [(0, 1, 5), (0, 9, None)]
    assert trace.meta.dropped["REMOVE of a machine that is down"] == 1
    assert trace.meta.dropped["machine event earlier than the machine's previous one"] == 1


def test_an_eviction_at_the_removal_of_its_machine_is_laid_to_it() -> None:
    rng, machines = np.random.default_rng(6), Machines()
    for number in rng.integers(0, 6, size=4):
        machine = machines.at(int(number))
        for time in np.sort(rng.integers(0, 50_000, size=8)):
            machine.follow(int(rng.choice([ADD, REMOVE])), int(time), 1.0, 1.0)
    attempts = np.zeros(3000, dtype=ATTEMPT)
    attempts["machine"] = rng.integers(-1, 7, size=3000)
    attempts["start"] = rng.choice([-1, 0], size=3000)
    attempts["end"] = rng.integers(0, 50_000, size=3000)
    attempts["outcome"] = rng.choice([Outcome.EVICT, Outcome.KILL], size=3000)
    attempts["cause"] = Cause.PREEMPTION
    expected = [
        Cause.MACHINE
        if attempt["outcome"] == Outcome.EVICT
        and attempt["start"] >= 0
        and attempt["machine"] in machines.by_id
        and any(
            abs(int(attempt["end"]) - down) <= REMOVAL_SLACK
            for down, _ in machines.by_id[int(attempt["machine"])].outages
        )
        else Cause.PREEMPTION
        for attempt in attempts
    ]
    assert machines.causes(attempts).tolist() == expected
    assert expected.count(Cause.MACHINE) > 10
