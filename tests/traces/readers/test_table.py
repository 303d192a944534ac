"""A table of runs: every field and word, what is refused and counted, and generated traces."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from failgym.cli import run
from failgym.traces import Cause, Outcome, Trace, TraceError, generate
from failgym.traces.describe import describe
from failgym.traces.readers.table import files, read_table
from failgym.traces.readers.table.fields import FIELDS, NEEDED, Times, memory_of
from failgym.traces.readers.table.words import OWN, SYNONYMS, word_of
from tests.traces.readers.replaying import replayed
from tests.traces.readers.test_sacct import Fates, fates_of, places_of
from tests.traces.real_data import REPOSITORY

FIXTURES = REPOSITORY / "tests" / "data" / "table"
ORIGIN = 1_709_280_000  # 2024-03-01T08:00:00Z
ROW = {
    "job": "7",
    "submit": "2024-03-01T08:00:00",
    "start": "2024-03-01T08:00:10",
    "end": "2024-03-01T08:01:00",
    "outcome": "COMPLETED",
}


def written(path: Path, *rows: Mapping[str, str], delimiter: str = ",") -> Path:
    """A table whose columns are those of the first row."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]), delimiter=delimiter, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    return path


def read(tmp_path: Path, *rows: Mapping[str, str], **options: Any) -> Trace:
    return read_table(written(tmp_path / "t.csv", *rows), **options)


def refusal(tmp_path: Path, *rows: Mapping[str, str], **options: Any) -> str:
    """Why a table is refused, after the name of the file."""
    with pytest.raises(TraceError) as raised:
        read(tmp_path, *rows, **options)
    said = str(raised.value)
    assert said.startswith(str(tmp_path / "t.csv"))
    assert len(said.splitlines()) == 1
    return said.removeprefix(str(tmp_path / "t.csv"))


@pytest.fixture(scope="module", name="runs")
def runs_of_the_fixture() -> Trace:
    return read_table(FIXTURES / "runs.csv")


FATES: Fates = {
    ("17", 0): [(0, 10, 610, "FINISH", None)],
    ("17", 1): [(0, 20, 320, "FAIL", "INTRINSIC"), (None, 360, 960, "FINISH", None)],
    ("18", 0): [(60, 70, 3670, "KILL", "WALLTIME")],
    ("19", 0): [(120, 130, 190, "EVICT", "MACHINE"), (200, 240, 300, "KILL", "USER")],
    ("20", 0): [(300, None, 360, "KILL", "DEPENDENCY")],
    ("21", 0): [(360, 420, 3670, "CENSORED", None)],
    ("22", 0): [(390, None, 3670, "CENSORED", None)],
}


def test_every_row_has_its_fate(runs: Trace) -> None:
    assert fates_of(runs) == FATES
    assert runs.meta.unix_origin == ORIGIN * 1000
    assert runs.meta.end == 3_670_000
    assert 20_250 in runs.column("attempts", "start")
    assert runs.meta.rows_read == {"rows": 9}
    assert runs.meta.noted == {
        "submission of a run before: when the run was queued is not known": 1
    }
    assert runs.meta.remarks["columns not read"] == "cost centre"
    replayed(runs)


def test_what_rows_say_of_jobs_and_tasks(runs: Trace) -> None:
    jobs = {row["original_id"]: row for row in runs.table("jobs").to_pylist()}
    first = jobs["17"]
    assert [first[name] for name in ("user", "group", "name", "queue")] == [
        *("ann", "hpc", 'early, and "run"', "batch")
    ]
    assert [first[name] for name in ("priority", "walltime", "width")] == [5, 1_800_000, 2]
    assert [jobs[job]["walltime"] for job in ("18", "19", "21")] == [3_600_000, None, 86_400_000]
    categories = [jobs[job]["exit_category"] for job in ("17", "18", "19", "20", "21")]
    assert categories == ["success", "walltime", "user", "user", None]
    tasks = runs.table("tasks").to_pylist()
    assert [task["width"] for task in tasks] == [8, 8, 1, 1, 1, 4, 4]
    assert [task["gpu"] for task in tasks] == [2, 2, 0, None, None, None, None]
    assert [task["cpu"] for task in tasks[:4]] == [1, 1, 0.5, None]
    assert [task["memory"] for task in tasks[:4]] == [1, 1, None, 0.25]
    assert runs.meta.remarks["memory unit"].endswith(f" {2 << 30} bytes")


