"""Slurm's sacct: every row's fate, steps, arrays, requeues, random output, and the replay."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from failgym.traces import Cause, Outcome, Trace, TraceError
from failgym.traces.readers.sacct import fields as sacct_fields
from failgym.traces.readers.sacct import read_sacct
from failgym.traces.readers.sacct.fields import hosts_of, indices_of, job_id, state_of
from tests.traces.readers.replaying import replayed
from tests.traces.real_data import REPOSITORY, real

FIXTURES = REPOSITORY / "tests" / "data" / "sacct"
ORIGIN = 1_709_280_000  # 2024-03-01T08:00:00Z
Fates = dict[tuple[str, int], list[tuple[Any, ...]]]


def fates_of(trace: Trace) -> Fates:
    """(queued, start, end, outcome, cause) of the attempts of each task; seconds from time 0."""
    ids = trace.column("jobs", "original_id")[trace.column("tasks", "job")].tolist()
    index = trace.column("tasks", "index").tolist()
    fates: Fates = {}
    for row in trace.table("attempts").to_pylist():
        times = [None if row[k] is None else row[k] // 1000 for k in ("queued", "start", "end")]
        cause = None if row["cause"] is None else Cause(row["cause"]).name
        key = (ids[row["task"]], index[row["task"]])
        fates.setdefault(key, []).append((*times, Outcome(row["outcome"]).name, cause))
    return fates


def places_of(trace: Trace, attempt: int) -> dict[str, int]:
    names: list[str] = trace.column("machines", "original_id").tolist()
    rows: list[dict[str, int]] = trace.table("placements").to_pylist()
    return {names[r["machine"]]: r["slots"] for r in rows if r["attempt"] == attempt}


@pytest.fixture(scope="module", name="listed")
def duplicates_listed() -> Trace:
    return read_sacct(FIXTURES / "duplicates.txt")


END = 7810  # job 115 was seen to run up to then

FATES: Fates = {
    ("100", 0): [
        (0, 10, 610, "FINISH", None),
        (3600, 3610, 4210, "FINISH", None),  # another job of that id
    ],
    ("101", 0): [
        (60, 70, 130, "EVICT", "MACHINE"),
        (132, 300, 360, "EVICT", "PREEMPTION"),
        (362, 540, 570, "FAIL", "INTRINSIC"),
    ],
    ("102", 0): [(120, 120, 3727, "KILL", "WALLTIME")],
    ("103", 0): [(180, 190, 240, "KILL", "USER")],
    ("104", 0): [(240, None, 300, "KILL", "USER")],
    ("105", 0): [(300, None, 360, "KILL", "DEPENDENCY")],
    ("106", 0): [(360, 370, 420, "FAIL", "INTRINSIC")],
    ("107", 2): [(420, 440, 500, "FAIL", "INTRINSIC")],
    ("107", 4): [(420, 430, 480, "FINISH", None)],
    ("107", 5): [(420, None, END, "CENSORED", None)],
    ("107", 7): [(420, None, END, "CENSORED", None)],
    ("107", 9): [(420, None, END, "CENSORED", None)],
    ("108", 0): [(480, 490, 550, "FINISH", None)],
    ("108", 1): [(480, 490, 550, "FINISH", None)],
    ("112", 0): [(540, 550, 560, "FAIL", "MACHINE")],
    ("113", 0): [(540, None, 1140, "KILL", "WALLTIME")],
    ("114", 0): [(540, None, 541, "LOST", None)],
    ("115", 0): [(600, 610, END, "CENSORED", None)],
    ("116", 0): [(660, None, END, "CENSORED", None)],
}


def test_every_row_has_its_fate(listed: Trace) -> None:
    assert fates_of(listed) == FATES
    assert listed.meta.unix_origin == ORIGIN * 1000
    assert listed.meta.end == END * 1000


def test_what_rows_say_of_jobs(listed: Trace) -> None:
    jobs = {row["original_id"]: row for row in reversed(listed.table("jobs").to_pylist())}
    first = jobs["100"]
    assert first["user"] == "ann"
    assert first["group"] == "hpc"
    assert first["name"] == "early run"
    assert first["queue"] == "batch"
    assert first["walltime"] == 1_800_000
    assert first["priority"] == 2**31 - 1  # Slurm's are unsigned
    limits = {job: row["walltime"] for job, row in jobs.items()}
    assert [limits[job] for job in ("101", "103", "104")] == [None, 86_400_000, 600_000]
    assert jobs["107"]["width"] == 5
    assert jobs["108"]["width"] == 2
    assert jobs["112"]["name"] == "bo|ot"
    categories = {job: row["exit_category"] for job, row in jobs.items()}
    assert categories["102"] == categories["113"] == "walltime"
    assert categories["112"] == "system"
    assert categories["101"] == categories["103"] == categories["106"] == "user"
    assert categories["107"] is None  # some of it still waits
    widths = listed.column("tasks", "width").tolist()
    assert widths == [8, 4, 3, 1, 2, 2, *[1] * 7, 4, *[1] * 6]


def test_steps_are_folded_into_their_job(listed: Trace) -> None:
    rows = listed.table("attempts").to_pylist()
    unit = 16 / 3  # GB per slot: the largest request is 8 GB on each of 2 nodes, for 3 processors
    assert rows[0]["mean_cpu"] == pytest.approx(3600 / 600 / 8)
    assert rows[0]["max_memory"] == pytest.approx(1.0 / unit)  # step 0: 8 tasks of 1 GB
    assert rows[0]["mean_memory"] == pytest.approx(0.5 / unit)
    tasks = listed.table("tasks").to_pylist()
    requested = [tasks[row]["memory"] * unit for row in (0, 1, 2, 3)]
    assert requested == pytest.approx([2, 2, 16 / 3, 1])
    array = next(r for r in rows if r["outcome"] == Outcome.FINISH and r["start"] == 430_000)
    assert array["mean_cpu"] == pytest.approx(0.2)


def test_where_runs_are(listed: Trace) -> None:
    assert places_of(listed, 0) == {"node01": 4, "node02": 4}
    assert places_of(listed, 4) == {"gpu1": 2, "gpu3": 1}
    assert places_of(listed, 6) == {}


def test_what_was_left_out_is_counted(listed: Trace) -> None:
    assert listed.meta.rows_read == {"rows": 26, "steps": 6}
    assert listed.meta.dropped == {"step of a job that is not there": 1}
    assert listed.meta.noted == {"delimiter in jobname": 1, "job id of an earlier job": 1}


def test_other_columns_delimiter_and_zone() -> None:
    trace = read_sacct(FIXTURES / "parsable.txt", timezone="Europe/Berlin")
    assert fates_of(trace) == {
        ("7", 0): [(0, 60, 660, "FINISH", None)],
        ("8", 0): [(300, 360, 660, "CENSORED", None)],
    }
    begun = datetime(2024, 6, 30, 21, 59, tzinfo=UTC)
    assert trace.meta.unix_origin == begun.timestamp() * 1000
    assert trace.column("jobs", "walltime").tolist() == [3_600_000, -1]
    assert trace.column("tasks", "memory").tolist() == [4000 / 4096, 1.0]


def test_exports_that_overlap_are_joined(tmp_path: Path, listed: Trace) -> None:
    header, *rows = (FIXTURES / "duplicates.txt").read_text().splitlines()
    (tmp_path / "1.txt").write_text("\n".join([header, *rows[:20], ""]))
    packed = gzip.compress("\n".join([header, *rows[4:], header, ""]).encode())
    (tmp_path / "2.txt.gz").write_bytes(packed)
    joined = read_sacct(tmp_path)
    whole = fates_of(listed)
    assert fates_of(joined)["102", 0] == whole["102", 0]
    assert fates_of(joined)["107", 5] == whole["107", 5]
    assert fates_of(joined)["104", 0] == whole["104", 0]
    assert joined.meta.noted["row about a run of an earlier row, which it replaces"] > 3


HEADER = "JobID|State|Submit|Start|End|ExitCode|NCPUS|NodeList|JobName"
ROW = "1|COMPLETED|2024-03-01T08:00:00|2024-03-01T08:00:00|2024-03-01T08:00:09|0:0|1|n1|a"


def replaced(**fields: str) -> str:
    values = dict(zip(HEADER.lower().split("|"), ROW.split("|"), strict=True))
    return "|".join({**values, **fields}.values())


def test_a_later_state_of_a_run_replaces_the_earlier(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    states = (
        replaced(state="PENDING", start="Unknown", end="Unknown", nodelist="None assigned"),
        replaced(state="RUNNING", end="Unknown"),
        ROW,
    )
    file.write_text("\n".join([HEADER, *states]))
    trace = read_sacct(file)
    assert fates_of(trace) == {("1", 0): [(0, 0, 9, "FINISH", None)]}
    assert places_of(trace, 0) == {"n1": 1}


@pytest.mark.parametrize("state", ["CANCELLED by 7", "PENDING"])
def test_what_waited_never_ran_whatever_start_is_given(tmp_path: Path, state: str) -> None:
    file = tmp_path / "a.txt"
    file.write_text(f"{HEADER}\n{replaced(state=state, end='2024-03-01T08:00:00')}\n")
    assert read_sacct(file).present("attempts", "start").tolist() == [False]


def test_a_kill_before_another_run_was_a_requeue(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    again = {"submit": "2024-03-01T08:00:10", "start": "2024-03-01T08:00:11"}
    second = replaced(**again, end="2024-03-01T08:00:20")
    file.write_text("\n".join([HEADER, replaced(state="CANCELLED"), second]))
    assert fates_of(read_sacct(file)) == {
        ("1", 0): [(0, 0, 9, "KILL", "REQUEUE"), (10, 11, 20, "FINISH", None)]
    }


REQUEUED = (
    replaced(state="NODE_FAIL", jobid="5_1"),
    replaced(
        state="PREEMPTED",
        jobid="5_1",
        submit="2024-03-01T08:01:00",
        **{"start": "2024-03-01T08:02:00", "end": "2024-03-01T08:03:00"},
    ),
    replaced(
        jobid="5_1",
        submit="2024-03-01T08:04:00",
        ncpus="2",
        **{"start": "2024-03-01T08:05:00", "end": "2024-03-01T08:06:00"},
    ),
)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 1, 0, 1, 2, 2, 1, 0)])
def test_duplicates_in_any_order_and_more_than_once(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Slurm's database gives the latest submission of a job first, others sort them."""
    file = tmp_path / "a.txt"
    file.write_text("\n".join([HEADER, *(REQUEUED[place] for place in order)]))
    trace = read_sacct(file)
    assert fates_of(trace) == {
        ("5", 1): [
            (0, 0, 9, "EVICT", "MACHINE"),
            (60, 120, 180, "EVICT", "PREEMPTION"),
            (240, 300, 360, "FINISH", None),
        ]
    }
    assert trace.rows("placements") == 3
    assert trace.column("tasks", "width").tolist() == [2]
    assert trace.column("jobs", "exit_category").tolist() == ["success"]


