"""The reader of Google's trace of 2011: a nasty trace made by hand, and malformed files."""

from __future__ import annotations

import gzip
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from failgym.traces import Cause, Outcome, Trace, TraceError, read_google_2011
from failgym.traces.readers.google_2011 import import_google_2011, parts
from failgym.traces.schema import TABLES
from tests.traces.readers.google_2011.nasty import job_row, task_row, write_nasty, write_part

FINISH, FAIL, KILL = Outcome.FINISH, Outcome.FAIL, Outcome.KILL
EVICT, LOST, CENSORED = Outcome.EVICT, Outcome.LOST, Outcome.CENSORED
INTRINSIC, PREEMPTION = Cause.INTRINSIC, Cause.PREEMPTION
REQUEUE, USER, MACHINE = Cause.REQUEUE, Cause.USER, Cause.MACHINE

# (job, index) -> its tasks -> their attempts: queued, start, end [ms], outcome, cause, machine
EXPECTED = {
    (10, 0): [[(0, 0, 700000, FINISH, None, "71")]],
    (10, 2): [
        [
            (0, 0, 600000, EVICT, PREEMPTION, "72"),
            (600000, 601000, 602000, KILL, REQUEUE, "73"),
            (602001, None, 603000, KILL, USER, None),
        ],
        [
            (610000, 611000, 612000, FAIL, INTRINSIC, "74"),
            (612001, 613000, 614000, FAIL, INTRINSIC, "74"),
        ],
        [(614001, None, 701000, CENSORED, None, None)],
    ],
    (11, 0): [
        [
            (0, None, 601500, EVICT, PREEMPTION, None),
            (601500, None, 701000, CENSORED, None, None),
        ]
    ],
    (12, 0): [
        [(615000, 616000, 617000, FINISH, None, "75")],
        [(618000, 619000, 701000, CENSORED, None, "75")],
    ],
    (12, 7): [[(701000, None, 701000, CENSORED, None, None)]],
    (13, 0): [
        [
            (633000, 634000, 700001, FAIL, INTRINSIC, "78"),
            (700001, 701000, 701000, CENSORED, None, "79"),
        ]
    ],
    (14, 0): [[(620000, 623000, 626000, FINISH, None, "76")]],
    (15, 0): [
        [(627000, 627500, 628000, FINISH, None, "76")],
        [(700700, None, 701000, CENSORED, None, None)],
    ],
    (16, 0): [[(629000, 629500, 630000, LOST, None, "76")]],
    (17, 0): [[(631000, None, 632000, FAIL, INTRINSIC, None)]],
    (18, 0): [[(None, 901000, 902000, FINISH, None, "81")]],
    (19, 0): [[(903000, 903000, 904000, CENSORED, None, "81")]],
    (20, 0): [[(900000, 904000, 904000, CENSORED, None, "82")]],
}

JOBS = {  # submit [ms], outcome, width, name
    "10": (0, KILL, 2, "name10"),
    "11": (0, CENSORED, 1, "name11"),
    "12": (615000, CENSORED, 2, "name12"),
    "13": (633000, CENSORED, 1, "name13"),
    "14": (620000, FINISH, 1, "name14"),
    "15": (627000, FINISH, 1, "name15"),
    "16": (629000, FAIL, 1, "name16"),
    "17": (631000, KILL, 1, "name17"),
    "18": (901000, FINISH, 1, "name18"),
    "19": (903000, FINISH, 1, "name19"),
    "20": (900000, CENSORED, 1, None),
}


def attempts_by_task(trace: Trace) -> dict[tuple[int, int], list[list[tuple[Any, ...]]]]:
    jobs = [int(job) for job in trace.column("jobs", "original_id")]
    tasks = [(jobs[row["job"]], row["index"]) for row in trace.tasks.to_pylist()]
    machines = trace.column("machines", "original_id")
    machine = {row["attempt"]: machines[row["machine"]] for row in trace.placements.to_pylist()}
    rows: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for number, row in enumerate(trace.attempts.to_pylist()):
        values = tuple(row[key] for key in ("queued", "start", "end", "outcome", "cause"))
        rows[row["task"]].append((*values, machine.get(number)))
    found: dict[tuple[int, int], list[list[tuple[Any, ...]]]] = defaultdict(list)
    for task, key in enumerate(tasks):
        found[key].append(rows[task])
    return dict(found)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_nasty_trace_comes_out_as_worked_by_hand(tmp_path: Path, suffix: str) -> None:
    trace = read_google_2011(write_nasty(tmp_path, suffix=suffix))
    assert attempts_by_task(trace) == EXPECTED
    found = {
        row["original_id"]: (row["submit"], row["outcome"], row["width"], row["name"])
        for row in trace.jobs.to_pylist()
    }
    assert found == JOBS


