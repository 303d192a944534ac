"""A world as a file of plain arrays, which processes map into memory and share.

The file is the SHA-256 of all that follows it; the length of a header; the header, JSON; and the
arrays, each at a multiple of `ALIGNMENT` bytes from the beginning. When it is read these are
checked: who could have written it, the hash of the whole file, the format, the key, and that its
arrays are those of the world, each with the shape, type and place that the header says, within the
file. The hash takes half a second for a gigabyte, the rest less than a millisecond. What fails a
check counts as missing.

A world may be kept packed: each array is compressed by itself, and read into memory of the process
instead of being mapped.

Pages are private: who writes to an array changes a copy. They are mapped so, rather than read-only,
because numba would compile every kernel a second time for arrays that cannot be written.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import secrets
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_type_hints

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from failgym.compiled.ownership import is_private
from failgym.files import PARTIAL
from failgym.traces.synthetic import PROFILES
from failgym.world_cache.builder import hold

__all__ = ["Blocks", "Kept", "blocks_of", "look_at", "read_world", "write_world"]

FORMAT = "failgym world"
VERSION = 2
ALIGNMENT = 64
"""Bytes; arrays that numpy makes itself begin at multiples of 16."""
MOST_HEADER = 1 << 20
"""Bytes of it that are read."""
_HASH = 32
_HEADER_AT = _HASH + 8
Array = npt.NDArray[Any]
_World = TypeVar("_World", bound=tuple[Any, ...])


class _Damaged(Exception):
    """Not a kept world, or not the one that was asked for."""


_UNREADABLE = (_Damaged, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What reading something else than a kept world may raise."""


@dataclass(frozen=True)
class Kept:
    """A kept world, as `failgym cache` shows it."""

    file: Path
    scenario: str
    """the name of the scenario that it was first built for; others of the same fields share it"""
    trace: str
    split: str
    forecast: str
    holds: str
    """a world, a part of one, or what was found in one"""
    size: int
    """[bytes]"""
    used: float
    """when it was last used [s since 1970]"""


@dataclass(frozen=True)
class Blocks:
    """The arrays of a world as they are written."""

    about: dict[str, dict[str, Any]]
    """type, shape and order of each, and how many bytes it takes where it is packed"""
    content: tuple[Any, ...]
    """buffers"""

    @property
    def size(self) -> int:
        """What they take [bytes]."""
        return sum(memoryview(one).nbytes for one in self.content)


def blocks_of(world: tuple[Any, ...], *, packed: bool = False) -> Blocks:
    """The arrays of a world, each compressed by itself if packed."""
    arrays = dict(_arrays(world))
    about, content = {name: _about(array) for name, array in arrays.items()}, list[Any]()
    for name, array in arrays.items():
        block: Any = _flat(array).data
        if packed and array.nbytes:
            block = _codec().compress(block, asbytes=True)
            about[name]["packed"] = len(block)
        content.append(block)
    return Blocks(about, tuple(content))


def write_world(file: Path, key: str, blocks: Blocks, scenario: Any, holds: str = "world") -> None:
    """Write a world under another name, which then becomes the file. Raises OSError.

    Nothing waits for the disk: what a power cut leaves fails the check of its hash.
    """
    header = _header(key, blocks.about, scenario, holds)
    partial = file.with_name(PARTIAL.replace("*", secrets.token_hex(8)))
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(partial, flags, 0o600), "w+b") as written:
            hold(written.fileno())
            written.write(bytes(_HASH) + len(header).to_bytes(8, "little") + header)
            for block in blocks.content:
                written.write(bytes(-written.tell() % ALIGNMENT))
                written.write(block)
            written.seek(_HASH)
            digest = hashlib.file_digest(written, "sha256").digest()
            written.seek(0)
            written.write(digest)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


def read_world(file: Path, key: str, kind: type[_World]) -> _World | None:
    """The world in a file; None if there is none that passes every check.

    Args:
        file: where it is.
        key: what it must have been kept under.
        kind: the named tuple that it is.
    """
    try:
        with _opened(file) as opened:
            digest = opened.read(_HASH)
            if hashlib.file_digest(opened, "sha256").digest() != digest:
                raise _Damaged("its content has changed")
            header = _read_header(opened)
            world = _mapped(opened, header, key, kind)
            with contextlib.suppress(OSError):  # of another user, or on a disk that is read-only
                os.utime(file)
            return world
    except (OSError, MemoryError):  # there is none, or no room to map it
        return None
    except _UNREADABLE:
        with contextlib.suppress(OSError):
            file.unlink()
        return None


def look_at(file: Path) -> Kept | None:
    """What a file is of, its arrays unread; None if it is no kept world."""
    try:
        with _opened(file) as opened:
            about, header = os.fstat(opened.fileno()), _read_header(opened)
            texts = {name: str(header["of"][name]) for name in _OF}
            holds = str(header["holds"])
            return Kept(file=file, size=about.st_size, used=about.st_mtime, holds=holds, **texts)
    except (OSError, *_UNREADABLE):
        return None


# --- Header ---------------------------------------------------------------------------------------

_OF = ("scenario", "trace", "split", "forecast")


