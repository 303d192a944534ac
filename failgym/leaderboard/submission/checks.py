"""What can be said of a submission without playing it: files, hashes, columns, rows, versions."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import Any

import numpy as np

from failgym import __version__
from failgym.envs.spaces import TERMS
from failgym.leaderboard.submission.layout import (
    action_file,
    planned,
    played_envs,
    predictor_files,
)
from failgym.leaderboard.submission.proofs import RowProof
from failgym.leaderboard.submission.records import (
    EVERY,
    SUBMISSION_FILE,
    Submission,
    SuiteRecord,
    file_sha256,
)
from failgym.leaderboard.submission.specs import is_by_fold
from failgym.leaderboard.submission.tables import (
    ACTIONS_FOLDER,
    ANCHOR_BLOCKS,
    BLOCKS,
    OK,
    PREDICTORS_FOLDER,
    RESULTS,
    RESULTS_FILE,
    STATUSES,
    read_table,
)
from failgym.leaderboard.suite.account import ACCOUNT, REPLAY_ACCOUNT
from failgym.leaderboard.suite.cost_blocks import BLOCKS as MOST_BLOCKS
from failgym.leaderboard.suite.episodes import MOST_REASON
from failgym.leaderboard.suite.suites import Cell, Suite, suite_named

__all__ = [
    "about_problems",
    "cells_of",
    "changed_files",
    "expected_rows",
    "file_names",
    "file_problems",
    "named_row",
    "read_results",
    "row_problems",
    "rows_of",
]

KEYS = ("policy", "training_seed", "env", "forecast", "seed", "slice")
"""Columns that tell rows apart, in the order of rows."""
MOST_COUNTED = 1e15
"""Hours, tasks and costs are at most so many: more would be no sum any more."""
PARTS = (
    ("moved_drawn", "moved"),
    ("stake_in_top", "stake_in_top_percent"),
    ("stake_in_top_percent", "stake"),
)
"""Columns that are parts of others."""
ROUNDING = 1e-9
"""Relative, of sums."""
NAMED = 5
"""Rows that are named of those that are missing, or there twice."""

Row = tuple[Any, ...]


def about_problems(submission: Submission, suite: Suite) -> Iterator[str]:
    """What is wrong with what a submission says of itself."""
    if submission.failgym != __version__:
        yield (
            f"failgym version: the submission is of {submission.failgym}, this is {__version__};"
            " verify it with the one that it was made with"
        )
    record = SuiteRecord.of(suite)
    if (submission.suite.version, submission.suite.digest) != (record.version, record.digest):
        yield (
            f"suite {suite.name}: the submission is of version {submission.suite.version}"
            f" ({submission.suite.digest[:8]}), this is version {record.version}"
            f" ({record.digest[:8]})"
        )
    yield from _left_out_problems(submission, suite)
    yield from _trace_problems(submission, suite)
    known = {course.env for course in suite.courses}
    for policy in submission.policies:
        for env, spec in policy.specs.items():
            if env not in known:
                yield f"policy {policy.name!r}: {env!r} is no environment of suite {suite.name}"
            if is_by_fold(spec) and env in known and not suite.course(env).folds:
                yield f"policy {policy.name!r}: {spec!r} is by fold, and {suite.name} has none"
            if not _fits(policy.kind, spec):
                yield f"policy {policy.name!r}: {spec!r} is not of kind {policy.kind!r}"
        said = policy.versions.get("failgym")
        if said != submission.failgym:
            yield (
                f"policy {policy.name!r}: was run with failgym {said}, the submission is of"
                f" {submission.failgym}"
            )


def _left_out_problems(submission: Submission, suite: Suite) -> Iterator[str]:
    """What had to be learned of a user's trace may be left out, or an environment as a whole."""
    if submission.left_out and not suite.real:
        yield f"suite {suite.name}: no forecast may be left out"
    learned = {(course.env, "trained") for course in suite.courses if course.trained is not None}
    left_out = [(one.env, one.forecast) for one in submission.left_out]
    played = {course.env for course in suite.courses}
    for env, forecast in left_out:
        if suite.real and forecast == EVERY and env not in played:
            continue
        if suite.real and (env, forecast) not in learned:
            yield f"suite {suite.name}: {env}, forecast {forecast}, may not be left out"
    if len(set(left_out)) < len(left_out):
        yield "left_out: a forecast is there twice"


def _trace_problems(submission: Submission, suite: Suite) -> Iterator[str]:
    """There is one trace to each environment and seed."""
    counts = Counter((one.env, one.seed) for one in submission.traces)
    wanted = {(course.env, seed) for course in suite.courses for seed in course.seeds}
    for env, seed in sorted(counts.keys() - wanted):
        yield f"trace of {env!r}, seed {seed}: does not belong to the suite"
    for (env, seed), count in counts.items():
        if count > 1:
            yield f"trace of {env!r}, seed {seed}: is stated {count} times"


