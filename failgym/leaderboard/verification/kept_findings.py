"""What `verify` has found so far: the same call goes on where it was killed.

Findings of each place, and the predictors that were learned anew, are kept in a folder of the
host's until the verdict is written. They hold for one submission only, and for those who found
them: the folder's name follows from the content of the submission, the traces and the secret, the
sources of failgym, the packages and the options. If any of it changes all is found anew. Every file
is written to a temporary name and renamed. Only its owner can look into the folder, and where
others could write nothing is kept: whoever makes up findings makes up a verdict.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import platform
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from failgym.compiled.ownership import make_private, only_mine
from failgym.files import replacing
from failgym.leaderboard.submission.checks import cells_of, file_names
from failgym.leaderboard.submission.entries import library_versions
from failgym.leaderboard.submission.records import SUBMISSION_FILE, Submission, file_sha256
from failgym.leaderboard.suite.secret_seed import commitment
from failgym.leaderboard.suite.suite_worlds import SuiteWorlds
from failgym.leaderboard.verification.asking_again import Asking
from failgym.leaderboard.verification.findings import Findings, Place
from failgym.sources import code_hash

__all__ = ["KeptFindings", "decided_by", "findings_kept", "forget", "others_kept"]

_FOUND, _ABOUT, _LOCK = "found-", "about.json", "lock"
_JSON = TypeAdapter(Findings)


_SOURCES = code_hash()
"""When this was imported: they are what runs."""


@dataclass(frozen=True)
class KeptFindings:
    """What was found at the places of one submission."""

    folder: Path
    code: str
    """SHA-256 of the sources that they were found by: workers may have read others"""

    @property
    def learned(self) -> Path:
        """The folder of the predictors that are trained anew."""
        return self.folder / "predictors"

    @property
    def count(self) -> int:
        """Of how many places something is known."""
        return len(list(self.folder.glob("*-*.json")))

    def _file(self, place: Place) -> Path:
        env, seed = place
        return self.folder / f"{env}-{'predictor' if seed is None else seed}.json"

    def read(self, place: Place) -> Findings | None:
        """What was found at a place; None if nothing was, or it cannot be read."""
        try:
            return _JSON.validate_json(self._file(place).read_bytes())
        except (OSError, ValidationError):
            return None

    def write(self, place: Place, found: Findings) -> None:
        """Keep what was found, unless the sources were changed meanwhile. Raises OSError."""
        if code_hash() == _SOURCES == self.code:
            with replacing(self._file(place)) as partial:
                partial.write_bytes(_JSON.dump_json(found))


def decided_by(
    folder: Path, submission: Submission, worlds: SuiteWorlds, asking: Asking | None, refit: bool
) -> dict[str, Any]:
    """All that decides what is found, by its name, as JSON values.

    Args:
        folder: of the submission.
        submission: what it says of itself.
        worlds: that it was played on.
        asking: who asks policies again, and who cannot be asked.
        refit: are predictors trained anew?
    """
    names = sorted({SUBMISSION_FILE, *file_names(submission, cells_of(submission, worlds.suite))})
    content = {name: file_sha256(folder / name) for name in names if (folder / name).is_file()}
    blind = [cell for cell in worlds.suite.cells() if cell.forecast == "none"]
    own = {cell.env: worlds.trace_hash(cell) for cell in blind if cell.env in worlds.traces}
    return {
        "submission": content,
        "traces": [own, worlds.secret and commitment(worlds.secret)],
        "code": _SOURCES,
        "packages": [library_versions(), platform.machine()],
        "options": [refit, None if asking is None else _said(asking)],
    }


def _said(asking: Asking) -> list[Any]:
    """Under which limits policies are asked, and why some are not, as JSON values."""
    players, limits = asking.players, asking.players.confinement
    excused = sorted([repr(place), why] for place, why in asking.excused.items())
    return [players.time_limit, limits.memory, limits.processes, list(players.command), excused]


@contextmanager
def findings_kept(work: Path, decided: Mapping[str, Any]) -> Generator[KeptFindings | str]:
    """Hold the folder of what was found so far, made if need be, against other calls.

    Args:
        work: the folder that it is in.
        decided: all that decides what is found (`decided_by`).

    Yields:
        What was found, or why nothing can be kept.

    Raises:
        ValueError: if another call holds it.
    """
    text = json.dumps(decided, sort_keys=True)
    folder = work / f"{_FOUND}{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    reason = _why_not(folder)
    if reason is not None:
        yield reason
        return
    with _locked(folder) as held:
        if not held:
            raise ValueError(f"{folder}: another verification is at work in it")
        if not (folder / _ABOUT).is_file():
            with replacing(folder / _ABOUT) as partial:
                partial.write_text(text, "utf-8")
        kept = KeptFindings(folder, _SOURCES)
        kept.learned.mkdir(exist_ok=True)
        yield kept


def _why_not(folder: Path) -> str | None:
    """Why nothing can be kept in a folder; None if it is there, or was made."""
    if not _SOURCES:
        return "the sources of failgym cannot be read"
    try:
        make_private(folder)
    except OSError as error:
        return error.strerror or str(error)
    return None if only_mine(folder) else "others could write there"


def others_kept(work: Path, decided: Mapping[str, Any]) -> list[str]:
    """Names of what is not the same of findings that are kept there too, those of the last call.

    Args:
        work: the folder that they are in.
        decided: all that decides what is found now.
    """
    found = sorted(work.glob(f"{_FOUND}*/{_ABOUT}"), key=lambda file: file.stat().st_mtime_ns)
    for file in reversed(found):
        with contextlib.suppress(OSError, ValueError):
            there = json.loads(file.read_text("utf-8"))
            here = json.loads(json.dumps(decided))
            if there != here:
                return [name for name in here if there.get(name) != here[name]]
    return []


@contextmanager
def _locked(folder: Path) -> Generator[bool]:
    """Lock a folder if nobody else has; the system lets go of it if we die."""
    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def forget(work: Path) -> None:
    """Remove all that is kept in a folder, and the folder if nothing else is in it.

    What another call is at work in stays.
    """
    for folder in work.glob(f"{_FOUND}*"):
        with contextlib.suppress(OSError), _locked(folder) as held:
            if held:
                shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        work.rmdir()
