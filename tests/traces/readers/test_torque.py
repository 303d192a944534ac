"""TORQUE and PBS accounting: every record's effect, exit categories, random logs, the replay."""

from __future__ import annotations

import gzip
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from failgym.traces import Cause, Outcome, Trace, TraceError
from failgym.traces.readers.exit_status import CODES
from failgym.traces.readers.torque import read_torque
from failgym.traces.readers.torque.fields import duration, hosts_of, requested_gpus, requested_slots
from tests.traces.readers.replaying import replayed
from tests.traces.real_data import REPOSITORY

FIXTURES = REPOSITORY / "tests" / "data" / "torque"
ORIGIN = 1_409_070_000


def attempts_of(trace: Trace, job: str) -> list[tuple[Any, ...]]:
    """(index, queued, start, end, outcome, cause) of each attempt; seconds since `unix_origin`."""
    ids = trace.column("jobs", "original_id")[trace.column("tasks", "job")].tolist()
    index = trace.column("tasks", "index").tolist()
    rows: list[tuple[Any, ...]] = []
    for row in trace.table("attempts").to_pylist():
        if ids[row["task"]] == job:
            times = [None if row[k] is None else row[k] // 1000 for k in ("queued", "start", "end")]
            cause = None if row["cause"] is None else Cause(row["cause"]).name
            rows.append((index[row["task"]], *times, Outcome(row["outcome"]).name, cause))
    return rows


def places_of(trace: Trace, attempt: int) -> dict[str, int]:
    names: list[str] = trace.column("machines", "original_id").tolist()
    rows: list[dict[str, int]] = trace.table("placements").to_pylist()
    return {names[r["machine"]]: r["slots"] for r in rows if r["attempt"] == attempt}


@pytest.fixture(scope="module", name="daily")
def daily_files() -> Trace:
    return read_torque(FIXTURES / "daily")


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ("1.napali", [(0, 0, 2000, 2405, "FINISH", None)]),  # started before the log begins
        (
            "2.napali",
            [
                (0, 2864, 2870, 2884, "KILL", "WALLTIME"),
                (0, 28400, 28440, 28500, "FAIL", "INTRINSIC"),  # another job of that id
            ],
        ),
        ("3.napali", [(0, 3000, None, 3010, "KILL", "USER")]),
        ("4.napali", [(0, 3060, 3070, 3125, "KILL", "USER")]),
        (
            "5.napali",
            [
                (0, 3180, 3190, 3240, "EVICT", "REQUEUE"),
                (0, 3240, 3300, 3360, "EVICT", "REQUEUE"),
                (0, 3360, None, 3480, "EVICT", "MACHINE"),
                (0, 3480, 3480, 27610, "FINISH", None),
            ],
        ),
        (
            "6[].napali",
            [
                (1, 3600, 3610, 3670, "FINISH", None),
                (2, 3600, 3610, 3730, "FAIL", "INTRINSIC"),
            ],
        ),
        ("7.napali", [(0, 3780, None, 3810, "FAIL", "DEPENDENCY")]),
        ("8.napali", [(0, 3840, None, 28860, "CENSORED", None)]),
        ("9.napali", [(0, 27600, 27660, 27720, "FAIL", "SHARED")]),
        ("10.napali", [(0, 27700, 27780, 28381, "KILL", "WALLTIME")]),
        (
            "11.napali",
            [
                (0, 28500, 28560, 28620, "EVICT", "PREEMPTION"),
                (0, 28620, 28680, 28860, "CENSORED", None),
            ],
        ),
        ("12.napali", [(0, 28500, 28740, 28800, "KILL", "USER")]),
        ("13.napali", [(0, None, None, 28860, "LOST", None)]),
    ],
)
def test_every_record_has_its_effect(
    daily: Trace, job: str, expected: list[tuple[Any, ...]]
) -> None:
    assert attempts_of(daily, job) == expected


