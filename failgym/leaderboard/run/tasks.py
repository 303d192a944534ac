"""The tasks of a run, whoever does them: predictors, replay and bound, policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failgym.evaluation.progress import Advance, done_before, silent
from failgym.leaderboard.policy_process.players import Players
from failgym.leaderboard.run.cell_results import play_cell
from failgym.leaderboard.run.work_folder import WorkFolder
from failgym.leaderboard.submission.entries import Entry
from failgym.leaderboard.submission.layout import planned, played_envs
from failgym.leaderboard.submission.records import LeftOut
from failgym.leaderboard.submission.specs import specs_of
from failgym.leaderboard.suite.suite_worlds import SuiteWorlds
from failgym.leaderboard.suite.suites import Cell
from failgym.workers import Workers, each
from failgym.world_cache import keeps_worlds

__all__ = [
    "RunTasks",
    "cells_played",
    "count_steps",
    "find_references",
    "play_all",
    "reference_cells",
    "train_predictors",
]

_Task = tuple[str, Any]
"""A task of a process: "predictor", "trace" or "cells", and what it is about: an environment, the
cells of a trace, or who plays which."""


@dataclass(frozen=True)
class RunTasks:
    """Does the tasks of a run, in whatever process."""

    work: WorkFolder
    worlds: SuiteWorlds
    players: Players

    def all_done(
        self,
        tasks: Sequence[_Task],
        workers: Workers,
        *,
        done: Advance = silent,
        look: Callable[[], None] = lambda: None,
    ) -> list[str | None]:
        """Have tasks done, and return what `do` returns of each. Raises ValueError, as `each`."""
        return each(
            self.do,
            tasks,
            workers,
            done=done,
            look=look,
            named=_named,
            folder=self.work.folder,
            shared=[*self.worlds.trace_files, *_policy_files(tasks)],
        )

    def do(self, task: _Task) -> str | None:
        """Do a task, unless it is done. Return why it cannot be done, if so."""
        kind, about = task
        if kind == "predictor":
            return self._predictor(about)
        if kind == "trace":
            return self._prepare(about)
        try:
            for entry, cell in about:
                play_cell(self.work, self.worlds, self.players, entry, cell)
        finally:
            self.players.close()  # this process may go on for longer than the run waits for it
        return None

    def _predictor(self, env: str) -> str | None:
        try:
            self.worlds.train_predictor(env)
        except ImportError:
            raise
        except ValueError as error:
            if not self.worlds.suite.real:
                raise ValueError(f"{env}, forecast trained: {error}") from error
            return " ".join(str(error).split())
        return None

    def _prepare(self, cells: Sequence[Cell]) -> None:
        """Find replay and the bound of a trace, with every kind of forecast.

        The worlds that policies will play are built on the way, while the trace is at hand, if
        they are kept: else whoever plays would build them once more. Those without a forecast come
        first: slices that are drawn by stake are those of that world, which is then at hand.
        """
        for cell in sorted(cells, key=lambda cell: cell.forecast != "none"):
            alike = self.worlds.alike(cell)
            if not self.work.reference_file(alike).is_file():
                self.work.save_reference(alike, self.worlds.reference(alike))
            if keeps_worlds():
                self.worlds.playing(cell, self.work.reference(alike).slices)

    def prepared(self, cells: Sequence[Cell]) -> bool:
        """Was a trace prepared by an earlier run?"""
        files = (self.work.reference_file(self.worlds.alike(cell)) for cell in cells)
        return all(file.is_file() for file in files)


def _policy_files(tasks: Sequence[_Task]) -> list[Path]:
    """The files of the policies that play."""
    plays = [play for kind, about in tasks if kind == "cells" for play in about]
    specs = dict.fromkeys(spec for entry, _ in plays for spec in entry.specs.values())
    files = (Path(one) for spec in specs for one in specs_of(spec))
    return [path for path in files if path.is_file()]


def _named(task: _Task) -> str:
    """What a task is called in a line."""
    kind, about = task
    if kind == "predictor":
        return f"{kind} of {about}"
    if kind == "trace":
        return f"trace {about[0].seed} of {about[0].env}"
    entry, cell = about[0]
    more = f" and {len(about) - 1} more" if len(about) > 1 else ""
    return f"{entry.name} in {cell}{more}"


def count_steps(worlds: SuiteWorlds, entries: Sequence[Entry]) -> int:
    """Steps that progress is counted in: what must be prepared, and policies times cells."""
    cells = cells_played(worlds, entries)
    prepared = len(_trained(worlds, entries)) + len(_by_trace(cells))
    return prepared + len(planned(entries, cells))


def _trained(worlds: SuiteWorlds, entries: Sequence[Entry]) -> list[str]:
    """Environments with a predictor that learns, of those that somebody plays."""
    played = played_envs(entries)
    return [
        course.env
        for course in worlds.suite.courses
        if course.trained is not None and course.env in played
    ]


def reference_cells(worlds: SuiteWorlds, cells: Sequence[Cell]) -> list[Cell]:
    """The cells in which different things happen: each has its own replay and bound."""
    return list(dict.fromkeys(worlds.alike(cell) for cell in cells))


def train_predictors(
    run: RunTasks, entries: Sequence[Entry], workers: Workers, progress: Advance
) -> list[LeftOut]:
    """Train the predictors that somebody is shown, or plays with.

    Returns:
        Those that the traces do not allow, and why.
    """
    tasks: list[_Task] = [("predictor", env) for env in _trained(run.worlds, entries)]
    results = run.all_done(tasks, workers, done=progress)
    return [
        LeftOut(env=env, forecast="trained", reason=reason)
        for (_, env), reason in zip(tasks, results, strict=True)
        if isinstance(reason, str)
    ]


def _by_trace(cells: Sequence[Cell]) -> list[list[Cell]]:
    """The cells of each trace, which differ in the forecast."""
    found: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        found.setdefault((cell.env, cell.seed), []).append(cell)
    return list(found.values())


def find_references(
    run: RunTasks, cells: Sequence[Cell], workers: Workers, progress: Advance
) -> None:
    """Find out what replay and the bound cost, trace by trace."""
    traces = _by_trace(cells)
    tasks: list[_Task] = [("trace", mine) for mine in traces if not run.prepared(mine)]
    done_before(progress, len(traces) - len(tasks))
    run.all_done(tasks, workers, done=progress)


def cells_played(
    worlds: SuiteWorlds, entries: Sequence[Entry], left_out: Sequence[LeftOut] = ()
) -> list[Cell]:
    """The cells of a suite that somebody plays, but for forecasts that there are not."""
    played = played_envs(entries)
    missing = {(one.env, one.forecast) for one in left_out}
    return [
        cell
        for cell in worlds.suite.cells()
        if cell.env in played and (cell.env, cell.forecast) not in missing
    ]


def play_all(
    run: RunTasks,
    entries: Sequence[Entry],
    cells: Sequence[Cell],
    workers: Workers,
    progress: Advance,
) -> None:
    """Play all cells: one environment after the other, so that few worlds are needed at once.

    All baselines play a cell before the next one, so that its world is read once. Any other policy
    plays all cells of an environment, so that its process is started once; of several workers, each
    has its share of them, and on a cluster, which may grow, each cell is a step.
    """
    tasks: list[_Task] = []
    for course in run.worlds.suite.courses:
        here = [cell for cell in cells if cell.env == course.env]
        mine = [entry for entry in entries if course.env in entry.specs]
        own = [entry for entry in mine if entry.kind == "baseline"]
        groups = [[(entry, cell) for entry in own] for cell in here]
        shares = len(here) if workers.remote else workers.processes
        for entry in mine:
            if entry not in own:
                plays = [(entry, cell) for cell in here]
                groups += [plays[first::shares] for first in range(min(shares, len(plays)))]
        for group in groups:
            todo = [(e, c) for e, c in group if not run.work.cell_file(e.key, c).is_file()]
            if todo:
                tasks.append(("cells", todo))
    seen = run.work.count_cells()
    done_before(progress, seen)

    def look() -> None:
        nonlocal seen
        done = run.work.count_cells()
        progress(done - seen)
        seen = done

    run.all_done(tasks, workers, look=look)
