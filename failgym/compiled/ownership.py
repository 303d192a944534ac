"""Files and folders that nobody else could have written: what is read from there may be code."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from functools import lru_cache
from pathlib import Path

__all__ = ["is_private", "make_private", "only_mine", "temporary_folder"]

_EVERYBODY = "0 0 4294967295"
"""What the map of users says where there is no namespace of users."""


def only_mine(path: str | Path) -> bool:
    """Could nobody but this user and the administrator have written what is at ``path``?

    The file or folder and all folders above it belong to one of the two, and nobody else may write
    to them; in a sticky folder, as the temporary one is, others cannot touch what is not theirs.
    Where there are no owners of files, yes.
    """
    if os.name != "posix":
        return True
    given = Path(os.path.abspath(path))
    resolved = Path(os.path.realpath(path))
    try:
        return is_private(os.stat(resolved)) and all(
            _is_guarded(folder) for folder in {*given.parents, *resolved.parents}
        )
    except OSError:
        return False


def is_private(about: os.stat_result) -> bool:
    """May only this user and the administrator write it, whom it belongs to?"""
    return about.st_uid in _trusted(os.geteuid()) and not _others_write(about)


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, that only this user has access to.

    Raises:
        OSError: if it cannot be made, or others could put something else in its place.
    """
    missing = [folder]
    while not missing[-1].exists():
        missing.append(missing[-1].parent)
    if os.name == "posix" and not all(map(_is_guarded, (missing[-1], *missing[-1].parents))):
        raise PermissionError(1, "others could replace what is in a folder above", str(folder))
    for new in reversed(missing[:-1]):
        with contextlib.suppress(FileExistsError):  # another process was faster
            new.mkdir(mode=0o700)


def temporary_folder() -> Path | None:
    """This user's own folder in the temporary one; None if somebody else has taken its name."""
    if os.name != "posix":
        return None
    folder = Path(tempfile.gettempdir()) / f"failgym-{os.geteuid()}"
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        about = os.lstat(folder)
    except OSError:
        return None
    own = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()
    closed = stat.S_IMODE(about.st_mode) & 0o077 == 0
    return folder if own and closed and only_mine(folder) else None


def _is_guarded(folder: Path) -> bool:
    """Can others not put anything else in the place of what somebody trusted has in a folder?"""
    about = os.stat(folder)
    if about.st_uid not in _trusted(os.geteuid()):
        return False
    return bool(about.st_mode & stat.S_ISVTX) or not _others_write(about)


def _others_write(about: os.stat_result) -> bool:
    """May anybody but the owner write it? A group of one user is that user."""
    if about.st_mode & stat.S_IWOTH:
        return True
    return bool(about.st_mode & stat.S_IWGRP) and not _is_own_group(about.st_gid, os.geteuid())


@lru_cache(maxsize=64)
def _trusted(user: int) -> frozenset[int]:
    """This user and the administrator, who goes by another number in a namespace of users."""
    try:
        mapped = Path("/proc/self/uid_map").read_text("ascii").split()
        overflow = int(Path("/proc/sys/kernel/overflowuid").read_text("ascii"))
    except (OSError, ValueError):
        return frozenset({0, user})
    return frozenset({0, user} if " ".join(mapped) == _EVERYBODY else {0, user, overflow})


@lru_cache(maxsize=64)
def _is_own_group(group: int, user: int) -> bool:
    """Is it the group of this user alone, as systems give one to every user?"""
    import grp
    import pwd

    try:
        owner, members = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    alone = not {*members.gr_mem} - {owner.pw_name}
    return owner.pw_gid == group and members.gr_name == owner.pw_name and alone
