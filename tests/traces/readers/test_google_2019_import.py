"""Google's traces of 2019, imported in partitions: the trace is that of the serial reading."""

from __future__ import annotations

import itertools
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from failgym.cli import run
from failgym.files import PARTIAL
from failgym.traces import Trace, TraceError
from failgym.traces.readers.google_2019 import (
    import_google_2019,
    importer,
    joining,
    partitions,
    read_google_2019,
)
from failgym.workers import ALONE, MARK, Workers, each
from tests.traces.readers.test_google_2019 import ENCODINGS, FIXTURES, instances, write
from tests.traces.real_data import REPOSITORY, real

Json = dict[str, Any]


def rows_of_a_cell(seed: int, jobs: int = 40) -> dict[str, list[Json]]:
    """Events of many jobs with parents, alloc sets, names and machines, in no order."""
    draw = random.Random(seed)
    told: list[Json] = []
    events: list[Json] = []
    for job in range(1000, 1000 + jobs):
        begun = draw.choice([0, draw.randrange(10**8)])
        own = {"collection_id": job, "collection_type": int(draw.random() < 0.1)}
        more = {
            "user": draw.choice(["ann", "bob", "ü", None]),
            "collection_logical_name": draw.choice(["x", "y", None]),
            "parent_collection_id": draw.choice([0, draw.randrange(1000, 1000 + jobs)]),
            "alloc_collection_id": draw.choice([0, draw.randrange(1000, 1000 + jobs)]),
            "max_per_machine": draw.choice([None, 1, 2]),
            "priority": draw.choice([0, 103, 200]),
        }
        if draw.random() < 0.9:
            told.append({"time": begun, "type": 0} | own | more)
        if draw.random() < 0.7:
            over = begun + draw.randrange(10**8)
            told.append({"time": over, "type": draw.choice([5, 6, 7])} | own | more)
        for index in range(draw.randrange(6)):
            events += _life(draw, begun, own | {"instance_index": index})
    machines = [
        {"time": when, "machine_id": m, "type": kind, "capacity": {"cpus": 0.5, "memory": 0.25}}
        for m in range(1, 6)
        for when, kind in ((0, 1), (draw.randrange(10**8), 2))
    ]
    events += events[:3]  # told twice
    for rows in (told, events):
        draw.shuffle(rows)
    usage = [_usage(draw, draw.choice(events)) for _ in range(4 * len(events))]
    return {
        "collection_events": told,
        "instance_events": events,
        "machine_events": machines,
        "instance_usage": usage,
    }


def _usage(draw: random.Random, event: Json) -> Json:
    """A record of an instance at about the time of an event; some are impossible, or of nobody."""
    begun = event["time"] + draw.randrange(10**7)
    return {
        "start_time": begun,
        "end_time": begun + draw.choice([-1, 0, 1000, 10**7]),
        "collection_id": event["collection_id"] + draw.choice([0, 0, 0, 5000]),
        "instance_index": event["instance_index"],
        "average_usage": {"cpus": draw.random(), "memory": draw.random()},
        "maximum_usage": {"cpus": draw.random(), "memory": draw.choice([None, draw.random()])},
    }


def _life(draw: random.Random, begun: int, own: Json) -> list[Json]:
    found: list[Json] = []
    now = begun
    for _ in range(draw.randrange(1, 4)):
        for kind in (0, 3, draw.choice([4, 5, 6, 7, 8, 10])):
            row = {"time": now, "type": kind, "machine_id": draw.randrange(1, 9)} | own
            row["resource_request"] = {"cpus": draw.random(), "memory": draw.random()}
            found.append(row)
            now += draw.choice([0, 1, 900, 10**6, 10**7])
    return found