def test_nasty_trace_counts_what_it_drops_and_repairs(tmp_path: Path) -> None:
    meta = read_google_2011(write_nasty(tmp_path)).meta
    assert meta.end == 904000
    assert meta.rows_read == {"task events": 63, "job events": 22}
    assert meta.dropped == {
        "task event: UPDATE": 2,
        "task event after the end of the whole trace": 1,
        "SUBMIT of a task that is pending or running": 2,
        "SCHEDULE of a task that is not pending": 2,
        "end of a task that is over": 2,
        "FINISH of a task that is pending": 1,
        "event earlier than the task's previous one": 1,
        "end of an attempt from before the segment": 2,
        "job event: UPDATE": 1,
        "job event after the last task event": 1,
        "job without tasks": 1,
    }
    assert meta.noted == {
        "tasks whose request differs between SUBMIT and first SCHEDULE (SCHEDULE's taken)": 1,
        "KILLs of a running task without a machine (SCHEDULE's taken)": 1,
        "tasks first seen at SCHEDULE (queued unknown)": 1,
        "tasks run again by the user (a new task)": 4,
        "jobs without job events": 1,
    }


def test_requests_are_those_of_the_first_schedule(tmp_path: Path) -> None:
    trace = read_google_2011(write_nasty(tmp_path))
    task = trace.tasks.to_pylist()[0]
    assert (task["job"], task["index"], task["cpu"]) == (0, 0, 0.25)
    assert trace.jobs.to_pylist()[0]["priority"] == 10
    pending = next(row for row in trace.tasks.to_pylist() if row["job"] == 1)
    assert pending["cpu"] is None


def test_rows_are_in_the_documented_order(tmp_path: Path) -> None:
    trace = read_google_2011(write_nasty(tmp_path))
    jobs = [(row["submit"], row["original_id"]) for row in trace.jobs.to_pylist()]
    assert jobs == sorted(jobs)
    tasks = [
        (int(submit), row["job"], row["index"])
        for submit, row in zip(trace.task_submit, trace.tasks.to_pylist(), strict=True)
    ]
    assert tasks == sorted(tasks)


@pytest.mark.parametrize("size", [64, 100, 1000])
def test_blocks_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    folder = write_nasty(tmp_path)
    whole = read_google_2011(folder)
    monkeypatch.setattr(parts, "BLOCK_BYTES", size)
    blocks = read_google_2011(folder)
    assert blocks.content_hash == whole.content_hash
    assert blocks.meta == whole.meta


def test_progress_is_shown_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = read_google_2011(write_nasty(tmp_path), progress=True)
    shown = capsys.readouterr()
    assert "reading google-2011" in shown.err
    assert not shown.out
    assert trace.rows("tasks") == sum(map(len, EXPECTED.values()))


def test_the_last_newline_may_be_missing_and_lines_may_end_in_crlf(tmp_path: Path) -> None:
    whole = read_google_2011(write_nasty(tmp_path / "a", suffix=".csv"))
    folder = write_nasty(tmp_path / "b", suffix=".csv")
    for file in folder.glob("*/*.csv"):
        file.write_bytes(file.read_bytes().removesuffix(b"\n").replace(b"\n", b"\r\n"))
    assert read_google_2011(folder).content_hash == whole.content_hash


def test_machine_events_give_capacities_outages_and_causes(tmp_path: Path) -> None:
    folder = write_nasty(tmp_path)
    rows = [
        "0,71,0,platform,0.5,0.25",
        "0,72,0,platform,1,",
        "500000000,72,2,platform,1,0.5",
        "600000000,72,1,platform,1,0.5",
        "600000001,72,1,platform,1,0.5",
        "610000000,72,0,platform,1,0.5",
        "700000000,71,1,platform,0.5,0.25",
        "904001000,71,0,platform,0.5,0.25",
    ]
    write_part(folder / "machine_events", 0, rows)
    trace = read_google_2011(folder)
    machines = {row["original_id"]: row for row in trace.machines.to_pylist()}
    assert (machines["71"]["cpu"], machines["71"]["memory"]) == (0.5, 0.25)
    assert (machines["72"]["cpu"], machines["72"]["memory"]) == (1, None)
    assert machines["73"]["cpu"] is None
    outages = [(row["down"], row["up"]) for row in trace.outages.to_pylist()]
    assert outages == [(600000, 610000), (700000, None)]
    assert attempts_by_task(trace)[10, 2][0][0] == (0, 0, 600000, EVICT, MACHINE, "72")
    assert trace.meta.dropped["REMOVE of a machine that is down"] == 1
    assert trace.meta.dropped["machine event after the last task event"] == 1


