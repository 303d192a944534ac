"""Standard Workload Format: every row's fate, random logs, errors, and the archive's own counts."""

from __future__ import annotations

import gzip
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from failgym.traces import Outcome, Trace, TraceError
from failgym.traces.readers.swf.reader import RESUBMISSION_WINDOW, read_swf
from tests.traces.readers.attempts import attempts_of
from tests.traces.readers.replaying import Fate, replayed
from tests.traces.real_data import REPOSITORY, real

FIXTURES = REPOSITORY / "tests" / "data" / "swf"

KNOWN_COUNTS = {
    "KTH-SP2-1996-2.1-cln": {"FINISH": 20530, "FAIL": 7946},
    "CTC-SP2-1996-3.1-cln": {"FINISH": 60553, "FAIL": 16669},
    "SDSC-SP2-1998-4.2-cln": {"FINISH": 43117, "KILL": 16598},
    "LANL-CM5-1994-4.1-cln": {"FINISH": 101692, "FAIL": 20368},
}
"""Jobs by status, as the logs' own documentation counts them."""


def job_row(trace: Trace, job: str, place: int = 0) -> dict[str, Any]:
    rows = [row for row in trace.table("jobs").to_pylist() if row["original_id"] == job]
    return rows[place]


@pytest.fixture(scope="module", name="ugly")
def ugly_log() -> Trace:
    return read_swf(FIXTURES / "ugly.swf")


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ("2", [(10_000, 10_000, 70_000, "FINISH", None)]),
        ("3", [(20_000, 20_000, 620_000, "FAIL", "WALLTIME")]),
        ("4", [(30_000, 35_000, 85_000, "FAIL", "INTRINSIC")]),
        ("5", [(40_000, -1, 65_000, "KILL", "USER")]),
        ("6", [(50_000, -1, 75_000, "KILL", "USER")]),
        ("7", [(60_000, 60_000, 90_000, "KILL", "USER")]),
        ("8", [(70_000, 70_000, 671_000, "KILL", "WALLTIME")]),
        ("9", [(80_000, 81_000, 121_000, "CENSORED", None)]),
        (
            "10",
            [
                (90_000, 100_000, 150_000, "EVICT", "PREEMPTION"),
                (150_000, 250_000, 290_000, "EVICT", "PREEMPTION"),
                (290_000, 310_000, 340_000, "FINISH", None),
            ],
        ),
        (
            "11",
            [
                (100_000, 100_000, 120_000, "EVICT", "PREEMPTION"),
                (120_000, 125_000, 135_000, "FAIL", "INTRINSIC"),
            ],
        ),
        ("12", []),
        ("13", [(120_000, 121_250, 121_251, "FINISH", None)]),
        ("14", [(130_000, -1, 130_000, "FAIL", "INTRINSIC")]),
        ("15", []),
        (
            "1",
            [(0, 10_000, 110_000, "FINISH", None), (140_000, 140_000, 150_000, "FINISH", None)],
        ),
        ("16", [(150_000, 153_000, 163_000, "CENSORED", None)]),
        (
            "17",
            [
                (160_000, 160_000, 180_000, "EVICT", "PREEMPTION"),
                (180_000, -1, 671_000, "CENSORED", None),
            ],
        ),
    ],
)
def test_every_line_becomes_what_the_format_says(
    ugly: Trace, job: str, expected: list[tuple[Any, ...]]
) -> None:
    assert attempts_of(ugly, job) == expected


def test_what_lines_say_of_jobs(ugly: Trace) -> None:
    first = job_row(ugly, "1")
    assert first["user"] == "97"
    assert first["group"] == "5"
    assert first["name"] == "7"
    assert first["queue"] == "batch  queue"
    assert first["walltime"] == 600_000
    second = job_row(ugly, "2")
    assert (second["group"], second["name"], second["queue"]) == (None, None, "interactive")
    assert job_row(ugly, "4")["queue"] == "9"
    assert job_row(ugly, "5")["queue"] == "east"
    assert job_row(ugly, "6")["queue"] == "partition 2"
    assert job_row(ugly, "9")["walltime"] is None
    assert set(ugly.column("jobs", "width").tolist()) == {1}
    rows = ugly.table("tasks").to_pylist()
    task = {job_id(ugly, row["job"]): row for row in reversed(rows)}
    assert [task[job]["width"] for job in ("1", "2", "14")] == [16, 8, 1]
    assert [task[job]["memory"] for job in ("1", "4", "2")] == [1.0, 0.25, None]
    attempt = ugly.table("attempts").to_pylist()[0]
    assert attempt["mean_cpu"] == pytest.approx(0.805)
    assert attempt["mean_memory"] == 0.5


