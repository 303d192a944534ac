"""`run_suite`: policies on a suite, resumed after a kill, into the folder of a submission."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from failgym import __version__
from failgym.evaluation.arguments import check_count
from failgym.evaluation.progress import Advance, silent
from failgym.leaderboard.assemble import assemble, planned
from failgym.leaderboard.entries import Entry, Players
from failgym.leaderboard.ground import Ground
from failgym.leaderboard.secret_seed import commitment
from failgym.leaderboard.submission import (
    LeftOut,
    Seconds,
    Submission,
    SuiteRecord,
    TraceRecord,
    read_submission,
)
from failgym.leaderboard.suites import Cell
from failgym.leaderboard.units import make_unit
from failgym.leaderboard.work import Work
from failgym.leaderboard.workers import each
from failgym.policy import Policy

__all__ = ["TIME_LIMIT", "count_steps", "run_suite"]

TIME_LIMIT = 600.0
"""For all answers of a policy in a cell [s]."""

_Task = tuple[str, Any]
"""What a process is asked to do: "predictor", "reference" or "units", and on what."""


@dataclass(frozen=True)
class _Tools:
    """What a process needs for its tasks."""

    work: Work
    ground: Ground
    players: Players

    def do(self, task: _Task) -> float | str | None:
        """Do a task, unless it is done. Return its seconds, or why it cannot be done."""
        kind, about = task
        if kind == "predictor":
            return self._predictor(about)
        if kind == "reference":
            return self._reference(*about)
        entry, cells = about
        for cell in cells:
            make_unit(self.work, self.ground, self.players, entry, cell)
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

    def _reference(self, env: str, seed: int) -> None:
        if not self.work.reference_file(env, seed).is_file():
            self.work.save_reference(env, seed, self.ground.reference(env, seed))


_TOOLS: list[_Tools] = []
"""Those of this process, set when it begins."""


def _begin(tools: _Tools) -> None:
    _TOOLS[:] = [tools]


def _do(task: _Task) -> float | str | None:
    return _TOOLS[0].do(task)


def run_suite(
    ground: Ground,
    entries: Sequence[Entry],
    out: Path,
    *,
    command: str,
    load: Callable[[str], Policy],
    policy_command: Sequence[str],
    processes: int = 1,
    time_limit: float = TIME_LIMIT,
    progress: Advance = silent,
) -> Submission:
    """Run policies on a suite. The same call goes on where it was killed.

    Args:
        ground: the suite and what it needs; its predictors are kept in ``out`` meanwhile.
        entries: the policies, in the order of rows.
        out: the folder of the submission.
        command: what was typed, for the record.
        load: makes a baseline of its SPEC; a function of a module.
        policy_command: starts the process of any other policy.
        processes: how many work at once; the result is the same.
        time_limit: for all answers of a policy in a cell [s].
        progress: called with the number of steps done, of `count_steps`.

    Raises:
        ValueError: in one line: a folder that holds something else, or was begun otherwise; a
            policy that is there twice; a trace on which a suite cannot be played.
    """
    check_count("--processes", processes, 1)
    if not 0.0 < time_limit < 1e9:
        raise ValueError(f"--time-limit: expected more than 0 s, got {time_limit:g}")
    _check_entries(entries)
    work = Work(out)
    ground = replace(ground, predictors=work.predictors)
    if work.finished:
        return _same(read_submission(out), ground, entries, out)
    with work.locked():
        work.agree(_plan(ground, entries))
        players = Players(load, policy_command, time_limit)
        tools = _Tools(work, ground, players)
        try:
            left_out = _prepare(tools, processes, progress)
            cells = _cells(ground, left_out)
            _play(tools, entries, cells, processes, progress)
        finally:
            players.close()
        about = _about(work, ground, entries, command, left_out)
        assemble(work, entries, cells, about)
        work.remove()
    return read_submission(out)


def count_steps(ground: Ground, entries: Sequence[Entry]) -> int:
    """Steps that progress is counted in: what must be prepared, and policies times cells."""
    cells = list(ground.suite.cells())
    return len(_preparations(ground)) + len(planned(entries, cells))


def _check_entries(entries: Sequence[Entry]) -> None:
    keys = [entry.key for entry in entries]
    if not keys:
        raise ValueError("--policy: expected at least one")
    for entry in entries:
        if keys.count(entry.key) > 1:
            raise ValueError(f"--policy: {entry.name!r} is given twice; NAME=SPEC gives it a name")
        if not entry.specs:
            raise ValueError(f"--policy {entry.name}: was made for no environment of the suite")


def _plan(ground: Ground, entries: Sequence[Entry]) -> dict[str, Any]:
    """What two calls must have in common to be of one run, by the names of options."""
    records = [entry.record("-").model_dump(mode="json") for entry in entries]
    return {
        "versions": records[0]["versions"],
        "suite": SuiteRecord.of(ground.suite).model_dump(mode="json"),
        "policies": records,
        "traces": dict(ground.traces),
        "secret": ground.secret and commitment(ground.secret),
    }


def _preparations(ground: Ground) -> list[_Task]:
    tasks: list[_Task] = []
    for course in ground.suite.courses:
        tasks += [("reference", (course.env, seed)) for seed in course.seeds]
        if course.trained is not None:
            tasks.append(("predictor", course.env))
    return tasks


def _prepare(tools: _Tools, processes: int, progress: Advance) -> list[LeftOut]:
    """Train predictors; find out what replay and the bound cost. What could not be trained?"""
    tasks = _preparations(tools.ground)
    results = each(_do, tasks, processes, begin=_begin, given=(tools,), done=progress)
    return [
        LeftOut(env=env, forecast="trained", reason=reason)
        for (_, env), reason in zip(tasks, results, strict=True)
        if isinstance(reason, str)
    ]


def _cells(ground: Ground, left_out: Sequence[LeftOut]) -> list[Cell]:
    missing = {(one.env, one.forecast) for one in left_out}
    return [cell for cell in ground.suite.cells() if (cell.env, cell.forecast) not in missing]


def _play(
    tools: _Tools,
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


def _about(
    work: Work,
    ground: Ground,
    entries: Sequence[Entry],
    command: str,
    left_out: list[LeftOut],
) -> Submission:
    """The submission without its files."""
    places = [(course.env, seed) for course in ground.suite.courses for seed in course.seeds]
    references = [work.reference(*place) for place in places]
    traces = [
        TraceRecord(env=env, seed=seed, content_hash=reference.trace_hash)
        for (env, seed), reference in zip(places, references, strict=True)
    ]
    return Submission(
        failgym=__version__,
        suite=SuiteRecord.of(ground.suite),
        secret=None if ground.secret is None else commitment(ground.secret),
        traces=traces,
        left_out=left_out,
        policies=[entry.record(command) for entry in entries],
        seconds=Seconds(engine=sum(one.seconds for one in references), policy=0.0),
        files={},
    )


def _same(found: Submission, ground: Ground, entries: Sequence[Entry], out: Path) -> Submission:
    """A submission that is finished, if it is the one that is asked for."""
    wanted = [(entry.key, dict(entry.specs), dict(entry.files)) for entry in entries]
    there = [(policy.key, policy.specs, policy.files) for policy in found.policies]
    secret = None if ground.secret is None else commitment(ground.secret)
    if (found.suite, found.secret, there) != (SuiteRecord.of(ground.suite), secret, wanted):
        raise ValueError(f"--out {out}: holds another submission; use another folder, and merge")
    return found
