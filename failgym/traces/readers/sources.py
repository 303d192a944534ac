"""The files of a source: found, unpacked and cut into lines, every fault with its file and line."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec, TypeAlias, TypeVar

from failgym.traces.schema import TraceError

__all__ = [
    "LONGEST_TEXT",
    "Advance",
    "Paths",
    "blocks_of",
    "faults_of",
    "find_files",
    "lines_of",
    "naming_source",
    "opened",
    "reading",
    "text_blocks",
    "text_lines",
]

Paths: TypeAlias = str | Path | Sequence[str | Path]
"""One file or folder, or several."""
Advance: TypeAlias = Callable[[int], None]
"""Called with the number of bytes of a file as they are consumed."""

CHUNK = 1 << 20
"""How much is read at once [bytes]."""
LONGEST_LINE = 1 << 24
"""A longer line is no line of any format [bytes]; bounds the memory that a line can take."""
LONGEST_TEXT = 1 << 14
"""A name, or another text of which something is kept, is at most so long [characters]."""

_MAGIC: tuple[tuple[bytes, Callable[[Any], Any]], ...] = (
    (b"\x1f\x8b", lambda raw: gzip.GzipFile(fileobj=raw)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
)
_PACKED = ("", ".gz", ".bz2", ".xz")


P = ParamSpec("P")
R = TypeVar("R")


def naming_source(read: Callable[P, R]) -> Callable[P, R]:
    """A reader whose TraceErrors about the tables that it made name the source, too.

    The source is the first argument of the reader.
    """

    @wraps(read)
    def named(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return read(*args, **kwargs)
        except TraceError as error:
            if not str(error).startswith("table "):
                raise
            path: Any = args[0] if args else kwargs.get("path", "")
            shown = path if isinstance(path, str | Path) else next(iter(path), "")
            raise TraceError(f"{shown}: {error}") from error

    return named


def find_files(paths: Paths, suffixes: Sequence[str], what: str) -> list[Path]:
    """The files named, and of each folder named those with one of the suffixes, by name.

    A suffix may be followed by `.gz`, `.bz2` or `.xz`; `""` stands for any name. A file that is
    named itself may have any name. Each file is there once, however often it is named; and of a
    file that lies in a folder both packed and unpacked, the latter. `what` is expected there, in
    words, for the error.

    Raises TraceError if there is nothing, or no such file in a folder.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    found: list[Path] = []
    for path in map(Path, given):
        try:
            if path.is_dir():
                inside = [file for file in sorted(path.iterdir()) if _matches(file, suffixes)]
                inside = [file for file in inside if not _is_copy(file, inside)]
                if not inside:
                    raise TraceError(f"{path}: no such file in this folder: expected {what}")
                found += inside
            elif path.exists():
                found.append(path)
            else:
                raise TraceError(f"{path}: no such file or folder: expected {what}")
        except (OSError, ValueError) as error:
            if isinstance(error, TraceError):
                raise
            raise TraceError(f"{path}: cannot be read: {_reason(error)}") from error
    if not found:
        raise TraceError(f"no source given: expected {what}")
    once: dict[str, Path] = {}
    for file in found:
        once.setdefault(os.path.realpath(file), file)
    return list(once.values())


def _matches(file: Path, suffixes: Sequence[str]) -> bool:
    if not file.is_file() or file.name.startswith("."):
        return False
    return any(file.name.endswith(suffix + packed) for suffix in suffixes for packed in _PACKED)


def _is_copy(file: Path, others: Sequence[Path]) -> bool:
    """Whether a file is packed and lies beside what it is unpacked."""
    return file.suffix in _PACKED[1:] and file.with_suffix("") in others


@contextmanager
def opened(path: Path) -> Generator[tuple[BinaryIO, BinaryIO]]:
    """The file as it lies on the disk, and its content, unpacked if it is gzip, bzip2 or xz.

    Raises TraceError, also for faults that are met while the content is read within the context;
    and for a pipe or a device, which may have no end and cannot be read twice.
    """
    with faults_of(path):
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise TraceError(f"{path}: is a pipe or a device, expected a file")
    with faults_of(path), path.open("rb") as raw:
        head = raw.read(8)
        raw.seek(0)
        if not head and path.suffix in _PACKED[1:]:
            raise EOFError
        unpack = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
        if unpack is None and path.suffix in _PACKED[1:]:
            raise gzip.BadGzipFile(f"it begins with {head[:4]!r}")
        yield raw, raw if unpack is None else unpack(raw)


@contextmanager
def faults_of(path: Path) -> Generator[None]:
    """Raise what goes wrong with reading the file as a TraceError that names it."""
    try:
        yield
    except EOFError as error:
        raise TraceError(f"{path}: truncated: expected the whole compressed file") from error
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise TraceError(f"{path}: corrupt compressed file: {_reason(error)}") from error
    except (OSError, ValueError) as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(f"{path}: cannot be read: {_reason(error)}") from error


def text_blocks(
    path: Path, advance: Advance | None = None, *, size: int | None = None
) -> Iterator[tuple[int, bytes]]:
    """The content in blocks of whole lines with the first line's number.

    A block has about `size` bytes, by default `CHUNK`.

    Raises TraceError: unreadable, corrupt or truncated; a line longer than `LONGEST_LINE`.
    """
    with opened(path) as (raw, content):
        consumed = 0
        for block in blocks_of(str(path), content.read, size):
            yield block
            if advance is not None:
                advance(raw.tell() - consumed)
                consumed = raw.tell()


def blocks_of(
    name: str, read: Callable[[int], bytes], size: int | None = None
) -> Iterator[tuple[int, bytes]]:
    """What `read` gives, in blocks as `text_blocks` gives them; `name` is for the error."""
    first, rest = 1, b""
    while chunk := read(size or CHUNK):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            block, rest = rest + chunk[:cut], chunk[cut:]
            yield first, block
            first += block.count(b"\n")
        else:
            rest += chunk
        if len(rest) > LONGEST_LINE:
            raise TraceError(f"{name}, line {first}: longer than {LONGEST_LINE} bytes")
    if rest:
        yield first, rest


def text_lines(
    path: Path, advance: Advance | None = None, *, errors: str = "strict"
) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, from 1, without line ends or a byte order mark.

    `errors` is as `bytes.decode` takes it. Raises TraceError as `text_blocks` does, and for a line
    that is not UTF-8 if `errors` is "strict".
    """
    return lines_of(str(path), text_blocks(path, advance), errors=errors)


def lines_of(
    name: str, blocks: Iterable[tuple[int, bytes]], *, errors: str = "strict"
) -> Iterator[tuple[int, str]]:
    """The lines of blocks, as `text_lines` gives them; `name` is for the error."""
    for first, block in blocks:
        lines = block.removesuffix(b"\n").split(b"\n")
        for number, line in enumerate(lines, start=first):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            try:
                yield number, line.removesuffix(b"\r").decode("utf-8", errors)
            except UnicodeDecodeError as error:
                raise TraceError(f"{name}, line {number}: not a text in UTF-8") from error


@contextmanager
def reading(files: Iterable[Path], what: str, shown: bool) -> Generator[Advance]:
    """A progress bar over the bytes of the files, on standard error, if it is to be shown."""
    if not shown:
        yield lambda consumed: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    total = sum(file.stat().st_size for file in files)
    bar = Progress(
        SpinnerColumn(),  # also while the tables are put in order
        TextColumn(f"reading {what}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task("reading", total=total)
        yield lambda consumed: bar.advance(task, consumed)


def _reason(error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) else None
    return (said or (str(error).splitlines() or [type(error).__name__])[0])[:200]
