"""The import of Google's trace of 2011 in bounded memory: as the reader reads it, killed or not."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from failgym.traces import Trace, TraceError, read_google_2011
from failgym.traces.readers.google_2011 import events as google_2011_events
from failgym.traces.readers.google_2011 import import_google_2011, parts, runs
from tests.traces.readers.google_2011.nasty import job_row, task_row, write_nasty, write_part
from tests.traces.readers.google_2011.test_random import random_rows

WORK = ".t.import-google-2011"


def write_machines_and_usage(folder: Path, *, seed: int = 0) -> Path:
    """The nasty trace with machine events, and usage of its tasks in several parts."""
    write_nasty(folder)
    write_part(
        folder / "machine_events",
        0,
        ["0,71,0,p,0.5,0.25", "0,72,0,p,1,", "600000000,72,1,p,1,0.5", "610000000,72,0,p,1,0.5"],
    )
    rng = np.random.default_rng(seed)
    for number in range(3):
        rows: list[str] = []
        for _ in range(60):
            begin = int(rng.integers(599_000_000, 702_000_000))
            end = begin + int(rng.integers(0, 3_000_000))
            job, index = int(rng.integers(10, 21)), int(rng.choice([0, 0, 2]))
            rows.append(
                f"{begin},{end},{job},{index},71,0.1,0.2,,,,{rng.random():.3f},0.4,,,,,,,1,"
            )
        write_part(folder / "task_usage", number, rows)
    return folder


def same(trace: Path, other: Path) -> bool:
    """Whether two saved traces have the same content and meta data."""
    return json.loads((trace / "meta.json").read_text()) == json.loads(
        (other / "meta.json").read_text()
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_machines_and_usage(tmp_path / "source")


@pytest.fixture
def expected(source: Path, tmp_path: Path) -> Path:
    """The trace as the reader reads it."""
    read_google_2011(source).save(tmp_path / "expected")
    return tmp_path / "expected"


def test_an_import_is_what_the_reader_reads(tmp_path: Path, source: Path, expected: Path) -> None:
    meta = import_google_2011(source, tmp_path / "deep" / "t")
    assert same(tmp_path / "deep" / "t", expected)
    loaded = Trace.load(tmp_path / "deep" / "t")
    assert loaded.meta == meta
    assert loaded.rows("windows") > 20
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["t"]


@pytest.mark.parametrize(("block", "batch", "rows"), [(100, 1, 1), (300, 3, 7), (1 << 24, 2, 20)])
def test_neither_blocks_nor_batches_nor_ranges_show(
    tmp_path: Path,
    source: Path,
    expected: Path,
    monkeypatch: pytest.MonkeyPatch,
    block: int,
    batch: int,
    rows: int,
) -> None:
    monkeypatch.setattr(parts, "BLOCK_BYTES", block)
    monkeypatch.setattr(runs, "BATCH_ROWS", batch)
    monkeypatch.setattr(runs, "RANGE_ROWS", rows)
    import_google_2011(source, tmp_path / "t")
    assert same(tmp_path / "t", expected)
    assert read_google_2011(source).content_hash == Trace.load(expected).content_hash


def test_random_traces_are_the_same_whatever_the_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    for case in range(4):
        rows = [*random_rows(rng, legal_start=False), task_row("90000000000", "9", "9", "-", "0")]
        if case % 2:  # out of order, as no published file is
            rng.shuffle(rows)
        cuts = sorted(rng.integers(0, len(rows) + 1, size=2).tolist())
        folder = tmp_path / str(case)
        write_part(folder / "job_events", 0, [job_row("0", "1", "0")])
        for number, piece in enumerate(np.split(np.array(rows), cuts), start=1):
            write_part(folder / "task_events", number, [str(row) for row in piece])
        whole = read_google_2011(folder)
        for block, size in ((1, 1), (500, 5)):
            monkeypatch.setattr(parts, "BLOCK_BYTES", block)
            monkeypatch.setattr(runs, "BATCH_ROWS", size)
            monkeypatch.setattr(runs, "RANGE_ROWS", 2 * size)
            import_google_2011(folder, tmp_path / f"t{case}")
            loaded = Trace.load(tmp_path / f"t{case}")
            assert loaded.content_hash == whole.content_hash
            assert loaded.meta == whole.meta
            monkeypatch.undo()


KILL_ITSELF = """
import os, signal, sys
from pathlib import Path
from failgym.traces.readers.google_2011 import import_google_2011
left = int(sys.argv[3])
def fatal(call):
    def counted(*args, **kwargs):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args, **kwargs)
    return counted