def _fits(kind: str, spec: str) -> bool:
    """Can a SPEC be of a kind? The name of a baseline, the file of one, of an agent, or code."""
    from failgym.baselines import REGISTRY

    if spec.partition(":")[0] in REGISTRY or spec.endswith(".json"):
        return kind == "baseline"
    return kind == ("agent" if spec.endswith(".safetensors") else "code")


def cells_of(submission: Submission, suite: Suite) -> list[Cell]:
    """The cells that somebody plays, in order."""
    played = played_envs(submission.policies)
    return [cell for cell in _there_are(submission, suite) if cell.env in played]


def _there_are(submission: Submission, suite: Suite) -> list[Cell]:
    """The cells of a suite, but for what is left out."""
    missing = {(one.env, one.forecast) for one in submission.left_out}
    return [cell for cell in suite.cells() if (cell.env, cell.forecast) not in missing]


def file_names(submission: Submission, cells: Sequence[Cell]) -> set[str]:
    """The names, within the folder, of the files that there must be.

    Earlier versions trained the predictors of environments that nobody plays, too: these belong to
    a submission that states them, and no other needs them.
    """
    suite, stated = suite_named(submission.suite.name), {one.env for one in submission.traces}
    beside = [cell for cell in _there_are(submission, suite) if cell.env in stated]
    names = {RESULTS_FILE, *predictor_files(suite, cells)}
    names |= set(predictor_files(suite, beside)) & submission.files.keys()
    for number, cell in planned(submission.policies, cells):
        names.add(action_file(submission.policies[number].key, cell.env, cell.forecast))
    return names


def changed_files(submission: Submission, folder: Path, cells: Sequence[Cell]) -> frozenset[str]:
    """Files that are there, and whose hash is not the one in submission.json."""
    return frozenset(
        name
        for name in file_names(submission, cells) & set(submission.files)
        if (folder / name).is_file() and file_sha256(folder / name) != submission.files[name]
    )


def file_problems(submission: Submission, folder: Path, cells: Sequence[Cell]) -> Iterator[str]:
    """Files that are missing, that do not belong there, or that are not what they were."""
    wanted, stated = file_names(submission, cells), set(submission.files)
    for name in sorted(wanted - stated):
        yield f"{name}: submission.json states no hash of it"
    for name in sorted((stated | _there(folder)) - wanted - _folders(wanted)):
        yield f"{name!r}: does not belong to the submission"
    for name in sorted(wanted & stated):
        if not (folder / name).is_file():
            yield f"{name}: is missing"
    for name in sorted(changed_files(submission, folder, cells)):
        yield f"{name}: was changed: its hash is not the one in submission.json"
    for name in sorted({SUBMISSION_FILE, *wanted, *_folders(wanted)}):
        yield from _link_problems(folder / name, name)


def _there(folder: Path) -> set[str]:
    """The files and links where only those of the submission are expected, and code beside them."""
    ours = (folder / name for name in (ACTIONS_FOLDER, PREDICTORS_FOLDER))
    found = [f for one in ours for f in one.rglob("*") if f.is_symlink() or not f.is_dir()]
    found += [file for file in folder.iterdir() if _can_be_imported(file)]
    return {str(file.relative_to(folder)) for file in found}


def _can_be_imported(path: Path) -> bool:
    """Is it a module, or a package, to a Python that looks into its folder?"""
    suffixes = tuple(all_suffixes())
    if path.is_dir():
        return any((path / f"__init__{suffix}").exists() for suffix in suffixes)
    return path.name.endswith(suffixes)


def _folders(names: Iterable[str]) -> set[str]:
    """The folders that files lie in, within that of the submission."""
    return {str(above) for name in names for above in Path(name).parents} - {"."}


def _link_problems(path: Path, name: str) -> Iterator[str]:
    """What leads elsewhere, or can be changed from elsewhere, is not the submission's own."""
    if path.is_symlink():
        yield f"{name}: is a link, expected a file or folder of the submission's own"
    elif path.is_file() and path.stat().st_nlink > 1:
        yield f"{name}: is the same file as another one (hard link): it can be changed from there"


def row_problems(table: Any, expected: Sequence[Row]) -> Iterator[str]:
    """Rows that are missing, there twice, changed in what tells them apart, or out of order."""
    found = list(zip(*(table.column(name).to_pylist() for name in KEYS), strict=True))
    if found == list(expected):
        return
    if len(found) == len(expected):
        for i, (row, wanted) in enumerate(zip(found, expected, strict=True)):
            for name, value, right in zip(KEYS, row, wanted, strict=True):
                if value != right:
                    yield f"row {i}: {name} is {value!r}, expected {right!r} ({named_row(wanted)})"
                    return
    counts, wanted = Counter(found), set(expected)
    yield from _some("row is missing", [row for row in expected if row not in counts])
    yield from _some("row is there twice", [row for row, n in counts.items() if n > 1])
    yield from _some("row does not belong", [row for row in counts if row not in wanted])
    if counts == Counter(expected):
        yield "rows are not in the order of policies, environments, forecasts, seeds and slices"


