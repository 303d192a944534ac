"""Traces on disk: whole or not at all, and unchanged or refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from failgym.traces import Trace, TraceError, check_destination, store
from failgym.traces.content import file_hash, table_hash
from failgym.traces.schema import TABLES, make_table
from failgym.traces.store import overview, writing
from tests.traces.traces import META, make


def test_a_saved_trace_is_loaded_as_it_was(tmp_path: Path) -> None:
    make().save(tmp_path / "deep" / "t")
    loaded = Trace.load(tmp_path / "deep" / "t")
    assert loaded.content_hash == make().content_hash
    assert loaded.meta == META
    assert all(loaded.table(name).equals(make().table(name)) for name in TABLES)
    assert sorted(file.name for file in (tmp_path / "deep").iterdir()) == ["t"]


def test_the_hash_does_not_depend_on_the_encoding(tmp_path: Path) -> None:
    whole = make()
    pieces = {
        name: pa.concat_tables([whole.table(name).slice(n, 1) for n in range(whole.rows(name))])
        for name in TABLES
    }
    assert Trace(META, **pieces).content_hash == whole.content_hash
    sliced = make_table(
        "jobs",
        {"original_id": ["x", "yy"], "submit": 0, "width": 0, "outcome": 0},
    )
    again = make_table("jobs", {"original_id": ["yy"], "submit": 0, "width": 0, "outcome": 0})
    assert store.table_hash("jobs", sliced.slice(1)) == store.table_hash("jobs", again)


def test_the_hash_tells_missing_from_zero_and_texts_apart() -> None:
    assert make(tasks={"cpu": [0.5, 0.0, 0.25, 1.0]}).content_hash != make().content_hash
    assert make(jobs={"user": ["eve", "", ""]}).content_hash != make().content_hash
    left = make(jobs={"user": ["ab", "c", None]}).content_hash
    assert left != make(jobs={"user": ["a", "bc", None]}).content_hash


def test_a_column_that_came_later_may_miss(tmp_path: Path) -> None:
    """A trace that was stored before there were requests of graphics processors."""
    trace = make()
    trace.save(tmp_path / "t")
    file = tmp_path / "t" / "tasks.parquet"
    table = pq.read_table(file)
    pq.write_table(table.drop_columns(["gpu"]), file)
    older = Trace.load(tmp_path / "t")
    assert older.content_hash == trace.content_hash
    assert older.table("tasks").equals(trace.table("tasks"))
    assert file_hash("tasks", file) == table_hash("tasks", trace.table("tasks"))
    pq.write_table(table.drop_columns(["cpu"]), file)
    with pytest.raises(TraceError, match=r"tasks\.parquet: the table's columns are not those"):
        Trace.load(tmp_path / "t")


def test_what_a_column_that_came_later_holds_is_hashed(tmp_path: Path) -> None:
    some = make(tasks={"gpu": [None, 0, 2, 0.5]})
    others = [make(), make(tasks={"gpu": [0, 0, 2, 0.5]}), make(tasks={"gpu": 0})]
    assert len({trace.content_hash for trace in (some, *others)}) == 4
    some.save(tmp_path / "t")
    assert Trace.load(tmp_path / "t").content_hash == some.content_hash
    for gpus in (-1, 1e9, np.inf):
        with pytest.raises(TraceError, match=r"table tasks, row 0: column 'gpu' is .* expected at"):
            make(tasks={"gpu": gpus})


def test_a_trace_replaces_an_older_one(tmp_path: Path) -> None:
    make().save(tmp_path / "t")
    changed = make(jobs={"user": None})
    changed.save(tmp_path / "t")
    assert Trace.load(tmp_path / "t").content_hash == changed.content_hash
    assert [file.name for file in tmp_path.iterdir()] == ["t"]


def test_an_empty_folder_may_become_a_trace(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    make().save(tmp_path / "t")
    Trace.load(tmp_path / "t")


def test_what_is_no_trace_is_not_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "work.txt").write_text("hours")
    with pytest.raises(TraceError, match="not a saved trace: not overwritten"):
        make().save(folder)
    with pytest.raises(TraceError, match="not a folder: not overwritten"):
        make().save(folder / "work.txt")
    assert (folder / "work.txt").read_text() == "hours"


@pytest.mark.parametrize(
    "meta", ["{}", '{"format": "other", "version": 1}', "not JSON", "[" * 100_000, None]
)
def test_a_folder_with_another_meta_file_is_not_overwritten(
    tmp_path: Path, meta: str | None
) -> None:
    folder = tmp_path / "version 2"  # the name is no reason to delete it
    make().save(folder)
    if meta is None:
        (folder / "meta.json").unlink()
    else:
        (folder / "meta.json").write_text(meta)
    before = sorted(folder.iterdir())
    for refused in (lambda: check_destination(folder), lambda: make().save(folder)):
        with pytest.raises(TraceError, match="exists and is not a saved trace: not overwritten"):
            refused()
    assert sorted(folder.iterdir()) == before


def test_a_trace_with_other_files_beside_it_is_not_overwritten(tmp_path: Path) -> None:
    make().save(tmp_path / "t")
    check_destination(tmp_path / "t")
    (tmp_path / "t" / "results.parquet").write_text("hours")
    with pytest.raises(TraceError, match="not a saved trace: not overwritten"):
        make().save(tmp_path / "t")
    assert (tmp_path / "t" / "results.parquet").read_text() == "hours"


def test_a_link_is_not_overwritten(tmp_path: Path) -> None:
    make().save(tmp_path / "t")
    (tmp_path / "link").symlink_to(tmp_path / "t")
    with pytest.raises(TraceError, match="link: is a symbolic link: not overwritten"):
        make().save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert Trace.load(tmp_path / "link").content_hash == make().content_hash


def test_a_trace_without_a_hash_of_its_meta_data_is_refused(tmp_path: Path) -> None:
    make().save(tmp_path / "t")
    file = tmp_path / "t" / "meta.json"
    document = json.loads(file.read_text())
    del document["meta_hash"]
    file.write_text(json.dumps(document))
    with pytest.raises(TraceError, match="meta_hash is missing"):
        Trace.load(tmp_path / "t")


def test_a_trace_of_another_version_may_be_replaced(tmp_path: Path) -> None:
    make().save(tmp_path / "t")
    edit_meta(tmp_path / "t", version=0)
    make().save(tmp_path / "t")
    Trace.load(tmp_path / "t")


def test_an_unwritable_place_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError, match="cannot be written"):
        make().save(tmp_path / "file" / "t")


def edit_meta(folder: Path, **changes: object) -> None:
    file = folder / "meta.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 1}, "trace format version is 1, expected 2"),
        ({"format": "other"}, "format is 'other', expected 'failgym-trace'"),
        ({"table_hashes": None}, "table_hashes and content_hash are missing"),
        ({"content_hash": "0"}, "content_hash does not match"),
        ({"meta_hash": "0"}, "does not match its meta_hash: it was changed"),
        ({"end": 1}, "does not match its meta_hash: it was changed"),
        ({"source": "elsewhere"}, "does not match its meta_hash: it was changed"),
        ({"dropped": {}}, "does not match its meta_hash: it was changed"),
        ({"more": "keys"}, "does not match its meta_hash: it was changed"),
        ({"dropped": [1]}, "dropped is"),
        ({"dropped": {"x": "many"}}, "counts must be integers"),
        ({"source": None}, "source is None, expected a text"),
        ({"end": "late"}, "end is 'late', expected milliseconds"),
    ],
)
def test_a_strange_meta_file_is_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    make().save(tmp_path / "t")
    edit_meta(tmp_path / "t", **changes)
    with pytest.raises(TraceError, match=message) as caught:
        Trace.load(tmp_path / "t")
    assert "\n" not in str(caught.value)


def test_a_broken_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    with pytest.raises(TraceError, match="t: no such folder"):
        Trace.load(folder)
    make().save(folder)
    meta = (folder / "meta.json").read_text()
    (folder / "meta.json").write_text(meta[:50])
    with pytest.raises(TraceError, match=r"meta\.json: not readable as JSON"):
        Trace.load(folder)
    (folder / "meta.json").write_text("[]")
    with pytest.raises(TraceError, match="expected a JSON object"):
        Trace.load(folder)
    (folder / "meta.json").unlink()
    with pytest.raises(TraceError, match=r"not a saved trace: meta\.json is missing"):
        Trace.load(folder)
    (folder / "meta.json").write_text(meta)
    (folder / "tasks.parquet").write_bytes(b"PAR1 not a table")
    with pytest.raises(TraceError, match=r"tasks\.parquet: not readable as Parquet") as caught:
        Trace.load(folder)
    assert "\n" not in str(caught.value)
    (folder / "tasks.parquet").unlink()
    with pytest.raises(TraceError, match=r"tasks\.parquet: missing"):
        Trace.load(folder)


def test_a_changed_table_is_refused(tmp_path: Path) -> None:
    make().save(tmp_path / "t")
    other = make(attempts={"end": [60, 200, 301, 700, 450, 2000]})
    pq.write_table(other.attempts, tmp_path / "t" / "attempts.parquet")
    with pytest.raises(TraceError, match=r"attempts\.parquet: .* was changed after it was saved"):
        Trace.load(tmp_path / "t")
    pq.write_table(pa.table({"task": [1]}), tmp_path / "t" / "attempts.parquet")
    with pytest.raises(TraceError, match="columns are not those of format version 2"):
        Trace.load(tmp_path / "t")


def test_a_save_that_fails_leaves_the_older_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make().save(tmp_path / "t")
    rename, calls = Path.rename, [0]

    def failing(self: Path, target: Path) -> Path:
        calls[0] += 1
        if calls[0] == 2:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(TraceError, match="cannot be written: No space left"):
        make(jobs={"user": None}).save(tmp_path / "t")
    assert Trace.load(tmp_path / "t").content_hash == make().content_hash
    assert [file.name for file in tmp_path.iterdir()] == ["t"]


SAVE_SLOWLY = """
import sys, time
import pyarrow.parquet as pq
from failgym.traces import Meta, Trace
write = pq.ParquetWriter.write_table
def slow(*args, **kwargs):
    write(*args, **kwargs)
    print("written", flush=True)
    time.sleep(60)
