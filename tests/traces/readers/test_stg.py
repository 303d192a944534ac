"""Standard Task Graphs: both variants, archives, errors, the real set."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failgym.traces import Outcome, Trace, TraceError
from failgym.traces.readers.stg import read_stg
from failgym.traces.readers.stg import reader as stg
from tests.traces.readers.fuzz import complaint
from tests.traces.readers.mutations import mutated
from tests.traces.readers.replaying import replayed
from tests.traces.real_data import real

FIXTURES = Path(__file__).resolve().parents[2] / "data" / "stg"
Edge = tuple[int, int, int]
MOST_BYTES = 5_000_000
"""So that the test of a huge member is quick."""


def graph(trace: Trace, job: int = 0) -> tuple[list[int], list[Edge]]:
    """Lengths [ms] of the tasks of a job by number, and its edges (parent, child, bytes)."""
    task_of = trace.column("tasks", "stage")
    number = trace.column("stages", "stage")
    mine = trace.column("stages", "job") == job
    length = trace.column("attempts", "length")[np.argsort(task_of)]  # one attempt per task
    edges = zip(
        *(trace.column("stage_edges", name).tolist() for name in ("parent", "child", "bytes")),
        strict=True,
    )
    inside = [(int(number[p]), int(number[c]), size) for p, c, size in edges if mine[p]]
    return length[mine].tolist(), sorted(inside)


def write(folder: Path, text: str) -> Path:
    file = folder / "g.stg"
    file.write_text(text, encoding="utf-8")
    return file


# --- The fixtures ---------------------------------------------------------------------------------


def test_a_graph_as_published() -> None:
    trace = read_stg(FIXTURES / "sample.stg")
    assert graph(trace) == (
        [0, 20_000, 5_000, 7_000, 3_000, 0],
        [(0, 1, 0), (0, 2, 0), (1, 3, 0), (2, 3, 0), (2, 4, 0), (3, 5, 0), (4, 5, 0)],
    )
    assert trace.column("jobs", "original_id").tolist() == ["sample"]
    assert trace.column("jobs", "width").tolist() == [6]
    assert trace.meta.rows_read == {"graphs": 1, "tasks": 6, "edges": 7}


def test_no_run_is_invented() -> None:
    trace = read_stg(FIXTURES / "sample.stg")
    assert not trace.present("attempts", "start").any()
    assert set(trace.column("attempts", "outcome")) == {Outcome.CENSORED}
    assert set(trace.column("attempts", "queued")) == {0}
    assert trace.meta.end == 0


def test_communication_costs_below_each_task() -> None:
    trace = read_stg(FIXTURES / "costs.stg", unit_ms=10)
    assert graph(trace) == (
        [0, 200, 55, 70],
        [(0, 1, 0), (0, 2, 30), (1, 3, 40), (2, 3, 60)],
    )
    assert trace.meta.noted == {"graph with communication costs": 1}


def test_communication_costs_beside_the_predecessors() -> None:
    trace = read_stg(FIXTURES / "pairs.stg", unit_ms=1)
    assert graph(trace) == ([0, 5, 7, 0], [(0, 1, 2), (0, 2, 1), (1, 2, 4), (2, 3, 9)])
    assert trace.meta.dropped == {"predecessor listed twice": 1}


def test_a_folder_is_several_jobs() -> None:
    trace = read_stg(FIXTURES)
    assert trace.column("jobs", "original_id").tolist() == ["costs", "pairs", "sample"]
    assert [len(graph(trace, job)[0]) for job in range(3)] == [4, 4, 6]


def test_the_replay_is_the_record() -> None:
    found = replayed(read_stg(FIXTURES / "sample.stg"))
    assert found == {("sample", task): [(0, "CENSORED", 0)] for task in range(6)}


# --- Archives -------------------------------------------------------------------------------------


def tar(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        archive.addfile(tarfile.TarInfo("50"))
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    return out.getvalue()


def test_archives_are_read_where_they_are(tmp_path: Path) -> None:
    text = (FIXTURES / "sample.stg").read_bytes()
    files = {"50/b.stg": text, "50/a.stg": text, "50/readme.txt": b"no graph", "a.stg": text}
    (tmp_path / "one.tar.gz").write_bytes(tar(files))
    with zipfile.ZipFile(tmp_path / "two.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    one, two = read_stg(tmp_path / "one.tar.gz"), read_stg(tmp_path / "two.zip")
    assert one.column("jobs", "original_id").tolist() == ["a", "50/a", "50/b"]
    assert one.content_hash == two.content_hash
    both = read_stg(tmp_path)
    assert both.column("jobs", "original_id").tolist()[:4] == ["a", "50/a", "50/b", "a (2)"]
    assert both.meta.noted == {"graph of the same name as another": 3}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["one.tar.gz", "two.zip"]


@pytest.mark.parametrize("mode", ["w:gz", "w:xz"])
def test_a_huge_member_is_refused_before_it_is_unpacked(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stg, "MOST_BYTES", MOST_BYTES)
    line = b"# nothing but this, again and again, and so on and so forth\n"
    file = tmp_path / "bomb.tar.x"
    file.write_bytes(tar({"g.stg": line * (MOST_BYTES // len(line) + 2)}, mode))
    assert file.stat().st_size < 100_000
    with pytest.raises(TraceError, match=rf"member g\.stg: longer than {MOST_BYTES} bytes"):
        read_stg(file)


@pytest.mark.parametrize("cut", [1, 100, 300])
def test_a_truncated_archive_is_refused(tmp_path: Path, cut: int) -> None:
    whole = tar({"g.stg": (FIXTURES / "sample.stg").read_bytes()}, "w:")
    file = tmp_path / "g.tar"
    file.write_bytes(whole[: 1024 + cut])
    with pytest.raises(TraceError, match=r"g\.tar"):
        read_stg(file)


# --- Errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected the number of tasks"),
        ("x\n", "line 1: number of tasks is 'x'"),
        ("1 2 3\n", "line 1: expected the number of tasks"),
        ("3\n0 0 0\n1 5 1 0\n", "line 1: 3 tasks, expected as many as follow, 2"),
        ("99999999999999\n0 0 0\n", "expected an integer"),
        ("2\n0 0 0\n1 -5 1 0\n", "line 3: processing time is '-5'"),
        ("2\n0 0 0\n1 nan 1 0\n", "line 3: processing time is 'nan'"),
        ("2\n0 0 0\n1 1e9 1 0\n", "line 3: processing time is '1e9'"),
        ("2\n0 0 0\n1 999999999999999 1 0\n", "line 3: processing time is '9+', expected at most"),
        ("2\n0 0 0\n1 5 2 0\n", "line 3: 1 fields for predecessors, expected 2 or twice that"),
        ("2\n0 0 0\n1 5 99999999999\n", "line 3: truncated: expected 99999999999 predecessors"),
        ("2\n0 0 0\n1 5 1\n2 0 0\n", "line 4: expected a predecessor and its communication cost"),
        ("2\n0 0 0\n1 5\n", "line 3: expected a task"),
        ("2\n0 0 0\n0 5 0\n", "line 3: task 0 is there twice"),
        ("2\n0 0 0\n1 5 1 7\n", "line 3: predecessor 7 of task 1 does not exist"),
        ("2\n0 0 1 0\n1 5 0\n", "tasks that wait for each other"),
        ("3\n0 0 1 2\n1 5 1 0\n2 5 1 1\n", "tasks that wait for each other"),
    ],
)
def test_a_malformed_graph_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TraceError, match=rf"g\.stg.*{message}"):
        read_stg(write(tmp_path, text))


@pytest.mark.parametrize("unit", [0, -1, 10**12])
def test_a_unit_out_of_bounds_is_refused(unit: int) -> None:
    with pytest.raises(TraceError, match="unit_ms is"):
        read_stg(FIXTURES, unit_ms=unit)


# --- The real set ---------------------------------------------------------------------------------


def test_the_180_graphs_of_50_tasks() -> None:
    archive = real("stg") / "stg-50.tar.gz"
    trace = read_stg(real("stg"), unit_ms=1)
    assert trace.rows("jobs") == 180
    assert set(trace.column("jobs", "width")) == {52}
    row = {name: at for at, name in enumerate(trace.column("jobs", "original_id").tolist())}
    with tarfile.open(archive) as files:
        for member in files.getmembers():
            content = files.extractfile(member)
            if content is None:
                continue
            text = content.read().decode()
            times, edges = graph(trace, row[member.name.removesuffix(".stg")])
            stated = re.search(r"Edges +: (\d+) / \d+ \(\+dummy edges : (\d+)\)", text)
            assert stated is not None
            assert len(edges) == int(stated[1]) + int(stated[2])
            longest = re.search(r"CP Length +: (\d+)", text)
            assert longest is not None
            assert critical_path(times, edges) == int(longest[1])


def critical_path(times: list[int], edges: list[Edge]) -> int:
    """The longest chain of tasks; predecessors have lower numbers."""
    done = list(times)
    for child in range(len(times)):
        before = [done[parent] for parent, other, _ in edges if other == child]
        done[child] = times[child] + max(before, default=0)
    return max(done)


# --- Random files and damaged ones ----------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[int], list[Edge]]:
    times = draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=12))
    pairs = [(p, c) for c in range(len(times)) for p in range(c)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return times, sorted((p, c, draw(st.integers(0, 99))) for p, c in chosen)


@settings(max_examples=80, deadline=None)
@given(graphs(), st.sampled_from(["none", "beside", "below"]))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[list[int], list[Edge]], costs: str
) -> None:
    times, edges = drawn
    lines = [str(len(times))]
    for task, time in enumerate(times):
        before = [(p, cost) for p, c, cost in edges if c == task]
        beside = [" ".join(map(str, pair)) for pair in before]
        if costs == "none":
            beside = [str(p) for p, _ in before]
        fields = [str(task), str(time), str(len(before))]
        lines.append(" ".join(fields + ([] if costs == "below" else beside)))
        lines += beside if costs == "below" else []
    file = write(tmp_path_factory.mktemp("stg"), "\n".join(lines))
    expected = [(p, c, 0 if costs == "none" else cost) for p, c, cost in edges]
    assert graph(read_stg(file, unit_ms=1)) == (times, expected)


@pytest.mark.parametrize("name", ["sample.stg", "costs.stg", "all.tar"])
def test_damaged_files_are_read_or_refused(tmp_path: Path, name: str) -> None:
    inside = {file.name: file.read_bytes() for file in sorted(FIXTURES.iterdir())}
    text = tar(inside, "w") if name == "all.tar" else inside[name]
    file = tmp_path / name
    for seed in range(150):
        file.write_bytes(mutated(text, np.random.default_rng(seed)))
        assert complaint("stg", file, {}) == "", seed