def job_id(trace: Trace, row: int) -> str:
    return str(trace.column("jobs", "original_id")[row])


def test_what_the_header_says(ugly: Trace) -> None:
    meta = ugly.meta
    assert meta.unix_origin == 835_823_160_000
    assert meta.end == 671_000
    assert meta.source == "swf: Example SP2, Nowhere"
    assert "Nobody in Particular" in meta.citation
    remarks = meta.remarks
    assert remarks["MaxNodes"] == "338 (batch partition; 512 total)"
    assert remarks["Information"] == "http://www.example.org/\nhttp://www.example.org/logs/"
    assert remarks["TimeZoneString"] == "US/Eastern"
    assert remarks["Note"] == "uses the EASY scheduler\ntwo notes\na comment in the middle"
    assert remarks["requested time"] == "enforced"
    assert remarks["memory unit"] == "MaxMemory, 1000 KB"


def test_what_was_left_out_is_counted(ugly: Trace) -> None:
    meta = ugly.meta
    assert meta.rows_read == {
        "lines": 22,
        "partial executions": 6,
        "summaries of partial executions": 1,
    }
    assert meta.dropped == {"submit time missing": 1, "completed, run time missing": 1}
    assert meta.noted == {
        "status that the format does not know, taken as unknown": 1,
        "status unknown": 1,
        "wait time missing, taken as 0": 1,
        "never ran": 3,
        "partial executions without a last one": 1,
        "job number of an earlier job": 1,
        "names a preceding job": 1,
        "number of processors missing, taken as 1": 1,
    }


def test_jobs_of_a_model_never_ran() -> None:
    trace = read_swf(FIXTURES / "model.swf")
    assert trace.meta.unix_origin is None
    assert attempts_of(trace, "1") == [(0, -1, 31_000, "CENSORED", None)]
    assert attempts_of(trace, "2") == [(30_500, -1, 31_000, "CENSORED", None)]
    assert trace.column("attempts", "length").tolist() == [12_500, 100_000, -1]


def test_exit_codes_in_the_status_field() -> None:
    trace = read_swf(FIXTURES / "exit_codes.swf")
    assert trace.meta.remarks["status field"] == "exit codes"
    fates = [attempts_of(trace, str(job))[0][3:] for job in range(1, 6)]
    assert fates == [
        ("FINISH", None),
        ("FAIL", "INTRINSIC"),
        ("FAIL", "WALLTIME"),
        ("CENSORED", None),
        ("FAIL", "INTRINSIC"),
    ]
    assert trace.column("attempts", "exit_code").tolist() == [0, 1, 271, -1, 2]
    assert trace.present("attempts", "exit_code").tolist() == [True, True, True, False, True]
    categories = ["success", "user", "walltime", "", "user"]
    assert trace.column("jobs", "exit_category").tolist() == categories


def line(number: int, submit: float = 0, **fields: Any) -> str:
    """A line of the format; `fields` by their short names, -1 if they are left out."""
    names = "wait run alloc cpu used procs time memory status user group exe queue part prec think"
    values = {"wait": 0, "run": 10, "alloc": 1, "status": 1, **fields}
    return " ".join(str(v) for v in (number, submit, *(values.get(n, -1) for n in names.split())))


def write(folder: Path, *lines: str, name: str = "log.swf") -> Path:
    file = folder / name
    file.write_text("".join(text + "\n" for text in lines))
    return file


@pytest.mark.parametrize(
    ("lines", "exit_codes"),
    [
        ([*[line(n, status=0) for n in range(5)], line(6, 9, status=137)], True),
        ([*[line(n, status=1) for n in range(5)], line(6, 9, status=137)], False),
        ([line(n, status=0) for n in range(5)], False),
        ([*[line(n, status=0) for n in range(1500)], line(6, 9, status=137)], False),
        (["; Note: field 11 (status) is the exit status", line(1, status=0)], True),
        (["; Note: exit codes were turned into", ";   the status field", line(1, status=0)], True),
        (["; Note: the exit of the machine room", line(1, status=0)], False),
        (["; Note: status 1 if the exit code was 0", line(1), line(2, status=0), line(3)], False),
    ],
)
def test_when_the_status_field_holds_exit_codes(
    tmp_path: Path, lines: list[str], exit_codes: bool
) -> None:
    trace = read_swf(write(tmp_path, *lines))
    assert (trace.meta.remarks["status field"] == "exit codes") == exit_codes
    by_status = {"0": Outcome.FAIL, "1": Outcome.FINISH, "137": Outcome.CENSORED}
    by_code = {"0": Outcome.FINISH, "1": Outcome.FAIL, "137": Outcome.FAIL}
    last = (by_code if exit_codes else by_status)[lines[-1].split()[10]]
    assert trace.column("jobs", "outcome").tolist()[-1] == last