@pytest.mark.parametrize("place", [0, 1])
def test_an_older_state_of_a_run_tells_nothing_new(tmp_path: Path, place: int) -> None:
    states = (replaced(state="PENDING", start="Unknown"), replaced(state="RUNNING", end="Unknown"))
    file = tmp_path / "a.txt"
    file.write_text("\n".join([HEADER, ROW, states[place]]))
    assert fates_of(read_sacct(file)) == {("1", 0): [(0, 0, 9, "FINISH", None)]}


def test_a_job_is_requeued_many_times(tmp_path: Path) -> None:
    lines = [
        f"5|{'COMPLETED' if not n else 'REQUEUED'}|{10**9 - n * 10}|{10**9 + 5 - n * 10}|"
        f"{10**9 + 8 - n * 10}|0:0|1|n1|a"
        for n in range(20_000)
    ]
    file = tmp_path / "a.txt"
    file.write_text("\n".join([HEADER, *lines, lines[7]]))
    trace = read_sacct(file)
    assert trace.rows("attempts") == 20_000
    assert trace.column("jobs", "outcome").tolist() == [Outcome.FINISH]


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("JobName", "a|b||"),
        ("SubmitLine", 'sbatch --wrap "a | b"'),
        ("Constraints", "haswell|knl"),
        ("JobName", "two\nlines"),
        ("Comment", "a\n\nb|c\nd"),
    ],
)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("end", ["", "|"])
def test_free_texts_hold_anything(
    tmp_path: Path, column: str, text: str, last: bool, end: str
) -> None:
    header, row = HEADER.replace("|JobName", ""), ROW.removesuffix("|a")
    header, row, other = (
        (f"{rest}|{more}" if last else rest.replace("|", f"|{more}|", 1)) + end
        for more, rest in ((column, header), (text, row), ("b", row.replace("1|", "2|", 1)))
    )
    file = tmp_path / "a.txt"
    file.write_text("\n".join([header, row, other, row.replace("1|", "3|", 1)]) + "\n")
    trace = read_sacct(file)
    assert fates_of(trace) == {(job, 0): [(0, 0, 9, "FINISH", None)] for job in "123"}
    if column == "JobName" and not last:
        assert trace.table("jobs").to_pylist()[0]["name"] == text


