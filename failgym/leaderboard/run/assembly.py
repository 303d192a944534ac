"""From what a run has kept to the files of a submission."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from failgym.files import replacing
from failgym.leaderboard.run.work_folder import WorkFolder
from failgym.leaderboard.submission.entries import Entry
from failgym.leaderboard.submission.layout import (
    action_file,
    planned,
    predictor_files,
    seal,
)
from failgym.leaderboard.submission.records import Seconds, Submission
from failgym.leaderboard.submission.tables import ACTIONS, RESULTS, RESULTS_FILE, write_table
from failgym.leaderboard.suite.suite_worlds import SuiteWorlds
from failgym.leaderboard.suite.suites import Cell

__all__ = ["assemble"]


def assemble(
    work: WorkFolder,
    worlds: SuiteWorlds,
    entries: Sequence[Entry],
    cells: Sequence[Cell],
    about: Submission,
) -> None:
    """Write the tables of a run whose cells have all been played, and `submission.json` at last.

    Args:
        work: what the run has kept.
        worlds: that they were played on.
        entries: the policies, in order.
        cells: the suite's, in order.
        about: all but the files and the times.
    """
    rows: list[Any] = []
    spent = [0.0, 0.0]
    files = predictor_files(worlds.suite, cells)
    for name in files:
        _copy(work.predictors / Path(name).name, work.out / name)
    todo = planned(entries, cells)
    for (number, env, forecast), group in groupby(
        todo, key=lambda plan: (plan[0], plan[1].env, plan[1].forecast)
    ):
        entry = entries[number]
        played = [work.cell_results(entry.key, cell) for _, cell in group]
        for _, seconds in played:
            spent = [spent[0] + seconds.engine, spent[1] + seconds.policy]
        table = pa.concat_tables([part for part, _ in played]).replace_schema_metadata(None)
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