def test_causes_of_exit_codes(tmp_path: Path) -> None:
    causes = {1: "INTRINSIC", 271: "INTRINSIC", 107: "SHARED", -4: "MACHINE", -11: "WALLTIME"}
    codes = [0, 0, *causes]
    lines = [line(number, number, status=code) for number, code in enumerate(codes)]
    trace = read_swf(write(tmp_path, "; Note: status is the exit code", *lines))
    found = [attempts_of(trace, str(number))[0][3:] for number in range(len(codes))]
    assert found == [("FINISH", None)] * 2 + [("FAIL", cause) for cause in causes.values()]


def test_a_job_cancelled_between_partial_executions(tmp_path: Path) -> None:
    lines = (
        line(1, 20, wait=5, run=100, status=5),
        line(1, 20, wait=5, run=60, status=2),
        line(1, -1, wait=5, run=40, status=2),
    )
    assert attempts_of(read_swf(write(tmp_path, *lines)), "1") == [
        (20_000, 25_000, 85_000, "EVICT", "PREEMPTION"),
        (85_000, 90_000, 130_000, "KILL", "USER"),
    ]


def test_headers_in_other_cases_and_indented(tmp_path: Path) -> None:
    header = (
        ";UNIXSTARTTIME : 843480031",
        ";;  MaxMemory:1000",
        ";\tqueue: 3 long",
        ";      Queue: 4 short",
        ";      Other: this goes on with the queue",
    )
    lines = [f"\t{line(n, queue=n, memory=500)} \t\r" for n in (3, 4)]
    trace = read_swf(write(tmp_path, *header, lines[0], "  ; in the middle\r", "\r", lines[1]))
    assert trace.meta.unix_origin == 843_480_031_000
    assert trace.column("jobs", "queue").tolist() == ["long", "short"]
    assert trace.column("tasks", "memory").tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        ([line(1, status=0, run=60, time=60)], "WALLTIME"),
        ([line(1, status=0, run=60, time=60), line(2, run=70, time=60)], "WALLTIME"),
        ([line(1, status=0, run=60, time=60), *[line(2, run=70, time=60)] * 2], "INTRINSIC"),
        (["; AllowOveruse: Yes", line(1, status=0, run=60, time=60)], "INTRINSIC"),
        ([line(1, status=0, run=59, time=60)], "INTRINSIC"),
    ],
)
def test_when_a_failure_is_for_the_requested_time(
    tmp_path: Path, lines: list[str], cause: str
) -> None:
    assert attempts_of(read_swf(write(tmp_path, *lines)), "1")[0][4] == cause


def test_a_resubmission_soon_after_a_failure_is_the_next_attempt(tmp_path: Path) -> None:
    window = RESUBMISSION_WINDOW // 1000
    like = {"user": 5, "exe": 7, "procs": 4, "alloc": 4}
    file = write(
        tmp_path,
        line(1, 0, status=0, **like),
        line(2, 10 + window, status=0, **like),  # just in time
        line(3, 10 + window, **{**like, "user": 6}),
        line(4, 15 + window, **like),  # before the failure
        line(5, 21 + 2 * window, **like),  # too late
        line(6, 30 + 2 * window, status=0, user=5, exe=-1),
        line(7, 41 + 2 * window, user=5, exe=-1),  # of an unknown executable
    )
    assert read_swf(file).rows("tasks") == 7
    trace = read_swf(file, infer_attempts=True)
    assert trace.column("jobs", "original_id").tolist() == ["1", "3", "4", "5", "6", "7"]
    assert [row[3] for row in attempts_of(trace, "1")] == ["FAIL", "FAIL"]
    assert trace.meta.noted["jobs taken for the next attempt of a failed one"] == 1


def part(tmp_path: Path, name: str, start: int, *lines: str, **header: str) -> Path:
    """A log with a header like that of another part of it."""
    fields = {"Computer": "Example SP2", "Installation": "Nowhere", "MaxProcs": "64", **header}
    told = [f"; {key}: {value}" for key, value in fields.items()]
    return write(tmp_path, *told, f"; UnixStartTime: {start}", *lines, name=name)