pq.ParquetWriter.write_table = slow
Trace(Meta("new")).save(sys.argv[1])
"""


@pytest.mark.parametrize("older", [False, True])
def test_a_killed_save_leaves_nothing_that_loads_as_whole(tmp_path: Path, older: bool) -> None:
    folder = tmp_path / "t"
    if older:
        make().save(folder)
    command = [sys.executable, "-c", SAVE_SLOWLY, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
    for left in tmp_path.iterdir():
        if left != folder:
            with pytest.raises(TraceError, match="not a saved trace"):
                Trace.load(left)
    assert folder.exists() == older
    if older:
        assert Trace.load(folder).content_hash == make().content_hash


@pytest.fixture
def dead() -> int:
    """The number of a process that is over."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def test_a_trace_that_a_killed_save_moved_away_is_named_and_put_back(
    tmp_path: Path, dead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, away = tmp_path / "t", tmp_path / f".t.replaced-{dead}"
    make().save(folder)
    folder.rename(away)
    with pytest.raises(TraceError, match=rf"no such folder: .*it would have replaced is {away}"):
        Trace.load(folder)
    monkeypatch.setattr(store, "_swap", no_space)
    with pytest.raises(TraceError, match="No space left"):
        make(jobs={"user": None}).save(folder)
    assert Trace.load(folder).content_hash == make().content_hash


