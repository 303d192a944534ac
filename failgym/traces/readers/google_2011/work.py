"""The folder in which an import keeps what it has read, until it is done."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from failgym.traces.readers.google_2011.parts import Part
from failgym.traces.readers.google_2011.runs import Spill
from failgym.traces.readers.sources import faults_of
from failgym.traces.schema import TraceError

if os.name == "posix":
    import fcntl

WORK_VERSION = 2
"""Increased whenever another version could not go on with what this one keeps."""

_SOURCE = "source.json"
_LOCK = "lock"
_OURS = re.compile(
    r"lock|source\.(json|partial)"
    r"|(checkpoint|(tasks|attempts|started|windows)-[0-9]{5,})\.(arrow|partial)"
)


@contextlib.contextmanager
def working_folder(out: Path, parts: Mapping[str, list[Part]]) -> Generator[Spill]:
    """A hidden folder beside `out`, with what an import of the same files left if it was killed.

    The files are told by path, size and times of change. The folder is removed at the end, and if
    the files turn out to be no trace; it stays, to be used again, if the import is interrupted or
    the disk is full. Raises TraceError if the folder cannot be written, if it holds what is not an
    import's, if another import to `out` is under way, or if a file of the source is not there.
    """
    out = Path(os.path.abspath(out))
    folder, source = out.with_name(f".{out.name}.import-google-2011"), _source(parts)
    with contextlib.ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _check(folder)
            held.enter_context(_locked(folder))
            if _read(folder / _SOURCE) != source:
                _clear(folder)
                _write(folder / _SOURCE, source)
        except OSError as error:
            reason = error.strerror or error
            raise TraceError(f"{folder}: cannot be written: {reason}") from error
        try:
            yield Spill(folder)
        except BaseException as error:
            if not isinstance(error, TraceError) or _of_the_system(error.__cause__):
                raise
            _remove(folder)
            raise
        _remove(folder)


def _of_the_system(error: BaseException | None) -> bool:
    """Whether it is a fault of disk or system; that a file is corrupt is an OSError as well."""
    return isinstance(error, OSError) and error.errno is not None


def _check(folder: Path) -> None:
    """Raise TraceError if the folder is a link, or holds what is not an import's."""
    if folder.is_symlink():
        raise TraceError(f"{folder}: is a symbolic link: not overwritten")
    foreign = [file for file in folder.iterdir() if not _is_ours(file)]
    if foreign:
        raise TraceError(f"{foreign[0]}: not part of an import: not overwritten")


def _is_ours(file: Path) -> bool:
    return _OURS.fullmatch(file.name) is not None and not file.is_dir() and not file.is_symlink()


@contextlib.contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Hold the folder until the end, also of the process, where the system has locks.

    Raises TraceError if another import holds it.
    """
    if os.name != "posix":
        yield
        return
    with (folder / _LOCK).open("a+", encoding="utf-8") as lock:
        if not _lock(lock, folder / _LOCK):
            raise TraceError(f"{folder}: in use by another import to the same place")
        yield


def _lock(lock: IO[str], file: Path) -> bool:
    """Lock an open file, which is meant to be at `file`; False if that cannot be now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # this disk has no locks
        return True
    # An import that was over just now may have removed the file with the folder.
    return file.exists() and os.path.samestat(os.fstat(lock.fileno()), file.stat())


def _clear(folder: Path) -> None:
    """Remove what an import keeps, but for the lock."""
    for file in folder.iterdir():
        if _is_ours(file) and file.name != _LOCK:
            file.unlink()


def _remove(folder: Path) -> None:
    """Remove the folder, unless something that is not an import's has come into it."""
    with contextlib.suppress(OSError):
        _clear(folder)
        (folder / _LOCK).unlink(missing_ok=True)
        folder.rmdir()


def _source(parts: Mapping[str, list[Part]]) -> dict[str, Any]:
    return {
        "version": WORK_VERSION,
        "files": {
            table: [_identity(part.file) for part in listed] for table, listed in parts.items()
        },
    }


def _identity(file: Path) -> list[str | int]:
    """What changes with the file's content, even where its time of change is set by hand."""
    with faults_of(file):
        seen = file.stat()
    return [os.path.abspath(file), seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns]


def _read(file: Path) -> object:
    """What a JSON file says; None if it is missing or says nothing."""
    try:
        return cast(object, json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, RecursionError):
        return None


def _write(file: Path, value: object) -> None:
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(value), "utf-8")
    partial.replace(file)
