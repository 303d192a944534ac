"""`merge`: several submissions to one suite as one folder, a table of all their policies."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from failgym.leaderboard.submission.block_sums import check_block_sums
from failgym.leaderboard.submission.checks import (
    cells_of,
    changed_files,
    file_names,
    read_results,
)
from failgym.leaderboard.submission.layout import played_envs, seal
from failgym.leaderboard.submission.policy_names import name_problems
from failgym.leaderboard.submission.records import (
    EVERY,
    LeftOut,
    Seconds,
    Submission,
    TraceRecord,
    file_sha256,
    read_submission,
)
from failgym.leaderboard.submission.same_predictor import same_predictor
from failgym.leaderboard.submission.stated_rows import check_rows_stated
from failgym.leaderboard.submission.tables import PREDICTORS_FOLDER, RESULTS_FILE, write_table
from failgym.leaderboard.suite.suites import suite_named

__all__ = ["merge"]

_Stated = TypeVar("_Stated", TraceRecord, LeftOut)


def merge(folders: Sequence[Path], out: Path) -> Submission:
    """Join submissions: policies in the order in which they are given.

    Each may be of other environments of the suite: the whole is of all of them.

    Args:
        folders: of the submissions; none is changed.
        out: the new folder; there must be nothing at its place.

    Raises:
        ValueError: in one line: submissions to different suites, versions, traces or secret seeds,
            of different versions of failgym, a policy that is in two of them, or a name that
            misleads (`failgym.leaderboard.submission.policy_names`), a file that is missing or was
            changed, rows that no policy states, or blocks that do not add up to their row's costs.
        OSError: if ``out`` cannot be written.
    """
    if len(folders) < 2:
        raise ValueError("merge: expected at least two folders")
    if out.exists():
        raise ValueError(f"--out {out}: exists already")
    found = [read_submission(folder) for folder in folders]
    _check_alike(folders, found)
    files = [_files(folder, one) for folder, one in zip(folders, found, strict=True)]
    _check_predictors(folders, files)
    tables = [_results(folder, one) for folder, one in zip(folders, found, strict=True)]
    partial = out.with_name(f".{out.name}.partial-{os.getpid()}")
    try:
        names = _copy(folders, files, partial)
        write_table(pa.concat_tables(tables), partial / RESULTS_FILE)
        seal(_merged(folders, found), partial, names)
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return read_submission(out)


def _check_alike(folders: Sequence[Path], found: Sequence[Submission]) -> None:
    first = found[0]
    whose: dict[Any, Path] = {}
    for folder, one in zip(folders, found, strict=True):
        for what, name in (
            ("suite", "suites, or versions of one"),
            ("failgym", "versions of failgym"),
            ("secret", "secret seeds"),
        ):
            if getattr(one, what) != getattr(first, what):
                raise ValueError(f"{folders[0]} and {folder} are of different {name}: not merged")
        for policy in one.policies:
            if policy.key in whose:
                raise ValueError(
                    f"policy {policy.name!r} is in {whose[policy.key]} and in {folder}: not merged"
                )
            whose[policy.key] = folder
    _joined(folders, list(map(_traces, found)), "traces")
    _joined(folders, list(map(_left_out, found)), "forecasts that are left out")
    for problem in name_problems([policy for one in found for policy in one.policies]):
        raise ValueError(f"{problem}: not merged")


def _traces(submission: Submission) -> dict[str, list[TraceRecord]]:
    """Environment -> its traces, where there are any."""
    found: dict[str, list[TraceRecord]] = {}
    for one in submission.traces:
        found.setdefault(one.env, []).append(one)
    return found


def _left_out(submission: Submission) -> dict[str, list[LeftOut]]:
    """Environment -> what is left out there, where that was tried."""
    found = {env: list[LeftOut]() for env in played_envs(submission.policies)}
    for one in submission.left_out:
        found.setdefault(one.env, []).append(one)
    return found


def _joined(
    folders: Sequence[Path], found: Sequence[dict[str, list[_Stated]]], what: str
) -> dict[str, list[_Stated]]:
    """What submissions say of environments: the same where two say anything.

    Raises:
        ValueError: naming two that differ.
    """
    joined: dict[str, list[_Stated]] = {}
    whose: dict[str, Path] = {}
    for folder, of in zip(folders, found, strict=True):
        for env, stated in of.items():
            if joined.setdefault(env, stated) != stated:
                raise ValueError(f"{whose[env]} and {folder} are of different {what}: not merged")
            whose.setdefault(env, folder)
    return joined


def _files(folder: Path, submission: Submission) -> list[str]:
    """The files of a submission, results aside. Raises ValueError if one is missing or changed."""
    suite = suite_named(submission.suite.name)
    stated = {trace.env for trace in submission.traces}
    cells = [cell for cell in cells_of(submission, suite) if cell.env in stated]
    names = file_names(submission, cells)
    for name in sorted(names):
        if name not in submission.files or not (folder / name).is_file():
            raise ValueError(f"{folder}: {name} is missing")
    for name in sorted(changed_files(submission, folder, cells)):
        raise ValueError(f"{folder}: {name} was changed")
    return sorted(names - {RESULTS_FILE})


def _results(folder: Path, submission: Submission) -> Any:
    """The table of results. Raises ValueError if its rows cannot be shown."""
    try:
        table = read_results(folder)
        check_rows_stated(submission, table)
        check_block_sums(table.to_pandas())
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from error
    return table


def _check_predictors(folders: Sequence[Path], files: Sequence[Sequence[str]]) -> None:
    """Different forecasts make different cells. Raises ValueError."""
    whose: dict[str, Path] = {}
    for folder, names in zip(folders, files, strict=True):
        for name in (name for name in names if name.startswith(PREDICTORS_FOLDER)):
            other = whose.setdefault(name, folder)
            if file_sha256(other / name) != file_sha256(folder / name):
                rounded = same_predictor(other / name, folder / name)
                why = "was learned where numbers are rounded otherwise" if rounded else "differs"
                raise ValueError(
                    f"{other} and {folder}: {name} {why}: not merged; run one of them again"
                    " with --predictors-of the other"
                )


def _copy(folders: Sequence[Path], files: Sequence[Sequence[str]], out: Path) -> list[str]:
    for folder, names in zip(folders, files, strict=True):
        for name in names:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, out / name)
    return list(dict.fromkeys(name for names in files for name in names))


def _merged(folders: Sequence[Path], found: Sequence[Submission]) -> Submission:
    """All but the files, in the order of one run."""
    seconds = Seconds(
        engine=sum(one.seconds.engine for one in found),
        policy=sum(one.seconds.policy for one in found),
    )
    suite = suite_named(found[0].suite.name)
    order = {course.env: at for at, course in enumerate(suite.courses)}

    def place(one: TraceRecord | LeftOut) -> int:
        return order.get(one.env, len(order))

    traces = _joined(folders, list(map(_traces, found)), "traces")
    left_out = _joined(folders, list(map(_left_out, found)), "forecasts that are left out")
    missing = sorted((one for of in left_out.values() for one in of), key=place)
    return found[0].model_copy(
        update={
            "traces": sorted((one for of in traces.values() for one in of), key=place),
            "left_out": sorted(missing, key=lambda one: one.forecast == EVERY),
            "policies": [policy for one in found for policy in one.policies],
            "seconds": seconds,
        }
    )