os.replace, os.fsync = fatal(os.replace), fatal(os.fsync)
Path.replace, Path.rename = fatal(Path.replace), fatal(Path.rename)
import_google_2011(Path(sys.argv[1]), Path(sys.argv[2]))
"""
"""An import that is killed before its n-th change of the disk that matters."""


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_a_killed_import_goes_on_with_the_same_result(
    tmp_path: Path, source: Path, expected: Path
) -> None:
    out = tmp_path / "t"
    for changes in (0, 3, 8, 19):
        command = [sys.executable, "-c", KILL_ITSELF, str(source), str(out), str(changes)]
        status = subprocess.run(command, check=False).returncode
        assert status == -signal.SIGKILL or out.exists()
        if status == -signal.SIGKILL:
            assert not out.exists()
        else:
            break
    import_google_2011(source, out)
    assert same(out, expected)
    left = sorted(file.name for file in tmp_path.iterdir())
    assert left == ["expected", "source", "t"]


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_an_import_killed_at_any_time_goes_on(tmp_path: Path, source: Path, expected: Path) -> None:
    out, command = tmp_path / "t", "from pathlib import Path; import sys;"
    command += "from failgym.traces.readers.google_2011.reader import import_google_2011;"
    command += "print(flush=True); import_google_2011(Path(sys.argv[1]), Path(sys.argv[2]))"
    rng = random.Random(3)
    for _ in range(3):
        arguments = [sys.executable, "-c", command, str(source), str(out)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()  # everything is imported
            time.sleep(rng.uniform(0.02, 0.3))
            process.kill()
    import_google_2011(source, out)
    assert same(out, expected)


class Stop(Exception):
    """Something that no import expects."""


def interrupt(monkeypatch: pytest.MonkeyPatch, *, after: int) -> None:
    """Stop the import after so many parts of the task events."""
    checkpoint, done = google_2011_events._checkpoint, [0]  # pyright: ignore[reportPrivateUsage]

    def counted(*args: object, **kwargs: object) -> None:
        checkpoint(*args, **kwargs)  # type: ignore[arg-type]
        done[0] += 1
        if done[0] == after:
            raise Stop

    monkeypatch.setattr(google_2011_events, "_checkpoint", counted)


def count_parts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the parts of the task events that are read from now on."""
    read, seen = google_2011_events.read_part, list[str]()

    def recorded(part: parts.Part, *rest: object) -> object:
        seen.append(part.file.name[:10])
        return read(part, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(google_2011_events, "read_part", recorded)
    return seen


def test_parts_that_are_done_are_not_read_again(
    tmp_path: Path, source: Path, expected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        interrupt(patch, after=2)
        with pytest.raises(Stop):
            import_google_2011(source, tmp_path / "t")
    assert (tmp_path / WORK).is_dir()
    assert not (tmp_path / "t").exists()
    seen = count_parts(monkeypatch)
    import_google_2011(source, tmp_path / "t")
    assert seen == ["part-00003"]
    assert same(tmp_path / "t", expected)
    assert not (tmp_path / WORK).exists()


@pytest.mark.parametrize(
    "change", ["source", "unseen", "version", "nested", "checkpoint", "run", "byte"]
)
def test_what_does_not_belong_to_the_source_is_not_used(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    with monkeypatch.context() as patch:
        interrupt(patch, after=2)
        with pytest.raises(Stop):
            import_google_2011(source, tmp_path / "t")
    work = tmp_path / WORK
    if change == "source":
        write_part(source / "task_events", 3, [task_row("900000000", "50", "0", "-", "0")])
    elif change == "unseen":  # as long as it was, and its time of change set back
        (file,) = (source / "machine_events").iterdir()
        before, content = file.stat(), gzip.decompress(file.read_bytes())
        file.write_bytes(gzip.compress(content.replace(b"0.25", b"0.75")))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert file.stat().st_size == before.st_size
    elif change == "version":
        noted = json.loads((work / "source.json").read_text())
        (work / "source.json").write_text(json.dumps({**noted, "version": 0}))
    elif change == "nested":
        (work / "source.json").write_text("[" * 100_000)
    elif change == "byte":
        content = bytearray((work / "tasks-00001.arrow").read_bytes())
        content[1507] ^= 4  # of a record
        (work / "tasks-00001.arrow").write_bytes(content)
    else:
        file = next(work.glob("checkpoint*" if change == "checkpoint" else "tasks-00001*"))
        file.write_bytes(file.read_bytes()[:-100])
    seen = count_parts(monkeypatch)
    import_google_2011(source, tmp_path / "t")
    assert seen == ["part-00000", "part-00001", "part-00003"]
    read_google_2011(source).save(tmp_path / "again")
    assert same(tmp_path / "t", tmp_path / "again")


def test_a_part_that_is_no_trace_leaves_nothing(tmp_path: Path, source: Path) -> None:
    write_part(source / "task_events", 4, ["1,2,3"])
    with pytest.raises(TraceError, match=r"part-00004-of-00500\.csv\.gz, line 1: too few columns"):
        import_google_2011(source, tmp_path / "t")
    assert [file.name for file in tmp_path.iterdir()] == ["source"]


def test_a_corrupt_part_leaves_nothing(tmp_path: Path, source: Path) -> None:
    file = write_part(source / "task_events", 4, [task_row("905000000", "50", "0", "-", "0")])
    content = bytearray(file.read_bytes())
    content[-8] ^= 1  # of the checksum
    file.write_bytes(content)
    with pytest.raises(TraceError, match=r"part-00004-of-00500\.csv\.gz: corrupt compressed file"):
        import_google_2011(source, tmp_path / "t")
    assert [file.name for file in tmp_path.iterdir()] == ["source"]


def test_a_full_disk_is_one_line_and_the_work_is_kept(
    tmp_path: Path, source: Path, expected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, left = os.fsync, [5]

    def full(number: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        fsync(number)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(
            TraceError, match="cannot be written: No space left on device"
        ) as caught:
            import_google_2011(source, tmp_path / "t")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "t").exists()
    seen = count_parts(monkeypatch)
    import_google_2011(source, tmp_path / "t")
    assert seen == ["part-00001", "part-00003"]
    assert same(tmp_path / "t", expected)


def test_an_unwritable_place_is_one_clear_line(tmp_path: Path, source: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError, match="cannot be written") as caught:
        import_google_2011(source, tmp_path / "file" / "t")
    assert "\n" not in str(caught.value)


def test_a_part_that_is_not_there_is_named(tmp_path: Path, source: Path) -> None:
    (source / "task_events" / "part-00007-of-00500.csv.gz").symlink_to(tmp_path / "nowhere")
    with pytest.raises(TraceError, match=r"part-00007-of-00500\.csv\.gz: cannot be read: No such"):
        import_google_2011(source, tmp_path / "t")
    assert [file.name for file in tmp_path.iterdir()] == ["source"]


def test_what_is_no_trace_is_not_overwritten(tmp_path: Path, source: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "work.txt").write_text("hours")
    with pytest.raises(TraceError, match="not a saved trace: not overwritten"):
        import_google_2011(source, tmp_path / "t")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["source", "t"]


@pytest.mark.parametrize("name", ["work.txt", "mine.arrow", "tasks-00000.arrow"])
def test_what_is_no_import_is_not_overwritten(tmp_path: Path, source: Path, name: str) -> None:
    (tmp_path / WORK).mkdir()
    if name == "tasks-00000.arrow":
        (tmp_path / "hours.txt").write_text("hours")
        (tmp_path / WORK / name).symlink_to(tmp_path / "hours.txt")
    else:
        (tmp_path / WORK / name).write_text("hours")
    with pytest.raises(TraceError, match=f"{name}: not part of an import: not overwritten"):
        import_google_2011(source, tmp_path / "t")
    assert (tmp_path / WORK / name).read_text() == "hours"


def test_a_link_is_not_followed(tmp_path: Path, source: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / WORK).symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    with pytest.raises(TraceError, match="is a symbolic link: not overwritten"):
        import_google_2011(source, tmp_path / "t")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_what_comes_into_the_folder_meanwhile_stays(
    tmp_path: Path, source: Path, expected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = google_2011_events._checkpoint  # pyright: ignore[reportPrivateUsage]

    def put(*args: object, **kwargs: object) -> None:
        checkpoint(*args, **kwargs)  # type: ignore[arg-type]
        (tmp_path / WORK / "work.txt").write_text("hours")

    monkeypatch.setattr(google_2011_events, "_checkpoint", put)
    import_google_2011(source, tmp_path / "t")
    assert same(tmp_path / "t", expected)
    assert [file.name for file in (tmp_path / WORK).iterdir()] == ["work.txt"]


@pytest.mark.skipif(os.name != "posix", reason="there are no locks")
def test_two_imports_to_one_place_do_not_mix(
    tmp_path: Path, source: Path, expected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = google_2011_events._checkpoint  # pyright: ignore[reportPrivateUsage]

    def import_again(*args: object, **kwargs: object) -> None:
        checkpoint(*args, **kwargs)  # type: ignore[arg-type]
        with pytest.raises(TraceError, match="in use by another import to the same place"):
            import_google_2011(source, tmp_path / "t")

    monkeypatch.setattr(google_2011_events, "_checkpoint", import_again)
    import_google_2011(source, tmp_path / "t")
    assert same(tmp_path / "t", expected)


def test_an_older_trace_is_replaced_only_by_a_whole_one(tmp_path: Path, source: Path) -> None:
    import_google_2011(source, tmp_path / "t")
    older = (tmp_path / "t" / "meta.json").read_text()
    write_part(source / "task_events", 4, ["1,2,3"])
    with pytest.raises(TraceError, match="too few columns"):
        import_google_2011(source, tmp_path / "t")
    assert (tmp_path / "t" / "meta.json").read_text() == older
    write_part(source / "task_events", 4, [task_row("905000000", "50", "0", "-", "0")])
    import_google_2011(source, tmp_path / "t")
    assert Trace.load(tmp_path / "t").meta.end == 905000
