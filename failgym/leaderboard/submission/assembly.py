"""From the units of a run to a submission, and from submissions to one: the order of rows."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from failgym.files import replacing
from failgym.leaderboard.run.entries import Entry
from failgym.leaderboard.run.work_folder import Work
from failgym.leaderboard.submission.records import (
    PolicyRecord,
    Seconds,
    Submission,
    file_sha256,
    write_submission,
)
from failgym.leaderboard.submission.tables import (
    ACTIONS,
    ACTIONS_FOLDER,
    PREDICTORS_FOLDER,
    RESULTS,
    RESULTS_FILE,
    write_table,
)
from failgym.leaderboard.suite.suite_worlds import Ground
from failgym.leaderboard.suite.suites import Cell, Suite

__all__ = [
    "action_file",
    "assemble",
    "planned",
    "predictor_file",
    "predictor_files",
    "seal",
]

Policies = Sequence[Entry] | Sequence[PolicyRecord]


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
    return [predictor_file(env) for env in trained if suite.course(env).forecast_matters]


def predictor_file(env: str) -> str:
    """The name, within the folder, of the predictor of an environment."""
    return f"{PREDICTORS_FOLDER}/{env}.npz"


def assemble(
    work: Work,
    ground: Ground,
    entries: Sequence[Entry],
    cells: Sequence[Cell],
    about: Submission,
) -> None:
    """Write the tables of a run whose units are all there, and `submission.json` at last.

    Args:
        work: the units.
        ground: that they were played on.
        entries: the policies, in order.
        cells: the suite's, in order.
        about: all but the files and the times.
    """
    rows: list[Any] = []
    spent = [0.0, 0.0]
    files = predictor_files(ground.suite, cells)
    for name in files:
        _copy(work.predictors / Path(name).name, work.out / name)
    todo = planned(entries, cells)
    for (number, env, forecast), group in groupby(
        todo, key=lambda unit: (unit[0], unit[1].env, unit[1].forecast)
    ):
        entry, units = entries[number], [work.unit(entries[number].key, cell) for _, cell in group]
        for _, seconds in units:
            spent = [spent[0] + seconds.engine, spent[1] + seconds.policy]
        table = pa.concat_tables([unit for unit, _ in units]).replace_schema_metadata(None)
        rows.append(_results(entry, env, forecast, table))
        name = action_file(entry.key, env, forecast)
        write_table(table.select(ACTIONS.names), work.out / name)
        files.append(name)
    write_table(pa.concat_tables(rows), work.out / RESULTS_FILE)
    seconds = Seconds(engine=spent[0] + about.seconds.engine, policy=spent[1])
    seal(about.model_copy(update={"seconds": seconds}), work.out, files)


def _copy(file: Path, target: Path) -> None:
    """Copy a file to a temporary name and rename. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as partial:
        shutil.copyfile(file, partial)


def seal(about: Submission, folder: Path, files: Sequence[str]) -> None:
    """Write `submission.json` with the hashes of the tables, which are there."""
    hashes = {name: file_sha256(folder / name) for name in (RESULTS_FILE, *files)}
    write_submission(about.model_copy(update={"files": hashes}), folder)


def _results(entry: Entry, env: str, forecast: str, table: Any) -> Any:
    n = table.num_rows
    fixed: dict[str, Any] = {
        "policy": pa.array([entry.name] * n, pa.string()),
        "env": pa.array([env] * n, pa.string()),
        "forecast": pa.array([forecast] * n, pa.string()),
        "training_seed": pa.array([entry.training_seed] * n, pa.int64()),
    }
    columns = [fixed[c] if c in fixed else table.column(c) for c in RESULTS.names]
    return pa.table(columns, schema=RESULTS)