def test_a_row_cut_short_is_told_from_one_over_several_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    for lines, said in (
        (["1|COMPLETED", ROW], "line 3: too few fields: 2, expected 9"),
        ([ROW, "1|COMPLETED"], "line 4: too few fields: 2, expected 9"),
        (["1|a"] + ["more"] * 200, "line 3: too few fields: 2, expected 9"),
    ):
        file.write_text("\n".join([HEADER, ROW.replace("1|", "9|", 1), *lines]) + "\n")
        with pytest.raises(TraceError, match=said):
            read_sacct(file)


@pytest.mark.parametrize(
    ("start", "end", "elapsed", "expected"),
    [
        ("02:50:00", "02:10:00", "00:20:00", (10200, 11400)),
        ("02:10:00", "02:20:00", "01:10:00", (7800, 12000)),
        ("02:10:00", "02:20:00", "00:10:00", (7800, 8400)),
        ("02:10:00", "04:10:00", "02:00:00", (11400, 18600)),
        ("02:10:00", "04:10:00", "03:00:00", (7800, 18600)),
        ("02:50:00", "02:10:00", "", (10200, 11400)),
        ("02:10:00", "02:20:00", "00:04:00", (7800, 8400)),  # suspended in between
    ],
)
def test_the_hour_that_is_there_twice(
    tmp_path: Path, start: str, end: str, elapsed: str, expected: tuple[int, int]
) -> None:
    """Summer time ends in Berlin on 2024-10-27 at 03:00, which is 02:00 again."""
    file = tmp_path / "a.txt"
    day = "2024-10-27T"
    row = f"1|COMPLETED|{day}00:00:00|{day}{start}|{day}{end}|{elapsed}"
    file.write_text(f"JobID|State|Submit|Start|End|Elapsed\n{row}\n")
    trace = read_sacct(file, timezone="Europe/Berlin")
    assert fates_of(trace) == {("1", 0): [(0, *expected, "FINISH", None)]}


