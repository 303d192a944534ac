"""Predictors of another submission, in place of those that would be learned anew.

What is learned on two machines may differ in the last bit, and then grace periods, and with them
what happens. Runs that are to be merged share them: `verify` sees that they are what the train
split teaches.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from failgym.files import replacing
from failgym.leaderboard.submission.layout import predictor_files
from failgym.leaderboard.submission.records import SuiteRecord, file_sha256, read_submission
from failgym.leaderboard.suite.suite_worlds import SuiteWorlds

__all__ = ["copy_predictors", "shared_predictors"]


def shared_predictors(folder: Path, worlds: SuiteWorlds) -> dict[str, str]:
    """The predictors of a submission that change what happens: name within the folder -> SHA-256.

    Raises:
        ValueError: in one line, if it is of another suite, or a predictor is missing or changed.
    """
    submission = read_submission(folder)
    if submission.suite != SuiteRecord.of(worlds.suite):
        raise ValueError(f"--predictors-of {folder}: is a submission to another suite")
    found: dict[str, str] = {}
    for name in predictor_files(worlds.suite, list(worlds.suite.cells())):
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
