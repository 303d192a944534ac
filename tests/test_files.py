"""A file is written whole or not at all."""

from __future__ import annotations

import errno
from fnmatch import fnmatch
from pathlib import Path

import pytest

from failgym.files import PARTIAL, replacing


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