def test_parts_of_a_log_are_joined_by_their_unix_start(tmp_path: Path) -> None:
    late = part(tmp_path, "a.swf", 2000, line(1, 5), Installation="  NOWHERE")
    early = part(tmp_path, "b.swf", 1000, line(2, 7), MaxProcs="32")  # it has grown since
    trace = read_swf([late, early])
    assert trace.column("jobs", "submit").tolist() == [7_000, 1_005_000]
    assert trace.meta.unix_origin == 1_000_000
    assert "clusters taken for one" not in trace.meta.remarks
    assert read_swf(tmp_path).content_hash == trace.content_hash
    unknown = write(tmp_path, "; UnixStartTime: soon", line(2, 7), name="c.swf")
    with pytest.raises(TraceError, match=r"c\.swf: no UnixStartTime"):
        read_swf([late, unknown])


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"Computer": "Another"}, "Computer is 'Another', not 'Example SP2'"),
        ({"Installation": "Elsewhere"}, "Installation is 'Elsewhere', not 'Nowhere'"),
        ({"MaxProcs": "32"}, "MaxProcs is 32, not 64, at the same time"),
        ({"Computer": "", "Installation": ""}, "neither Computer nor Installation"),
    ],
)
def test_logs_of_several_clusters_are_not_taken_for_one(
    tmp_path: Path, header: dict[str, str], said: str
) -> None:
    part(tmp_path, "a.swf", 1000, line(1, 0), line(2, 50))
    part(tmp_path, "b.swf", 1000, line(1, 7), line(2, 20), **header)
    with pytest.raises(TraceError, match=r"b\.swf: not of the cluster of .*a\.swf: ") as raised:
        read_swf(tmp_path)
    assert said in str(raised.value)
    assert "--merge-clusters" in str(raised.value)
    merged = read_swf(tmp_path, merge_clusters=True)
    assert merged.rows("jobs") == 4
    assert "taken for the same" in merged.meta.remarks["clusters taken for one"]


def test_a_job_that_two_parts_hold_is_there_once(tmp_path: Path) -> None:
    part(tmp_path, "a.swf", 1000, line(1, 0), line(2, 50))
    part(tmp_path, "b.swf", 1040, line(2, 10), line(3, 20))
    trace = read_swf(tmp_path)
    assert trace.column("jobs", "original_id").tolist() == ["1", "2", "3"]
    assert trace.meta.dropped == {"job that another log of the cluster holds too": 1}


def test_the_four_clusters_of_the_archive_are_not_one() -> None:
    with pytest.raises(TraceError, match="not of the cluster of"):
        read_swf(real("swf"))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([line(1, status=0, run=60, time=60)], "enforced"),
        ([line(1, status=1, run=60, time=60)], "not enforced"),
        ([line(1, status=0, run=59, time=60)], "not known to be enforced: no job reached it"),
        ([line(1, status=0, run=59)], "not known to be enforced: no job reached it"),
    ],
)
def test_a_limit_is_called_enforced_only_where_a_job_reached_it(
    tmp_path: Path, lines: list[str], said: str
) -> None:
    assert read_swf(write(tmp_path, *lines)).meta.remarks["requested time"] == said


@pytest.mark.parametrize("text", ["1" * 100_000, "1" * 100_000 + "x", "0" * 401])
def test_a_field_beyond_all_measure_is_named(tmp_path: Path, text: str) -> None:
    fields = line(1).split()
    file = write(tmp_path, " ".join([*fields[:5], text, *fields[6:]]))
    with pytest.raises(TraceError, match=r"line 1: field 'average CPU time' is '") as raised:
        read_swf(file)
    assert len(str(raised.value)) < 400 + len(str(file))


