"""The folder in which an import keeps what it has read, until it is done."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from failgym.files import PARTIAL, replacing
from failgym.traces.readers.sources import faults_of
from failgym.traces.schema import TraceError
from failgym.workers import MARK

if os.name == "posix":
    import fcntl

__all__ = ["WorkFolder", "write_json"]

_SOURCE = "source.json"
_LOCK = "lock"


_OF_EVERY = ("lock", "source.json", "source.partial", PARTIAL, MARK)
"""Names that every such folder may have; the last ones are left by what was killed."""


@dataclass(frozen=True)
class WorkFolder:
    """Where an import of a format keeps what it has read.

    Args:
        form: the format; part of the folder's name.
        version: increased whenever another version could not go on with what this one keeps.
        names: what the names of its own files look like.
    """

    form: str
    version: int
    names: re.Pattern[str]

    @contextlib.contextmanager
    def of(
        self, out: Path, files: Mapping[str, Sequence[Path]], **settings: int
    ) -> Generator[Path]:
        """What an import of the same files left if it was killed: a hidden folder beside `out`.

        The files are told by path, size and times of change. The folder is removed at the end, and
        if the files turn out to be no trace; it stays, to be used again, if the import is
        interrupted or the disk is full.

        Args:
            out: where the trace will be.
            files: table -> its files.
            settings: what else must be as it was.

        Raises:
            TraceError: if the folder cannot be written, if it holds what is not an import's, if
                another import to `out` is under way, or if a file of the source is not there.
        """
        out = Path(os.path.abspath(out))
        folder = out.with_name(f".{out.name}.import-{self.form}")
        source = self._source(files) | settings
        with contextlib.ExitStack() as held:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._check(folder)
                held.enter_context(_locked(folder))
                if _read(folder / _SOURCE) != source:
                    self._clear(folder)
                    write_json(folder / _SOURCE, source)
            except OSError as error:
                reason = error.strerror or error
                raise TraceError(f"{folder}: cannot be written: {reason}") from error
            try:
                yield folder
            except BaseException as error:
                if not isinstance(error, TraceError) or _of_the_system(error.__cause__):
                    raise
                self._remove(folder)
                raise
            self._remove(folder)

    def _check(self, folder: Path) -> None:
        """Raise TraceError if the folder is a link, or holds what is not an import's."""
        if folder.is_symlink():
            raise TraceError(f"{folder}: is a symbolic link: not overwritten")
        foreign = [file for file in folder.iterdir() if not self._is_ours(file)]
        if foreign:
            raise TraceError(f"{foreign[0]}: not part of an import: not overwritten")

    def _is_ours(self, file: Path) -> bool:
        ours = self.names.fullmatch(file.name) or any(map(file.match, _OF_EVERY))
        return bool(ours) and not file.is_dir() and not file.is_symlink()

    def _clear(self, folder: Path) -> None:
        """Remove what an import keeps, but for the lock."""
        for file in folder.iterdir():
            if self._is_ours(file) and file.name != _LOCK:
                file.unlink()

    def _remove(self, folder: Path) -> None:
        """Remove the folder, unless something that is not an import's has come into it."""
        with contextlib.suppress(OSError):
            self._clear(folder)
            (folder / _LOCK).unlink(missing_ok=True)
            folder.rmdir()

    def _source(self, files: Mapping[str, Sequence[Path]]) -> dict[str, Any]:
        return {
            "version": self.version,
            "files": {table: [_identity(file) for file in of] for table, of in files.items()},
        }


def _of_the_system(error: BaseException | None) -> bool:
    """Whether it is a fault of disk or system; that a file is corrupt is an OSError as well."""
    return isinstance(error, OSError) and error.errno is not None


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


def write_json(file: Path, value: object) -> None:
    """Write a file whole or not at all. Raises OSError."""
    with replacing(file) as partial:
        partial.write_text(json.dumps(value), "utf-8")