def test_task_usage_becomes_windows(tmp_path: Path) -> None:
    folder = write_nasty(tmp_path)
    usage = "{},{},{},{},71,0.1,0.2,,,,0.3,0.4,,,,,,,1,"
    rows = [
        usage.format(600500000, 601200000, 10, 2),  # between two attempts: middle in neither
        usage.format(601000000, 601400000, 10, 2),
        usage.format(601400000, 602000000, 10, 2),
        usage.format(600000000, 900000000, 99, 0),  # unknown task
        usage.format(0, 300000000, 10, 0),
        usage.format(611900000, 612000000, 10, 2),
    ]
    write_part(folder / "task_usage", 0, rows)
    trace = read_google_2011(folder)
    found = [(row["attempt"], row["offset"]) for row in trace.windows.to_pylist()]
    starts = trace.column("attempts", "start")
    assert [(starts[attempt], offset) for attempt, offset in found] == [
        (0, 0),
        (601000, 0),
        (601000, 400),
        (611000, 900),
    ]
    row = trace.windows.to_pylist()[0]
    used = [row[key] for key in ("cpu", "memory", "max_memory", "local_io")]
    assert used == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert row["network"] is None
    assert trace.meta.dropped["usage of no known attempt"] == 2


@pytest.mark.parametrize(
    ("table", "row", "message"),
    [
        ("job_events", "70368744177664001,,1,0,user,2,name,logical", "column 'time' is"),
        ("job_events", "1,,1,0,user,2147483648,name,logical", "column 'scheduling class' is"),
        ("machine_events", "70368744177664001,71,0,platform,0.5,0.25", "column 'time' is"),
        ("machine_events", "0,71,0,platform,1e999,0.25", "column 'CPUs' is '1e999'"),
        ("task_usage", "0,70368744177664001,1,0" + "," * 16, "column 'end time' is"),
        ("task_usage", "0,1,1,0,,1e39" + "," * 14, "column 'mean CPU usage rate' is '1e39'"),
    ],
)
def test_what_no_trace_can_hold_is_named_in_every_table(
    tmp_path: Path, table: str, row: str, message: str
) -> None:
    write_nasty(tmp_path)
    file = write_part(tmp_path / table, 0, [row])
    with pytest.raises(TraceError) as caught:
        read_google_2011(tmp_path)
    assert str(caught.value).startswith(f"{file}, line 1: {message}")


GOOD = task_row("600000000", "1", "0", "-", "0")


def write(folder: Path, rows: list[str], *, number: int = 0) -> Path:
    write_part(folder / "job_events", 0, [job_row("600000000", "1", "0")])
    return write_part(folder / "task_events", number, rows)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("1,2,3", "line 3: too few columns: 3, expected 13"),
        ("", "line 3: too few columns: 1, expected 13"),
        (GOOD + ",1", "line 3: too many columns: 14, expected 13"),
        (GOOD.replace("600000000", "abc"), "line 3: column 'time' is 'abc', expected an integer"),
        (GOOD.replace("600000000", ""), "line 3: column 'time' is '', expected an integer"),
        (GOOD.replace("600000000", "6e8"), "line 3: column 'time' is '6e8'"),
        (
            GOOD.replace("600000000", "-5"),
            "line 3: column 'time' is '-5', expected an integer of at least 0",
        ),
        (GOOD.replace("600000000", str(2**63)), "line 3: column 'time' is '9223372036854775808'"),
        (GOOD.replace("0.001", "much"), "line 3: column 'disk space request' is 'much'"),
        (GOOD.replace("0.001", "nan"), "line 3: column 'disk space request' is"),
        (
            GOOD.replace("600000000", "9223372036854775806"),
            "line 3: column 'time' is '9223372036854775806', expected an integer of at least 0 and"
            " at most 70368744177664000 (or 9223372036854775807)",
        ),
        (
            GOOD.replace("600000000", "70368744177664001"),
            "line 3: column 'time' is '70368744177664001'",
        ),
        (GOOD.replace("600000000", "9" * 5000), f"line 3: column 'time' is '{'9' * 60}...'"),
        (GOOD.replace("0.001", "1e999"), "line 3: column 'disk space request' is '1e999'"),
        (
            task_row("600000000", "1", "0", "-", "0", "99999999999", "0.1"),
            "line 3: column 'priority' is '99999999999', expected an integer of at least 0 and at"
            " most 2147483647",
        ),
        (
            GOOD.replace("user,1,", "user,2147483648,"),
            "line 3: column 'scheduling class' is '2147483648'",
        ),
        (GOOD.replace("user", "us\rer"), "line 3: a carriage return within the line"),
        (GOOD.replace("600000000", "\u0663"), "line 3: column 'time' is '\u0663'"),
        (GOOD.replace("0.001", "null"), "line 3: column 'disk space request' is 'null'"),
        (task_row("600000000", "1", "0", "-", "9"), "line 3: column 'event type' is 9, expected"),
        (task_row("600000000", "2", "0", "5", "4"), "line 3: column 'event type' is 4, expected 0"),
        (task_row("600000000", "2", "0", "5", "1"), "line 3: column 'event type' is 1, expected 0"),
    ],
)
@pytest.mark.parametrize("size", [50, 1 << 24])
def test_a_bad_row_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str, message: str, size: int
) -> None:
    monkeypatch.setattr(parts, "BLOCK_BYTES", size)
    other = task_row("600000000", "1", "1", "-", "0")
    file = write(tmp_path, [GOOD, other, bad, task_row("600000001", "1", "0", "7", "1")])
    with pytest.raises(TraceError) as caught:
        read_google_2011(tmp_path)
    assert str(caught.value).startswith(f"{file}, {message}")
    assert "\n" not in str(caught.value)


