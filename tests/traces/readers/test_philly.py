"""Philly's job log: every attempt's fate, random logs, the clock, errors."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from failgym.traces import Outcome, Trace, TraceError
from failgym.traces.readers.philly import read_philly
from failgym.traces.readers.philly.jobs import pacific
from tests.traces.readers.attempts import attempts_of
from tests.traces.readers.replaying import Fate, replayed
from tests.traces.real_data import REPOSITORY

FIXTURES = REPOSITORY / "tests" / "data" / "philly"
ID = "application_1506638472019_{:05}"

Json = dict[str, Any]
PDT, PST = timezone(timedelta(hours=-7)), timezone(timedelta(hours=-8))
ORIGIN = datetime(2017, 10, 7, 1, 11, 39, tzinfo=PDT)
END = datetime(2017, 11, 5, 3, 0, tzinfo=PST)


def at(text: str) -> int:
    """A time of 2017-10-07, in ms from the origin."""
    hour, minute, second = (int(part) for part in text.split(":"))
    return since_origin(datetime(2017, 10, 7, hour, minute, second, tzinfo=PDT))


def since_origin(time: datetime) -> int:
    return (time - ORIGIN) // timedelta(milliseconds=1)


@pytest.fixture(scope="module", name="log")
def fixture_log() -> Trace:
    return read_philly(FIXTURES / "trace-data")


RUNNING = since_origin(END)

FATES: dict[int, list[tuple[Any, ...]]] = {
    1: [
        (0, at("1:12:09"), at("1:13:23"), "FAIL", "INTRINSIC"),
        (
            -1,
            at("1:13:30"),
            since_origin(datetime(2017, 10, 9, 6, 53, 12, tzinfo=PDT)),
            "FINISH",
            None,
        ),
    ],
    2: [(at("1:20:00"), at("1:20:10"), at("2:20:10"), "KILL", "USER")],
    3: [
        (at("1:20:00"), at("1:21:00"), at("1:22:00"), "FAIL", "INTRINSIC"),
        (-1, at("1:23:00"), at("1:24:00"), "FAIL", "INTRINSIC"),
        (-1, at("1:25:00"), at("1:25:00"), "FAIL", "INTRINSIC"),
    ],
    4: [(at("2:00:00"), -1, RUNNING, "CENSORED", None)],
    5: [(at("2:00:00"), at("2:01:00"), RUNNING, "CENSORED", None)],
    6: [
        (at("2:00:00"), -1, at("2:05:00"), "FAIL", "INTRINSIC"),
        (-1, at("2:06:00"), at("2:09:00"), "FAIL", "INTRINSIC"),
        (-1, at("2:09:00"), at("2:10:00"), "FINISH", None),
    ],
    7: [(at("3:00:00"), at("3:30:00"), at("3:30:00"), "FINISH", None)],
    8: [
        (-1, at("2:59:00"), at("3:10:00"), "FAIL", "INTRINSIC"),
        (-1, at("3:20:00"), at("3:20:00"), "FAIL", "INTRINSIC"),
    ],
    9: [(at("4:00:00"), at("4:00:00"), at("4:10:00"), "FAIL", "INTRINSIC")],
    11: [(at("4:59:00"), -1, at("4:59:00"), "KILL", "USER")],
    12: [
        (
            since_origin(datetime(2017, 11, 5, 0, 30, tzinfo=PDT)),
            since_origin(datetime(2017, 11, 5, 0, 40, tzinfo=PDT)),
            since_origin(datetime(2017, 11, 5, 1, 50, tzinfo=PDT)),
            "FAIL",
            "INTRINSIC",
        ),
        (
            -1,
            since_origin(datetime(2017, 11, 5, 1, 10, tzinfo=PST)),
            since_origin(datetime(2017, 11, 5, 2, 10, tzinfo=PST)),
            "FINISH",
            None,
        ),
    ],
    13: [
        (
            since_origin(datetime(2017, 11, 5, 1, 30, tzinfo=PST)),
            since_origin(datetime(2017, 11, 5, 1, 35, tzinfo=PST)),
            RUNNING,
            "FINISH",
            None,
        )
    ],
}


@pytest.mark.parametrize("job", FATES)
def test_fate_of_every_attempt(log: Trace, job: int) -> None:
    assert attempts_of(log, ID.format(job)) == FATES[job]


def test_nothing_else_is_there(log: Trace) -> None:
    assert log.rows("jobs") == log.rows("tasks") == len(FATES)
    assert log.rows("attempts") == sum(map(len, FATES.values()))
    assert log.meta.end == RUNNING
    assert log.meta.unix_origin == ORIGIN.timestamp() * 1000


def test_every_oddity_is_counted(log: Trace) -> None:
    assert log.meta.rows_read == {"jobs": 14, "attempts": 19, "machines of the machine list": 3}
    assert log.meta.dropped == {
        "job that is listed twice": 1,
        "job without any time": 1,
        "attempt without any time": 1,
    }
    assert log.meta.noted == {
        "attempt without an end: taken to end when the next one is heard of": 1,
        "attempt that ended without a start: never ran": 2,
        "attempt that ends before it begins: taken to last no time": 1,
        "attempt that begins before its job was submitted": 2,
        "success without a start: taken to last no time": 1,
        "job without attempts: CENSORED, it never ran": 1,
        "job without an end of its last attempt: still running, CENSORED": 1,
        "job without a submit time: taken from its first attempt": 1,
        "job whose attempts have different numbers of GPUs: the first counts": 1,
        "job of which no GPU is told: 1 slot": 2,
    }


def test_jobs_tasks_and_placements(log: Trace) -> None:
    jobs = {row["original_id"]: row for row in log.table("jobs").to_pylist()}
    outcomes = {int(name[-5:]): Outcome(row["outcome"]).name for name, row in jobs.items()}
    assert outcomes[1] == "FINISH"
    assert outcomes[2] == outcomes[4] == "KILL"
    assert outcomes[3] == "FAIL"
    assert outcomes[5] == "CENSORED"
    assert jobs[ID.format(3)]["user"] is None
    assert jobs[ID.format(3)]["queue"] == "11cb48"
    assert jobs[ID.format(1)]["user"] == "ce2f4c"
    widths = dict(zip(jobs, log.column("tasks", "width").tolist(), strict=True))
    assert [widths[ID.format(n)] for n in (1, 2, 3, 4, 9, 11)] == [8, 8, 1, 1, 1, 4]
    machines = log.column("machines", "original_id")
    gang = [
        (machines[p["machine"]], p["slots"])
        for p in log.table("placements").to_pylist()
        if log.column("attempts", "task")[p["attempt"]] == 1
    ]
    assert gang == [("m1", 2), ("m2", 4), ("m3", 2)]
    slots = {row["original_id"]: row["slots"] for row in log.table("machines").to_pylist()}
    assert slots["m1"] == 8
    assert slots["m500"] == 2
    assert slots["m412"] is None


def test_graphics_processors_are_the_slots_that_are_told(log: Trace) -> None:
    gpus, width = log.column("tasks", "gpu", missing=0), log.column("tasks", "width")
    told = log.present("tasks", "gpu")
    assert told.any()
    assert not told.all()
    assert (gpus[told] == width[told]).all()
    assert (width[~told] == 1).all()


def test_a_file_alone_packed_and_one_by_one(log: Trace, tmp_path: Path) -> None:
    packed = tmp_path / "cluster_job_log.gz"
    packed.write_bytes(gzip.compress((FIXTURES / "trace-data" / "cluster_job_log").read_bytes()))
    trace = read_philly(packed)
    assert trace.table("attempts").equals(log.table("attempts"))
    assert not trace.present("machines", "slots").any()
    assert read_philly(tmp_path).content_hash == trace.content_hash
    assert read_philly(FIXTURES / "one_by_one.json").rows("jobs") == 3


@pytest.mark.parametrize(
    ("text", "not_before", "expected"),
    [
        ("2017-03-12 01:59:59", 0, datetime(2017, 3, 12, 1, 59, 59, tzinfo=PST)),
        ("2017-03-12 03:00:00", 0, datetime(2017, 3, 12, 3, 0, tzinfo=PDT)),
        ("2017-11-05 01:30:00", 0, datetime(2017, 11, 5, 1, 30, tzinfo=PDT)),
        ("2017-11-05 01:30:00", 1_509_872_400_001, datetime(2017, 11, 5, 1, 30, tzinfo=PST)),
        ("2017-11-05 01:30:00 PST", 0, datetime(2017, 11, 5, 1, 30, tzinfo=PST)),
        ("2017-11-05 02:00:00", 0, datetime(2017, 11, 5, 2, 0, tzinfo=PST)),
        (" 2017-07-01T00:00:00 ", 0, datetime(2017, 7, 1, tzinfo=PDT)),
        ("1969-12-31 16:00:00", 0, datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_the_clock(text: str, not_before: int, expected: datetime) -> None:
    assert pacific(text, not_before) == expected.timestamp() * 1000


@pytest.mark.parametrize("text", ["2017-13-01 00:00:00", "2017-10-07", "0000-01-01 00:00:00", "x"])
def test_no_times(text: str) -> None:
    assert pacific(text) is None


GOOD: Json = {
    "status": "Pass",
    "vc": "v",
    "jobid": "a",
    "submitted_time": "2017-10-07 01:00:00",
    "user": "u",
    "attempts": [
        {
            "start_time": "2017-10-07 01:00:00",
            "end_time": "2017-10-07 02:00:00",
            "detail": [{"ip": "m1", "gpus": ["gpu0"]}],
        }
    ],
}


def changed(**changes: Any) -> str:
    return json.dumps(GOOD | changes)


def with_attempt(**changes: Any) -> str:
    return json.dumps(GOOD | {"attempts": [GOOD["attempts"][0] | changes]})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no job that can be used"),
        ("[]", "no job that can be used"),
        ("[" + changed() + ",\n{", "line 2: not JSON: truncated"),
        ("[\n" + changed(jobid=None) + "]", "line 2: field 'jobid' is missing"),
        (changed(status="Running"), "field 'status' is 'Running', expected Pass, Failed or Killed"),
        (changed(status=None), "field 'status' is missing"),
        (changed(submitted_time="soon"), "field 'submitted_time' is 'soon', expected a time"),
        (changed(submitted_time="1960-01-01 00:00:00"), "field 'submitted_time'"),
        (changed(submitted_time="9999-12-31 23:59:59"), "field 'submitted_time'"),
        (changed(attempts={}), "field 'attempts' is an object, expected an array"),
        (changed(user="\udcff"), "field 'user'"),
        (with_attempt(start_time=5), "field 'attempts[0].start_time' is 5"),
        (with_attempt(detail=[{"gpus": []}]), "field 'attempts[0].detail[0].ip' is missing"),
        (with_attempt(detail=[{"ip": "m1", "gpus": 4}]), "field 'attempts[0].detail[0].gpus' is 4"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "cluster_job_log"
    file.write_text(text)
    with pytest.raises(TraceError) as error:
        read_philly(file)
    assert str(error.value).startswith(str(file))
    assert said in str(error.value)


def test_wrong_machine_list(tmp_path: Path) -> None:
    (tmp_path / "cluster_job_log").write_text(changed())
    (tmp_path / "cluster_machine_list").write_text("machineId,number of GPUs\nm1,many\n")
    with pytest.raises(TraceError, match="cluster_machine_list, line 2: expected a machine"):
        read_philly(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(TraceError, match="expected Philly job log"):
        read_philly(tmp_path / "empty")


FIRST = datetime(2017, 10, 1, tzinfo=PDT)


@st.composite
def logs(draw: st.DrawFn) -> list[Json]:
    """Random jobs in October, when no clock is set back."""
    seconds = st.integers(0, 50_000)
    missing = st.sampled_from([None, "", "None"])

    def time(often: int = 9) -> Any:
        known = draw(st.integers(0, often)) > 0
        return written(draw(seconds)) if known else draw(missing)

    jobs: list[Json] = []
    for number in range(draw(st.integers(1, 4))):
        attempts: list[Json] = []
        for _ in range(draw(st.integers(0, 4))):
            names = draw(st.lists(st.sampled_from(["m1", "m2", "m3"]), max_size=3))
            detail = [{"ip": name, "gpus": ["g"] * draw(st.integers(0, 3))} for name in names]
            attempts.append({"start_time": time(), "end_time": time(), "detail": detail})
        status = draw(st.sampled_from(["Pass", "Failed", "Killed"]))
        submitted = time(20)
        job = {"jobid": f"j{number}", "status": status, "vc": "v", "user": "u"}
        jobs.append(job | {"submitted_time": submitted, "attempts": attempts})
    return jobs


def written(seconds: int) -> str:
    return (FIRST + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S")


def seconds_of(text: str | None) -> int | None:
    if text in (None, "", "None"):
        return None
    naive = datetime.strptime(str(text), "%Y-%m-%d %H:%M:%S")
    return int((naive - datetime(2017, 10, 1)).total_seconds())


def recount(jobs: list[Json]) -> dict[tuple[str, int], Fate]:
    """End, outcome and machine-time of every job's task, straight from the JSON objects."""
    times: dict[str, list[int]] = {}
    for job in jobs:
        texts = [job["submitted_time"]]
        texts += [attempt[key] for attempt in job["attempts"] for key in ("start_time", "end_time")]
        times[job["jobid"]] = [t for t in map(seconds_of, texts) if t is not None]
    jobs = [job for job in jobs if times[job["jobid"]]]
    everything = [time for told in times.values() for time in told]
    if not everything:
        return {}
    first, last = min(everything), max(everything)
    return {(job["jobid"], 0): fate(job, first, last) for job in jobs}


