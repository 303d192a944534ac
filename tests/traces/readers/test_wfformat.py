"""WfFormat 1.2 to 1.6: every field's fate, errors with file and field, the real workflows."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failgym.traces import Outcome, Trace, TraceError
from failgym.traces.readers.wfformat import read_wfformat
from failgym.traces.schema import TABLES
from tests.traces.readers.fuzz import complaint
from tests.traces.readers.mutations import mutated
from tests.traces.readers.replaying import replayed
from tests.traces.real_data import real

HOUR = 3_600_000
FIXTURES = Path(__file__).resolve().parents[2] / "data" / "wfformat"


def document(name: str = "diamond") -> dict[str, Any]:
    return json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))


def write(folder: Path, *documents: Any, name: str = "w.json") -> Path:
    file = folder / name
    file.write_text("\n".join(json.dumps(one) for one in documents), encoding="utf-8")
    return file


def columns(trace: Trace, table: str, *names: str) -> list[tuple[Any, ...]]:
    return list(zip(*(trace.column(table, name).tolist() for name in names), strict=True))


def edges(trace: Trace, job: int = 0) -> list[tuple[int, int, int]]:
    """Parent and child by their numbers in the workflow, and bytes."""
    owner, number = trace.column("stages", "job"), trace.column("stages", "stage")
    listed = columns(trace, "stage_edges", "parent", "child", "bytes")
    return sorted((int(number[p]), int(number[c]), n) for p, c, n in listed if owner[p] == job)


# --- The versions ---------------------------------------------------------------------------------


def test_version_1_5_with_recorded_runs() -> None:
    trace = read_wfformat(FIXTURES / "diamond.json")
    assert columns(trace, "jobs", "original_id", "name", "submit", "width", "outcome") == [
        ("diamond", "diamond", 0, 4, Outcome.CENSORED)
    ]
    assert trace.column("stages", "name").tolist() == ["split", "work", "work", "merge"]
    assert edges(trace) == [(0, 1, 10), (0, 2, 210), (1, 3, 0), (2, 3, 3_000_000_000)]
    by_number = np.argsort(trace.column("tasks", "index"))
    assert trace.column("tasks", "width")[by_number].tolist() == [1, 3, 2, 1]
    assert trace.column("tasks", "output_bytes")[by_number].tolist() == [210, 0, 3_000_000_000, 0]
    first = trace.task_first[:-1][by_number]
    times = [trace.column("attempts", name)[first].tolist() for name in ("queued", "start", "end")]
    assert times == [[-1, -1, 0, -1], [1000, 6000, -1, 20_000], [5200, 16_000, 20_000, 20_000]]
    assert trace.column("attempts", "length")[first].tolist() == [4200, 10_000, 10_000, 0]
    outcomes = [Outcome.FINISH, Outcome.FINISH, Outcome.CENSORED, Outcome.FINISH]
    assert trace.column("attempts", "outcome")[first].tolist() == outcomes
    used = trace.column("attempts", "mean_cpu")[first]
    assert used.tolist() == pytest.approx([0.9378, 0.5, np.nan, np.nan], nan_ok=True)
    memory = trace.column("attempts", "max_memory")[first]
    assert memory.tolist() == pytest.approx([0.25, 0.5, np.nan, np.nan], nan_ok=True)
    assert trace.meta.time_origin == "2026-08-04 10:00:00.000 UTC"
    assert trace.meta.end == 20_000
    assert trace.meta.remarks["runtimeSystem"] == "Pegasus"


def test_machines_and_who_ran_on_them() -> None:
    trace = read_wfformat(FIXTURES / "diamond.json")
    machines = columns(trace, "machines", "original_id", "slots", "speed", "cpu", "memory")
    assert machines[:2] == [("n1", 8, 1.0, 1.0, 1.0), ("n2", 4, 1.0, 0.5, 0.5)]
    assert machines[2][:3] == ("n9", -1, 1.0)
    task, index = trace.column("attempts", "task"), trace.column("tasks", "index")
    placed = columns(trace, "placements", "attempt", "machine", "slots")
    assert sorted((int(index[task[a]]), machines[m][0], slots) for a, m, slots in placed) == [
        (0, "n1", 1),
        (1, "n1", 2),
        (1, "n2", 1),
        (3, "n9", 1),
    ]
    assert trace.meta.noted == {
        "dependency that only one of its two tasks lists": 1,
        "file that a task writes, without a size: taken as 0 bytes": 1,
        "machine that only tasks name": 1,
    }


def test_version_1_4_without_recorded_runs() -> None:
    trace = read_wfformat(FIXTURES / "chain.json")
    assert trace.column("stages", "name").tolist() == ["first", "stage two", "third"]
    assert edges(trace) == [(0, 1, 77), (1, 2, 0)]  # the size that the writer states
    assert trace.column("tasks", "width").tolist() == [2, 1, 1]
    assert columns(trace, "attempts", "queued", "start", "end", "length", "outcome") == [
        (0, -1, 0, 12_500, Outcome.CENSORED),
        (0, -1, 0, 7_500, Outcome.CENSORED),
        (0, -1, 0, -1, Outcome.CENSORED),
    ]
    assert columns(trace, "machines", "original_id", "slots") == [("w", 2)]
    assert trace.column("attempts", "max_memory")[0] == 0.5
    assert trace.rows("placements") == 0
    assert trace.meta.unix_origin is None
    assert trace.meta.noted == {}


def test_version_1_3_counts_memory_in_kilobytes() -> None:
    trace = read_wfformat(FIXTURES / "old.json")
    assert trace.column("stages", "name").tolist() == ["a", "b"]
    assert edges(trace) == [(0, 1, 6)]
    assert trace.column("attempts", "length").tolist() == [4000, 5000]
    assert trace.column("attempts", "max_memory")[0] == 0.25
    assert trace.meta.noted == {"workflow executed at a time that is none": 1}


@pytest.mark.parametrize("called", ["jobs", "tasks"])
def test_version_1_2_is_1_3_with_jobs_for_tasks(tmp_path: Path, called: str) -> None:
    older = document("old")
    older["schemaVersion"] = "1.2"
    older["workflow"][called] = older["workflow"].pop("tasks")
    trace = read_wfformat(write(tmp_path, older, name="old.json"))
    same = read_wfformat(FIXTURES / "old.json")
    assert all(trace.table(name) == same.table(name) for name in TABLES)
    older["workflow"][called] = {}
    with pytest.raises(TraceError, match=f"field 'workflow.{called}' is an object, expected an"):
        read_wfformat(write(tmp_path, older))


def test_version_1_6_is_read_as_1_5(tmp_path: Path) -> None:
    newer = document()
    newer["schemaVersion"] = "1.6"
    newer["workflow"]["specification"]["metrics"] = {"numberOfTasks": 4}
    trace = read_wfformat(write(tmp_path, newer, name="diamond.json"))
    assert trace.content_hash == read_wfformat(FIXTURES / "diamond.json").content_hash


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("split", "split"),
        ("split_ID0000001", "split"),
        ("split-7", "split"),
        ("NFCORE:FASTQC (sample 1)", "NFCORE:FASTQC"),
        ("(1)", "(1)"),
        ("a2", "a2"),
    ],
)
def test_a_kind_is_a_name_without_number_and_tag(tmp_path: Path, name: str, kind: str) -> None:
    named = document()
    task = named["workflow"]["specification"]["tasks"][0]
    task.pop("category", None)
    task["name"] = name
    assert read_wfformat(write(tmp_path, named)).column("stages", "name")[0] == kind


def test_a_run_of_unknown_length_is_not_taken_to_have_finished(tmp_path: Path) -> None:
    bare = document()
    bare["workflow"]["execution"]["tasks"][0]["runtimeInSeconds"] = None
    trace = read_wfformat(write(tmp_path, bare))
    told = columns(trace, "attempts", "start", "end", "length", "outcome")
    assert (1000, 20_000, -1, Outcome.CENSORED) in told
    assert trace.column("jobs", "outcome")[0] == Outcome.CENSORED


def test_a_specification_alone_is_a_workflow(tmp_path: Path) -> None:
    bare = document()
    del bare["workflow"]["execution"]
    trace = read_wfformat(write(tmp_path, bare))
    assert trace.rows("tasks") == 4
    assert not trace.present("attempts", "length").any()


def test_a_folder_is_several_jobs(tmp_path: Path) -> None:
    trace = read_wfformat(FIXTURES)
    assert sorted(trace.column("jobs", "original_id")) == ["chain", "diamond", "old"]
    assert sorted(trace.column("machines", "original_id")) == ["n1", "n2", "n9", "w"]
    packed = tmp_path / "diamond.json.gz"
    packed.write_bytes(gzip.compress((FIXTURES / "diamond.json").read_bytes()))
    one = read_wfformat(FIXTURES / "diamond.json")
    assert read_wfformat(tmp_path).content_hash == one.content_hash


def test_a_machine_of_other_cores_is_another_machine(tmp_path: Path) -> None:
    changed = document()
    changed["workflow"]["execution"]["machines"][0]["cpu"]["coreCount"] = 16
    trace = read_wfformat([FIXTURES / "diamond.json", write(tmp_path, changed)])
    assert [
        machine
        for machine in columns(trace, "machines", "original_id", "slots", "speed")
        if str(machine[0]).startswith("n1")
    ] == [("n1", 8, 1.0), ("n1 (2)", 16, 1.0)]


def test_a_file_may_hold_several_workflows(tmp_path: Path) -> None:
    trace = read_wfformat(write(tmp_path, document("chain"), document("chain")))
    assert trace.column("jobs", "original_id").tolist() == ["w", "w (2)"]
    assert edges(trace, 1) == [(0, 1, 77), (1, 2, 0)]
    assert trace.rows("machines") == 1


# --- Errors ---------------------------------------------------------------------------------------

TASKS = ("workflow", "specification", "tasks")
RUNS = ("workflow", "execution", "tasks")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("schemaVersion",), "1.1", "field 'schemaVersion' is '1.1', expected one of 1.2, 1.3"),
        (("schemaVersion",), None, "field 'schemaVersion' is missing"),
        (("name",), None, "field 'name' is missing"),
        (("workflow",), None, "field 'workflow' is missing, expected an object"),
        (("workflow",), [], "field 'workflow' is an array, expected an object"),
        (TASKS, [], "field 'workflow.specification.tasks' is an array, expected at least one"),
        ((*TASKS, 1, "id"), None, r"field 'workflow.specification.tasks\[1\].id' is missing"),
        ((*TASKS, 1, "id"), "ID1", r"tasks\[1\].id' is 'ID1', expected an id that no other"),
        ((*TASKS, 1, "parents"), None, r"tasks\[1\].parents' is missing"),
        ((*TASKS, 1, "parents"), ["ID7"], r"tasks\[1\].parents' is 'ID7', expected tasks of the"),
        ((*TASKS, 1, "parents"), [3], r"tasks\[1\].parents\[0\]' is 3, expected a text"),
        ((*TASKS, 1, "parents"), ["\ud800"], r"tasks\[1\].parents' is '.ud800', expected a text"),
        ((*TASKS, 0, "parents"), ["ID4"], "tasks that wait for each other"),
        ((*TASKS, 0, "parents"), ["ID1"], "tasks that wait for each other"),
        ((*RUNS, 0, "id"), "ID9", r"execution.tasks\[0\].id' is 'ID9', expected the id of a spec"),
        ((*RUNS, 0, "runtimeInSeconds"), -1, r"runtimeInSeconds' is -1, expected a number"),
        ((*RUNS, 0, "runtimeInSeconds"), 1e300, r"runtimeInSeconds' is 1e\+300, expected"),
        ((*RUNS, 0, "executedAt"), "noon", "executedAt' is 'noon', expected a time in ISO 8601"),
        ((*RUNS, 0, "executedAt"), "1969-01-01", "expected a time in ISO 8601"),
        ((*RUNS, 0, "coreCount"), 2**40, "coreCount' is 1099511627776, expected a number"),
        (
            ("workflow", "specification", "files", 0, "sizeInBytes"),
            -5,
            r"workflow.specification.files\[0\].sizeInBytes' is -5",
        ),
        (("workflow", "execution", "machines", 0, "nodeName"), None, "nodeName' is missing"),
    ],
)
def test_a_field_that_is_wrong_is_named(
    tmp_path: Path, path: tuple[str | int, ...], value: Any, message: str
) -> None:
    changed: Any = copy.deepcopy(document())
    *outer, last = path
    inner = changed
    for step in outer:
        inner = inner[step]
    inner[last] = value
    with pytest.raises(TraceError, match=rf"w\.json, line 1: .*{message}"):
        read_wfformat(write(tmp_path, changed))


@pytest.mark.parametrize("text", ["", "[]"])
def test_a_file_without_a_workflow_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "w.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(TraceError, match="no workflow"):
        read_wfformat(file)


def test_files_beyond_all_measure_are_refused(tmp_path: Path) -> None:
    huge = document()
    for file in huge["workflow"]["specification"]["files"]:
        file["sizeInBytes"] = 2**61
    huge["workflow"]["specification"]["tasks"][0]["outputFiles"] = ["a", "b", "c"]
    with pytest.raises(TraceError, match="bytes of files of task 'ID1'"):
        read_wfformat(write(tmp_path, huge))


# --- The real workflows ---------------------------------------------------------------------------


def test_the_workflows_of_pegasus() -> None:
    folder = real("workflows")
    trace = read_wfformat(folder)
    assert trace.rows("jobs") == 11
    row = {name: at for at, name in enumerate(trace.column("jobs", "original_id").tolist())}
    owner, number = trace.column("tasks", "job"), trace.column("tasks", "index")
    length = trace.column("attempts", "length")
    for file in folder.glob("*.json.gz"):
        whole = json.loads(gzip.decompress(file.read_bytes()))["workflow"]
        job = row[file.name.removesuffix(".json.gz")]
        tasks = whole["specification"]["tasks"]
        place = {task["id"]: at for at, task in enumerate(tasks)}
        size = {one["id"]: one["sizeInBytes"] for one in whole["specification"]["files"]}
        expected = [
            (
                place[parent],
                place[child["id"]],
                sum(
                    size[name]
                    for name in set(tasks[place[parent]]["outputFiles"]) & set(child["inputFiles"])
                ),
            )
            for child in tasks
            for parent in child["parents"]
        ]
        assert edges(trace, job) == sorted(expected)
        ran = {one["id"]: one["runtimeInSeconds"] for one in whole["execution"]["tasks"]}
        mine = np.flatnonzero(owner == job)
        told = dict(zip(number[mine].tolist(), length[mine].tolist(), strict=True))
        assert told == {place[name]: round(seconds * 1000) for name, seconds in ran.items()}


# --- The replay -----------------------------------------------------------------------------------


def test_the_replay_is_the_record(tmp_path: Path) -> None:
    late = document()
    for run in late["workflow"]["execution"]["tasks"]:
        run |= {"executedAt": "2026-08-05T00:00:00Z", "coreCount": 2}
    write(tmp_path, late, name="late.json")
    write(tmp_path, document(), name="diamond.json")
    found = replayed(read_wfformat(tmp_path))
    for index, run in enumerate(late["workflow"]["execution"]["tasks"]):
        length = round(run["runtimeInSeconds"] * 1000)
        assert found["late", index] == [(14 * HOUR + length, "FINISH", 2 * length)]
    assert [found["diamond", index] for index in (0, 1, 3)] == [
        [(5200, "FINISH", 4200)],
        [(16_000, "FINISH", 30_000)],
        [(20_000, "FINISH", 0)],
    ]
    assert [fate[:2] for fate in found["diamond", 2]] == [(14 * HOUR + 10_000, "CENSORED")]


# --- Random files and damaged ones ----------------------------------------------------------------


@st.composite
def workflows(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Run times [ms], and edges of one file each."""
    times = draw(st.lists(st.integers(0, 10**9), min_size=1, max_size=10))
    pairs = [(p, c) for c in range(len(times)) for p in range(c)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return times, sorted((p, c, draw(st.integers(0, 2**50))) for p, c in chosen)


def written(times: list[int], passed: list[tuple[int, int, int]], version: str) -> dict[str, Any]:
    modern = version >= "1.5"
    tasks: list[dict[str, Any]] = []
    for task in range(len(times)):
        reads = [(f"{p}-{c}", n) for p, c, n in passed if c == task]
        writes = [(f"{p}-{c}", n) for p, c, n in passed if p == task]
        one: dict[str, Any] = {"name": f"t{task}", "id": f"t{task}"}
        one["parents"] = [f"t{p}" for p, c, _ in passed if c == task]
        if modern:
            one["children"] = [f"t{c}" for p, c, _ in passed if p == task]
            one["inputFiles"] = [name for name, _ in reads]
            one["outputFiles"] = [name for name, _ in writes]
        else:
            size = "size" if version == "1.3" else "sizeInBytes"
            one["files"] = [{"link": "input", "name": name, size: n} for name, n in reads]
            one["files"] += [{"link": "output", "name": name, size: n} for name, n in writes]
            one["runtime" if version == "1.3" else "runtimeInSeconds"] = times[task] / 1000
        tasks.append(one)
    inside: dict[str, Any] = {"tasks": tasks}
    if modern:
        files = [{"id": f"{p}-{c}", "sizeInBytes": n} for p, c, n in passed]
        runs = [{"id": f"t{n}", "runtimeInSeconds": time / 1000} for n, time in enumerate(times)]
        inside = {
            "specification": inside | {"files": files},
            "execution": {"makespanInSeconds": 1, "executedAt": "2020-01-01", "tasks": runs},
        }
    return {"name": "drawn", "schemaVersion": version, "workflow": inside}


@settings(max_examples=60, deadline=None)
@given(workflows(), st.sampled_from(["1.3", "1.4", "1.5"]))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: tuple[list[int], list[tuple[int, int, int]]],
    version: str,
) -> None:
    times, passed = drawn
    file = write(tmp_path_factory.mktemp("wf"), written(times, passed, version))
    trace = read_wfformat(file)
    assert edges(trace) == passed
    assert trace.column("attempts", "length").tolist() == times
    sent = [sum(n for p, _, n in passed if p == task) for task in range(len(times))]
    assert trace.column("tasks", "output_bytes").tolist() == sent
    assert trace.meta.noted == {}


@pytest.mark.parametrize("name", ["diamond", "chain", "old"])
def test_damaged_files_are_read_or_refused(tmp_path: Path, name: str) -> None:
    text, file = (FIXTURES / f"{name}.json").read_bytes(), tmp_path / "damaged.json"
    for seed in range(200):
        file.write_bytes(mutated(text, np.random.default_rng(seed)))
        assert complaint("wfformat", file, {}) == "", seed