def test_the_first_event_without_a_submit_is_the_one_named(tmp_path: Path) -> None:
    early = task_row("600000000", "9", "0", "5", "4")
    later = task_row("600000001", "2", "0", "5", "4")
    write(tmp_path, [GOOD, early, later])
    with pytest.raises(TraceError, match=r"line 2: column 'event type'.* task 0 of job 9"):
        read_google_2011(tmp_path)


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    write(tmp_path, [GOOD])
    file = tmp_path / "task_events" / "part-00000-of-00500.csv.gz"
    file.write_bytes(gzip.compress((GOOD + "\n").encode() + GOOD.encode().replace(b"u", b"\xff")))
    with pytest.raises(TraceError, match="line 2: not a text in UTF-8"):
        read_google_2011(tmp_path)


@pytest.mark.parametrize("kept", [0, 5, 0.5, -4])
def test_a_truncated_gzip_is_refused(tmp_path: Path, kept: float) -> None:
    file = write(tmp_path, [GOOD] * 100)
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * kept) if isinstance(kept, float) else kept])
    with pytest.raises(
        TraceError,
        match=r"part-00000-of-00500\.csv\.gz: truncated: expected the whole compressed file",
    ):
        read_google_2011(tmp_path)


@pytest.mark.parametrize("position", [0, 40, -6])
def test_a_corrupt_gzip_is_refused(tmp_path: Path, position: int) -> None:
    file = write(tmp_path, [task_row(str(n), str(n * n), "0", "-", "0") for n in range(500)])
    data = bytearray(file.read_bytes())
    data[position] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(TraceError, match=r"part-00000-of-00500\.csv\.gz"):
        read_google_2011(tmp_path)


def test_missing_and_empty_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such folder"):
        read_google_2011(tmp_path / "nowhere")
    with pytest.raises(TraceError, match="task_events: no such folder"):
        read_google_2011(tmp_path)
    (tmp_path / "task_events").mkdir()
    with pytest.raises(TraceError, match="task_events: empty"):
        read_google_2011(tmp_path)
    write_part(tmp_path / "task_events", 0, [])
    with pytest.raises(TraceError, match="no task events"):
        read_google_2011(tmp_path)


def test_odd_file_names_are_refused(tmp_path: Path) -> None:
    file = write(tmp_path, [GOOD])
    (file.parent / "notes.txt").write_text("not a part")
    write_part(file.parent, 0, [GOOD], suffix=".csv")
    with pytest.raises(TraceError, match="part 0 is there twice"):
        read_google_2011(tmp_path)
    (file.parent / "part-00000-of-00500.csv").rename(file.parent / "events.csv")
    with pytest.raises(TraceError, match="expected a name like part-00000-of-00500"):
        read_google_2011(tmp_path)


def test_jobs_without_job_events_are_kept(tmp_path: Path) -> None:
    write_part(tmp_path / "job_events", 0, [])
    write_part(tmp_path / "task_events", 0, [GOOD])
    trace = read_google_2011(tmp_path)
    job = trace.jobs.to_pylist()[0]
    assert (job["submit"], job["outcome"], job["user"]) == (600000, CENSORED, "user")
    assert (job["scheduling_class"], job["name"]) == (1, None)


def test_task_events_alone_are_read_and_what_is_unknown_is_said(tmp_path: Path) -> None:
    write_part(tmp_path / "job_events", 0, [])
    write_part(tmp_path / "task_events", 0, [GOOD])
    with_empty = read_google_2011(tmp_path)
    shutil.rmtree(tmp_path / "job_events")
    alone = read_google_2011(tmp_path)
    for name in TABLES:
        assert alone.table(name).equals(with_empty.table(name))
    assert alone.meta.noted == {"jobs without job events": 1}
    assert set(alone.meta.remarks) == {"no job_events", "no machine_events", "no task_usage"}
    assert "outcomes of jobs are not known" in alone.meta.remarks["no job_events"]
    import_google_2011(tmp_path, tmp_path / "out")
    assert Trace.load(tmp_path / "out").content_hash == alone.content_hash