def fate(job: Json, first: int, last: int) -> Fate:
    rows: list[tuple[int, int, int, str]] = []  # place in the table, end, time, outcome
    told = [(seconds_of(a["start_time"]), seconds_of(a["end_time"])) for a in job["attempts"]]
    submit = seconds_of(job["submitted_time"])
    if submit is None:
        submit = min((time for pair in told for time in pair if time is not None), default=first)
    for place, (start, end) in enumerate(told):
        is_last = place == len(told) - 1
        outcome = "FAIL"
        if is_last:
            outcome = {"Pass": "FINISH", "Failed": "FAIL", "Killed": "KILL"}[job["status"]]
        elif start is None and end is None:
            continue
        if end is None:
            later = [time for pair in told[place + 1 :] for time in pair if time is not None]
            if is_last or not later:
                rows.append((last if start is None else start, last, 0, "CENSORED"))
                continue
            end = later[0]
        begun = end if start is None else start
        end = max(begun, end)
        # What never ran is where it was queued: the first of a job at its submission.
        queued = start is None and outcome != "FINISH" and not rows
        rows.append((min(submit, begun) if queued else begun, end, end - begun, outcome))
    rows.sort(key=lambda row: row[0])
    counts = [sum(len(part["gpus"]) for part in attempt["detail"]) for attempt in kept(job)]
    width = next((count for count in counts if count), 1)
    work = sum(time for _, _, time, _ in rows) * width * 1000
    finishes = [end for _, end, _, outcome in rows if outcome == "FINISH"]
    if finishes:
        return (min(finishes) - first) * 1000, "FINISH", work
    if not rows or any(outcome == "CENSORED" for *_, outcome in rows):
        return (last - first) * 1000, "CENSORED", 0
    end = max(end for _, end, _, _ in rows)
    outcome = [outcome for _, e, _, outcome in rows if e == end][-1]
    return (end - first) * 1000, outcome, work