def test_what_runs_used_and_where_they_were(runs: Trace) -> None:
    first = runs.table("attempts").to_pylist()[0]
    assert first["mean_cpu"] == pytest.approx(4800 / 600 / 8)
    assert first["max_memory"] == pytest.approx(0.5)
    assert first["exit_code"] == 0
    assert places_of(runs, 0) == {"node01": 4, "node02": 4}
    assert places_of(runs, 4) == {"node03": 1, "node04": 1}


def test_numbers_that_count_from_anything() -> None:
    trace = read_table(FIXTURES / "relative.txt")
    assert fates_of(trace) == {
        ("x", 0): [(0, 10, 70, "FAIL", "INTRINSIC"), (None, 80, 100, "FINISH", None)],
        ("x", 1): [(0, 10, 20, "EVICT", "PREEMPTION")],
        ("y", 0): [(100, 200, 200, "FINISH", None)],
    }
    assert trace.meta.unix_origin is None
    assert trace.column("attempts", "end")[0] == 70_500
    assert trace.meta.dropped == {"no time known": 1}
    assert trace.meta.noted["end before the start, taken as the start"] == 1
    assert trace.meta.noted["tasks with names: numbered in order of their rows"] == 2


def test_milliseconds_and_missing_times(tmp_path: Path) -> None:
    times = {"submit": f"{ORIGIN}000", "start": f"{ORIGIN}500", "end": "0", "outcome": "RUNNING"}
    other = {"submit": f"{ORIGIN}000", "start": "0", "end": f"{ORIGIN}900", "outcome": "killed"}
    rows = ({"job": "1", **times}, {"job": "2", **other})
    trace = read(tmp_path, *rows, unit="ms")
    assert trace.meta.unix_origin == ORIGIN * 1000
    assert trace.table("attempts").select(["queued", "start", "end"]).to_pylist() == [
        {"queued": 0, "start": 500, "end": 900},
        {"queued": 0, "start": None, "end": 900},
    ]


def test_dates_and_numbers_side_by_side(tmp_path: Path) -> None:
    """0 is no time of 1970 where others are dates."""
    row = {**ROW, "start": str(ORIGIN + 10), "end": "0", "outcome": "killed"}
    trace = read(tmp_path, row)
    assert fates_of(trace) == {("7", 0): [(0, 10, 10, "KILL", "USER")]}
    assert trace.meta.unix_origin == ORIGIN * 1000


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((ROW, {**ROW, "start": "10", "end": "60"}), "line 3: end '60' .*line 2: submit"),
        (({**ROW, "start": "10", "end": "60"},), "line 2: end '60' .*line 2: submit"),
        (
            ({**ROW, "submit": "5", "start": "6", "end": "7"}, {**ROW, "submit": str(ORIGIN)}),
            f"line 2: end '7' .*line 3: submit '{ORIGIN}'",
        ),
    ],
)
def test_times_of_two_kinds_in_a_file_are_refused(
    tmp_path: Path, rows: tuple[dict[str, str], ...], said: str
) -> None:
    """Those that count from the submission, say: decades would lie between start and end."""
    with pytest.raises(TraceError, match=rf"{said}.*expected times of one kind"):
        read(tmp_path, *rows)


@pytest.mark.parametrize(
    "unset",
    [
        *("1970-01-01", "1970-01-01T01:00:00", "1970-01-02T04:00:00", "1969-12-31T19:00:00-05:00"),
        *("1969-12-31T23:59:59", "0001-01-01", "0000-00-00 00:00:00", "1900-01-01", "0"),
    ],
)
def test_what_a_clock_shows_that_nobody_has_set_is_missing(tmp_path: Path, unset: str) -> None:
    row = {**ROW, "start": unset, "end": unset, "outcome": "running"}
    assert fates_of(read(tmp_path, row)) == {("7", 0): [(0, None, 0, "CENSORED", None)]}


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("unset", ["1970-01-01", "1970-01-01T01:00:00", "1970-01-02T23:00:00"])
def test_no_clock_was_set_in_other_time_zones_either(tmp_path: Path, zone: str, unset: str) -> None:
    times = {"submit": "2024-03-01T08:00:00", "start": unset, "end": unset}
    trace = read(tmp_path, {"job": "7", **times, "outcome": "running"}, timezone=zone)
    assert fates_of(trace) == {("7", 0): [(0, None, 0, "CENSORED", None)]}


