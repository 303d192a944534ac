"""The work folder of a run: what is done stays done, whenever the run is killed.

`DIR/.run` holds the plan, what replay and the bound cost, the predictors, and one file per policy
and cell. Every file is written to a temporary name and renamed; nothing is ever changed. A run that
goes on makes the files that are missing. The folder goes when the submission is there. Only its
owner can look into it.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from failgym.files import PARTIAL, replacing
from failgym.leaderboard.submission.records import SUBMISSION_FILE, Seconds
from failgym.leaderboard.submission.tables import (
    CELL_RESULTS,
    read_table,
    write_table,
)
from failgym.leaderboard.suite.reference import Reference, ReferenceArrays
from failgym.leaderboard.suite.suites import Cell

__all__ = ["WorkFolder"]

_PLAN = "plan.json"
_SECONDS = b"seconds"
"""Key of what is kept in the metadata of files."""


class WorkFolder:
    """The work folder of a submission."""

    def __init__(self, out: Path) -> None:
        self.out, self.folder = out, out / ".run"
        self._waste = out / ".run-done"
        self.predictors, self._cells = self.folder / "predictors", self.folder / "units"

    @property
    def finished(self) -> bool:
        """Is the submission there, and nothing left to do?"""
        return (self.out / SUBMISSION_FILE).is_file() and not self.folder.exists()

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the folder, made if need be, against other runs; the system lets go of it if we die.

        Raises:
            ValueError: if another run holds it, or there is something in it that is not of a run.
        """
        self._check()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)  # policies of another user's are to see nothing of their rivals
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(f"--out {self.out}: another run is at work in it") from None
            for left in self.out.rglob(PARTIAL):
                left.unlink(missing_ok=True)
            for folder in (self.predictors, self._cells):
                folder.mkdir(exist_ok=True)
            yield

    def _check(self) -> None:
        out = self.out
        if out.exists() and not out.is_dir():
            raise ValueError(f"--out {out}: exists and is not a folder")
        if not out.exists() or self.folder.is_dir() or not any(out.iterdir()):
            return
        raise ValueError(f"--out {out}: holds files that are not of an unfinished run")

    def agree(self, plan: dict[str, Any]) -> None:
        """Write down what is to be done, or check that it is what was begun. Raises ValueError."""
        file = self.folder / _PLAN
        if not file.is_file():
            with replacing(file) as partial:
                partial.write_text(json.dumps(plan, indent=1) + "\n", "utf-8")
            return
        begun: dict[str, Any] = json.loads(file.read_text("utf-8"))
        for name in plan:
            if begun.get(name) != json.loads(json.dumps(plan[name])):
                raise ValueError(
                    f"--out {self.out}: was begun with other {name}; repeat them, or use"
                    " another folder"
                )

    def reference_file(self, cell: Cell) -> Path:
        """Where the costs of replay and the bound are."""
        return self.folder / "references" / f"{cell.env}-{cell.forecast}-{cell.seed}.npz"

    def save_reference(self, cell: Cell, reference: Reference) -> None:
        """Keep what replay and the bound cost."""
        file = self.reference_file(cell)
        file.parent.mkdir(exist_ok=True)
        with replacing(file) as partial, partial.open("wb") as stream:
            np.savez_compressed(stream, **ReferenceArrays.of(reference)._asdict())

    def reference(self, cell: Cell) -> Reference:
        """What replay and the bound cost. Raises ValueError if it is not there."""
        file = self.reference_file(cell)
        try:
            content = BytesIO(file.read_bytes())  # numpy leaves a damaged file open
            with np.load(content, allow_pickle=False) as kept:
                return ReferenceArrays(**{name: kept[name] for name in kept.files}).reference
        except (OSError, EOFError, TypeError, NotImplementedError, BadZipFile, zlib.error) as error:
            raise ValueError(f"{file}: cannot be read: {error}") from error

    def cell_file(self, key: tuple[str, int | None], cell: Cell) -> Path:
        """Where the episodes of a policy in a cell are."""
        text = json.dumps([*key, cell.env, cell.forecast, cell.seed])
        return self._cells / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.parquet"

    def save_cell(
        self, key: tuple[str, int | None], cell: Cell, table: Any, seconds: Seconds
    ) -> None:
        """Keep the episodes of a policy in a cell; from now on they are done."""
        table = table.replace_schema_metadata({_SECONDS: seconds.model_dump_json()})
        write_table(table, self.cell_file(key, cell))

    def cell_results(self, key: tuple[str, int | None], cell: Cell) -> tuple[Any, Seconds]:
        """The episodes of a policy in a cell, and where their time went. Raises ValueError."""
        file = self.cell_file(key, cell)
        table = read_table(file, CELL_RESULTS, str(file))
        return table, Seconds.model_validate_json(table.schema.metadata[_SECONDS])

    def count_cells(self) -> int:
        """How many are done."""
        return sum(1 for name in os.listdir(self._cells) if not name.startswith("."))

    def remove(self) -> None:
        """Remove the folder: the submission is there.

        It goes at once, by another name: half a folder would be taken for a run half done.
        """
        if self.folder.exists():
            shutil.rmtree(self._waste, ignore_errors=True)
            self.folder.rename(self._waste)
        shutil.rmtree(self._waste, ignore_errors=True)
