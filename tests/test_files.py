"""A file is written whole or not at all."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from failgym.files import PARTIAL, marked, replacing


def test_a_file_takes_the_place_of_another_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    with replacing(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old"
        assert fnmatch(partial.name, PARTIAL)
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("text", ["old", None])
def test_what_fails_leaves_what_was_there(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    if text is not None:
        path.write_text(text)
    with pytest.raises(KeyError):
        write_half(path)
    assert [file.read_text() for file in tmp_path.iterdir()] == ([] if text is None else [text])


def write_half(path: Path) -> None:
    with replacing(path) as partial:
        partial.write_text("half")
        raise KeyError


def test_what_a_killed_process_was_writing_goes_with_the_next_file(tmp_path: Path) -> None:
    """And what others are writing stays."""
    code = (
        "import os, signal, sys; from pathlib import Path; from failgym.files import replacing\n"
        "with replacing(Path(sys.argv[1])) as partial:\n"
        "    partial.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    path = tmp_path / "file.txt"
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    with replacing(tmp_path / "other.txt") as other:
        other.write_text("whole")
        assert not left.exists()
        with replacing(path) as partial:
            partial.write_text("whole too")
        assert other.exists()
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {
        "file.txt": "whole too",
        "other.txt": "whole",
    }


def test_a_file_has_the_mode_that_the_user_gives_new_files(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("plain")
    write_whole(tmp_path / "file.txt")
    modes = {file.stat().st_mode for file in tmp_path.iterdir()}
    assert len(modes) == 1


def test_names_may_be_as_long_as_the_file_system_lets_them(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    with replacing(path) as partial:
        partial.write_text("whole")
    assert path.read_text() == "whole"


@pytest.mark.parametrize("filename", [None, "partial", "another"])
def test_an_error_names_the_file_that_was_to_be_written(
    tmp_path: Path, filename: str | None
) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(OSError, match="No space left") as caught:
        fill(path, filename)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == (filename if filename == "another" else str(path))
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


def test_a_missing_folder_is_still_a_missing_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(tmp_path / "missing" / "file.txt")
    assert caught.value.filename == str(tmp_path / "missing" / "file.txt")


def write_whole(path: Path) -> None:
    with replacing(path) as partial:
        partial.write_text("whole")


def fill(path: Path, filename: str | None) -> None:
    """Write until the disk is full, which is said of a file or of none."""
    with replacing(path) as partial:
        partial.write_text("half")
        named = {"partial": [str(partial)], None: []}.get(filename, [filename])
        raise OSError(errno.ENOSPC, "No space left on device", *named)


def test_a_mark_is_there_for_a_while_and_those_of_killed_processes_go(tmp_path: Path) -> None:
    left = tmp_path / ".here-0123"
    left.touch()
    with marked(tmp_path, ".here-*") as mark, marked(tmp_path, ".here-*") as other:
        assert sorted(tmp_path.iterdir()) == sorted([mark, other])
    assert list(tmp_path.iterdir()) == []