@pytest.mark.parametrize(
    ("requested", "tres", "gigabytes"),
    [("0n", "cpu=4,mem=8G", 2), ("0", "", None), ("4Gc", "mem=8G", 4), ("", "mem=8G", 2)],
)
def test_a_request_of_no_memory_is_of_all(
    tmp_path: Path, requested: str, tres: str, gigabytes: float | None
) -> None:
    file = tmp_path / "a.txt"
    rows = (replaced(ncpus="4") + f"|{requested}|{tres}", replaced(jobid="2") + "|8G|")
    file.write_text("\n".join([f"{HEADER}|ReqMem|AllocTRES", *rows]))
    found = read_sacct(file).table("tasks").to_pylist()[0]["memory"]
    assert found == (None if gigabytes is None else gigabytes / 8)


@pytest.mark.parametrize(
    ("text", "megabytes"),
    [
        ("2147486448Mn", 2800),  # the bit of versions that held it in 32 bits
        ("2147486448Mc", 2800),
        ("2147486448n", 2800),
        ("2097156Gn", 4096),  # whole units, as sacct prints them
        ("9223372036854778608Mn", 2800),  # that of 64 bits
        ("2048.00Tn", None),  # the amount was rounded away
        ("4294967294Mn", None),  # stands for no request
        ("18446744073709551614M", None),
    ],
)
def test_a_bit_of_the_number_says_that_memory_is_of_a_processor(
    tmp_path: Path, text: str, megabytes: int | None
) -> None:
    file = tmp_path / "a.txt"
    rows = (f"{ROW}|1|{text}", replaced(jobid="2", ncpus="4") + "|1|32000Mn")
    file.write_text("\n".join([f"{HEADER}|NNodes|ReqMem", *rows]))
    trace = read_sacct(file)
    asked = trace.table("tasks").to_pylist()
    assert asked[0]["memory"] == (None if megabytes is None else megabytes / 8000)
    assert asked[1]["memory"] == 1.0
    known = "ReqMem marked as of a processor by a bit of the number (old Slurm)"
    unknown = "ReqMem that is no amount of memory: ReqTRES or AllocTRES counts, if there"
    assert trace.meta.noted == {unknown if megabytes is None else known: 1}