def no_space(*_: Path) -> None:
    raise OSError(28, "No space left on device")


def test_a_number_that_was_given_again_does_not_lose_the_older_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "t"
    make().save(folder)
    folder.rename(tmp_path / f".t.replaced-{os.getpid()}")
    monkeypatch.setattr(store, "_swap", no_space)
    with pytest.raises(TraceError, match="No space left"):
        make(jobs={"user": None}).save(folder)
    assert Trace.load(folder).content_hash == make().content_hash


def test_the_next_save_removes_what_killed_ones_left(tmp_path: Path, dead: int) -> None:
    make().save(tmp_path / "t")
    make().save(tmp_path / f".t.replaced-{dead}")
    (tmp_path / f".t.partial-{dead}").mkdir()
    kept = [
        f".t.partial-{os.getppid()}",
        ".t.partial-notes",
        f".t.replaced-{dead}0x",
        ".u.partial-1",
    ]
    for name in kept:
        (tmp_path / name).mkdir()
    changed = make(jobs={"user": None})
    changed.save(tmp_path / "t")
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([*kept, "t"])
    assert Trace.load(tmp_path / "t").content_hash == changed.content_hash


def test_an_older_trace_that_a_killed_save_half_removed_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make().save(tmp_path / "t")

    def killed(folder: Path, **_: object) -> None:
        (folder / "meta.json").unlink(missing_ok=True)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        make(jobs={"user": None}).save(tmp_path / "t")
    assert len(list(tmp_path.iterdir())) == 2
    make().save(tmp_path / "t")
    assert [file.name for file in tmp_path.iterdir()] == ["t"]


