"""What the files of policies say of themselves, where these files are at hand.

A submission states the hash of each file, and does not hold it. A file that has this hash is what
was stated to have been played; what it says of its training its author wrote. Only files in folders
that the host names are read: a submission may name any path, and what its file says is published.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from failgym.leaderboard.submission.records import PolicyFile, PolicyRecord, file_sha256

__all__ = ["Describe", "PolicyFiles"]

Describe = Callable[[Path], Mapping[str, Any]]
"""What a policy's file says of its training, by name: texts, numbers, and lists and objects of
these. Raises ValueError if it is no such file."""

MOST_BYTES = {".json": 1 << 24, ".safetensors": 1 << 28}
"""Kinds of files that are read, by suffix, and how large they may be: as their readers allow."""


@dataclass
class PolicyFiles:
    """Finds the files that submissions state.

    Args:
        folders: of the host, where they may lie, at any depth: regular files of a suffix and size
            in `MOST_BYTES`. Links are not followed.
        describe: reads what one says of itself; it is the command's: this package imports no agent.

    Raises:
        ValueError: for a folder that is none.
    """

    folders: Sequence[Path]
    describe: Describe
    _by_name: dict[str, list[Path]] = field(init=False, default_factory=dict[str, list[Path]])

    def __post_init__(self) -> None:
        for folder in self.folders:
            if not folder.is_dir():
                raise ValueError(f"{folder}: expected a folder of policies' files")
            for path in _regular(folder):
                self._by_name.setdefault(path.name, []).append(path)

    def said(self, policy: PolicyRecord) -> dict[PolicyFile, Mapping[str, Any] | str]:
        """What each file of a policy says of itself; a text says why nothing is known of it."""
        found: dict[PolicyFile, Mapping[str, Any] | str] = {}
        for file in policy.files.values():
            if file not in found:
                found[file] = self._said(file)
        return found

    def _said(self, file: PolicyFile) -> Mapping[str, Any] | str:
        for path in self._by_name.get(file.name, []):
            try:
                if file_sha256(path) == file.sha256:
                    return self.describe(path)
            except OSError:
                continue  # it is not at hand after all
            except ValueError as error:
                return f"cannot be read: {str(error).replace(str(path), file.name)}"
        return "is not at hand: only its hash is known"


def _regular(folder: Path) -> Iterator[Path]:
    """The files that may be read, by path."""
    for inside, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(inside, name)
            most = MOST_BYTES.get(path.suffix)
            if most is None:
                continue
            try:
                found = path.lstat()
            except OSError:
                continue  # it went meanwhile
            if stat.S_ISREG(found.st_mode) and found.st_size <= most:
                yield path
