"""`run_suite`: policies on a suite, resumed after a kill, into the folder of a submission."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from failgym import __version__
from failgym.evaluation.arguments import check_count
from failgym.evaluation.progress import Advance, silent
from failgym.leaderboard.policy_process.limits import USUAL, Confinement, check_time_limit
from failgym.leaderboard.policy_process.separation import check_apart
from failgym.leaderboard.run.entries import Entry, Players
from failgym.leaderboard.run.shared_predictors import adopt, adoptable
from failgym.leaderboard.run.tasks import (
    Tools,
    cells_played,
    play_all,
    refer,
    reference_cells,
    train,
)
from failgym.leaderboard.run.work_folder import Work
from failgym.leaderboard.submission.assembly import assemble
from failgym.leaderboard.submission.policy_names import name_problems
from failgym.leaderboard.submission.records import (
    LeftOut,
    Seconds,
    Submission,
    SuiteRecord,
    TraceRecord,
    first_error,
    read_submission,
)
from failgym.leaderboard.suite.secret_seed import commitment
from failgym.leaderboard.suite.suite_worlds import Ground
from failgym.leaderboard.suite.suites import Cell
from failgym.policy import Policy

__all__ = ["TIME_LIMIT", "run_suite"]

TIME_LIMIT = 600.0
"""For all answers of a policy in a cell [s]."""


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
    confinement: Confinement = USUAL,
    private: Sequence[Path] = (),
    predictors_of: Path | None = None,
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
        confinement: what that process is held to besides.
        private: what policies must not read besides the work folder, if a host's command starts
            them: the file of a secret seed.
        predictors_of: a submission whose predictors are used, so that it can be merged with it.
        progress: called with the number of steps done, of `count_steps`.

    Raises:
        ValueError: in one line: a folder that holds something else, or was begun otherwise; a
            policy that is there twice; a trace on which a suite cannot be played.
    """
    check_count("--processes", processes, 1)
    check_time_limit(time_limit)
    _check_entries(entries, command)
    adopted = {} if predictors_of is None else adoptable(predictors_of, ground)
    work = Work(out)
    ground = replace(ground, predictors=work.predictors)
    if work.finished:
        work.remove()
        return _same(read_submission(out), ground, entries, out)
    with work.locked():
        work.agree(_plan(ground, entries) | ({"predictors": adopted} if adopted else {}))
        if predictors_of is not None:
            adopt(predictors_of, adopted, work.predictors)
        players = Players(load, policy_command, time_limit, confinement)
        tools = Tools(work, ground, players)
        try:
            if confinement.hosted and any(entry.kind != "baseline" for entry in entries):
                secret = [work.folder, *private, *map(Path, ground.traces.values())]
                check_apart(players, secret, processes)
            left_out = train(tools, processes, progress)
            cells = cells_played(ground, left_out)
            refer(tools, cells, processes, progress)
            play_all(tools, entries, cells, processes, progress)
        finally:
            players.close()
        about = _about(work, ground, entries, cells, command, left_out)
        assemble(work, ground, entries, cells, about)
        work.remove()
    return read_submission(out)


def _check_entries(entries: Sequence[Entry], command: str) -> None:
    keys = [entry.key for entry in entries]
    if not keys:
        raise ValueError("--policy: expected at least one")
    for entry in entries:
        if keys.count(entry.key) > 1:
            raise ValueError(f"--policy: {entry.name!r} is given twice; NAME=SPEC gives it a name")
        if not entry.specs:
            raise ValueError(f"--policy {entry.name}: was made for no environment of the suite")
        try:
            entry.record(command)
        except ValidationError as error:
            raise ValueError(f"--policy {entry.name!r}: {first_error(error)}") from error
    for problem in name_problems([entry.record(command) for entry in entries]):
        raise ValueError(f"--policy: {problem}")


def _plan(ground: Ground, entries: Sequence[Entry]) -> dict[str, Any]:
    """What two calls must have in common to be of one run, by the names of options."""
    records = [entry.record("-").model_dump(mode="json") for entry in entries]
    return {
        "versions": records[0]["versions"],
        "suite": SuiteRecord.of(ground.suite).model_dump(mode="json"),
        "policies": records,
        "traces": _hashes(ground),
        "secret": ground.secret and commitment(ground.secret),
    }


def _hashes(ground: Ground) -> dict[str, str]:
    """Of the user's traces, by environment; those of the suite follow from it."""
    blind = [cell for cell in ground.suite.cells() if cell.forecast == "none"]
    return {cell.env: ground.trace_hash(cell) for cell in blind if cell.env in ground.traces}


def _about(
    work: Work,
    ground: Ground,
    entries: Sequence[Entry],
    cells: Sequence[Cell],
    command: str,
    left_out: list[LeftOut],
) -> Submission:
    """The submission without its files."""
    found = {cell: work.reference(cell) for cell in reference_cells(ground, cells)}
    traces = [
        TraceRecord(env=cell.env, seed=cell.seed, content_hash=reference.trace_hash)
        for cell, reference in found.items()
        if cell.forecast == "none"
    ]
    return Submission(
        failgym=__version__,
        suite=SuiteRecord.of(ground.suite),
        secret=None if ground.secret is None else commitment(ground.secret),
        traces=traces,
        left_out=left_out,
        policies=[entry.record(command) for entry in entries],
        seconds=Seconds(engine=sum(one.seconds for one in found.values()), policy=0.0),
        files={},
    )


def _same(found: Submission, ground: Ground, entries: Sequence[Entry], out: Path) -> Submission:
    """A submission that is finished, if it is the one that is asked for."""
    wanted = [(entry.key, dict(entry.specs), dict(entry.files)) for entry in entries]
    there = [(policy.key, policy.specs, policy.files) for policy in found.policies]
    secret = None if ground.secret is None else commitment(ground.secret)
    hashes = {one.env: one.content_hash for one in found.traces if one.env in ground.traces}
    same = (found.suite, found.secret) == (SuiteRecord.of(ground.suite), secret)
    if not same or there != wanted or hashes != _hashes(ground):
        raise ValueError(f"--out {out}: holds another submission; use another folder, and merge")
    return found
