"""Files are found, unpacked and cut into lines, whatever they are packed with; faults are named."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failgym.traces import TraceError
from failgym.traces.readers import sources
from failgym.traces.readers.sources import (
    Paths,
    find_files,
    naming_source,
    reading,
    text_blocks,
    text_lines,
)

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("name", ["log.txt", "log"])
def test_lines_are_the_same_however_they_are_packed(tmp_path: Path, suffix: str, name: str) -> None:
    file = tmp_path / (name + suffix)
    file.write_bytes(PACKERS[suffix](b"\xef\xbb\xbfone\r\n\ntwo \nthree"))
    assert list(text_lines(file)) == [(1, "one"), (2, ""), (3, "two "), (4, "three")]


def test_what_a_file_is_packed_with_is_told_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(gzip.compress(b"a\nb\n"))
    assert list(text_lines(tmp_path / "log")) == [(1, "a"), (2, "b")]


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n\ufeff"), max_size=40)),
    st.integers(1, 30),
)
def test_blocks_are_whole_lines_and_number_them(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], chunk: int
) -> None:
    file = tmp_path_factory.mktemp("blocks") / "log"
    content = "".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass")
    file.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "CHUNK", chunk)
        blocks = list(text_blocks(file))
    assert b"".join(block for _, block in blocks) == content
    for number, block in blocks:
        assert block.endswith(b"\n")
        assert content.split(b"\n")[number - 1] == block.split(b"\n")[0]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.gz", b"", "truncated"),
        ("x.gz", gzip.compress(b"a" * 1000, mtime=0)[:-4], "truncated"),
        ("x.xz", lzma.compress(b"a" * 1000)[:-4], "truncated"),
        ("x.bz2", bz2.compress(b"a" * 1000)[:-4], "truncated"),
        ("x.gz", gzip.compress(b"abc" * 99, mtime=0)[:-8] + b"?" * 8, "corrupt"),
        ("x.gz", b"plain text", "corrupt"),
        ("x", b"good\nb\xffd\n", "line 2: not a text in UTF-8"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TraceError, match=said) as caught:
        list(text_lines(tmp_path / name))
    assert str(tmp_path / name) in str(caught.value)


def test_a_line_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LONGEST_LINE", 100)
    monkeypatch.setattr(sources, "CHUNK", 64)
    (tmp_path / "x").write_bytes(b"short\n" + b"a" * 1000)
    with pytest.raises(TraceError, match="line 2: longer than 100 bytes"):
        list(text_lines(tmp_path / "x"))


def test_files_of_a_folder_come_by_name_and_hidden_ones_not(tmp_path: Path) -> None:
    for name in ("b.swf", "a.swf.gz", ".c.swf", "d.txt", "e.swf.zip"):
        (tmp_path / name).touch()
    found = find_files(tmp_path, [".swf"], "SWF logs")
    assert [file.name for file in found] == ["a.swf.gz", "b.swf"]
    both = find_files([tmp_path / "d.txt", tmp_path], [".swf"], "SWF logs")
    assert [file.name for file in both] == ["d.txt", "a.swf.gz", "b.swf"]


def test_no_file_is_read_twice(tmp_path: Path) -> None:
    for name in ("a.swf", "a.swf.gz", "b.swf.gz", "b.swf.bz2"):
        (tmp_path / name).touch()
    (tmp_path / "c.swf").symlink_to("a.swf")
    names = [file.name for file in find_files(tmp_path, [".swf"], "SWF logs")]
    assert names == ["a.swf", "b.swf.bz2", "b.swf.gz"]
    packed, plain = tmp_path / "a.swf.gz", tmp_path / "a.swf"
    assert find_files([packed, tmp_path / "." / "a.swf", packed], [".swf"], "") == [packed, plain]


@pytest.mark.parametrize("path", ["missing", "", "nul\0", "a" * 5000])
def test_what_is_not_there_is_named(tmp_path: Path, path: str) -> None:
    with pytest.raises(TraceError, match=r"expected SWF logs|cannot be read"):
        find_files(tmp_path / path, [".swf"], "SWF logs")
    with pytest.raises(TraceError, match="no source"):
        find_files([], [".swf"], "SWF logs")


def test_a_pipe_or_a_device_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(TraceError, match="is a pipe or a device, expected a file"):
            next(text_blocks(path))


def test_progress_counts_the_bytes_on_the_disk(tmp_path: Path) -> None:
    file = tmp_path / "log.gz"
    file.write_bytes(gzip.compress(bytes(range(256)) * 20_000))
    told: list[int] = []
    assert sum(len(block) for _, block in text_blocks(file, told.append)) == 256 * 20_000
    assert sum(told) == file.stat().st_size
    with reading([file], "a log", shown=True) as advance:
        advance(1)


def test_what_is_wrong_with_the_tables_names_the_source() -> None:
    @naming_source
    def read(path: Paths, *, unit: int = 1) -> int:
        if unit:
            raise TraceError("table jobs, row 0: no such width")
        return 7

    for path in ("log.swf", [Path("log.swf"), Path("more.swf")]):
        with pytest.raises(TraceError, match=r"^log\.swf: table jobs, row 0: no such width$"):
            read(path)
    assert read(path="log.swf", unit=0) == 7
