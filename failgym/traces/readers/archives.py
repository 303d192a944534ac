"""Files of a source that may lie in archives (tar, packed or not, and zip), read where they are."""

from __future__ import annotations

import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from failgym.traces.readers.sources import Advance, blocks_of, faults_of, lines_of, opened
from failgym.traces.schema import TraceError

__all__ = ["ARCHIVES", "Member", "members"]

ARCHIVES = (".tar", ".tgz", ".tbz2", ".txz", ".zip")
"""Suffixes of archives; `.tar` may be followed by that of a packed file."""

MOST_HEADERS = 1 << 20
"""What a tar archive says of one member is no longer [bytes]."""
LONGEST_REASON = 200
"""Signs of what another module says of an archive: it may quote what is there."""
MOST_MEMBERS = 1_000_000
"""An archive has no more of them."""

_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Ways of packing of which a bounded piece can be unpacked."""

_FAULTS = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,  # a way of packing that is not known
    RuntimeError,  # a member that is encrypted; also too many headers one in the other
    LookupError,
    OverflowError,
    ValueError,
)
"""What the archive modules raise for archives that are not sound."""


@dataclass(frozen=True)
class Member:
    """A file, or a member of an archive: to be read once, and before the next one.

    `name` is its path in the folder or archive, `shown` says where it is; `alone` is a file that is
    not in an archive.
    """

    name: str
    shown: str
    read: Callable[[int], bytes] = field(repr=False)
    alone: bool = False

    def lines(self, *, most: int | None = None) -> Iterator[tuple[int, str]]:
        """The lines with their numbers, as `sources.text_lines` gives them.

        Raises TraceError, also for more than `most` bytes in all.
        """
        return lines_of(self.shown, self.blocks(most=most))

    def blocks(self, *, most: int | None = None) -> Iterator[tuple[int, bytes]]:
        """The content in blocks, as `sources.text_blocks` gives them. Raises as `lines` does."""
        return blocks_of(self.shown, self._bounded(most))

    def _bounded(self, most: int | None) -> Callable[[int], bytes]:
        taken = 0

        def read(size: int) -> bytes:
            nonlocal taken
            chunk = self.read(size)
            taken += len(chunk)
            if most is not None and taken > most:
                raise TraceError(f"{self.shown}: longer than {most} bytes")
            return chunk

        return read


def members(files: Sequence[Path], suffixes: Sequence[str], advance: Advance) -> Iterator[Member]:
    """The files, and of those that are archives the members with one of the suffixes.

    Nothing is written to the disk, nor is more than a block of a member in memory. Raises
    TraceError for a file that cannot be read, and an archive that is not sound.
    """
    for file in files:
        with opened(file) as (raw, content):
            told = 0
            for member in _members(file, content, suffixes):
                yield member
                if not raw.closed:
                    place = raw.tell()
                    advance(max(place - told, 0))
                    told = max(place, told)


def _members(file: Path, content: BinaryIO, suffixes: Sequence[str]) -> Iterator[Member]:
    stream = _Begun(file, content)
    if stream.head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        yield from _of_zip(file, suffixes)
    elif stream.head[257:262] == b"ustar" or _named_tar(file):
        yield from _of_tar(file, stream, suffixes)
    else:
        yield Member(file.name, str(file), stream.read, alone=True)


def _named_tar(file: Path) -> bool:
    return any(suffix in file.suffixes for suffix in ARCHIVES if suffix != ".zip")


class _Begun:
    """A stream whose first bytes are known; counts what is read."""

    def __init__(self, file: Path, content: BinaryIO) -> None:
        self.file, self.content = file, content
        self.head = content.read(512)
        self.rest = self.head
        self.taken = 0
        self.allowed: int | None = None

    def read(self, size: int = -1) -> bytes:
        """The next bytes. Raises TraceError, and TarError if more than `allowed` are taken."""
        chunk, self.rest = self.rest[:size], self.rest[size:]
        if not chunk:
            with faults_of(self.file):
                chunk = self.content.read(size)
        self.taken += len(chunk)
        if self.allowed is not None and self.taken > self.allowed:
            raise tarfile.ReadError(f"headers of more than {MOST_HEADERS} bytes")
        return chunk


def _of_tar(file: Path, stream: _Begun, suffixes: Sequence[str]) -> Iterator[Member]:
    archive = None
    for _ in range(MOST_MEMBERS):
        stream.allowed = stream.taken + MOST_HEADERS
        try:
            if archive is None:
                archive = tarfile.open(fileobj=cast(BinaryIO, stream), mode="r|")  # noqa: SIM115
            found = archive.next()
            cast(Any, archive).members.clear()  # else it keeps them all
        except TraceError:
            raise
        except _FAULTS as error:
            raise _unsound(file, error) from error
        if found is None:
            return
        stream.allowed = None
        content = archive.extractfile(found) if found.isreg() else None
        if content is None:
            continue
        read = _guarded(file, content.read)
        if _asked(found.name, suffixes):
            yield _member(file, found.name, read)
        while read(1 << 20):
            pass
    raise TraceError(f"{file}: more than {MOST_MEMBERS} members")


def _of_zip(file: Path, suffixes: Sequence[str]) -> Iterator[Member]:
    try:
        archive = zipfile.ZipFile(file)
    except _FAULTS as error:
        raise _unsound(file, error) from error
    with closing(archive):
        for found in archive.infolist():
            if found.filename.endswith("/") or not _asked(found.filename, suffixes):
                continue
            if found.compress_type not in _BOUNDED:
                raise TraceError(
                    f"{file}: not a sound archive: packed neither plainly nor deflated"
                )
            try:
                content = archive.open(found)
            except _FAULTS as error:
                raise _unsound(file, error) from error
            with content:
                yield _member(file, found.filename, _guarded(file, content.read))


def _asked(name: str, suffixes: Sequence[str]) -> bool:
    base = name.rsplit("/", 1)[-1]
    return base.endswith(tuple(suffixes)) and not base.startswith(".")


def _member(file: Path, name: str, read: Callable[[int], bytes]) -> Member:
    clean = name.encode("utf-8", "replace").decode("utf-8")
    clean = "".join(char if char.isprintable() else "?" for char in clean)
    return Member(clean, f"{file}, member {clean}", read)


def _guarded(file: Path, read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    def guarded(size: int) -> bytes:
        try:
            return read(size)
        except TraceError:
            raise
        except (*_FAULTS, OSError) as error:
            raise _unsound(file, error) from error

    return guarded


def _unsound(file: Path, error: Exception) -> TraceError:
    said = (str(error).splitlines() or [""])[0] or type(error).__name__
    return TraceError(f"{file}: not a sound archive: {said[:LONGEST_REASON]}")
