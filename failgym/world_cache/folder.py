"""Where compiled worlds are kept, and how many: the least recently used ones go.

- ``FAILGYM_CACHE_DIR``: the folder, by default that of the user's caches;
- ``FAILGYM_CACHE_SIZE``: how large it may become, as 500M, 4G or a number of bytes, by default
  `MOST_BYTES`; 0 for no cache.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from functools import lru_cache
from pathlib import Path

from failgym.compiled.ownership import make_private, only_mine
from failgym.files import PARTIAL
from failgym.world_cache.builder import LOCK, is_abandoned
from failgym.world_cache.file import Kept, look_at

__all__ = [
    "MOST_BYTES",
    "cache_folder",
    "chosen_folder",
    "clear",
    "entries",
    "file_name",
    "make_room",
    "oracle_name",
    "size_limit",
]

FOLDER, SIZE = "FAILGYM_CACHE_DIR", "FAILGYM_CACHE_SIZE"
MOST_BYTES = 4_000_000_000
"""28 worlds of Cloning-v0 on a real trace of 416,356 tasks, 142 MB each."""
_SUFFIX, _ORACLE = ".world", ".oracle"
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def size_limit() -> int:
    """How large the cache may become [bytes]. Raises ValueError if what is set is no size."""
    text = os.environ.get(SIZE, "").strip()
    if not text:
        return MOST_BYTES
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([KMGT]?)B?", text, re.IGNORECASE)
    if found is None:
        raise ValueError(f"{SIZE}: expected bytes as 500M or 4G, or 0 for no cache, got {text!r}")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def chosen_folder() -> Path:
    """Where worlds are to be kept, whether or not they can be."""
    given = os.environ.get(FOLDER)
    return Path(os.path.abspath(given)) if given else _of_user() / "failgym" / "worlds"


def _of_user() -> Path:
    """The folder of the user's caches."""
    if sys.platform == "win32":
        own = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        own = os.path.expanduser("~/Library/Caches")
    else:
        own = os.environ.get("XDG_CACHE_HOME", "")
    return Path(own) if os.path.isabs(own) else Path(os.path.expanduser("~"), ".cache")


def cache_folder() -> Path | None:
    """The folder, made if it is missing; None if it cannot be, or others could write to it."""
    folder = chosen_folder()
    if folder.is_absolute() and _made(folder) and only_mine(folder):
        return folder
    if os.environ.get(FOLDER):
        _warn(folder)
    return None


def _made(folder: Path) -> bool:
    """Is it there, or can it be made? One on a disk that is read-only may be."""
    with contextlib.suppress(OSError):
        make_private(folder)
    return os.path.isdir(folder)


@lru_cache(maxsize=16)
def _warn(folder: Path) -> None:
    """Say once that the user's own choice was not taken."""
    warnings.warn(
        f"{FOLDER} {folder}: not used, because it cannot be made, or because others could write"
        " to it",
        stacklevel=2,
    )


def file_name(key: str) -> str:
    """The name of the file of a world."""
    return key + _SUFFIX


def oracle_name(key: str, chosen: int) -> str:
    """The name of the file of an episode that was found on a slice (`failgym.evaluation.oracle`).

    Such files take a few kilobytes; they are no part of what `make_room` counts.
    """
    return f"{key}-{chosen}{_ORACLE}"


def entries() -> list[Kept]:
    """The worlds that are kept, the last used first."""
    folder = cache_folder()
    files = [] if folder is None else _worlds(folder)
    found = [kept for file in files if (kept := look_at(file)) is not None]
    return sorted(found, key=lambda kept: kept.used, reverse=True)


def clear() -> tuple[int, int]:
    """Remove all that is kept, and what killed processes left; how many files, and bytes.

    Who plays in a world that is removed goes on: its pages stay until the last such process ends.

    Raises:
        OSError: if one cannot be removed.
    """
    folder = cache_folder()
    if folder is None:
        return 0, 0
    count = size = 0
    for file in [*_worlds(folder), *folder.glob(f"*{_ORACLE}"), *_leftovers(folder)]:
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            about = file.lstat()
            file.unlink()
            count, size = count + 1, size + about.st_size
    return count, size


def make_room(folder: Path, most: int) -> None:
    """Remove the least recently used worlds until the others take at most so many bytes.

    What killed processes left goes too.
    """
    about = {file: known for file in _worlds(folder) if (known := _status(file)) is not None}
    size = sum(each.st_size for each in about.values())
    for file, known in sorted(about.items(), key=lambda item: item[1].st_mtime):
        if size > most and _removed(file):
            size -= known.st_size
    for file in _leftovers(folder):
        with contextlib.suppress(OSError):
            if is_abandoned(file):
                _removed(file)


def _status(file: Path) -> os.stat_result | None:
    """What is known of a file; None if it is gone."""
    try:
        return file.lstat()
    except OSError:
        return None


def _removed(file: Path) -> bool:
    """Remove a file, if that can be: Windows keeps one that is mapped."""
    try:
        file.unlink()
    except OSError:
        return False
    return True


def _worlds(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{_SUFFIX}"))


def _leftovers(folder: Path) -> list[Path]:
    """What processes are writing, or left when they were killed."""
    return [*folder.glob(PARTIAL), *folder.glob(f"*{LOCK}")]