def kept(job: Json) -> list[Json]:
    told = [
        a
        for a in job["attempts"][:-1]
        if seconds_of(a["start_time"]) is not None or seconds_of(a["end_time"]) is not None
    ]
    return [*told, *job["attempts"][-1:]]


NEVER_RAN_FIRST: Json = {
    **{"jobid": "j0", "status": "Killed", "vc": "v", "user": "u", "submitted_time": None},
    "attempts": [
        {"start_time": None, "end_time": "2017-10-01 00:00:01", "detail": []},
        {"start_time": "2017-10-01 00:00:00", "end_time": "2017-10-01 00:00:01", "detail": []},
    ],
}
"""Both end at once: the first of them, which was queued first, does not decide the outcome."""


@given(logs())
@example([NEVER_RAN_FIRST])
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_random_logs_are_read_back_and_replayed(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[Json]
) -> None:
    file = tmp_path_factory.mktemp("philly") / "cluster_job_log"
    file.write_text(json.dumps(jobs, indent=4))
    expected = recount(jobs)
    if not expected:
        with pytest.raises(TraceError, match="no job that can be used"):
            read_philly(file)
        return
    found = replayed(read_philly(file))
    assert found.keys() == expected.keys()
    for key, fates in found.items():
        assert fates[0][:2] == expected[key][:2], key
        if expected[key][1] != "CENSORED":
            assert fates[0] == expected[key], key


def test_replay_of_the_fixture_is_exact(log: Trace) -> None:
    lines = (FIXTURES / "one_by_one.json").read_text().splitlines()
    expected = recount([json.loads(line) for line in lines])
    found = replayed(read_philly(FIXTURES / "one_by_one.json"))
    assert found == {key: [fate] for key, fate in expected.items()}
    assert len(replayed(log)) == len(FATES)