@pytest.mark.parametrize(
    "wrong",
    [
        *("1969-13-45", "1950-05-05", "0025-01-02", "1970-01-00", "1969-12-31T77:00"),
        *("1900-01-01zzz:00", "1900-01-01T08:00:05"),
    ],
)
def test_other_dates_before_1970_are_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(TraceError, match=f"line 2: field 'start' is '{wrong}'"):
        read(tmp_path, {**ROW, "start": wrong})


def test_dates_that_count_from_the_beginning_of_the_record(tmp_path: Path) -> None:
    """As `pandas.to_datetime(..., unit="s")` writes numbers; no hour of the day is known."""
    times = ("1970-01-01T00:00:10", "1970-01-01T00:01:00", "1970-01-05T00:00:00")
    row = {"job": "7", **dict(zip(("submit", "start", "end"), times, strict=True))}
    trace = read(tmp_path, {**row, "outcome": "failed"})
    assert fates_of(trace) == {("7", 0): [(0, 50, 345_590, "FAIL", "INTRINSIC")]}
    assert trace.meta.unix_origin is None


def test_a_long_record_that_counts_from_its_beginning(tmp_path: Path) -> None:
    """After three years its numbers are as large as dates of 1973."""
    times = ("100", "200", "300"), ("126144000", "126144100", "126144200")
    rows = [
        {"job": str(job), "submit": a, "start": b, "end": c, "outcome": "finished"}
        for job, (a, b, c) in enumerate(times)
    ]
    assert fates_of(read(tmp_path, *rows)) == {
        ("0", 0): [(0, 100, 200, "FINISH", None)],
        ("1", 0): [(126_143_900, 126_144_000, 126_144_100, "FINISH", None)],
    }


def test_a_date_of_no_clock_says_nothing_of_numbers(tmp_path: Path) -> None:
    first = {"job": "1", "submit": "0", "start": "200", "end": "300", "outcome": "finished"}
    other = {"job": "2", "submit": "700", "start": "0001-01-01", "end": "", "outcome": "running"}
    trace = read(tmp_path, first, other)
    assert trace.meta.unix_origin is None
    assert fates_of(trace)["1", 0] == [(0, 200, 300, "FINISH", None)]


def test_names_of_columns(tmp_path: Path) -> None:
    row = {"Job": "7", "Queued at": ROW["submit"], "START": ROW["start"], "end": ROW["end"]}
    row |= {"How": "OK", "submit": "never"}
    columns = {"submit": "Queued at", "outcome": "how"}
    trace = read(tmp_path, row, columns=columns, outcomes={"ok!": "node_fail"})
    assert fates_of(trace) == {("7", 0): [(0, 10, 60, "FAIL", "MACHINE")]}
    assert trace.meta.remarks["columns not read"] == "submit"


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet", "dictionaries"])
def test_the_same_table_in_every_form(tmp_path: Path, kind: str, runs: Trace) -> None:
    rows = list(csv.DictReader((FIXTURES / "runs.csv").read_text().splitlines()))
    file = tmp_path / f"t.{kind}"
    if kind == "csv.gz":
        file.write_bytes(gzip.compress((FIXTURES / "runs.csv").read_bytes()))
    elif kind in ("csv", "tsv"):
        written(file, *rows, delimiter="\t" if kind == "tsv" else ",")
    else:
        table = pa.table({name: [row[name] or None for row in rows] for name in rows[0]})
        if kind == "dictionaries":
            columns = [c.combine_chunks().dictionary_encode() for c in table.columns]
            table = pa.table(columns, names=table.column_names)
        pq.write_table(table, file, row_group_size=4)
    trace = read_table(file)
    assert trace.content_hash == runs.content_hash
    assert trace.meta == runs.meta


