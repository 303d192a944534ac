"""The steps of a run, on one process or several: predictors, replay and bound, policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from failgym.evaluation.progress import Advance
from failgym.leaderboard.run.cell_results import make_unit
from failgym.leaderboard.run.entries import Entry, Players
from failgym.leaderboard.run.process_pool import each
from failgym.leaderboard.run.work_folder import Work
from failgym.leaderboard.submission.assembly import planned
from failgym.leaderboard.submission.records import LeftOut
from failgym.leaderboard.suite.suite_worlds import Ground
from failgym.leaderboard.suite.suites import Cell

__all__ = [
    "Tools",
    "cells_played",
    "count_steps",
    "play_all",
    "refer",
    "reference_cells",
    "train",
]

_Task = tuple[str, Any]
"""What a process is asked to do: "predictor", "reference" or "units", and on what."""


@dataclass(frozen=True)
class Tools:
    """What a process needs for its tasks."""

    work: Work
    ground: Ground
    players: Players

    def do(self, task: _Task) -> str | None:
        """Do a task, unless it is done. Return why it cannot be done, if so."""
        kind, about = task
        if kind == "predictor":
            return self._predictor(about)
        if kind == "reference":
            return self._reference(about)
        entry, cells = about
        try:
            for cell in cells:
                make_unit(self.work, self.ground, self.players, entry, cell)
        finally:
            self.players.close()  # this process may go on for longer than the run waits for it
        return None

    def _predictor(self, env: str) -> str | None:
        if self.ground.predictor_file(env).is_file():
            return None
        try:
            self.ground.train_predictor(env)
        except ImportError:
            raise
        except ValueError as error:
            if not self.ground.suite.real:
                raise ValueError(f"{env}, forecast trained: {error}") from error
            return " ".join(str(error).split())
        return None

    def _reference(self, cell: Cell) -> None:
        if not self.work.reference_file(cell).is_file():
            self.work.save_reference(cell, self.ground.reference(cell))


_TOOLS: list[Tools] = []
"""Those of this process, set when it begins."""


def _begin(tools: Tools) -> None:
    _TOOLS[:] = [tools]


def _do(task: _Task) -> str | None:
    return _TOOLS[0].do(task)


def count_steps(ground: Ground, entries: Sequence[Entry]) -> int:
    """Steps that progress is counted in: what must be prepared, and policies times cells."""
    cells = list(ground.suite.cells())
    return (
        len(_trained(ground)) + len(reference_cells(ground, cells)) + len(planned(entries, cells))
    )


def _trained(ground: Ground) -> list[str]:
    """Environments with a predictor that learns."""
    return [course.env for course in ground.suite.courses if course.trained is not None]


def reference_cells(ground: Ground, cells: Sequence[Cell]) -> list[Cell]:
    """The cells in which different things happen: each has its own replay and bound."""
    return list(dict.fromkeys(ground.alike(cell) for cell in cells))


def train(tools: Tools, processes: int, progress: Advance) -> list[LeftOut]:
    """Train the predictors. Which could not be?"""
    tasks: list[_Task] = [("predictor", env) for env in _trained(tools.ground)]
    results = each(_do, tasks, processes, begin=_begin, given=(tools,), done=progress)
    return [
        LeftOut(env=env, forecast="trained", reason=reason)
        for (_, env), reason in zip(tasks, results, strict=True)
        if isinstance(reason, str)
    ]


def refer(tools: Tools, cells: Sequence[Cell], processes: int, progress: Advance) -> None:
    """Find out what replay and the bound cost."""
    tasks: list[_Task] = [("reference", cell) for cell in reference_cells(tools.ground, cells)]
    each(_do, tasks, processes, begin=_begin, given=(tools,), done=progress)


def cells_played(ground: Ground, left_out: Sequence[LeftOut]) -> list[Cell]:
    """The cells of a suite, but for forecasts that there are not."""
    missing = {(one.env, one.forecast) for one in left_out}
    return [cell for cell in ground.suite.cells() if (cell.env, cell.forecast) not in missing]


def play_all(
    tools: Tools,
    entries: Sequence[Entry],
    cells: Sequence[Cell],
    processes: int,
    progress: Advance,
) -> None:
    """Make all units: one environment after the other, so that few worlds are needed at once."""
    tasks: list[_Task] = []
    for course in tools.ground.suite.courses:
        for entry in entries:
            todo = [c for c in cells if c.env == course.env and c.env in entry.specs]
            todo = [c for c in todo if not tools.work.unit_file(entry.key, c).is_file()]
            if todo:
                tasks.append(("units", (entry, todo)))
    seen = 0

    def look() -> None:
        nonlocal seen
        done = tools.work.count_units()
        progress(done - seen)
        seen = done

    look()
    each(_do, tasks, processes, begin=_begin, given=(tools,), look=look)