@pytest.mark.parametrize(
    ("tres", "noted"), [("cpu=4,mem=11200M", 0), ("cpu=4,mem=10.94G", 0), ("cpu=4,mem=2800M", 1)]
)
def test_requests_are_compared_with_the_trackable_resources(
    tmp_path: Path, tres: str, noted: int
) -> None:
    file = tmp_path / "a.txt"
    row = replaced(ncpus="4") + f"|1|2147486448Mn|{tres}"
    file.write_text(f"{HEADER}|NNodes|ReqMem|ReqTRES\n{row}\n")
    found = read_sacct(file).meta.noted
    assert found.get("ReqTRES tells of other memory than ReqMem, which counts", 0) == noted


def test_requests_of_graphics_processors(tmp_path: Path) -> None:
    rows = {
        "cpu=8,gres/gpu=4,mem=1G|cpu=8,gres/gpu:a100=3": 4,
        "cpu=8|billing=1,cpu=8,gres/gpu:a100=3,gres/gpu:v100=2,mem=1G": 5,
        "gres/gpu=2,gres/gpu:a100=1,gres/gpu:v100=1|": 2,
        "cpu=8,gres/gpumem=40G|gres/gpuutil=0": 0,
        "|": None,
        "cpu=1|": 0,
    }
    lines = [f"{replaced(jobid=str(n))}|{tres}" for n, tres in enumerate(rows)]
    file = tmp_path / "a.txt"
    file.write_text("\n".join([f"{HEADER}|ReqTRES|AllocTRES", *lines]))
    trace = read_sacct(file)
    assert trace.table("tasks").column("gpu").to_pylist() == list(rows.values())
    file.write_text("\n".join([f"{HEADER}|ReqTRES|AllocTRES", *lines[3:]]))
    assert not read_sacct(file).present("tasks", "gpu").any()  # they may not be counted there


COLUMNS = (
    *("jobid", "jobidraw", "cluster", "partition", "qos", "account", "group", "gid", "user"),
    *("uid", "submit", "eligible", "start", "end", "elapsed", "exitcode", "state", "nnodes"),
    *("ncpus", "reqcpus", "reqmem", "reqtres", "alloctres", "timelimit", "nodelist", "jobname"),
)


def test_a_real_log_without_a_header() -> None:
    """The requests of Slurm's own TRES, which no bit marks, recounted from the text."""
    file = real("sacct") / "phillips.log.gz"
    trace = read_sacct(file, columns=COLUMNS)
    jobs = trace.column("jobs", "original_id")[trace.column("tasks", "job")].tolist()
    widths = trace.column("tasks", "width").tolist()
    memory = trace.column("tasks", "memory").tolist()
    found = {job: value * width for job, value, width in zip(jobs, memory, widths, strict=True)}
    expected: dict[str, float] = {}
    for line in gzip.decompress(file.read_bytes()).decode().splitlines():
        row = dict(zip(COLUMNS, line.split("|"), strict=True))
        for tres in (row["alloctres"], row["reqtres"]):
            told = dict(part.split("=") for part in tres.split(",") if part)
            if text := told.get("mem"):
                expected[row["jobid"]] = (
                    float(text[:-1]) * {"M": 1, "G": 1024, "T": 1 << 20}[text[-1]]
                )
    largest = float(trace.meta.remarks["memory unit"].split()[-2]) / 2**20
    assert len(found) == len(expected) == 4285
    assert all(found[job] * largest == pytest.approx(expected[job], rel=2e-3) for job in expected)
    assert trace.meta.noted == {
        "ReqMem marked as of a processor by a bit of the number (old Slurm)": 4238
    }


