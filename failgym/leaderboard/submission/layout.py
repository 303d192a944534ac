"""What a submission's folder holds: the order of its rows, names of its files, and its seal."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from failgym.leaderboard.submission.entries import Entry
from failgym.leaderboard.submission.records import (
    PolicyRecord,
    Submission,
    file_sha256,
    write_submission,
)
from failgym.leaderboard.submission.tables import ACTIONS_FOLDER, PREDICTORS_FOLDER, RESULTS_FILE
from failgym.leaderboard.suite.suites import Cell, Course, Suite

__all__ = ["action_file", "files_of", "planned", "played_envs", "predictor_files", "seal"]

Policies = Sequence[Entry] | Sequence[PolicyRecord]


def played_envs(policies: Policies) -> frozenset[str]:
    """The environments that somebody plays: a submission is of these, and of no others."""
    return frozenset(env for policy in policies for env in policy.specs)


def planned(policies: Policies, cells: Sequence[Cell]) -> list[tuple[int, Cell]]:
    """The cells that each policy plays: number of the policy and cell, in the order of rows."""
    return [
        (number, cell)
        for number, policy in enumerate(policies)
        for cell in cells
        if cell.env in policy.specs
    ]


def action_file(key: tuple[str, int | None], env: str, forecast: str) -> str:
    """The name, within the folder, of the actions of a policy; the same wherever it is merged."""
    name, _ = key
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:8]
    legible = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40]
    return f"{ACTIONS_FOLDER}/{legible}-{digest}/{env}-{forecast}.parquet"


def predictor_files(suite: Suite, cells: Sequence[Cell]) -> list[str]:
    """The names, within the folder, of the predictors that change what happens."""
    trained = dict.fromkeys(cell.env for cell in cells if cell.forecast == "trained")
    shown = [suite.course(env) for env in trained]
    return [name for course in shown if course.forecast_matters for name in files_of(course)]


def files_of(course: Course) -> list[str]:
    """The names, within the folder, of the predictors of an environment: of folds one each."""
    return [f"{PREDICTORS_FOLDER}/{name}.npz" for name in course.predictors]


def seal(about: Submission, folder: Path, files: Sequence[str]) -> None:
    """Write `submission.json` with the hashes of the tables, which are there."""
    hashes = {name: file_sha256(folder / name) for name in (RESULTS_FILE, *files)}
    write_submission(about.model_copy(update={"files": hashes}), folder)