def _some(what: str, rows: Sequence[Row]) -> Iterator[str]:
    for row in rows[:NAMED]:
        yield f"{what}: {named_row(row)}"
    if len(rows) > NAMED:
        yield f"{what}: and {len(rows) - NAMED} more"


def named_row(row: Row) -> str:
    """A row by what tells it apart, for an error."""
    said = dict(zip(KEYS, row, strict=True))
    trained = (
        f", training seed {said['training_seed']}" if said["training_seed"] is not None else ""
    )
    where = f"{said['env']}, forecast {said['forecast']}"
    return f"{said['policy']}{trained}: {where}, seed {said['seed']}, slice {said['slice']}"


def expected_rows(
    submission: Submission, cells: Sequence[Cell], slices: Mapping[tuple[str, int], Sequence[int]]
) -> list[Row]:
    """What tells apart the rows that must be there, in their order.

    Args:
        submission: its policies.
        cells: that are played.
        slices: of each environment and seed.
    """
    rows: list[Row] = []
    for number, cell in planned(submission.policies, cells):
        name, seed = submission.policies[number].key
        found = slices[cell.env, cell.seed]
        rows += [(name, seed, cell.env, cell.forecast, cell.seed, index) for index in found]
    return rows


def rows_of(submission: Submission, cells: Sequence[Cell], why: str) -> list[RowProof]:
    """The rows of a submission, of which nothing is proven, and why not."""
    rows = [
        RowProof.of(submission.policies[number], cell.env, cell.forecast, "claimed", why)
        for number, cell in planned(submission.policies, cells)
    ]
    return list(dict.fromkeys(rows))


def read_results(folder: Path) -> Any:
    """The table of results. Raises ValueError, in one line."""
    table = read_table(folder / RESULTS_FILE, RESULTS, RESULTS_FILE)
    for name in RESULTS.names:
        optional = name == "training_seed" or name in TERMS or name in ACCOUNT
        if table.column(name).null_count and not optional:
            raise ValueError(f"{RESULTS_FILE}: column {name!r} has a missing value")
    _check_counted(table)
    for name in (BLOCKS, *ANCHOR_BLOCKS):
        column: Any = table.column(name).combine_chunks()
        flat = column.flatten()
        most = max(column.value_lengths().to_pylist(), default=0)
        if flat.null_count or not np.isfinite(flat.to_numpy()).all() or most > MOST_BLOCKS:
            raise ValueError(
                f"{RESULTS_FILE}: column {name!r}: expected at most {MOST_BLOCKS} numbers a row"
            )
    for status in table.column("status").unique().to_pylist():
        if status not in STATUSES:
            raise ValueError(f"{RESULTS_FILE}: unknown status {status!r}")
    for name, least in (("decisions", 0), ("illegal", 0), ("seconds", 0)):
        values = table.column(name).to_numpy()
        if not (np.isfinite(values) & (values >= least)).all():
            raise ValueError(f"{RESULTS_FILE}: column {name!r}: expected {least} or more")
    for reason in table.column("reason").unique().to_pylist():
        if len(reason) > MOST_REASON or not reason.isprintable():
            raise ValueError(
                f"{RESULTS_FILE}: column 'reason': expected at most {MOST_REASON}"
                " printable characters"
            )
    return table


def _check_counted(table: Any) -> None:
    """What is counted in plain units is there where the policy played, and can be counted so.

    How much rests on drawn attempts is NaN where the world does not tell. Shares are of a whole.
    """
    played = np.array(table.column("status").to_pylist()) == OK
    for name in (*ACCOUNT, *REPLAY_ACCOUNT):
        column = table.column(name)
        values = column.to_numpy(zero_copy_only=False)
        there = column.is_valid().to_numpy(zero_copy_only=False)
        right = (values >= 0.0) & (values <= MOST_COUNTED)
        if name == "tasks":
            right &= values > 0.0
        elif name == "moved_drawn":
            right |= np.isnan(values)
        expected = played if name in ACCOUNT else np.ones(len(played), dtype=np.bool_)
        if not np.where(expected, there & right, ~there).all():
            least = "more than 0" if name == "tasks" else "0 or more"
            raise ValueError(
                f"{RESULTS_FILE}: column {name!r}: expected {least}, and at most {MOST_COUNTED:g},"
                " wherever a policy played"
            )
    for part, whole in PARTS:
        some, all_ = (table.column(name).to_numpy(zero_copy_only=False) for name in (part, whole))
        if (some > all_ * (1.0 + ROUNDING) + ROUNDING).any():
            raise ValueError(f"{RESULTS_FILE}: column {part!r}: expected no more than {whole!r}")