def export(folder: Path, tables: dict[str, list[Json]], shards: int = 3) -> Path:
    """Files of JSON lines, as BigQuery exports them."""
    folder.mkdir(parents=True)
    for name, rows in tables.items():
        for shard in range(shards):
            lines = "".join(json.dumps(row) + "\n" for row in rows[shard::shards])
            (folder / f"{name}-{shard:012d}.json").write_text(lines)
    return folder


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows and tasks at a time, so that there are many times."""
    monkeypatch.setattr(partitions, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(joining, "RANGE_ROWS", 20)


def check_equal(source: Path, out: Path, **options: Any) -> Trace:
    """The imported trace is the one that is read at once, and nothing is left beside it."""
    meta = import_google_2019(source, out, **options)
    whole, made = read_google_2019(source), Trace.load(out)
    assert made.content_hash == whole.content_hash
    assert made.meta == whole.meta == meta
    assert [path for path in out.parent.iterdir() if path.name.startswith(".")] == []
    return made


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("count", [1, 2, 7, 60])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_fixture_is_the_same_in_however_many_parts(
    tmp_path: Path, encoding: str, count: int
) -> None:
    check_equal(FIXTURES / encoding, tmp_path / "t", partitions=count)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(6))
def test_a_cell_is_the_same_in_however_many_parts(tmp_path: Path, seed: int) -> None:
    source = export(tmp_path / "cell", rows_of_a_cell(seed))
    made = check_equal(source, tmp_path / "t", partitions=1 + 3 * seed)
    assert made.rows("tasks") > joining.RANGE_ROWS
    assert len(set(made.column("attempts", "cause").tolist())) > 3
    assert made.rows("windows") > 20
    check_usage(made, source)


def check_usage(made: Trace, source: Path) -> None:
    """Windows, counted anew from the rows: each record is of the attempt that ran at its middle."""
    ids = made.column("jobs", "original_id")[made.column("tasks", "job")].tolist()
    index = made.column("tasks", "index").tolist()
    times = [made.column("attempts", name).tolist() for name in ("task", "start", "end")]
    runs: dict[tuple[str, int], list[tuple[int, int, int]]] = {}
    for row, (task, start, end) in enumerate(zip(*times, strict=True)):
        if start >= 0:
            runs.setdefault((ids[task], index[task]), []).append((start, end, row))
    expected: list[tuple[int, int]] = []
    dropped = impossible = 0
    for file in sorted(source.glob("instance_usage-*")):
        for line in file.read_text().splitlines():
            record = json.loads(line)
            begun, over = record["start_time"], record["end_time"]
            middle = (begun + (over - begun) // 2) // 1000
            own = runs.get((str(record["collection_id"]), record["instance_index"]), [])
            before = [run for run in own if run[0] <= middle]
            if over < begun:
                impossible += 1
            elif before and max(before)[1] >= middle:
                start, _, row = max(before)
                expected.append((row, max(begun // 1000 - start, 0)))
            else:
                dropped += 1
    found = [made.column("windows", name).tolist() for name in ("attempt", "offset")]
    assert list(zip(*found, strict=True)) == sorted(expected)
    assert made.meta.dropped["usage of no known attempt"] == dropped
    assert made.meta.dropped["usage that ends before it begins"] == impossible


@given(instances(), st.sampled_from(ENCODINGS), st.integers(1, 4))
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])
def test_random_instances_are_the_same_in_parts(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Json], encoding: str, count: int
) -> None:
    if any(int(row["type"]) < 9 for row in rows):
        folder = tmp_path_factory.mktemp("google")
        check_equal(write(folder, encoding, rows), folder / "t", partitions=count)


def test_two_processes_make_the_same_trace(tmp_path: Path) -> None:
    source = export(tmp_path / "cell", rows_of_a_cell(1))
    check_equal(source, tmp_path / "t", partitions=3, workers=Workers(2))


def test_the_command_reads_on_several_processes(tmp_path: Path, capsys: Any) -> None:
    source = export(tmp_path / "cell", rows_of_a_cell(2))
    out = tmp_path / "t"
    command = ["trace", "import", "google-2019", str(source), "--out", str(out)]
    assert run([*command, "--workers", "2"]) == 0
    assert f"content {read_google_2019(source).content_hash}" in capsys.readouterr().out
    assert run([*command, "--workers", "0"]) == 2
    assert "--workers: expected a number, 1 to 1024, or ray, got 0" in capsys.readouterr().err
    swf = ["trace", "import", "swf", "log.swf", "--out", str(tmp_path / "s"), "--workers", "2"]
    assert run(swf) == 2
    assert "swf is read by one process, only google-2019 by several" in capsys.readouterr().err


def test_sources_without_instances_are_read_at_once(tmp_path: Path) -> None:
    tables = rows_of_a_cell(3)
    for name in ("machine_events", "collection_events"):
        source = export(tmp_path / name, {name: tables[name]})
        check_equal(source, tmp_path / f"{name}-trace")


def test_instances_of_alloc_sets_alone_leave_the_machines(tmp_path: Path) -> None:
    tables = rows_of_a_cell(4)
    for row in (*tables["instance_events"], *tables["collection_events"]):
        row["collection_type"] = 1
    made = check_equal(export(tmp_path / "cell", tables), tmp_path / "t", partitions=3)
    assert (made.rows("jobs"), made.rows("machines")) == (0, 5)


def counting(done: list[Any], stop: int) -> Callable[..., list[Any]]:
    """Does steps one by one, and is interrupted after some."""

    def counted(work: Any, items: Sequence[Any], *others: Any, **more: Any) -> list[Any]:
        def stopped(item: Any) -> Any:
            if len(done) == stop:
                raise KeyboardInterrupt
            done.append(item)
            return work(item)

        return each(stopped, items, *others, **more)

    return counted


def test_an_import_goes_on_after_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = export(tmp_path / "cell", rows_of_a_cell(5)), tmp_path / "t"
    read = list[str]()
    real_chunks = partitions.read_chunks

    def noted(file: Path, *arguments: Any) -> Any:
        read.append(file.name)
        return real_chunks(file, *arguments)

    monkeypatch.setattr(partitions, "read_chunks", noted)
    done = list[Any]()
    for stop in itertools.count():
        done.clear()
        monkeypatch.setattr(importer, "each", counting(done, stop))
        try:
            import_google_2019(source, out, partitions=4)
            break
        except KeyboardInterrupt:
            assert not out.exists()
    assert len(done) == 9 + 4, "steps: files, then partitions"
    assert sorted(read) == sorted(set(read)), "no file was read twice"
    assert Trace.load(out).content_hash == read_google_2019(source).content_hash


def test_what_was_kept_of_other_files_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = export(tmp_path / "cell", rows_of_a_cell(6)), tmp_path / "t"
    with monkeypatch.context() as patched:
        patched.setattr(importer, "each", counting([], 11))
        with pytest.raises(KeyboardInterrupt):
            import_google_2019(source, out, partitions=4)
    file = source / "instance_events-000000000001.json"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-5]))
    check_equal(source, out, partitions=4)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("table", ["instance_events", "collection_events", "instance_usage"])
@pytest.mark.parametrize("count", [1, 3])
def test_a_file_without_a_complete_row_is_counted(tmp_path: Path, table: str, count: int) -> None:
    tables = rows_of_a_cell(9)
    source = export(tmp_path / "cell", tables)
    rows = [{k: of for k, of in row.items() if k != "collection_id"} for row in tables[table]]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (source / f"{table}-000000000009.json").write_text(lines)
    made = check_equal(source, tmp_path / "t", partitions=count)
    what = table.replace("_", " ").removesuffix("s")
    assert made.meta.dropped[f"{what} without a time, a type or an id"] == len(rows)


def test_a_trace_without_a_complete_row_is_refused_as_in_memory(tmp_path: Path) -> None:
    row = {"time": 1, "type": 0, "instance_index": 0}
    source = export(tmp_path / "cell", {"instance_events": [row] * 9})
    said = "no event that can be used"
    with pytest.raises(TraceError, match=said):
        read_google_2019(source)
    with pytest.raises(TraceError, match=said):
        import_google_2019(source, tmp_path / "t", partitions=3)


def test_what_fetch_writes_into_a_tables_folder_is_passed_over(tmp_path: Path) -> None:
    source = export(tmp_path / "cell", rows_of_a_cell(10))
    usage = source / "instance_usage"
    usage.mkdir()
    for file in source.glob("instance_usage-*"):
        file.rename(usage / file.name)
    whole = read_google_2019(source)
    for folder in (source, usage):
        (folder / "SHA256SUMS").write_text(f"{'0' * 64}  x\n")
        (folder / "SOURCE.txt").write_text("x: y\n")
    assert check_equal(source, tmp_path / "t").content_hash == whole.content_hash


@pytest.mark.parametrize("beside", [[], ["machine_events"], ["collection_events"]])
def test_usage_without_instances_is_refused_before_it_is_read(
    tmp_path: Path, beside: list[str]
) -> None:
    tables = rows_of_a_cell(11)
    source = export(tmp_path / "cell", {name: tables[name] for name in beside})
    (source / "instance_usage-000000000000.json").write_text("not read: it may be a terabyte")
    said = r"instance_usage-0{12}\.json: usage of unknown instances: expected files of instance_ev"
    with pytest.raises(TraceError, match=said):
        read_google_2019(source)
    with pytest.raises(TraceError, match=said):
        import_google_2019(source, tmp_path / "t")
    assert [path.name for path in tmp_path.iterdir()] == ["cell"]


def test_the_docs_say_up_to_where_the_rate_holds() -> None:
    text = (REPOSITORY / "docs" / "results" / "speed.md").read_text("utf-8")
    most = importer.MOST_PARTITIONS * importer.PARTITION_BYTES
    packed = most / importer.UNPACKED[".gz"]
    assert f"up to {importer.MOST_PARTITIONS:,} partitions" in text
    assert f"{most / 1e12:.1f} TB of text, or {packed / 1e9:.0f} GB packed" in text


KILLED = """
import sys
from pathlib import Path
from failgym.traces.readers.google_2019 import import_google_2019, importer
from failgym.workers import each
def watched(work, items, *others, **more):
    def slow(item):
        made = work(item)
        print(item, flush=True)
        sys.stdin.readline()
        return made
    return each(slow, items, *others, **more)