def test_what_records_say_of_jobs(daily: Trace) -> None:
    jobs = {row["original_id"]: row for row in reversed(daily.table("jobs").to_pylist())}
    first = jobs["1.napali"]
    assert first["user"] == "dbeer"
    assert first["group"] == "company"
    assert first["name"] == "early"
    assert first["queue"] == "batch"
    assert first["walltime"] == 36_000_000
    categories = {job: row["exit_category"] for job, row in jobs.items()}
    assert categories["1.napali"] == categories["5.napali"] == "success"
    assert categories["2.napali"] == categories["10.napali"] == "walltime"
    assert categories["4.napali"] == "user/system"
    assert categories["6[].napali"] == "user"
    assert categories["9.napali"] == "system"
    assert categories["8.napali"] is None
    assert [jobs[job]["shared"] for job in ("4.napali", "5.napali", "9.napali")] == [0, 1, None]
    assert jobs["6[].napali"]["width"] == 2
    assert daily.column("tasks", "width").tolist() == [7, 3, 1, 12, 2, *[1] * 10]
    assert daily.column("tasks", "memory").tolist()[:1] == [1.0]  # 14 GB on 7 slots
    assert daily.column("tasks", "memory").tolist()[4] == 0.5
    first_attempt = daily.table("attempts").to_pylist()[0]
    assert first_attempt["exit_code"] == 0
    assert first_attempt["max_memory"] == 0.5
    assert first_attempt["mean_cpu"] == pytest.approx(23 * 60 / 405 / 7)


def test_where_runs_are(daily: Trace) -> None:
    assert places_of(daily, 0) == {"napali": 5, "node2": 2}
    assert places_of(daily, 1) == {"napali": 2, "node2": 1}
    assert places_of(daily, 3) == {"node2": 8, "node3": 4}
    assert set(daily.column("machines", "original_id")) == {
        "napali",
        *(f"node{n}" for n in range(2, 8)),
    }


def test_what_was_left_out_is_counted(daily: Trace) -> None:
    assert daily.meta.unix_origin == ORIGIN * 1000
    assert daily.meta.rows_read == {"records": 41}
    assert daily.meta.dropped == {
        "record 'L', which tells nothing of runs": 1,
        "record of a whole array": 1,
    }
    assert daily.meta.noted == {
        "started again without an end: that start came to nothing": 1,
        "job id of an earlier job": 1,
    }


def test_one_file_or_daily_ones_in_any_order(tmp_path: Path, daily: Trace) -> None:
    files = [FIXTURES / "daily" / name for name in ("20140827", "20140826")]
    assert read_torque(files).content_hash == daily.content_hash
    whole = tmp_path / "accounting.gz"
    whole.write_bytes(gzip.compress(b"".join(file.read_bytes() for file in reversed(files))))
    assert read_torque(whole).content_hash == daily.content_hash


def test_pbs_professional() -> None:
    trace = read_torque(FIXTURES / "pbs_pro.log", timezone="Etc/GMT-1")
    assert attempts_of(trace, "1204.pbs01") == [(0, 0, 10, 610, "FINISH", None)]
    assert places_of(trace, 0) == {"n1[0]": 4, "n1[1]": 4, "n2": 4}
    assert attempts_of(trace, "1205[].pbs01") == [(3, 600, 660, 722, "KILL", "WALLTIME")]
    assert trace.column("jobs", "exit_category").tolist() == ["success", "walltime"]
    assert trace.column("attempts", "mean_cpu").tolist()[0] == pytest.approx(0.5)
    assert trace.column("attempts", "max_memory").tolist()[0] == pytest.approx(0.75)
    assert trace.column("jobs", "shared").tolist()[0]
    assert not trace.meta.noted


def test_a_wrong_time_zone_is_noted() -> None:
    noted = read_torque(FIXTURES / "pbs_pro.log").meta.noted
    assert noted["start far from its record's local time: is the time zone right?"] == 2


