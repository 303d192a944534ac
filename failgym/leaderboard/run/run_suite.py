"""`run_suite`: policies on a suite, resumed after a kill, into the folder of a submission."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from failgym import __version__
from failgym.evaluation.progress import Advance, silent
from failgym.leaderboard.policy_process.players import Players
from failgym.leaderboard.policy_process.separation import check_apart
from failgym.leaderboard.run.assembly import assemble
from failgym.leaderboard.run.shared_predictors import copy_predictors, shared_predictors
from failgym.leaderboard.run.tasks import (
    RunTasks,
    cells_played,
    find_references,
    play_all,
    reference_cells,
    train_predictors,
)
from failgym.leaderboard.run.work_folder import WorkFolder
from failgym.leaderboard.submission.entries import Entry
from failgym.leaderboard.submission.policy_names import misnamed_files, name_problems
from failgym.leaderboard.submission.records import (
    EVERY,
    LeftOut,
    Seconds,
    Submission,
    SuiteRecord,
    TraceRecord,
    first_error,
    read_submission,
)
from failgym.leaderboard.submission.same_players import same_players
from failgym.leaderboard.suite.reference import Reference
from failgym.leaderboard.suite.secret_seed import commitment
from failgym.leaderboard.suite.suite_worlds import SuiteWorlds
from failgym.leaderboard.suite.suites import Cell
from failgym.workers import ALONE, Workers

__all__ = ["run_suite"]


def run_suite(
    worlds: SuiteWorlds,
    entries: Sequence[Entry],
    out: Path,
    *,
    command: str,
    players: Players,
    workers: Workers = ALONE,
    predictors_of: Path | None = None,
    progress: Advance = silent,
) -> Submission:
    """Run policies on a suite. The same call goes on where it was killed.

    Only what somebody plays is prepared: an environment that no policy was made for costs nothing.

    Args:
        worlds: of the suite; its predictors are kept in ``out`` meanwhile.
        entries: the policies, in the order of rows.
        out: the folder of the submission.
        command: what was typed, for the record.
        players: make whoever answers for a policy.
        workers: who plays; the result is the same. Those of a cluster must see ``out``.
        predictors_of: a submission whose predictors are used, so that it can be merged with it.
        progress: called with the number of steps done, of `count_steps`.

    Raises:
        ValueError: in one line: a folder that holds something else, or was begun otherwise; a
            policy that is there twice; a trace on which a suite cannot be played.
    """
    _check_entries(entries, command)
    if not players.confinement.hosted:  # a host reads no files of others itself
        _check_players(entries, command, players)
    shared = {} if predictors_of is None else shared_predictors(predictors_of, worlds, entries)
    work = WorkFolder(out)
    worlds = replace(worlds, predictors=work.predictors)
    if work.finished:
        work.remove()
        return _same(read_submission(out), worlds, entries, out)
    with work.locked():
        work.agree(_plan(worlds, entries) | ({"predictors": shared} if shared else {}))
        if predictors_of is not None:
            copy_predictors(predictors_of, shared, work.predictors)
        run = RunTasks(work, worlds, players)
        try:
            _check_private(run, entries, workers)
            left_out = train_predictors(run, entries, workers, progress)
            left_out += [
                LeftOut(env=env, forecast=EVERY, reason=reason)
                for env, reason in worlds.unplayable.items()
            ]
            cells = cells_played(worlds, entries, left_out)
            find_references(run, cells, workers, progress)
            play_all(run, entries, cells, workers, progress)
        finally:
            players.close()
        about = _about(work, worlds, entries, cells, command, left_out)
        assemble(work, worlds, entries, cells, about)
        work.remove()
    return read_submission(out)


def _check_private(run: RunTasks, entries: Sequence[Entry], workers: Workers) -> None:
    """Refuse a host's command under which policies could read what they must not."""
    confinement = run.players.confinement
    if confinement.hosted and any(entry.kind != "baseline" for entry in entries):
        traces = map(Path, run.worlds.traces.values())
        check_apart(run.players, [run.work.folder, *confinement.private, *traces], workers)


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


def _check_players(entries: Sequence[Entry], command: str, players: Players) -> None:
    records = [entry.record(command) for entry in entries]
    for problems in (misnamed_files, same_players):
        for problem in problems(records, players.load):
            raise ValueError(f"--policy: {problem}")


def _plan(worlds: SuiteWorlds, entries: Sequence[Entry]) -> dict[str, Any]:
    """Everything that two calls must share to be of one run, by the names of options."""
    records = [entry.record("-").model_dump(mode="json") for entry in entries]
    return {
        "versions": records[0]["versions"],
        "suite": SuiteRecord.of(worlds.suite).model_dump(mode="json"),
        "policies": records,
        "traces": _hashes(worlds),
        "secret": worlds.secret and commitment(worlds.secret),
    }


def _hashes(worlds: SuiteWorlds) -> dict[str, str]:
    """Content hashes of the user's traces, by environment; others follow from the suite."""
    return {
        cell.env: worlds.trace_hash(cell) for cell in _blind(worlds) if cell.env in worlds.traces
    }


def _blind(worlds: SuiteWorlds) -> list[Cell]:
    """The cells without a forecast: one of each trace."""
    return [cell for cell in worlds.suite.cells() if cell.forecast == "none"]


def _traces(worlds: SuiteWorlds, found: Mapping[Cell, Reference]) -> list[TraceRecord]:
    """The traces that somebody played on, and all of the user's: a suite of these follows from
    them.
    """
    hashes = {cell: reference.trace_hash for cell, reference in found.items()}
    for cell in _blind(worlds):
        if cell.env in worlds.traces and cell not in hashes:
            hashes[cell] = worlds.trace_hash(cell)
    return [
        TraceRecord(env=cell.env, seed=cell.seed, content_hash=hashes[cell])
        for cell in _blind(worlds)
        if cell in hashes
    ]


def _about(
    work: WorkFolder,
    worlds: SuiteWorlds,
    entries: Sequence[Entry],
    cells: Sequence[Cell],
    command: str,
    left_out: list[LeftOut],
) -> Submission:
    """The submission without its files."""
    found = {cell: work.reference(cell) for cell in reference_cells(worlds, cells)}
    return Submission(
        failgym=__version__,
        suite=SuiteRecord.of(worlds.suite),
        secret=None if worlds.secret is None else commitment(worlds.secret),
        traces=_traces(worlds, found),
        left_out=left_out,
        policies=[entry.record(command) for entry in entries],
        seconds=Seconds(engine=sum(one.seconds for one in found.values()), policy=0.0),
        files={},
    )


def _same(
    found: Submission, worlds: SuiteWorlds, entries: Sequence[Entry], out: Path
) -> Submission:
    """A submission that is finished, if it is the one that is asked for."""
    wanted = [(entry.key, dict(entry.specs), dict(entry.files)) for entry in entries]
    there = [(policy.key, policy.specs, policy.files) for policy in found.policies]
    secret = None if worlds.secret is None else commitment(worlds.secret)
    hashes = {one.env: one.content_hash for one in found.traces if one.env in worlds.traces}
    same = (found.suite, found.secret) == (SuiteRecord.of(worlds.suite), secret)
    if not same or there != wanted or hashes != _hashes(worlds):
        raise ValueError(f"--out {out}: holds another submission; use another folder, and merge")
    return found