def test_packed_and_plain_are_the_same(tmp_path: Path, ugly: Trace) -> None:
    packed = tmp_path / "ugly.swf.gz"
    packed.write_bytes(gzip.compress((FIXTURES / "ugly.swf").read_bytes()))
    assert read_swf(packed).content_hash == ugly.content_hash


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["; only a header"], "holds no job"),
        ([line(1), "1 2 3"], "line 2: too few fields: 3, expected 18"),
        (["", "; x", line(1) + " 5"], "line 3: too many fields: 19"),
        ([line(1, run="x")], "line 1: field 'run time' is 'x', expected a number"),
        ([line(1, wait="1-2")], "field 'wait time' is '1-2'"),
        ([line(1, alloc=2.5)], "field 'allocated processors' is '2.5', expected a whole number"),
        ([line(1, alloc=2**31)], "field 'allocated processors'"),
        ([line(1, run="nan")], "field 'run time' is 'nan'"),
        ([line(1, run="1e999")], "field 'run time' is '1e999'"),
        ([line(1, submit=1e12)], "field 'submit time'"),
        ([line(1, user="9" * 400)], "field 'user'"),
        ([line(1, status=1, run=-1)], "no job that can be used"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path: Path, lines: list[str], said: str) -> None:
    file = write(tmp_path, *lines)
    with pytest.raises(TraceError) as error:
        read_swf(file)
    assert said in str(error.value)
    assert str(file) in str(error.value)


SECONDS = st.integers(0, 10_000)


@st.composite
def jobs(draw: st.DrawFn) -> dict[str, Any]:
    status = draw(st.sampled_from([0, 1, 5, -1]))
    return {
        "submit": draw(SECONDS),
        "wait": draw(SECONDS),
        "run": draw(st.integers(1, 10_000)),
        "alloc": draw(st.integers(1, 500)),
        "time": draw(st.sampled_from([-1, 100_000])),
        "status": status,
        "user": draw(st.integers(-1, 4)),
        "queue": draw(st.integers(-1, 2)),
    }


@given(drawn=st.lists(jobs(), min_size=1, max_size=20))
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_random_logs_are_read_back(tmp_path: Path, drawn: list[dict[str, Any]]) -> None:
    lines = [line(number, **job) for number, job in enumerate(drawn, start=1)]
    trace = read_swf(write(tmp_path, "; UnixStartTime: 100", *lines))
    assert trace.rows("jobs") == len(drawn)
    outcomes = {0: "FAIL", 1: "FINISH", 5: "KILL", -1: "CENSORED"}
    causes = {0: "INTRINSIC", 5: "USER"}
    for number, job in enumerate(drawn, start=1):
        begun = (job["submit"] + job["wait"]) * 1000
        end = begun + job["run"] * 1000
        fate = outcomes[job["status"]], causes.get(job["status"])
        assert attempts_of(trace, str(number)) == [(job["submit"] * 1000, begun, end, *fate)]
        row = job_row(trace, str(number))
        assert row["user"] == (None if job["user"] < 0 else str(job["user"]))
        assert row["queue"] == (None if job["queue"] < 0 else str(job["queue"]))
        assert row["walltime"] == (None if job["time"] < 0 else 100_000_000)


# --- The replay, against a recount that shares nothing with the reader ----------------------------


@dataclass
class Told:
    """What the lines of one job tell."""

    fate: Fate
    known: bool


def recount(text: str) -> dict[str, list[Told]]:
    """The fate of every job of a log without partial executions, by job number."""
    table = [[float(v) for v in row.split()] for row in text.splitlines() if row and row[0] != ";"]
    names = {1: "FINISH", 0: "FAIL", 5: "KILL"}
    told: dict[str, list[Told]] = defaultdict(list)
    for row in table:
        wait, run, status = max(row[2], 0), max(row[3], 0), int(row[10])
        width = max(row[4] if row[4] > 0 else row[7], 1)
        end = round((row[1] + wait + run) * 1000)
        fate = (end, names[status], round(run * 1000) * int(width))
        told[str(int(row[0]))].append(Told(fate, known=True))
    return told


@pytest.mark.parametrize("name", KNOWN_COUNTS)
def test_real_logs(name: str) -> None:
    file = real("swf", f"{name}.swf.gz") / f"{name}.swf.gz"
    trace = read_swf(file)
    outcomes = Counter(Outcome(code).name for code in trace.column("jobs", "outcome").tolist())
    assert outcomes == KNOWN_COUNTS[name]
    assert not trace.meta.dropped
    expected = recount(gzip.decompress(file.read_bytes()).decode("latin-1"))
    found = replayed(trace)
    assert {key[0]: value for key, value in found.items()} == {
        job: [one.fate for one in told] for job, told in expected.items()
    }


def test_partial_executions_are_replayed(ugly: Trace) -> None:
    found = replayed(ugly)
    assert found["10", 0] == [(340_000, "FINISH", (50 + 40 + 30) * 2 * 1000)]
    assert found["11", 0] == [(135_000, "FAIL", 30_000)]
    assert found["3", 0] == [(620_000, "FAIL", 4 * 600_000)]