def test_typed_columns_of_parquet(tmp_path: Path) -> None:
    stamp = [ORIGIN * 1000 + 123]
    columns = {
        "job": pa.array([7]),
        "submit": pa.array(stamp, pa.timestamp("ms")),
        "start": pa.array(stamp, pa.timestamp("ms", tz="Europe/Berlin")),
        "end": pa.array([float(ORIGIN + 10)]),
        "outcome": pa.array([True]),
        "gpu": pa.array([0.5]),
        "machines": pa.array([["a", "b"]]),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    trace = read_table(tmp_path / "t.parquet", outcomes={"true": "done", "false": "failed"})
    row = trace.table("attempts").to_pylist()[0]
    assert (row["queued"], row["start"], row["end"]) == (0, 0, 9_877)
    assert trace.meta.unix_origin == stamp[0]
    assert places_of(trace, 0) == {"a": 1, "b": 1}
    pq.write_table(pa.table({**columns, "end": pa.array([{"a": 1}])}), tmp_path / "t.parquet")
    with pytest.raises(TraceError, match=r"t\.parquet: column 'end' is struct<.*expected texts"):
        read_table(tmp_path / "t.parquet", outcomes={"true": "done"})


def test_rows_of_parquet_are_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK_ROWS", 2)
    table = pa.table({name: [text] * 5 for name, text in ROW.items()})
    broken = table.set_column(4, "outcome", pa.array(["done"] * 4 + ["odd"]))
    pq.write_table(broken, tmp_path / "t.parquet")
    with pytest.raises(TraceError, match=r"t\.parquet, row 5: field 'outcome' is 'odd'"):
        read_table(tmp_path / "t.parquet")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and no more PAR1")
    with pytest.raises(TraceError, match=r"t\.parquet: not a sound Parquet file"):
        read_table(tmp_path / "t.parquet")


def test_files_of_one_folder_may_have_other_columns(tmp_path: Path) -> None:
    written(tmp_path / "1.csv", {**ROW, "gpu": "3"})
    written(tmp_path / "2.csv", {**ROW, "job": "8", "user": "ann"})
    trace = read_table(tmp_path)
    assert trace.table("tasks").column("gpu").to_pylist() == [3, None]
    assert trace.table("jobs").column("user").to_pylist() == [None, "ann"]


@pytest.mark.parametrize("none", ["", "0"])
def test_a_job_of_which_no_time_is_known_is_left_out(tmp_path: Path, none: str) -> None:
    """Where others are dates, 0 is no time."""
    row = {**ROW, "job": "9", "submit": none, "start": none, "end": none, "outcome": "failed"}
    trace = read(tmp_path, row, ROW, {**row, "job": "11"}, {**ROW, "job": "8"})
    assert trace.table("jobs").column("original_id").to_pylist() == ["7", "8"]
    assert trace.meta.dropped == {"no time known": 2}
    with pytest.raises(TraceError, match="holds no run that can be used"):
        read(tmp_path, {**row, "submit": "", "start": "", "end": ""})


def test_files_of_which_only_one_has_dates_are_refused(tmp_path: Path) -> None:
    """Joined, decades would lie between their runs."""
    header = "job,submit,start,end,outcome"
    (tmp_path / "a.csv").write_text(f"{header}\n1,100,200,300,finished\n")
    (tmp_path / "b.csv").write_text(f"{header}\n")  # says nothing of its clock
    (tmp_path / "c.csv").write_text(f"{header}\n2,2025-03-01,2025-03-02,2025-03-03,finished\n")
    said = r"a\.csv, line 2: end '300' does not count from 1970, .*c\.csv, line 2: submit '2025"
    with pytest.raises(TraceError, match=said):
        read_table(tmp_path)
    for one in ("a", "c"):
        alone = read_table([tmp_path / f"{one}.csv", tmp_path / "b.csv"])
        assert alone.rows("attempts") == 1


def test_a_zone_and_the_hour_that_is_there_twice(tmp_path: Path) -> None:
    times = {"submit": "2024-10-27 02:10:00", "start": "2024-10-27 02:50:00"}
    times["end"] = "2024-10-27 02:20:00"
    trace = read(tmp_path, {**ROW, **times}, timezone="Europe/Berlin")
    assert fates_of(trace) == {("7", 0): [(0, 2400, 4200, "FINISH", None)]}
    assert trace.meta.unix_origin == 1_729_987_800_000  # 00:10 UTC
    assert trace.meta.noted == {}


def test_what_is_over_has_its_times(tmp_path: Path) -> None:
    over = {
        ("cancelled", ROW["start"], ROW["start"]): (None, 10, "KILL", "USER"),
        ("kill", ROW["start"], ROW["start"]): (10, 10, "KILL", "USER"),
        ("failed", ROW["start"], ""): (10, 10, "FAIL", "INTRINSIC"),
        ("failed", "", ""): (None, 0, "FAIL", "INTRINSIC"),
        ("finished", ROW["start"], ""): (10, 60, "CENSORED", None),
        ("finished", "", ROW["end"]): (60, 60, "FINISH", None),
        ("waiting", ROW["end"], ""): (None, 60, "CENSORED", None),
        ("running", ROW["start"], "None"): (10, 60, "CENSORED", None),
    }
    rows = [
        {**ROW, "job": str(number), "outcome": word, "start": start, "end": end}
        for number, (word, start, end) in enumerate(over)
    ]
    trace = read(tmp_path, *rows, {**ROW, "job": "x"})
    found = fates_of(trace)
    assert [found[str(number), 0][0][1:] for number in range(len(rows))] == list(over.values())
    assert trace.meta.noted == {
        "killed as it started: taken as never run": 1,
        "over, but its end is missing: taken as open": 1,
        "over, but its end is missing: taken as its start or submission": 2,
        "success without a start, taken to start at its end": 1,
    }


def test_a_log_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    """Also where its runs were; two runs of a task may be of no time at all, and be two."""
    head = "job,task,submit,start,end,outcome,machines\n"
    rows = "a,0,0,5,9,failed,n1\na,0,9,9,20,finished,n2\nb,0,1,2,,running,n3\nc,0,1,2,2,failed,n1\n"
    once, twice = tmp_path / "once.csv", tmp_path / "twice.csv"
    once.write_text(head + rows)
    twice.write_text(head + rows + rows)
    trace = read_table(once)
    again = read_table(twice)
    assert again.meta.dropped == {"the same run again": 3}
    assert trace.rows("attempts") == 4
    assert again.rows("attempts") == 5
    for name in ("task", "start", "end", "outcome"):
        values = again.column("attempts", name)
        assert values[:4].tolist() == trace.column("attempts", name).tolist()
    placed = zip(
        again.column("placements", "attempt"), again.column("placements", "machine"), strict=True
    )
    assert list(placed) == [(0, 0), (1, 1), (2, 2), (3, 0), (4, 0)]


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ("a,0,10,20,finished,n1,eve\na,0,10,20,finished,n2,eve\n", 2),  # a row for each node
        ("a,0,10,20,finished,,eve\na,0,10,20,finished,n1,eve\n", 2),
        ("a,0,10,20,finished,n1,eve\na,0,10,20,finished,n1,bob\na,0,10,20,finished,n1,eve\n", 2),
        (2 * "a,1600000000,0,1600000005,cancelled,,eve\n", 2),  # 0 is no time: it never ran
        (2 * "a,1600000000,1600000001,1600000005,cancelled,,eve\n", 1),
    ],
)
def test_rows_that_say_anything_else_are_kept(tmp_path: Path, rows: str, kept: int) -> None:
    file = tmp_path / "runs.csv"
    file.write_text(f"job,submit,start,end,outcome,machines,user\n{rows}")
    assert read_table(file).rows("attempts") == kept