def _header(key: str, about: Mapping[str, dict[str, Any]], scenario: Any, holds: str) -> bytes:
    """The header, with where each array will be: counted from the end of the header."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "key": key,
        "of": {name: _said_of(scenario, name) for name in _OF},
        "holds": holds,
        "arrays": about,
    }
    return json.dumps(document).encode()


def _said_of(scenario: Any, name: str) -> str:
    """What a field says, in short."""
    value = getattr(scenario, "name" if name == "scenario" else name)
    if not isinstance(value, str | Path):
        return type(value).__name__
    if name == "trace" and str(value) in PROFILES:
        return f"{value}, {scenario.jobs:,} jobs, seed {scenario.trace_seed}"
    return str(value)


def _about(array: Array) -> dict[str, Any]:
    dtype, shape = _dtype_text(array.dtype), list(array.shape)
    return {"dtype": dtype, "shape": shape, "order": _order(array)}


def _order(array: Array) -> Literal["C", "F"]:
    """In which order its values are written: as they lie in memory, if they lie together."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _dtype_text(dtype: np.dtype[Any]) -> Any:
    """A type as JSON; that of a record with its offsets, for numba asks whether it is aligned."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return {"of": _dtype_text(base), "shape": list(shape)}
    if dtype.names is None:
        return dtype.str
    fields = cast(Mapping[str, Any], dtype.fields)
    return {
        "names": list(dtype.names),
        "formats": [_dtype_text(fields[name][0]) for name in dtype.names],
        "offsets": [fields[name][1] for name in dtype.names],
        "itemsize": dtype.itemsize,
        "aligned": dtype.isalignedstruct,
    }


def _dtype(said: Any) -> np.dtype[Any]:
    """The type that `_dtype_text` wrote. Raises as numpy does, and _Damaged for Python objects."""
    if isinstance(said, str):
        dtype = np.dtype(said)
    elif "of" in said:
        dtype = np.dtype((_dtype(said["of"]), tuple(said["shape"])))
    else:
        parts: Any = {
            "names": said["names"],
            "formats": [_dtype(one) for one in said["formats"]],
            "offsets": said["offsets"],
            "itemsize": said["itemsize"],
        }
        dtype = np.dtype(parts, align=said["aligned"])
    if dtype.hasobject:
        raise _Damaged("an array of Python objects")
    return dtype


def _read_header(opened: BufferedReader) -> dict[str, Any]:
    """The header of an open file. Raises _Damaged, OSError or ValueError."""
    opened.seek(_HASH)
    length = int.from_bytes(opened.read(8), "little")
    if length > MOST_HEADER:
        raise _Damaged("its header is too long")
    header: Any = json.loads(opened.read(length))
    if (header["format"], header["version"]) != (FORMAT, VERSION):
        raise _Damaged("of another format")
    header["end"] = _HEADER_AT + length
    return header


# --- Arrays ---------------------------------------------------------------------------------------


def _arrays(world: tuple[Any, ...], prefix: str = "") -> Iterator[tuple[str, Array]]:
    """The arrays of a named tuple, and of those in it, by name."""
    for name, value in cast(Any, world)._asdict().items():
        if hasattr(value, "_asdict"):
            yield from _arrays(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _flat(array: Array) -> Array:
    """The values of an array as bytes."""
    return array.reshape(-1, order=_order(array)).view(np.uint8)


@contextlib.contextmanager
def _opened(file: Path) -> Generator[BufferedReader]:
    """A file, no link, that only this user and the administrator could have written."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(file, flags | getattr(os, "O_NONBLOCK", 0)), "rb") as opened:
        if os.name == "posix" and not is_private(os.fstat(opened.fileno())):
            raise _Damaged("others could have written it")
        yield opened


def _mapped(opened: BufferedReader, header: dict[str, Any], key: str, kind: type[_World]) -> _World:
    """The world in an open file. Raises _Damaged, or what numpy raises, if it does not fit."""
    if header["key"] != key:
        raise _Damaged("kept under another key")
    pages = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
    arrays: dict[str, Array] = {}
    at: int = header["end"]
    for name, about in header["arrays"].items():
        at += -at % ALIGNMENT
        shape = tuple(int(length) for length in about["shape"])
        dtype, order = _dtype(about["dtype"]), about["order"]
        if (length := about.get("packed")) is None:
            array = np.ndarray(shape, dtype, pages, at, order=order)
            at += array.nbytes
        else:
            array = np.empty(shape, dtype, order=order)
            _unpack(memoryview(pages)[at : at + int(length)], array)
            at += int(length)
        arrays[name] = array
    if at != len(pages):
        raise _Damaged("of another length")
    world = _assembled(kind, arrays)
    if arrays:
        raise _Damaged("arrays that the world has not")
    return world


_ARROW: Any = pa  # which comes without types


def _codec() -> Any:
    """Packs arrays."""
    return _ARROW.Codec("zstd")


def _unpack(block: memoryview, into: Array) -> None:
    """Fill an array with what a packed block holds. Raises OSError if it is no such block."""
    found: bytes = _codec().decompress(block, decompressed_size=into.nbytes, asbytes=True)
    _flat(into)[:] = np.frombuffer(found, dtype=np.uint8)


def _assembled(kind: type[_World], arrays: dict[str, Array], prefix: str = "") -> _World:
    """A named tuple of arrays, taken by their names. Raises KeyError if one is missing."""
    hints = get_type_hints(kind)
    parts = {
        name: _assembled(hints[name], arrays, f"{prefix}{name}.")
        if hasattr(hints[name], "_fields")
        else arrays.pop(prefix + name)
        for name in cast(Any, kind)._fields
    }
    return kind(**parts)