def test_an_interruption_right_after_the_swap_is_no_error_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make().save(tmp_path / "t")
    rename, newer = Path.rename, make(jobs={"user": None})

    def interrupted(self: Path, target: Path) -> Path:
        renamed = rename(self, target)
        if ".partial-" in self.name:
            raise KeyboardInterrupt
        return renamed

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            newer.save(tmp_path / "t")
    assert Trace.load(tmp_path / "t").content_hash == newer.content_hash
    newer.save(tmp_path / "t")
    assert [file.name for file in tmp_path.iterdir()] == ["t"]


def test_what_came_to_the_older_trace_meanwhile_is_kept(tmp_path: Path) -> None:
    make().save(tmp_path / "t")

    def save() -> None:
        with writing(tmp_path / "t") as writer:
            writer.finish(META)
            (tmp_path / "t" / "results.txt").write_text("hours")

    with pytest.raises(TraceError, match="not a saved trace: not overwritten"):
        save()
    assert (tmp_path / "t" / "results.txt").read_text() == "hours"
    assert [file.name for file in tmp_path.iterdir()] == ["t"]


def test_a_trace_written_in_pieces_is_the_same(tmp_path: Path) -> None:
    whole = make()
    whole.save(tmp_path / "whole")
    with store.writing(tmp_path / "pieces") as writer:
        for name in reversed(TABLES):
            for row in range(whole.rows(name)):
                writer.append(name, whole.table(name).slice(row, 1))
        writer.finish(META)
    meta = [(tmp_path / name / "meta.json").read_text() for name in ("whole", "pieces")]
    assert meta[0] == meta[1]
    assert Trace.load(tmp_path / "pieces").content_hash == whole.content_hash


def test_a_table_without_statistics_has_the_same_hash(tmp_path: Path) -> None:
    for name in TABLES:
        table = make().table(name)
        pq.write_table(table, tmp_path / name, write_statistics=False, row_group_size=3)
        assert file_hash(name, tmp_path / name) == store.table_hash(name, table)


def test_a_trace_that_breaks_off_is_not_there(tmp_path: Path) -> None:
    def break_off() -> None:
        with store.writing(tmp_path / "t") as writer:
            writer.append("jobs", make().jobs)
            raise TraceError("no more")

    with pytest.raises(TraceError, match="no more"):
        break_off()
    assert list(tmp_path.iterdir()) == []


def test_an_overview_is_that_of_the_trace(tmp_path: Path) -> None:
    trace = make()
    trace.save(tmp_path / "t")
    seen = overview(tmp_path / "t")
    assert (seen.meta, seen.content_hash) == (trace.meta, trace.content_hash)
    assert seen.rows == {name: trace.rows(name) for name in TABLES}
    (tmp_path / "t" / "jobs.parquet").write_bytes(b"PAR1")
    with pytest.raises(TraceError, match=r"jobs\.parquet: not readable as Parquet"):
        overview(tmp_path / "t")
    with pytest.raises(TraceError, match="no such folder"):
        overview(tmp_path / "missing")