def test_a_log_without_a_header_asks_for_the_columns(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(f"{ROW}\n{replaced(jobid='2')}\n")
    with pytest.raises(TraceError, match=r"a\.txt, line 1: .* --columns JobID,State"):
        read_sacct(file)
    told = read_sacct(file, columns=HEADER.split("|"))
    file.write_text(f"{HEADER}\n{ROW}\n{replaced(jobid='2')}\n")
    assert read_sacct(file).content_hash == told.content_hash
    with_header = read_sacct(file, columns=HEADER.split("|"))  # it is there all the same
    assert with_header.content_hash == told.content_hash


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("JobID|State|Submit|Start|End|ExitCode|NCPUS|NodeList", "line 1: too many fields: 9"),
        (f"{HEADER}|Account", "line 1: too few fields: 9, expected 10"),
        ("JobID|Start|End", "columns: no column state"),
        ("JobID|State|Start|End|State", "columns: a column is named twice"),
        ("", "columns: no column jobid or jobidraw"),
    ],
)
def test_columns_that_do_not_fit(tmp_path: Path, columns: str, said: str) -> None:
    file = tmp_path / "a.txt"
    file.write_text(f"{ROW}\n")
    with pytest.raises(TraceError) as raised:
        read_sacct(file, columns=columns.split("|"))
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_rows_may_lack_qos(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(f"1|normal|{ROW[2:]}\n{replaced(jobid='2')}\n")
    columns = HEADER.replace("State", "QOS|State").split("|")
    trace = read_sacct(file, columns=columns)
    assert fates_of(trace)["2", 0] == fates_of(trace)["1", 0] == [(0, 0, 9, "FINISH", None)]
    assert trace.meta.noted == {"row without qos": 1}


def test_rows_of_several_clusters_are_not_taken_for_one(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    rows = [f"{ROW}|east", f"{ROW}|west", replaced(jobid="2") + "|east"]
    file.write_text("\n".join([f"{HEADER}|Cluster", *rows]))
    with pytest.raises(TraceError, match=r"a\.txt, line 3: .*'west'.*'east'.*--merge-clusters"):
        read_sacct(file)
    trace = read_sacct(file, merge_clusters=True)
    assert trace.rows("jobs") == 3
    assert trace.column("machines", "original_id").tolist() == ["east/n1", "west/n1"]
    assert trace.meta.remarks["clusters taken for one"] == "east, west"


@pytest.mark.parametrize(
    "text", [*sacct_fields.STATES, "CANCELLED by 12", "CANCELLED+", "TO", "oom"]
)
def test_states(tmp_path: Path, text: str) -> None:
    state = state_of(text)
    assert state is not None
    file = tmp_path / "a.txt"
    file.write_text(f"{HEADER}\n{replaced(state=text)}\n")
    assert read_sacct(file).column("attempts", "outcome").tolist() == [state.outcome]


def test_an_unknown_state_is_open(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(f"{HEADER}\n{replaced(state='MELTED')}\n")
    trace = read_sacct(file)
    assert trace.column("attempts", "outcome").tolist() == [Outcome.CENSORED]
    assert trace.meta.noted == {"state that is not known, taken as open": 1}


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("node1", "node1"),
        ("node[01-03,07],login1", "node01 node02 node03 node07 login1"),
        ("r[1-2]n[08-09]", "r1n08 r1n09 r2n08 r2n09"),
        ("n[1,3]-ib,m", "n1-ib n3-ib m"),
        ("n[098-101]", "n098 n099 n100 n101"),
        ("n[1,3-4]m[5-6,8]x,y", "n1m5x n1m6x n1m8x n3m5x n3m6x n3m8x n4m5x n4m6x n4m8x y"),
        ("n[3-1]", None),
        ("n[", None),
        ("n[1-2", None),
        ("a,,b", None),
        ("n[x]", None),
        ("n[0-999999999]", None),
        ("n[0-999]m[0-999]", None),
    ],
)
def test_host_lists(nodes: str, expected: str | None) -> None:
    found = hosts_of(nodes)
    assert (None if found is None else " ".join(found)) == expected


def test_job_ids_and_elements() -> None:
    assert job_id("123") == ("123", None, "", "")
    assert job_id("123_4.batch") == ("123", 4, "", "batch")
    assert job_id("123_[5-9%2]") == ("123", None, "5-9%2", "")
    assert job_id("123+1.0") == ("123", 1, "", "0")
    assert job_id("123_4+") is None
    assert job_id("batch") is None
    assert indices_of("1,3,5-9:2%4") == [1, 3, 5, 7, 9]
    assert indices_of("1,2,...") == [1, 2]
    assert indices_of("0-999999999") is None
    assert indices_of("") is None


def test_durations_and_memory() -> None:
    texts = ("01:02", "1:00:00", "2-01:00:00", "1-12", "00:01.500", "5")
    assert [sacct_fields.duration(text) for text in texts] == [62, 3600, 176400, 129600, 1.5, 5]
    assert [sacct_fields.duration(text) for text in ("", "UNLIMITED", "-1")] == [None] * 3
    giga = 2.0**30
    requests = ("4Gc", "4Gn", "4G", "4096")
    asked = [sacct_fields.requested_memory(text).per_slot(8, 2) for text in requests]
    assert asked == [4 * giga, giga, giga / 2, giga / 2]
    assert [sacct_fields.exit_code(text) for text in ("1:0", "0:9", "0:125", "x")] == [
        1,
        137,
        253,
        None,
    ]
    assert sacct_fields.trackable("billing=4,cpu=4,mem=8G,node=1") == (4, 8 * giga)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["JobID State Start End", "1 COMPLETED"], "line 1: columns are parted by spaces"),
        (["nothing"], "line 1: expected a header like JobID|State"),
        (["JobID|Start|End"], "line 1: no column state"),
        (["JobID|State|Start|End|State"], "line 1: a column is named twice"),
        ([HEADER, ROW, replaced(jobid="x")], "line 3: field 'JobID' is 'x'"),
        ([HEADER, replaced(jobid="1_[0-99999999]")], "at most 100000 elements"),
        ([HEADER, replaced(start="yesterday")], "line 2: field 'Start' is 'yesterday'"),
        ([HEADER, replaced(end="2024-13-01T00:00:00")], "field 'End'"),
        ([HEADER, replaced(exitcode="bad")], "field 'ExitCode' is 'bad'"),
        ([HEADER, replaced(ncpus="many")], "field 'ncpus' is 'many'"),
        ([HEADER, replaced(ncpus="9999999999")], "field 'ncpus'"),
        ([HEADER, replaced(nodelist="n[0-9999999]")], "field 'NodeList'"),
        ([HEADER, replaced(state="")], "field 'State'"),
        ([HEADER, "1|COMPLETED"], "line 2: too few fields: 2, expected 9"),
        ([HEADER], "holds no job that can be used"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path: Path, lines: list[str], said: str) -> None:
    file = tmp_path / "a.txt"
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(TraceError) as error:
        read_sacct(file)
    assert said in str(error.value)
    assert str(file) in str(error.value)


