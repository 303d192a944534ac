"""Predictors of another submission, in place of those that would be learned anew.

What is learned on two machines may differ in the last bit, and then grace periods, and with them
what happens. Runs that are to be merged share them: `verify` sees that they are what the train
split teaches.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from failgym.files import replacing
from failgym.leaderboard.run.tasks import cells_played
from failgym.leaderboard.submission.checks import cells_of
from failgym.leaderboard.submission.entries import Entry
from failgym.leaderboard.submission.layout import predictor_files
from failgym.leaderboard.submission.records import SuiteRecord, file_sha256, read_submission
from failgym.leaderboard.suite.suite_worlds import SuiteWorlds

__all__ = ["copy_predictors", "shared_predictors"]


def shared_predictors(
    folder: Path, worlds: SuiteWorlds, entries: Sequence[Entry]
) -> dict[str, str]:
    """The predictors of a submission that change what happens, and that somebody plays with.

    Args:
        folder: of the submission.
        worlds: of the suite.
        entries: the policies that are to play.

    Returns:
        Name within the folder -> SHA-256. Predictors of an environment that nobody plays in that
        submission may not be there: then they are learned anew, and there is nothing to differ
        from.

    Raises:
        ValueError: in one line, if it is of another suite, or a predictor is missing or changed.
    """
    submission = read_submission(folder)
    if submission.suite != SuiteRecord.of(worlds.suite):
        raise ValueError(f"--predictors-of {folder}: is a submission to another suite")
    theirs = predictor_files(worlds.suite, cells_of(submission, worlds.suite))
    found: dict[str, str] = {}
    for name in predictor_files(worlds.suite, cells_played(worlds, entries)):
        if name not in theirs and name not in submission.files:
            continue
        file = folder / name
        if not file.is_file() or file_sha256(file) != submission.files.get(name):
            raise ValueError(f"--predictors-of {folder}: {name} is missing, or was changed")
        found[name] = submission.files[name]
    return found


def copy_predictors(folder: Path, names: Mapping[str, str], predictors: Path) -> None:
    """Copy predictors to where a run keeps its own, unless they are there. Raises OSError."""
    for name in names:
        target = predictors / Path(name).name
        if not target.is_file():
            with replacing(target) as partial:
                shutil.copyfile(folder / name, partial)
