"""What is known of a published trace: its files, whose it is, what may be done with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice

__all__ = ["MOST_SHARDS", "PublishedFile", "PublishedTrace", "Shards", "fits"]

MOST_SHARDS = 100_000
"""Nobody publishes more files of a table."""
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class PublishedFile:
    """A file of a published trace."""

    path: str
    """where it goes, in the folder of the trace"""
    url: str
    size: int | None = None
    """[bytes]; None: not known for certain"""
    sha256: str | None = None
    """of the file as it is published; None: not known for certain"""

    def __post_init__(self) -> None:
        parts = self.path.split("/")
        if not all(parts) or any(part.startswith(".") for part in parts) or "\\" in self.path:
            raise ValueError(f"{self.path!r}: expected a path within a folder")
        if not self.url.startswith(("https://", "http://")):
            raise ValueError(f"{self.url!r}: expected an address of http or https")
        if self.size is not None and self.size < 1:
            raise ValueError(f"{self.path}: {self.size} bytes, expected at least 1")
        if self.sha256 is not None and not _HASH.fullmatch(self.sha256):
            raise ValueError(f"{self.sha256!r}: expected a SHA-256 in hexadecimal")


@dataclass(frozen=True)
class Shards:
    """Files that are numbered from 0 on, until the server has no more: how many nobody has said.

    `path` and `url` hold the number as `str.format` writes it.
    """

    path: str
    url: str

    def file(self, number: int) -> PublishedFile:
        """One of them."""
        return PublishedFile(self.path.format(number), self.url.format(number))

    def fit(self, pattern: str) -> bool:
        """Does the path of one of the first `MOST_SHARDS` fit a pattern?"""
        return any(fnmatchcase(self.file(n).path, pattern) for n in range(MOST_SHARDS))


@dataclass(frozen=True)
class PublishedTrace:
    """A trace that is published, and that failgym reads."""

    name: str
    about: str
    form: str
    """the format, for `failgym trace import`"""
    page: str
    """where its publisher describes it"""
    licence: str
    citation: str
    files: tuple[PublishedFile, ...]
    shards: tuple[Shards, ...] = ()
    size: int | None = None
    """of all files, about, as its publisher says [bytes]; None: nobody says"""
    remark: str = ""
    """what is worth knowing before it is fetched or read"""

    def check(self, only: Sequence[str]) -> None:
        """Is there a file for each pattern? Raises ValueError for one that fits none."""
        for pattern in only:
            known = any(fnmatchcase(file.path, pattern) for file in self.files)
            if not known and not any(shards.fit(pattern) for shards in self.shards):
                raise ValueError(
                    f"{pattern!r}: matches no file of {self.name}, such as {self.first}"
                )

    @property
    def first(self) -> str:
        """The path of a file, as an example."""
        found = (*(file.path for file in self.files), *(s.file(0).path for s in self.shards))
        return next(islice(found, 1), "")

    @property
    def known_size(self) -> int | None:
        """Of all files [bytes], where each is known; else about, or None."""
        sizes = [file.size for file in self.files]
        if self.shards or None in sizes:
            return self.size
        return sum(size for size in sizes if size is not None)


def fits(path: str, only: Sequence[str]) -> bool:
    """Does a path fit one of the patterns, `*`, `?` and `[]`? Any does, where there are none."""
    return not only or any(fnmatchcase(path, pattern) for pattern in only)
