"""Files that are written whole or not at all."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

if os.name == "posix":
    import fcntl

__all__ = ["PARTIAL", "held", "json_text", "marked", "replacing"]

PARTIAL = ".failgym-*.partial"
"""What the names look like of files that a killed process was writing."""


def json_text(content: Any) -> str:
    """JSON that every reader takes, with a newline behind it: NaN and infinities are null.

    Args:
        content: of objects with any keys, lists, tuples, texts, numbers, booleans and None.

    Raises:
        TypeError: for a value of another type.

    >>> json_text({"gain": (1.0, float("nan"))})
    '{\\n "gain": [\\n  1.0,\\n  null\\n ]\\n}\\n'
    """
    return json.dumps(_finite(content), indent=1, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in cast(dict[Any, Any], value).items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in cast(list[Any], value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Write a file under another name, which then becomes the file.

    What processes that were killed have left half-written beside it is removed.

    Yields:
        An empty file beside ``path``. What is there when the block ends takes the place of
        ``path``; if the block raises it is removed, and ``path`` stays as it was.

    Raises:
        OSError: if it cannot be renamed; and what the block raises, which then names ``path``
            where it named no file or the other name: a full disk does not say what was written.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with replacing(path) as partial:
    ...     _ = partial.write_text("1 2 3")
    >>> path.read_text()
    '1 2 3'
    """
    partial, held = path, -1
    try:
        _remove_left(path.parent, PARTIAL)
        partial, held = _new(path.parent, PARTIAL)
        yield partial
        with partial.open("rb") as written:  # or a power cut may leave the name without content
            os.fsync(written.fileno())
        partial.replace(path)
    except OSError as error:
        if error.errno is None or not _names(error.filename, partial):
            raise
        raise type(error)(error.errno, os.strerror(error.errno), str(path)) from error
    finally:
        if held >= 0:
            partial.unlink(missing_ok=True)
            os.close(held)


@contextmanager
def marked(folder: Path, pattern: str) -> Generator[Path]:
    """A file in a folder that is there as long as the block runs.

    Those of the same pattern that killed processes have left are removed.

    Args:
        folder: which is there.
        pattern: of its name, with one ``*``, which becomes a random word.

    Yields:
        The file, empty.

    Raises:
        OSError: if it cannot be written.
    """
    _remove_left(folder, pattern)
    mark, held = _new(folder, pattern)
    try:
        yield mark
    finally:
        mark.unlink(missing_ok=True)
        os.close(held)


def _names(filename: object, partial: Path) -> bool:
    """Does an error name no file, or one that is being written?"""
    if filename is None or filename in (partial, str(partial)):
        return True
    return isinstance(filename, str | Path) and Path(filename).match(PARTIAL)


def _new(folder: Path, pattern: str) -> tuple[Path, int]:
    """An empty file, and the descriptor by which it is held as long as this process lives."""
    while True:
        file = folder / pattern.replace("*", secrets.token_hex(8))
        held = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        _hold(held, wait=True)
        if file.exists():
            return file, held
        os.close(held)  # it was taken for one that was left, before it was held


def _remove_left(folder: Path, pattern: str) -> None:
    """Remove the files of a pattern that nobody holds: who made them was killed."""
    for left in folder.glob(pattern):
        with suppress(OSError):
            found = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if _hold(found, wait=False):
                    left.unlink()
            finally:
                os.close(found)


@contextmanager
def held(file: Path) -> Generator[bool]:
    """Hold a file, which is made if it is missing, against other processes until the end.

    Yields:
        False if another process holds it. True where there are no locks.
    """
    with file.open("a") as opened:
        try:
            if os.name == "posix":
                fcntl.flock(opened.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = True
        except BlockingIOError:
            ours = False
        except OSError:  # this disk has no locks
            ours = True
        yield ours


def _hold(descriptor: int, *, wait: bool) -> bool:
    """Lock a file against other processes, where the file system can; False if it is not ours."""
    if os.name != "posix":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True