def test_local_times_in_winter_and_summer(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("01/15/2014 12:00:00;Q;1.s;queue=a\n07/15/2014 12:00:00;Q;2.s;queue=a\n")
    trace = read_torque(file, timezone="America/New_York")
    first = datetime(2014, 1, 15, 17, tzinfo=UTC)
    assert trace.meta.unix_origin == first.timestamp() * 1000
    later = (datetime(2014, 7, 15, 16, tzinfo=UTC) - first).total_seconds() * 1000
    assert trace.column("jobs", "submit").tolist() == [0, later]
    for zone in ("Nowhere/Land", "../etc/passwd", ""):
        with pytest.raises(TraceError, match="timezone"):
            read_torque(file, timezone=zone)


@pytest.mark.parametrize(
    ("code", "category"),
    [
        (0, "success"),
        (-11, "walltime"),
        (-29, "walltime"),
        (-3, "system"),
        (-10, "user"),
        (-8, "user"),
        (-9, "user/system"),
        (1, "user"),
        (127, "user"),
        (107, "system"),
        (130, "user"),  # SIGINT
        (139, "user"),  # SIGSEGV
        (137, "user/system"),
        (143, "user/system"),
        (265, "user/system"),
        (271, "user/system"),
        (255, "user"),
        (1000, "user"),
    ],
)
def test_categories_of_exit_codes(code: int, category: str) -> None:
    assert CODES.category(code) == category


def test_a_signal_at_the_requested_walltime_is_for_that() -> None:
    reached = {code: CODES.category(code, reached_walltime=True) for code in (0, 1, 271, 139, -3)}
    assert reached == {0: "success", 1: "user", 271: "walltime", 139: "user", -3: "system"}


@pytest.mark.parametrize(
    ("exec_host", "exec_vnode", "expected"),
    [
        ("a/0", "", {"a": 1}),
        ("a/0+a/1+b/0", "", {"a": 2, "b": 1}),
        ("a/0-3,7+b.dom.ain/11", "", {"a": 5, "b.dom.ain": 1}),
        ("a/0*8+b/1*4", "", {"a": 8, "b": 4}),
        ("a/0*0", "", {"a": 1}),
        ("a/0+b/0", "(a:ncpus=2)+(b[1]:mem=1gb:ncpus=3)", {"a": 2, "b[1]": 3}),
        ("a/0+b/0", "(a)+(b)", {"a": 1, "b": 1}),
        ("a", "", {"a": 1}),
        ("a/3-1", "", None),
        ("a/x", "", None),
        ("a/0++b/0", "", None),
        ("a/0-4000000000", "", None),
        ("a/0*4000000000", "", None),
    ],
)
def test_hosts(exec_host: str, exec_vnode: str, expected: dict[str, int] | None) -> None:
    found = hosts_of(exec_host, exec_vnode)
    assert (None if found is None else dict(found)) == expected


def test_durations_and_requests() -> None:
    assert [duration(t) for t in ("90", "01:30", "10:00:01", "2:00:00:00")] == [
        90,
        90,
        36001,
        172800,
    ]
    assert [duration(t) for t in ("", "-1", "1:2:3:4:5", "x")] == [None] * 4


@pytest.mark.parametrize(
    ("resources", "slots"),
    [
        ({"nodes": "2:ppn=16"}, 32),
        ({"nodes": "node7:ppn=4+3:gpu+node8", "neednodes": "1"}, 8),
        ({"nodes": "4#shared", "ncpus": "9"}, 4),
        ({"neednodes": "node01:ppn=4+node02:ppn=4"}, 8),
        ({"ncpus": "12", "nodect": "2"}, 12),
        ({"procs": "12"}, 12),
        ({"mppwidth": "64"}, 64),
        ({"nodect": "3"}, 3),
        ({}, None),
        ({"nodes": "9999999999:ppn=9"}, None),
    ],
)
def test_requests(resources: dict[str, str], slots: int | None) -> None:
    assert requested_slots({f"Resource_List.{k}": v for k, v in resources.items()}) == slots


STAMP = "08/26/2014 17:00:00"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "'nonsense' is no record, expected MM/DD/YYYY HH:MM:SS;record type"),
        ("13/26/2014 17:00:00;Q;1.s;queue=a", "is no record"),
        ("08/26/2014 25:00:00;Q;1.s;queue=a", "is no record"),
        (f"{STAMP};Q;;queue=a", "is no record"),
        (f"{STAMP};S;1.s;start=yesterday", "field 'start' is 'yesterday', expected seconds"),
        (f"{STAMP};S;1.s;start=99999999999999", "field 'start'"),
        (f"{STAMP};E;1.s;Exit_status=x", "field 'Exit_status' is 'x', expected a whole number"),
        (f"{STAMP};E;1.s;Exit_status=4294967296", "field 'Exit_status'"),
        (
            f"{STAMP};S;1.s;exec_host=a/b/c",
            "field 'exec_host' is 'a/b/c', expected a list of hosts",
        ),
        (f"{STAMP};S;1.s;Resource_List.walltime=soon", "field 'Resource_List.walltime'"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "20140826"
    file.write_text(f"{STAMP};Q;7.s;queue=a\n\n{line}\n")
    with pytest.raises(TraceError) as error:
        read_torque(file)
    assert f"{file}, line 3: " in str(error.value)
    assert said in str(error.value)


def test_a_log_without_jobs_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "20140826"
    file.write_text(f"{STAMP};L;license;floating license hour:3\n")
    with pytest.raises(TraceError, match="holds no record of a job"):
        read_torque(file)


@pytest.mark.parametrize(
    ("resources", "gpus"),
    [
        ({"ngpus": "4", "select": "2:ncpus=8:ngpus=1"}, 4),
        ({"select": "2:ncpus=8:ngpus=2+4:ncpus=8"}, 4),
        ({"nodes": "2:ppn=16:gpus=3:shared", "neednodes": "2:ppn=16:gpus=1"}, 6),
        ({"nodes": "node7:ppn=4:gpus=1+3:gpu"}, 1),
        ({"nodes": "2:ppn=16"}, 0),
        ({"nodes": "9999999999:gpus=9"}, None),
        ({"ncpus": "4"}, 0),
        ({"walltime": "1:00:00"}, None),
    ],
)
def test_requests_of_graphics_processors(resources: dict[str, str], gpus: int | None) -> None:
    found = requested_gpus({f"Resource_List.{name}": text for name, text in resources.items()})
    assert (None if math.isnan(found) else found) == gpus


def test_graphics_processors_of_a_job(tmp_path: Path) -> None:
    end = "exec_host=n1/0 start=1409043600 end=1409043700 Exit_status=0"
    lines = [
        f"08/26/2014 09:01:40;E;{job}.s;user=a {end} Resource_List.nodes={nodes}"
        for job, nodes in ((1, "1:ppn=1:gpus=2"), (2, "1:ppn=1"))
    ]
    assert log_of(tmp_path, *lines).table("tasks").column("gpu").to_pylist() == [2, 0]
    assert not log_of(tmp_path, lines[1]).present("tasks", "gpu").any()


def log_of(tmp_path: Path, *lines: str, timezone: str = "UTC") -> Trace:
    file = tmp_path / "20140826"
    file.write_text("\n".join([*lines, ""]))
    return read_torque(file, timezone=timezone)


def test_a_rerun_that_began_before_the_log_tells_where_it_was(tmp_path: Path) -> None:
    said = f"ctime={ORIGIN} qtime={ORIGIN} start={ORIGIN + 50} exec_host=n1/0-3+n2/0-3"
    trace = log_of(
        tmp_path,
        f"{stamp(100)};R;1.s;{said} Exit_status=271",
        f"{stamp(200)};Q;2.s;queue=batch",
    )
    assert attempts_of(trace, "1.s") == [
        (0, 0, 50, 100, "EVICT", "REQUEUE"),
        (0, 100, None, 200, "CENSORED", None),
    ]
    assert places_of(trace, 0) == {"n1": 4, "n2": 4}


def test_a_run_of_unknown_end_before_another_was_requeued(tmp_path: Path) -> None:
    said = f"ctime={ORIGIN} qtime={ORIGIN} exec_host=n1/0"
    trace = log_of(
        tmp_path,
        f"{stamp(9)};E;1.s;{said} start={ORIGIN + 4} end={ORIGIN + 9}",
        f"{stamp(20)};S;1.s;{said} start={ORIGIN + 20}",
        f"{stamp(30)};E;1.s;{said} start={ORIGIN + 20} end={ORIGIN + 30} Exit_status=0",
    )
    assert [fate[4:] for fate in attempts_of(trace, "1.s")] == [
        ("EVICT", "REQUEUE"),
        ("FINISH", None),
    ]
    assert replayed(trace)["1.s", 0] == [(30_000, "FINISH", 15_000)]


def test_a_start_that_is_told_again_is_not_taken_for_the_restart(tmp_path: Path) -> None:
    said = f"ctime={ORIGIN} qtime={ORIGIN} exec_host=n1/0"
    trace = log_of(
        tmp_path,
        f"{stamp(4)};S;1.s;{said} start={ORIGIN + 4}",
        f"{stamp(5)};C;1.s;",
        f"{stamp(6)};T;1.s;{said} start={ORIGIN + 6}",
        f"{stamp(9)};E;1.s;{said} start={ORIGIN + 4} end={ORIGIN + 9} Exit_status=0",
    )
    assert attempts_of(trace, "1.s") == [
        (0, 0, 4, 5, "EVICT", "PREEMPTION"),
        (0, 5, 6, 9, "FINISH", None),
    ]


@pytest.mark.parametrize(
    "free",
    [
        'account="a start=7 b" jobname=a=b;c {}',
        "jobname=a=b;c {} comment=Job run; started=ok end=later Exit_status=soon",
        "jobname=a=b;c {} stray   words \t",
    ],
)
def test_free_text_within_records(tmp_path: Path, free: str) -> None:
    times = f"ctime={ORIGIN} qtime={ORIGIN} start={ORIGIN + 10} end={ORIGIN + 20} Exit_status=0"
    trace = log_of(tmp_path, f"{stamp(20)};E;1.s;{free.format(times)}")
    assert attempts_of(trace, "1.s") == [(0, 0, 10, 20, "FINISH", None)]
    assert trace.column("jobs", "name").tolist() == ["a=b;c"]


@pytest.mark.parametrize("limit", ["-1", "infinity", "UNLIMITED"])
def test_no_limit(tmp_path: Path, limit: str) -> None:
    trace = log_of(tmp_path, f"{STAMP};Q;1.s;queue=a Resource_List.walltime={limit}")
    assert trace.table("jobs").to_pylist()[0]["walltime"] is None


def test_the_hour_that_is_there_twice(tmp_path: Path) -> None:
    """Summer time ends in Berlin on 2014-10-26 at 03:00, which is 01:00 UTC and 02:00 again."""
    day = "10/26/2014"
    trace = log_of(
        tmp_path,
        f"{day} 01:59:00;Q;1.s;queue=b",
        f"{day} 02:59:50;Q;2.s;queue=b",
        f"{day} 02:59:49;Q;3.s;queue=b",  # daemons may differ by seconds
        f"{day} 02:00:05;Q;4.s;queue=b",
        f"{day} 02:10:05;D;2.s;requestor=a",
        f"{day} 03:00:00;D;4.s;requestor=a",
        timezone="Europe/Berlin",
    )
    submits = trace.column("jobs", "submit").tolist()
    assert submits == [0, 3_649_000, 3_650_000, 3_665_000]
    assert attempts_of(trace, "2.s") == [(0, 3650, None, 4265, "KILL", "USER")]
    assert attempts_of(trace, "4.s") == [(0, 3665, None, 7260, "KILL", "USER")]


# --- Random logs, and the replay -----------------------------------------------------------------


def stamp(second: int) -> str:
    return datetime.fromtimestamp(ORIGIN + second, UTC).strftime("%m/%d/%Y %H:%M:%S")


@st.composite
def runs(draw: st.DrawFn) -> dict[str, int]:
    return {
        "wait": draw(st.integers(0, 5000)),
        "run": draw(st.integers(1, 50_000)),
        "code": draw(st.sampled_from([0, 1, 107, -11, 271])),
        "width": draw(st.integers(1, 9)),
    }


FATES = {
    0: ("FINISH", None),
    1: ("FAIL", "INTRINSIC"),
    107: ("FAIL", "SHARED"),
    -11: ("KILL", "WALLTIME"),
    271: ("KILL", "USER"),
}


@given(drawn=st.lists(st.lists(runs(), min_size=1, max_size=3), min_size=1, max_size=8))
@settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_random_logs_are_read_back(tmp_path: Path, drawn: list[list[dict[str, int]]]) -> None:
    """Each job is queued, and runs once or more; all runs but the last are requeued."""
    records: list[tuple[int, str]] = []
    expected: dict[str, list[tuple[Any, ...]]] = {}
    for number, job in enumerate(drawn):
        name, now, queued = f"{number}.srv", 100 * number, 100 * number
        told: list[tuple[Any, ...]] = []
        width = job[-1]["width"]
        hosts = "+".join(f"n{n}/{n}" for n in range(width))
        records.append((now, f"Q;{name};queue=batch"))
        attributes = f"user=u ctime={ORIGIN + queued} qtime={ORIGIN + queued} exec_host={hosts}"
        for place, run in enumerate(job):
            begun, ended = now + run["wait"], now + run["wait"] + run["run"]
            records.append((begun, f"S;{name};{attributes} start={ORIGIN + begun}"))
            if place < len(job) - 1:
                records.append((ended, f"R;{name};queue=batch"))
                told.append((0, now, begun, ended, "EVICT", "REQUEUE"))
            else:
                own = f"start={ORIGIN + begun} end={ORIGIN + ended} Exit_status={run['code']}"
                records.append((ended, f"E;{name};{attributes} {own}"))
                told.append((0, now, begun, ended, *FATES[run["code"]]))
            now = ended
        expected[name] = told
    records.sort(key=lambda record: record[0])
    file = tmp_path / "log"
    file.write_text("".join(f"{stamp(time)};{text}\n" for time, text in records))
    trace = read_torque(file)
    assert trace.meta.unix_origin == ORIGIN * 1000
    assert {name: attempts_of(trace, name) for name in expected} == expected
    assert replayed(trace) == {
        (f"{number}.srv", 0): [
            (
                expected[f"{number}.srv"][-1][3] * 1000,
                expected[f"{number}.srv"][-1][4],
                sum(run["run"] for run in job) * job[-1]["width"] * 1000,
            )
        ]
        for number, job in enumerate(drawn)
    }


def test_the_replay_is_the_record(daily: Trace) -> None:
    """Worked out by hand from the records' own times: end, outcome and slots x seconds that ran."""
    found = replayed(daily)
    assert found["1.napali", 0] == [(2_405_000, "FINISH", 7 * 405_000)]
    assert found["2.napali", 0] == [
        (2_884_000, "KILL", 3 * 14_000),
        (28_500_000, "FAIL", 60_000),
    ]
    assert found["3.napali", 0] == [(3_010_000, "KILL", 0)]
    assert found["4.napali", 0] == [(3_125_000, "KILL", 12 * 55_000)]
    assert found["5.napali", 0] == [(27_610_000, "FINISH", 2 * (50 + 60 + 24_130) * 1000)]
    assert found["6[].napali", 1] == [(3_670_000, "FINISH", 60_000)]
    assert found["6[].napali", 2] == [(3_730_000, "FAIL", 120_000)]
    assert found["9.napali", 0] == [(27_720_000, "FAIL", 60_000)]
    assert found["12.napali", 0] == [(28_800_000, "KILL", 60_000)]


def test_logs_of_several_clusters_are_not_taken_for_one(tmp_path: Path) -> None:
    for name, server in (("1", "east"), ("2", "east"), ("3", "west")):
        line = f"08/26/2014 17:07:44;Q;{name}.{server};queue=batch\n"
        (tmp_path / f"2014082{name}").write_text(line)
    assert read_torque([tmp_path / "20140821", tmp_path / "20140822"]).rows("jobs") == 2
    with pytest.raises(TraceError, match=r"20140823: not of the cluster of .*20140821: .*'west'"):
        read_torque(tmp_path)
    trace = read_torque(tmp_path, merge_clusters=True)
    assert trace.rows("jobs") == 3
    assert trace.meta.remarks["clusters taken for one"].startswith("east, west: ")
