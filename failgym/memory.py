"""How much memory there is: asked before much is taken, so that the answer is one line.

And what was freed is given back.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["SMALL", "available", "check_room", "give_back", "size_text"]

SMALL = 1 << 24
"""What is taken without asking [bytes]."""
_PROC, _CGROUP = Path("/proc"), Path("/sys/fs/cgroup")


def available() -> int | None:
    """Bytes that this process can still take; None on a platform that does not tell.

    The least of what the machine has free, what the control groups of the process leave it, and
    what its limit of address space leaves it.
    """
    known = [
        free for free in (_of_machine(), _of_address_space(), *_of_groups()) if free is not None
    ]
    return max(min(known), 0) if known else None


def check_room(needed: int, what: str) -> None:
    """Raise MemoryError, in one line, if so many bytes for something are not free."""
    free = available() if needed > SMALL else None
    if free is not None and needed > free:
        raise MemoryError(
            f"{what}: needs {size_text(needed)} of memory, and {size_text(free)} are free"
        )


def give_back() -> None:
    """Give memory that was freed back to the system, where the allocators can be told to.

    Both that of C and that of Arrow keep what they freed for what comes next. After a long step
    that may be as much as is in use. Of the C libraries only glibc can be told. Nothing is raised.
    """
    arrow = sys.modules.get("pyarrow")
    with suppress(AttributeError, OSError):  # imported in part, or without such a function
        if arrow is not None:
            arrow.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError):
        if sys.platform == "linux":
            ctypes.CDLL(None).malloc_trim(0)


def size_text(size: float) -> str:
    """A number of bytes for people: 24.2 GB, 46 MB."""
    if size >= 1e9:
        return f"{size / 1e9:,.1f} GB"
    return f"{size / 1e6:,.0f} MB" if size >= 1e6 else f"{size:,.0f} bytes"


def _of_machine() -> int | None:
    """What Linux could give without swapping [bytes]."""
    try:
        for line in (_PROC / "meminfo").read_text("ascii").splitlines():
            name, _, value = line.partition(":")
            if name == "MemAvailable":
                return int(value.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _of_address_space() -> int | None:
    """What RLIMIT_AS leaves [bytes]."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int((_PROC / "self/statm").read_text("ascii").split()[0])
        return limit - pages * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):
        return None


def _of_groups() -> Iterator[int | None]:
    """What each control group that the process is in leaves it [bytes]."""
    try:
        lines = (_PROC / "self/cgroup").read_text().splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if not controllers:  # version 2
            yield from _left(_CGROUP, path, "memory.max", "memory.current", "")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
            yield from _left(_CGROUP / "memory", path, *names)


def _left(root: Path, path: str, limit: str, usage: str, prefix: str) -> Iterator[int | None]:
    """What a group and those above it leave; in a container only the root may be there."""
    group = root / path.strip("/")
    for folder in {root, group, *(above for above in group.parents if root in above.parents)}:
        yield _free_in(folder, limit, usage, prefix)


def _free_in(folder: Path, limit: str, usage: str, prefix: str) -> int | None:
    """Limit less usage, where files that are only cached do not count [bytes]."""
    try:
        most, used = int((folder / limit).read_text()), int((folder / usage).read_text())
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        cached = sum(int(stat.get(prefix + name, 0)) for name in ("inactive_file", "active_file"))
        return most - used + cached
    except (OSError, ValueError):  # "max": no limit
        return None