importer.each = watched
import_google_2019(Path(sys.argv[1]), Path(sys.argv[2]), partitions=3)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_a_killed_import_goes_on(tmp_path: Path) -> None:
    source, out = export(tmp_path / "cell", rows_of_a_cell(7)), tmp_path / "t"
    command = [sys.executable, "-c", KILLED, str(source), str(out)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=REPOSITORY
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for _ in range(10):  # nine files, one partition
        process.stdout.readline()
        process.stdin.write(b"\n")
        process.stdin.flush()
    process.stdout.readline()
    process.kill()
    process.communicate()
    kept = sorted(path.name for path in (tmp_path / ".t.import-google-2019").glob("*.json"))
    assert [name for name in kept if name.startswith("part-")] == ["part-0.json", "part-1.json"]
    begun = time.time()
    check_equal(source, out, partitions=3)
    assert (out / "meta.json").stat().st_mtime >= begun - 60


def test_what_killed_commands_left_stops_no_import(tmp_path: Path) -> None:
    """The mark of a command on a cluster, and a file that was being written."""
    source, out = export(tmp_path / "cell", rows_of_a_cell(7)), tmp_path / "t"
    kept = tmp_path / ".t.import-google-2019"
    kept.mkdir()
    for pattern in (MARK, PARTIAL):
        (kept / pattern.replace("*", "0123456789abcdef")).write_text("left")
    check_equal(source, out, partitions=3)


@pytest.mark.parametrize("workers", [ALONE, Workers(2)], ids=str)
def test_a_disk_that_fails_costs_nothing_that_was_kept(tmp_path: Path, workers: Workers) -> None:
    source, out = export(tmp_path / "cell", rows_of_a_cell(7)), tmp_path / "t"
    bad = source / "instance_usage-000000000002.json"

    @contextmanager
    def fails_meanwhile(*_: Any) -> Generator[Callable[[int], None]]:
        bad.unlink()
        bad.symlink_to(bad.name)  # the system follows it nowhere
        yield lambda _: None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importer, "reading", fails_meanwhile)
        with pytest.raises(TraceError, match=r"000002\.json: cannot be read: Too many levels"):
            import_google_2019(source, out, partitions=3, workers=workers)
    assert len(list((tmp_path / ".t.import-google-2019").glob("split-*.json"))) > 3


def test_what_is_wrong_is_a_line_and_leaves_nothing(tmp_path: Path) -> None:
    source, out = export(tmp_path / "cell", rows_of_a_cell(8)), tmp_path / "t"
    with (source / "instance_events-000000000002.json").open("a") as file:
        file.write('{"time": "x", "type": 0, "collection_id": 1, "instance_index": 0}\n')
    with pytest.raises(TraceError, match=r"instance_events-000000000002\.json, line \d+.*time"):
        import_google_2019(source, out, partitions=2)
    assert [path.name for path in tmp_path.iterdir()] == ["cell"]


def test_the_real_machine_events_are_read_at_once(tmp_path: Path) -> None:
    check_equal(real("google-2019"), tmp_path / "t")
