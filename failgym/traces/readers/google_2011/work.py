"""The folder in which an import keeps what it has read, until it is done."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, cast

from failgym.traces.readers.google_2011.parts import Part
from failgym.traces.readers.google_2011.runs import Spill
from failgym.traces.schema import TraceError
from failgym.traces.store import is_running

WORK_VERSION = 1
"""Increased whenever another version could not go on with what this one keeps."""

_SOURCE = "source.json"
_OWNER = "owner.json"


@contextlib.contextmanager
def working_folder(out: Path, parts: Mapping[str, list[Part]]) -> Generator[Spill]:
    """A hidden folder beside `out`, with what an import of the same files left if it was killed.

    The files are told by name, size and time of change. The folder is removed at the end, and if
    the files turn out to be no trace; it stays, to be used again, if the import is interrupted or
    the disk is full. Raises TraceError if the folder cannot be written, or if another process
    imports to `out`.
    """
    out = Path(os.path.abspath(out))
    folder = out.with_name(f".{out.name}.import-google-2011")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _own(folder)
        if _read(folder / _SOURCE) != (source := _source(parts)):
            _clear(folder)
            _write(folder / _SOURCE, source)
    except OSError as error:
        raise TraceError(f"{folder}: cannot be written: {error.strerror or error}") from error
    kept = False
    try:
        yield Spill(folder)
    except BaseException as error:
        kept = not isinstance(error, TraceError) or isinstance(error.__cause__, OSError)
        raise
    finally:
        if kept:
            (folder / _OWNER).unlink(missing_ok=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _own(folder: Path) -> None:
    """Take the folder, unless it belongs to a running import or holds what is not an import's."""
    foreign = [file for file in folder.iterdir() if not _is_ours(file)]
    if foreign:
        raise TraceError(f"{foreign[0]}: not part of an import: not overwritten")
    owner = _read(folder / _OWNER)
    if isinstance(owner, int) and os.name == "posix" and is_running(owner):
        raise TraceError(f"{folder}: in use by process {owner}, which imports to the same place")
    _write(folder / _OWNER, os.getpid())


def _is_ours(file: Path) -> bool:
    return file.name in (_SOURCE, _OWNER) or file.suffix in (".arrow", ".partial")


def _clear(folder: Path) -> None:
    for file in folder.iterdir():
        if file.name != _OWNER:
            file.unlink()


def _source(parts: Mapping[str, list[Part]]) -> dict[str, Any]:
    files = [
        [table, part.file.name, (stat := part.file.stat()).st_size, stat.st_mtime_ns]
        for table, listed in parts.items()
        for part in listed
    ]
    return {"version": WORK_VERSION, "files": files}


def _read(file: Path) -> object:
    """What a JSON file says; None if it is missing or says nothing."""
    try:
        return cast(object, json.loads(file.read_text("utf-8")))
    except (OSError, ValueError):
        return None


def _write(file: Path, value: object) -> None:
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(value), "utf-8")
    partial.replace(file)
