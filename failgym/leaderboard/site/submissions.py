"""The submissions of a folder, and where their pages lie in a site."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from failgym.leaderboard.page.source import Source, read_source
from failgym.leaderboard.submission.records import (
    SUBMISSION_FILE,
    Submission,
    file_sha256,
    read_submission,
)
from failgym.leaderboard.verification.verdict_file import Verdicts

__all__ = ["PAGES", "SubmissionRead", "address_of", "find_submissions", "read_submissions"]

PAGES = "submissions"
"""The folder of a site in which the pages of submissions lie."""
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
"""Names of folders that are names of pages too, whatever the file system and the server."""


@dataclass(frozen=True)
class SubmissionRead:
    """A submission, and where its page is."""

    name: str
    """of its folder"""
    about: Submission
    """what `submission.json` says"""
    sha256: str
    """of `submission.json`"""
    source: Source
    """its results, which know the address of the page"""

    @property
    def address(self) -> str:
        """Of its page, from the top of the site."""
        return self.source.address


def find_submissions(folder: Path) -> list[Path]:
    """The folders of submissions in a folder, by name; the folder itself if it is one.

    What else lies there is passed over, and so are names that begin with a dot.

    Raises:
        ValueError: if there is none, or the folder cannot be read.
    """
    if (folder / SUBMISSION_FILE).is_file():
        return [folder]
    try:
        inside = sorted(one for one in folder.iterdir() if not one.name.startswith("."))
    except OSError as error:
        raise ValueError(f"{folder}: {error.strerror}") from error
    found = [one for one in inside if (one / SUBMISSION_FILE).is_file()]
    if not found:
        raise ValueError(f"{folder}: holds no submission: expected folders with {SUBMISSION_FILE}")
    return found


def read_submissions(folders: Sequence[Path], verdicts: Verdicts | None) -> list[SubmissionRead]:
    """Read submissions, without verifying them.

    Raises:
        ValueError: naming the file, if one is missing or not what a submission holds.
    """
    return [_read(folder, verdicts) for folder in folders]


def _read(folder: Path, verdicts: Verdicts | None) -> SubmissionRead:
    about, sha256 = read_submission(folder), file_sha256(folder / SUBMISSION_FILE)
    name = folder.resolve().name
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{folder}: leads to {name!r}, expected a name in UTF-8") from error
    source = replace(read_source(folder, verdicts), folder=name, address=address_of(name))
    return SubmissionRead(name, about, sha256, source)


def address_of(name: str) -> str:
    """Where the page of a folder's submission lies: the same whatever else is in the site.

    >>> address_of("team-a")
    'submissions/team-a.html'
    >>> address_of("Team A")
    'submissions/team-a~e18d322f.html'
    """
    if _PLAIN.fullmatch(name):
        return f"{PAGES}/{name}.html"
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40]
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{PAGES}/{plain}~{digest}.html"
