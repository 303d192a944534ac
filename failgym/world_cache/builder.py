"""One process builds a world; others that want it wait, rather than build it too."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # there are no such locks on Windows: everybody builds
    fcntl: Any = None

__all__ = ["LOCK", "hold", "is_abandoned", "only_builder"]

LOCK = ".lock"
"""What the name of the file ends in that a builder holds locked."""
LONGEST_WAIT = 60.0
"""For another process, which may have been stopped [s]: worlds of real traces take 3 to 18."""
ABANDONED = 3600.0
"""Where no file can be locked, one that nobody has written to for so long is abandoned [s]."""
_BETWEEN = 0.02
"""Between two looks whether it has ended [s]."""


@contextlib.contextmanager
def only_builder(file: Path) -> Generator[bool]:
    """Lock the file's name while the block runs, or wait until who holds it has ended.

    The lock of a process that is killed is gone with it. Where no file can be locked nobody waits.

    Yields:
        Whether another process held the lock: it may have made the file.
    """
    lock = file.with_suffix(LOCK)
    opened = _opened(lock)
    if opened is None:
        yield False
        return
    try:
        waited = not _taken(opened)
        if waited:
            _wait(opened)
        try:
            yield waited
        finally:
            if not waited:
                lock.unlink(missing_ok=True)
    finally:
        os.close(opened)


def hold(opened: int) -> None:
    """Lock an open file until it is closed, or the process ends: it is being written."""
    if fcntl is not None:
        _taken(opened)


def is_abandoned(file: Path) -> bool:
    """Has the process ended that was writing a file, or held it locked? Raises OSError."""
    if fcntl is None:
        return time.time() - file.lstat().st_mtime > ABANDONED
    opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        return _taken(opened)
    finally:
        os.close(opened)


def _opened(lock: Path) -> int | None:
    """The file of a lock, open; None if there cannot be one."""
    if fcntl is None:
        return None
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None


def _taken(opened: int) -> bool:
    """Lock a file, unless another process holds it. Where there are no locks it does not."""
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _wait(opened: int) -> None:
    """Wait until nobody holds a lock, and let it go again."""
    latest = time.monotonic() + LONGEST_WAIT
    while not _taken(opened) and time.monotonic() < latest:
        time.sleep(_BETWEEN)
    fcntl.flock(opened, fcntl.LOCK_UN)