def test_what_follows_a_run_says_what_it_was(tmp_path: Path) -> None:
    later = {**ROW, "submit": "", "start": "2024-03-01T09:00:00", "end": "2024-03-01T09:10:00"}
    for word, cause, fate in (
        ("node_fail", "", ("EVICT", "MACHINE")),
        ("node_fail", "machine", ("FAIL", "MACHINE")),
        ("cancelled", "", ("KILL", "REQUEUE")),
        ("kill", "", ("KILL", "USER")),
        ("failed", "shared", ("FAIL", "SHARED")),
        ("running", "", ("LOST", None)),
        ("censored", "", ("CENSORED", None)),
        ("finished", "intrinsic", ("FINISH", None)),
    ):
        row = {**ROW, "outcome": word, "cause": cause}
        trace = read(tmp_path, row, {**later, "cause": ""})
        assert fates_of(trace)["7", 0][0][3:] == fate, word


REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "word": (
        {"outcome": "odd"},
        ", line 3: field 'outcome' is 'odd', expected a word like finished, failed, killed,"
        " timeout, node_fail or running; --outcomes odd=failed (outcomes={'odd': 'failed'})"
        " says what another one means",
    ),
    "words": ({"outcome": "as it is"}, ", line 3: field 'outcome' is 'as it is', expected a word"),
    "control": ({"outcome": "a\x1e\x00b"}, r", line 3: field 'outcome' is 'a\x1e\x00b', expected"),
    "sign": ({"outcome": "a=b"}, ", line 3: field 'outcome' is 'a=b', expected a word"),
    "no word": ({"outcome": ""}, ", line 3: field 'outcome' is '', expected a word"),
    "job": ({"job": "NA"}, ", line 3: field 'job' is 'NA', expected an id"),
    "time": ({"start": "yesterday"}, ", line 3: field 'start' is 'yesterday', expected a time"),
    "negative": ({"start": "-5"}, ", line 3: field 'start' is '-5', expected a time"),
    "month": ({"end": "2024-13-01T00:00:00"}, ", line 3: field 'end' is '2024-13-01T00"),
    "late": ({"end": "9" * 15}, ", line 3: field 'end' is '9999"),
    "infinite": ({"end": "9e99"}, ", line 3: field 'end' is '9e99'"),
    "slots": ({"slots": "0"}, ", line 3: field 'slots' is '0', expected a whole number of at"),
    "gpu": ({"gpu": "1e9"}, ", line 3: field 'gpu' is '1e9', expected a number of at least 0"),
    "gpus": ({"gpu": "two"}, ", line 3: field 'gpu' is 'two'"),
    "memory": ({"memory": "4 big"}, ", line 3: field 'memory' is '4 big', expected an amount"),
    "cause": ({"cause": "fate"}, ", line 3: field 'cause' is 'fate', expected one of intrinsic"),
    "user": (
        {"cause": "user", "outcome": "failed"},
        ", line 3: field 'cause' is 'user', expected another cause: users kill",
    ),
    "code": ({"exit_code": "bad"}, ", line 3: field 'exit_code' is 'bad', expected an exit code"),
    "walltime": ({"walltime": "1 day"}, ", line 3: field 'walltime' is '1 day', expected a dur"),
    "machines": ({"machines": "n[1-"}, ", line 3: field 'machines' is 'n[1-', expected a list"),
    "many": ({"machines": "n[1-99999]"}, ", line 3: field 'machines' is 'n[1-99999]'"),
    "long": ({"task": "x" * 20_000}, ", line 3: field 'task' is 'xxx"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_one_line(tmp_path: Path, case: str) -> None:
    changed, said = REFUSED[case]
    more = dict.fromkeys(changed, "") | ROW
    assert refusal(tmp_path, more, {**more, **changed}).startswith(said)


def test_an_option_is_told_as_it_is_typed(tmp_path: Path) -> None:
    assert "--outcomes 'as it is=failed' (" in refusal(tmp_path, {**ROW, "outcome": "as it is"})
    assert "--outcomes WORD=failed (" in refusal(tmp_path, {**ROW, "outcome": "a,b"})
    assert "--outcomes =failed (outcomes={'': 'failed'})" in refusal(
        tmp_path, {**ROW, "outcome": ""}
    )


def test_many_strange_columns_are_shown_shortly(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\x00" * 5_000 + b"\n")
    with pytest.raises(TraceError, match=r"t\.csv, line 1: no column 'job', found '") as raised:
        read_table(tmp_path / "t.csv")
    assert len(str(raised.value)) < len(str(tmp_path)) + 600


def test_a_column_that_is_missing_is_asked_for(tmp_path: Path) -> None:
    row = {("State" if name == "outcome" else name): text for name, text in ROW.items()}
    said = refusal(tmp_path, row)
    assert said.startswith(
        ", line 1: no column 'outcome', found 'job, submit, start, end, State';"
        " --columns outcome=COLUMN (columns={'outcome': ...}) names it"
    )
    said = refusal(tmp_path, row, columns={"outcome": "state", "gpu": "cards"})
    assert said.startswith(", line 1: no column 'cards' for gpu, found")
    said = refusal(tmp_path, {**row, "state": "x"}, columns={"outcome": "STATE"})
    assert said == ", line 1: 2 columns are named 'STATE', expected one"
    said = refusal(tmp_path, {**row, "State": "odd"}, columns={"outcome": "state"})
    assert "field 'outcome (column State)' is 'odd'" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ": holds no run that can be used: no rows"),
        ("\n\n", ": holds no run that can be used: no rows"),
        ("job,submit,start,end,outcome\n", ": holds no run that can be used: no rows"),
        ("job,submit,start,end,outcome\n1,,,,done\n", ": holds no run that can be used: {'no time"),
        ("job,submit,start,end,outcome\n1,2,3\n", ", line 2: 3 fields, expected 5 as in the"),
        ('job,submit,start,end,outcome\n1,2,3,4,"done\n\n', ", line 3: not CSV: "),
        ('job,submit,"start,end\n', ", line 1: "),
        (f"job{',' * 2_000}\n", ", line 1: 2001 columns, expected at most 1000"),
    ],
)
def test_a_file_that_is_no_table(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(TraceError) as raised:
        read_table(tmp_path / "t.csv")
    assert str(raised.value).startswith(f"{tmp_path / 't.csv'}{said}")
    assert len(str(raised.value).splitlines()) == 1


def test_a_row_over_several_lines_is_named_by_its_last(tmp_path: Path) -> None:
    text = 'job,submit,start,end,outcome,name\n\n1,2,3,4,done,"a\nb"\n2,2,3,4,odd,c\n'
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(TraceError, match=r"t\.csv, line 5: field 'outcome' is 'odd'"):
        read_table(tmp_path / "t.csv")
    trace = read_table(tmp_path / "t.csv", outcomes={"odd": "lost"})
    assert trace.table("jobs").column("name").to_pylist() == ["a\nb", "c"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": {"strat": "x"}}, "unknown field 'strat', did you mean start"),
        ({"outcomes": {"x": "finishd"}}, "unknown outcome 'finishd', did you mean finish"),
        ({"unit": "us"}, "unknown unit 'us'"),
        ({"timezone": "Mars/Base"}, "timezone: 'Mars/Base' is not known"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(TraceError, match=said):
        read(tmp_path, ROW, **options)


def test_many_machines_of_few_rows_are_bounded(tmp_path: Path) -> None:
    rows = [{**ROW, "machines": f"n{n}-[1-65000]"} for n in range(4)]
    assert "at most 131072 machines in all" in refusal(tmp_path, *rows)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"id": "1", "State": "fine", "gpus": "4"}
    row |= {name: ROW[name] for name in ("submit", "start", "end")}
    file, out = written(tmp_path / "t.csv", row), tmp_path / "trace"
    typed = ["trace", "import", "table", str(file), "--out", str(out)]
    typed += ["--columns", "job=id,outcome=State,gpu=gpus"]
    assert run(typed) == 2
    said = capsys.readouterr().err
    assert "line 2: field 'outcome (column State)' is 'fine'" in said
    assert said.count("\n") == 1
    assert run([*typed, "--outcomes", "fine=finished"]) == 0
    assert Trace.load(out).column("tasks", "gpu").tolist() == [4]
    assert "graphics" in capsys.readouterr().out


def test_words_are_known() -> None:
    for name, state in SYNONYMS.items():
        found = word_of(name, {})
        assert found is not None
        assert found.state == word_of(state, {}).state  # type: ignore[union-attr]
    assert {word.state.outcome for word in OWN.values()} == set(Outcome)
    assert word_of(" Node Fail ", {}) == word_of("NODE_FAIL", {})
    assert word_of("x" * 10_000, {}) is None
    assert word_of("", {}) is None


def test_fields_are_all_documented() -> None:
    table = (read_table.__doc__ or "").split("==\n")[2]
    listed = [name.strip(", ") for line in table.splitlines() for name in line[4:18].split(",")]
    assert {name for name in listed if name and "=" not in name} == set(FIELDS)
    assert FIELDS[: len(NEEDED)] == NEEDED


@given(st.integers(0, 4_000_000_000_000), st.sampled_from(["s", "ms"]))
def test_numbers_are_exact(time: int, unit: Any) -> None:
    text = f"{time // 1000}.{time % 1000:03d}" if unit == "s" else str(time)
    assert Times("UTC", unit).read(text) == time


@given(st.text(max_size=30))
def test_no_text_is_more_than_refused(text: str) -> None:
    for reader in (Times("UTC", "s").read, memory_of):
        with contextlib.suppress(ValueError):
            reader(text)


# --- Generated traces -----------------------------------------------------------------------------

COLUMNS = ("queued", "start", "end", "outcome", "cause", "exit_code")


@cache
def generated(profile: str, jobs: int, seed: int) -> Trace:
    return generate(profile, jobs=jobs, seed=seed)


def rows_of(trace: Trace, words: Mapping[int, str]) -> list[dict[str, str]]:
    """The attempts of a trace as rows of a table."""
    jobs, tasks = trace.table("jobs").to_pylist(), trace.table("tasks").to_pylist()
    rows: list[dict[str, str]] = []
    for attempt in trace.table("attempts").to_pylist():
        task = tasks[attempt["task"]]
        row = {
            "job": str(task["job"]),
            "task": str(task["index"]),
            "submit": attempt["queued"],
            "start": attempt["start"],
            "end": attempt["end"],
            "outcome": words[attempt["outcome"]],
            "cause": "" if attempt["cause"] is None else Cause(attempt["cause"]).name.lower(),
            "exit_code": attempt["exit_code"],
            "user": jobs[task["job"]]["user"],
            "slots": task["width"],
        }
        rows.append({name: "" if value is None else str(value) for name, value in row.items()})
    return rows


def attempts_of(trace: Trace, jobs: Sequence[str], origin: int) -> dict[Any, list[Any]]:
    """The attempts of each task, by job and index, in order; times from another origin."""
    table = trace.table("tasks").to_pylist()
    found: dict[Any, list[Any]] = {}
    for row in trace.table("attempts").to_pylist():
        times = [None if row[n] is None else row[n] + origin for n in ("queued", "start", "end")]
        task = table[row["task"]]
        fate = (*times, row["outcome"], row["cause"], row["exit_code"], task["width"])
        found.setdefault((jobs[task["job"]], task["index"]), []).append(fate)
    return found


PROFILES = ("google-2011", "opencloud", "system-a", "system-b", "lanl-20", "panda-10k")


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from(PROFILES),
    st.integers(3, 30),
    st.integers(0, 3),
    st.sampled_from(["csv", "parquet", "gz"]),
    st.sampled_from([1, 7, 1 << 13]),
)
def test_a_table_of_a_trace_reads_back_to_its_attempts(
    tmp_path: Path, profile: str, jobs: int, seed: int, kind: str, block: int
) -> None:
    trace = generated(profile, jobs, seed)
    rows = rows_of(trace, {outcome.value: outcome.name.lower() for outcome in Outcome})
    file = tmp_path / f"t.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({name: [row[name] for row in rows] for name in rows[0]}), file)
    else:
        text = io.StringIO()
        table = csv.DictWriter(text, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
        content = text.getvalue().encode()
        file.write_bytes(gzip.compress(content) if kind == "gz" else content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK_ROWS", block)
        back = read_table(file, unit="ms")
    times = [int(row[n]) for row in rows for n in ("submit", "start", "end") if row[n]]
    before = [str(number) for number in range(trace.rows("jobs"))]
    after = back.column("jobs", "original_id").tolist()
    expected = attempts_of(trace, before, 0)
    assert attempts_of(back, after, min(times)) == expected
    users = dict(zip(after, back.column("jobs", "user").tolist(), strict=True))
    assert [users[job] for job in before] == trace.column("jobs", "user").tolist()


def test_graphics_processors_are_counted(runs: Trace) -> None:
    table = describe(runs).table("gpu_requests")
    assert table.cell("all", "with GPUs") == 2
    assert table.cell("all", "GPUs requested") == 4
    hours = (600 + (299.75 + 600)) * 2 / 3600
    assert table.cell("all", "GPU-hours") == pytest.approx(hours)
    assert table.cell("FINISH", "share") == 1
    assert describe(runs).table("requests").cell("gpu: FINISH", "jobs") == 1
    assert not describe(generated("lanl-20", 5, 0)).table("gpu_requests").rows
    assert np.isnan(generated("lanl-20", 5, 0).column("tasks", "gpu")).all()