# --- Random output, and the replay ---------------------------------------------------------------


def moment(second: int) -> str:
    return datetime.fromtimestamp(ORIGIN + second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


ENDS = {
    "COMPLETED": ("FINISH", None),
    "FAILED": ("FAIL", "INTRINSIC"),
    "TIMEOUT": ("KILL", "WALLTIME"),
    "CANCELLED by 7": ("KILL", "USER"),
}
REQUEUES = {
    "PREEMPTED": ("EVICT", "PREEMPTION"),
    "NODE_FAIL": ("EVICT", "MACHINE"),
    "REQUEUED": ("EVICT", "REQUEUE"),
}


@st.composite
def tasks(draw: st.DrawFn) -> list[tuple[int, int, str]]:
    """Waiting time, run time and state of each run; all but the last are requeued."""
    spans = st.tuples(st.integers(1, 5000), st.integers(1, 50_000))
    before = draw(st.lists(st.tuples(spans, st.sampled_from(list(REQUEUES))), max_size=2))
    last = draw(st.tuples(spans, st.sampled_from(list(ENDS))))
    return [(*span, state) for span, state in [*before, last]]


@given(drawn=st.lists(tasks(), min_size=1, max_size=8), order=st.permutations(range(7)))
@settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_random_output_is_read_back(
    tmp_path: Path, drawn: list[list[tuple[int, int, str]]], order: list[int]
) -> None:
    names = ["JobID", "State", "Submit", "Start", "End", "User", "NCPUS"]
    lines = ["|".join(names[place] for place in order)]
    expected: Fates = {}
    for number, runs in enumerate(drawn):
        now = 100 * number
        for wait, run, state in runs:
            begun, ended = now + wait, now + wait + run
            values = [f"9_{number}", state, moment(now), moment(begun), moment(ended), "u", "2"]
            lines.append("|".join(values[place] for place in order))
            fate = {**ENDS, **REQUEUES}[state]
            expected.setdefault(("9", number), []).append((now, begun, ended, *fate))
            now = ended + 1
    file = tmp_path / "a.txt"
    file.write_text("\n".join(lines) + "\n")
    trace = read_sacct(file)
    assert fates_of(trace) == expected
    assert trace.rows("jobs") == 1
    assert replayed(trace) == {
        ("9", number): [
            (
                expected["9", number][-1][2] * 1000,
                expected["9", number][-1][3],
                sum(run for _, run, _ in runs) * 2 * 1000,
            )
        ]
        for number, runs in enumerate(drawn)
    }


WIDTHS = {("100", 0): (8, 1), ("101", 0): (4,), ("102", 0): (3,), ("108", 1): (4,)}


def test_the_replay_is_the_record(listed: Trace) -> None:
    """Ends, outcomes and slots x seconds of the table above, summed task by task."""
    found = replayed(listed)
    assert found["100", 0] == [(610_000, "FINISH", 8 * 600_000), (4_210_000, "FINISH", 600_000)]
    for key, runs in FATES.items():
        if key == ("100", 0):
            continue
        ran = sum(end - begun for _, begun, end, *_ in runs if begun is not None)
        end, outcome = runs[-1][2], runs[-1][3]
        task_end, task_outcome, work = found[key][0]
        assert (task_end, task_outcome) == (end * 1000, outcome), key
        if outcome != "CENSORED":
            assert work == ran * 1000 * WIDTHS.get(key, (1,))[0], key


@given(drawn=st.lists(tasks(), min_size=1, max_size=4), random=st.randoms())
@settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_random_exports_that_overlap_in_any_order(
    tmp_path: Path, drawn: list[list[tuple[int, int, str]]], random: Random
) -> None:
    """Rows twice, and earlier states of runs, change nothing."""
    rows: list[str] = []
    earlier: list[str] = []
    for number, runs in enumerate(drawn):
        now = 100 * number
        for wait, run, state in runs:
            queued, begun, ended = (moment(at) for at in (now, now + wait, now + wait + run))
            rows.append(f"{number}|{state}|{queued}|{begun}|{ended}|2|n{number}")
            earlier += [
                f"{number}|RUNNING|{queued}|{begun}|Unknown|2|n{number}",
                f"{number}|PENDING|{queued}|Unknown|Unknown|2|None assigned",
            ]
            now += wait + run + 1
    header = "JobID|State|Submit|Start|End|NCPUS|NodeList"
    whole, mixed = tmp_path / "whole.txt", tmp_path / "mixed.txt"
    whole.write_text("\n".join([header, *rows]))
    more = [*rows, *random.choices(rows + earlier, k=5)]
    random.shuffle(more)
    mixed.write_text("\n".join([header, *more]))
    expected, found = read_sacct(whole), read_sacct(mixed)
    assert fates_of(found) == fates_of(expected)
    for table in ("jobs", "tasks", "placements"):
        assert found.table(table).to_pylist() == expected.table(table).to_pylist()
