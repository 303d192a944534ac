"""Hadoop job history: every attempt's fate, random histories, errors, the real file."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from failgym.traces import Cause, Outcome, Trace, TraceError
from failgym.traces.readers import json_objects
from failgym.traces.readers.rumen import read_rumen
from tests.traces.readers.attempts import attempts_of
from tests.traces.readers.replaying import Fate, replayed
from tests.traces.real_data import REPOSITORY, real

FIXTURES = REPOSITORY / "tests" / "data" / "rumen"
OLD = "job_200904211745_{:04}"
NEW = "job_1500000000000_{:04}"

Json = dict[str, Any]


def table_of(trace: Trace, table: str) -> list[Json]:
    rows: list[Json] = trace.table(table).to_pylist()
    return rows


def row_of(trace: Trace, table: str, **values: Any) -> Json:
    rows: list[Json] = trace.table(table).to_pylist()
    return next(row for row in rows if all(row[key] == value for key, value in values.items()))


@pytest.fixture(scope="module", name="old")
def old_version() -> Trace:
    return read_rumen(FIXTURES / "old.json")


@pytest.fixture(scope="module", name="newer")
def newer_version() -> Trace:
    return read_rumen(FIXTURES / "newer")


ORIGIN = -500  # the first map of job 1 begins before its job, by its host's clock
END = 100_500

FATES: dict[tuple[int, int], list[tuple[Any, ...]]] = {
    (1, 0): [(1500, 2500, 12500, "FINISH", None), (-1, 7500, 13500, "KILL", "REQUEUE")],
    (1, 1): [
        (1500, -1, 5500, "FAIL", "INTRINSIC"),
        (-1, 9500, 9500, "FAIL", "INTRINSIC"),
        (-1, 10500, 20500, "FINISH", None),
    ],
    (1, 2): [(1500, 3500, 4500, "KILL", "REQUEUE"), (-1, 6500, 9500, "FINISH", None)],
    (1, 3): [(1500, 3500, 5500, "FINISH", None), (-1, 6500, 7500, "KILL", "REQUEUE")],
    (1, 4): [
        (1500, 3500, 9500, "FAIL", "INTRINSIC"),
        (-1, 5500, 8500, "FAIL", "INTRINSIC"),
        (-1, 10000, 11500, "FINISH", None),
    ],
    (1, 5): [(-1, 0, 1200, "FINISH", None)],
    (1, 6): [(-1, 21500, 50500, "FINISH", None)],
    (1, 7): [(1500, 2000, 2400, "FINISH", None)],
    (1, 8): [(-1, 60500, 61500, "FINISH", None)],
    (2, 0): [
        (6500, 7500, 8500, "FAIL", "INTRINSIC"),
        (-1, 9500, 10500, "FAIL", "INTRINSIC"),
        (-1, 11500, 12500, "FAIL", "INTRINSIC"),
        (-1, 13500, 39500, "FAIL", "INTRINSIC"),
    ],
    (2, 1): [(6500, 7500, 40000, "KILL", "DEPENDENCY")],
    (2, 2): [(6500, -1, END, "CENSORED", None)],
    (2, 3): [(6500, -1, 40000, "KILL", "DEPENDENCY")],
    (2, 4): [(-1, 40100, 40400, "KILL", "DEPENDENCY")],
    (3, 0): [(6500, 7500, 19500, "KILL", "USER")],
    (3, 1): [(6500, 7500, 8500, "FINISH", None)],
    (3, 2): [(6500, 7500, 8500, "KILL", "REQUEUE"), (-1, 8500, 20000, "KILL", "USER")],
    (4, 0): [(91000, 91500, END, "CENSORED", None)],
    (4, 1): [(91000, 91500, 92500, "LOST", None)],
    (4, 2): [(91000, 95500, 95500, "FINISH", None)],
    (4, 3): [(91000, 93500, 94500, "FAIL", "INTRINSIC")],
    (4, 4): [(91000, 93500, 94500, "KILL", "REQUEUE")],
    (4, 5): [(91000, -1, END, "CENSORED", None)],
    (7, 0): [(96500, 96500, 97500, "FINISH", None)],
}
"""(job, index) -> attempts, times from the origin."""


@pytest.mark.parametrize("task", FATES, ids=str)
def test_fate_of_every_attempt(old: Trace, task: tuple[int, int]) -> None:
    assert attempts_of(old, OLD.format(task[0]), task[1]) == FATES[task]


def test_nothing_else_is_there(old: Trace) -> None:
    assert old.rows("tasks") == len(FATES)
    assert old.rows("attempts") == sum(map(len, FATES.values()))
    assert old.meta.end == END
    assert old.meta.unix_origin == 1_240_000_000_000 + ORIGIN


def test_every_oddity_is_counted(old: Trace) -> None:
    assert old.meta.rows_read == {"jobs": 8, "tasks": 25, "attempts": 35}
    assert old.meta.dropped == {
        "job that is listed twice": 1,
        "job without tasks": 1,
        "job without any time": 1,
        "attempt without any time": 2,
    }
    assert old.meta.noted == {
        "KILLED attempt: clone that lost: it overlaps a success of its task": 1,
        "KILLED attempt: clone that began after its task's success": 1,
        "KILLED attempt: its task ran on": 2,
        "KILLED attempt: with its failed job": 3,
        "KILLED attempt: with its killed job": 2,
        "KILLED attempt: its job's outcome is not told": 1,
        "attempt that ended without a start: never ran": 2,
        "attempt that ends before it begins (clocks differ): taken to last no time": 1,
        "attempt that begins before its job was submitted (clocks differ)": 1,
        "attempt without an end: CENSORED": 1,
        "attempt that ended, it is not told how: LOST": 1,
        "success without a start: taken to last no time": 1,
        "task without attempts: CENSORED, it never ran": 2,
        "job without a submit time: taken from its launch or first attempt": 1,
    }


def test_jobs_of_the_old_version(old: Trace) -> None:
    rows = old.table("jobs").to_pylist()
    assert [
        (row["original_id"][-1], row["submit"], row["width"], row["outcome"], row["priority"])
        for row in rows
    ] == [
        ("1", 500, 9, Outcome.FINISH, 2),
        ("2", 5500, 5, Outcome.FAIL, 0),
        ("3", 5500, 3, Outcome.KILL, 2),
        ("4", 90500, 6, Outcome.CENSORED, 4),
        ("7", 96500, 1, Outcome.FINISH, 2),
    ]
    assert rows[1]["user"] == "geek2"
    assert rows[1]["queue"] is None
    assert rows[0]["speculation"] is None
    assert rows[0]["attempt_limit"] is None


def test_stages_edges_and_requests(old: Trace) -> None:
    jobs = [OLD.format(n) for n in (1, 2, 3, 4, 7)]
    stages = [(jobs[s["job"]][-1], s["stage"], s["name"]) for s in old.table("stages").to_pylist()]
    assert stages == [
        ("1", 0, "map"),
        ("1", 1, "reduce"),
        ("1", 2, "setup"),
        ("1", 3, "cleanup"),
        ("2", 0, "map"),
        ("2", 3, "cleanup"),
        ("3", 0, "map"),
        ("4", 0, "map"),
        ("7", 0, "map"),
    ]
    edges = old.table("stage_edges").to_pylist()
    assert edges == [{"parent": 0, "child": 1, "bytes": 777, "wide": True}]
    tasks = [t for t in old.table("tasks").to_pylist() if t["job"] == 0]
    by_index = {task["index"]: task for task in tasks}
    assert by_index[0]["output_bytes"] == 300
    assert by_index[6]["output_bytes"] == 55
    assert by_index[1]["output_bytes"] is None
    assert by_index[0]["memory"] == 0.5  # 640 of 1280 MB
    assert by_index[6]["stage"] == 1


def test_machines_and_placements(old: Trace) -> None:
    machines = {m["original_id"]: m["domain"] for m in old.table("machines").to_pylist()}
    assert machines == {
        "n1.example.org": "10.0.1.0",
        "n2.example.org": "10.0.2.0",
        "n3.example.org": "10.0.3.0",
        "n4.example.org": None,
    }
    ran = old.present("attempts", "start")
    assert old.rows("placements") == int(ran.sum()) - 1  # the host of job 7 is not told


def test_newer_version(newer: Trace) -> None:
    first = row_of(newer, "jobs", original_id=NEW.format(8))
    assert first["name"] == "word count"
    assert first["queue"] == "default"
    assert first["priority"] is None  # DEFAULT
    assert first["speculation"] is False
    assert (first["attempt_limit"], first["skip_mode"], first["width"]) == (6, 2, 6)
    second = row_of(newer, "jobs", original_id=NEW.format(9))
    assert (second["user"], second["queue"], second["speculation"]) == ("u2", "q2", True)
    assert second["attempt_limit"] is None  # "many" is no number
    assert newer.meta.dropped == {"task that is listed twice in its job": 1}
    assert newer.meta.noted == {"machine told to be in several racks": 1}
    edges = newer.table("stage_edges").to_pylist()
    assert [edge["bytes"] for edge in edges] == [10_000]  # of the maps: nothing is told of reduces
    names = [stage["name"] for stage in newer.table("stages").to_pylist() if stage["job"] == 0]
    assert names == ["map", "reduce", "setup", "cleanup", "other"]
    machines = {m["original_id"]: m["domain"] for m in newer.table("machines").to_pylist()}
    assert machines == {
        "h1.example.org": "rack9",
        "h2.example.org": "dc.1/default-rack",
        "h3.example.org": "rack9",
        "h4.example.org": "dc.1/default-rack",
    }
    usage = [
        (a["mean_cpu"], a["mean_memory"])
        for a in newer.table("attempts").to_pylist()
        if a["mean_cpu"] is not None
    ]
    assert usage == [(0.5, 0.25), (pytest.approx(0.2), 0.5)]  # pyright: ignore[reportUnknownMemberType]
    memory = {task["index"]: task["memory"] for task in newer.table("tasks").to_pylist()[:4]}
    assert memory[0] == 0.5
    assert attempts_of(newer, NEW.format(9), 0) == [(1000, 3000, 4000, "FINISH", None)]


def test_topology_may_be_named(tmp_path: Path) -> None:
    trace = tmp_path / "x.json.gz"
    trace.write_bytes(gzip.compress((FIXTURES / "newer" / "job-trace.json").read_bytes()))
    topology = FIXTURES / "newer" / "job-topology.json"
    named = read_rumen(trace, topology=topology)
    assert named.content_hash == read_rumen(FIXTURES / "newer").content_hash
    alone = read_rumen(trace)
    assert "h4.example.org" not in alone.column("machines", "original_id")
    assert row_of(alone, "machines", original_id="h1.example.org")["domain"] == "default-rack"


def job_text(**changes: Any) -> str:
    lines = (FIXTURES / "old.json").read_text().splitlines()
    return json.dumps(json.loads(lines[2]) | changes)


def attempt_text(**changes: Any) -> str:
    job = json.loads((FIXTURES / "old.json").read_text().splitlines()[2])
    job["mapTasks"][1]["attempts"][0] |= changes
    return json.dumps(job)


def task_text(**changes: Any) -> str:
    job = json.loads((FIXTURES / "old.json").read_text().splitlines()[2])
    job["mapTasks"][1] |= changes
    return json.dumps(job)


def test_names_and_ids_as_objects_and_commas_between_jobs(tmp_path: Path) -> None:
    def job(number: int) -> Json:
        job_id = {"id": number, "jtIdentifier": "2009"}
        attempt: Json = {"startTime": 2000, "finishTime": 3000, "result": "SUCCEEDED"}
        host = {"rackName": "r1", "hostName": "h1"}
        layers = [{"value": "r2"}, {"value": "h2"}]
        task_ids: list[Json] = [
            {"id": 1, "jobID": job_id, "taskType": "MAP"},
            {"id": 2, "jobID": job_id, "taskType": "MAP"},
        ]
        tasks: list[Json] = [
            {"taskID": task_ids[1], "attempts": [attempt | {"location": {"layers": layers}}]},
            {"taskID": task_ids[0], "attempts": [attempt | {"hostName": host}]},
        ]
        named = {"user": {"value": "u"}, "jobName": {"value": "n"}, "queue": {"value": "q"}}
        return named | {"jobID": job_id, "submitTime": 1000, "mapTasks": tasks}

    file = tmp_path / "x.json"
    file.write_text(",\n".join(json.dumps(job(number), indent=2) for number in (1, 2)))
    trace = read_rumen(file)
    jobs = [(j["original_id"], j["user"], j["name"], j["queue"]) for j in table_of(trace, "jobs")]
    assert jobs == [("job_2009_0001", "u", "n", "q"), ("job_2009_0002", "u", "n", "q")]
    machines = [(m["original_id"], m["domain"]) for m in table_of(trace, "machines")]
    assert machines == [("h1", "r1"), ("h2", "r2")]
    assert trace.column("placements", "machine").tolist() == [0, 1, 0, 1]  # in order of task ids


def test_a_job_of_any_number_of_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_objects, "LARGEST_OBJECT", 2000)
    monkeypatch.setattr(json_objects, "MOST_CONTAINERS", 100)
    monkeypatch.setattr(json_objects, "CHUNK", 512)
    tasks = [
        {"taskID": f"task_1_0001_m_{n:06}", "attempts": [{"startTime": 1 + n, "finishTime": 9999}]}
        for n in range(5000)
    ]
    file = tmp_path / "x.json"
    file.write_text(json.dumps({"jobID": "job_1_0001", "submitTime": 1, "mapTasks": tasks}))
    trace = read_rumen(file)
    assert (trace.rows("tasks"), trace.rows("attempts")) == (5000, 5000)
    assert trace.column("attempts", "start").tolist() == list(range(5000))


def test_an_id_that_is_no_id_is_named_with_the_line_of_its_task(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"jobID": 1,\n"mapTasks": [\n{"taskID": {"id": 3}}]}')
    with pytest.raises(TraceError, match=r"line 3: field 'mapTasks\[0\]\.taskID' is an object"):
        read_rumen(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no job that can be used"),
        ("\n\n{", "line 3: not JSON: truncated"),
        ("[1]", "line 1: expected a JSON object"),
        (job_text(mapTasks=[]), "no job that can be used"),
        (job_text(jobID=None), "line 1: field 'jobID' is missing"),
        ("\n" + job_text(outcome="WON"), "line 2: field 'outcome' is 'WON', expected one of"),
        (job_text(submitTime="now"), "field 'submitTime' is 'now', expected an integer"),
        (job_text(submitTime=2**60), "field 'submitTime' is 1152921504606846976"),
        (job_text(priority="URGENT"), "field 'priority' is 'URGENT', expected one of VERY_LOW"),
        (job_text(mapTasks={}), "field 'mapTasks' is an object, expected an array"),
        (job_text(mapTasks=[1]), "field 'mapTasks[0]' is 1, expected an object"),
        (job_text(jobProperties=3), "field 'jobProperties' is 3, expected an object"),
        (job_text(user="\ud800"), "field 'user'"),
        (task_text(taskID=None), "field 'mapTasks[1].taskID' is missing"),
        (attempt_text(result="?"), "field 'mapTasks[1].attempts[0].result' is '?'"),
        (attempt_text(startTime=1.5), "field 'mapTasks[1].attempts[0].startTime' is 1.5"),
        (attempt_text(startTime=math.inf), "Infinity is not JSON"),
        (attempt_text(hostName=[]), "field 'mapTasks[1].attempts[0].hostName' is an array"),
        (
            attempt_text(hostName=None, location={"layers": [3]}),
            "field 'mapTasks[1].attempts[0].location.layers[0]' is 3",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(TraceError) as error:
        read_rumen(file)
    assert str(error.value).startswith(str(file))
    assert said in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        'Meta VERSION="1" .\nJob JOBID="job_200904211745_0018" JOBNAME="sort" .\n',
        '\nJob JOBID="job_200904211745_0018" JOBNAME="sort" USER="hadoop" .\n',
        'Avro-Json\n{"type":"record"}\n',
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_history_that_rumen_has_not_converted(
    tmp_path: Path, text: str, pack: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / "job_200904211745_0018_hadoop"
    file.write_bytes(pack(text.encode()))
    with pytest.raises(TraceError, match=r"^\S+_hadoop: .* by Rumen's TraceBuilder"):
        read_rumen(file)
    with pytest.raises(TraceError, match=r"no such file in this folder: .*Rumen's TraceBuilder"):
        read_rumen(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"name": "a"}{"name": "b"}', "2 objects, expected one topology"),
        ('{"name": "<root>", "children": [{}]}', "field 'children[0].name' is missing"),
        ('{"name": "<root>", "children": 5}', "field 'children' is 5, expected an array"),
    ],
)
def test_wrong_topologies(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "topology.json"
    file.write_text(text)
    with pytest.raises(TraceError) as error:
        read_rumen(FIXTURES / "old.json", topology=file)
    assert str(error.value).startswith(str(file))
    assert said in str(error.value)
    with pytest.raises(TraceError, match="a topology alone"):
        read_rumen(tmp_path)


Times = st.integers(1, 50)


@st.composite
def histories(draw: st.DrawFn) -> list[Json]:
    """Random jobs as Rumen writes them."""
    jobs: list[Json] = []
    for number in range(draw(st.integers(1, 3))):
        groups: Json = {"mapTasks": [], "reduceTasks": [], "otherTasks": []}
        for group, kind in (
            ("mapTasks", "MAP"),
            ("reduceTasks", "REDUCE"),
            ("otherTasks", "SETUP"),
        ):
            for place in range(draw(st.integers(0, 3))):
                attempts: list[Json] = []
                for _ in range(draw(st.integers(0, 4))):
                    start = draw(st.sampled_from([0, -1]) | Times)
                    end = -1 if draw(st.integers(0, 9)) == 0 else max(start, 1) + draw(Times)
                    result = draw(
                        st.sampled_from(["SUCCESS", "SUCCEEDED", "FAILED", "KILLED", None])
                    )
                    attempts.append({"startTime": start, "finishTime": end, "result": result})
                task = {"taskID": f"task_1_{number:04}_{kind[0]}_{place:06}", "taskType": kind}
                groups[group].append(task | {"attempts": attempts})
        outcome = draw(st.sampled_from(["SUCCESS", "FAILED", "KILLED", None]))
        times = {"submitTime": draw(Times), "finishTime": draw(Times)}
        jobs.append({"jobID": f"job_1_{number:04}", "outcome": outcome} | times | groups)
    return jobs


def recount(jobs: list[Json]) -> dict[tuple[str, int], Fate]:
    """End, outcome and machine-time of every task, straight from the JSON objects."""
    everything: list[int] = []
    for job in jobs:
        tasks = [t for g in ("mapTasks", "reduceTasks", "otherTasks") for t in job[g]]
        if tasks:
            everything += [job.get(name, -1) for name in ("submitTime", "launchTime", "finishTime")]
        for task in tasks:
            for attempt in task["attempts"]:
                everything += [attempt["startTime"], attempt["finishTime"]]
    told = [time for time in everything if time > 0]
    origin, last = min(told, default=0), max(told, default=0)
    fates: dict[tuple[str, int], Fate] = {}
    for job in jobs:
        maps, reduces, others = (job[g] for g in ("mapTasks", "reduceTasks", "otherTasks"))
        others = sorted(others, key=lambda t: ("SETUP" not in t["taskType"], t["taskID"][-6:]))
        index = 0
        for tasks in (maps, reduces):
            for task in sorted(tasks, key=lambda t: t["taskID"]):
                fates[job["jobID"], index] = fate(task["attempts"], origin, last)
                index += 1
        for task in others:
            fates[job["jobID"], index] = fate(task["attempts"], origin, last)
            index += 1
    return fates


def fate(attempts: list[Json], origin: int, last: int) -> Fate:
    names = {"SUCCESS": "FINISH", "SUCCEEDED": "FINISH", "FAILED": "FAIL", "KILLED": "KILL"}
    ended = [
        max(attempt["finishTime"], attempt["startTime"])  # none ends before it began
        for attempt in attempts
        if names.get(attempt["result"]) == "FINISH" and attempt["finishTime"] > 0
    ]
    rows: list[tuple[int, int, str]] = []  # end, time, outcome
    order: list[tuple[int, int]] = []
    for place, attempt in enumerate(attempts):
        start, end = attempt["startTime"], attempt["finishTime"]
        if start <= 0 and end <= 0:
            continue
        outcome = names.get(attempt["result"], "LOST")
        if end <= 0:
            outcome = "LOST" if ended else "CENSORED"
            end = min(ended, default=last)
        begun = start if start > 0 else end
        end = max(begun, end)
        rows.append((end, end - begun, outcome))
        order.append((begun, place))
    rows = [row for _, row in sorted(zip(order, rows, strict=True))]
    finishes = [end for end, _, outcome in rows if outcome == "FINISH"]
    if finishes:
        return min(finishes) - origin, "FINISH", sum(row[1] for row in rows)
    if not rows or any(outcome == "CENSORED" for _, _, outcome in rows):
        return last - origin, "CENSORED", 0
    end = max(row[0] for row in rows)
    outcome = [row[2] for row in rows if row[0] == end][-1]
    return end - origin, outcome, sum(row[1] for row in rows)


def check_replay(trace: Trace, expected: dict[tuple[str, int], Fate]) -> None:
    found = replayed(trace)
    assert found.keys() == expected.keys()
    for key, fates in found.items():
        end, outcome, work = fates[0]
        assert (end, outcome) == expected[key][:2], key
        if outcome != "CENSORED":
            assert work == expected[key][2], key


@given(histories())
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_random_histories_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[Json]
) -> None:
    file = tmp_path_factory.mktemp("rumen") / "x.json"
    file.write_text("\n".join(json.dumps(job) for job in jobs))
    expected = recount(jobs)
    if not expected:
        with pytest.raises(TraceError, match="no job that can be used"):
            read_rumen(file)
        return
    trace = read_rumen(file)
    check_replay(trace, expected)


def test_replay_of_the_fixture_is_exact() -> None:
    lines = (FIXTURES / "old.json").read_text().splitlines()
    jobs = {job["jobID"]: job for job in map(json.loads, lines)}
    kept = [job for job in jobs.values() if job["jobID"][-1] not in "56"]
    check_replay(read_rumen(FIXTURES / "old.json"), recount(kept))


@pytest.fixture(scope="module", name="genuine")
def genuine_trace() -> Trace:
    return read_rumen(real("rumen", "19-jobs.trace.json.gz"))


def test_counts_of_the_real_file(genuine: Trace) -> None:
    assert (genuine.rows("jobs"), genuine.rows("tasks")) == (19, 11_869)
    assert genuine.meta.rows_read["attempts"] == 13_041
    names = Counter(Outcome(value).name for value in genuine.column("attempts", "outcome"))
    assert names == {"FINISH": 8_442, "FAIL": 3_503, "KILL": 1_096, "CENSORED": 155}
    noted = genuine.meta.noted
    assert noted["KILLED attempt: clone that lost: it overlaps a success of its task"] == 73
    assert noted["task without attempts: CENSORED, it never ran"] == 155
    assert noted["KILLED attempt: with its failed job"] == 951
    assert not genuine.meta.dropped
    assert genuine.rows("machines") == 1_545
    assert genuine.present("machines", "domain").all()


def test_losing_clones_of_the_real_file_outlive_their_winner(genuine: Trace) -> None:
    task, outcome = genuine.column("attempts", "task"), genuine.column("attempts", "outcome")
    start, end = genuine.column("attempts", "start"), genuine.column("attempts", "end")
    late: list[int] = []
    for row in range(len(task)):
        if outcome[row] != Outcome.KILL:
            continue
        for other in range(*genuine.task_first[task[row] : task[row] + 2].tolist()):
            won = outcome[other] == Outcome.FINISH
            if won and start[row] < end[other] and start[other] < end[row]:
                late.append(int(end[row] - end[other]))
                assert genuine.column("attempts", "cause")[row] == Cause.REQUEUE
    assert len(late) == 73
    assert 0 not in late
    assert sum(value > 0 for value in late) == 67
    assert max(late) < 120_500  # 120 s


def test_replay_of_the_real_file_is_exact(genuine: Trace) -> None:
    text = gzip.decompress((real("rumen") / "19-jobs.trace.json.gz").read_bytes()).decode()
    decoder, at, jobs = json.JSONDecoder(), 0, list[Json]()
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        job, at = decoder.raw_decode(text, at)
        jobs.append(job)
    check_replay(genuine, recount(jobs))
