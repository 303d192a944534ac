"""From the lines of an SWF log to runs: one per line, or one per partial execution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.exit_status import CODES
from failgym.traces.readers.swf.header import Header
from failgym.traces.readers.swf.lines import Rows
from failgym.traces.schema import LATEST
from failgym.vocabulary import Cause, Outcome

__all__ = ["NONE", "Meaning", "Runs", "meaning_of", "runs_of"]

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

FAILED, COMPLETED, CONTINUED, LAST_COMPLETED, LAST_FAILED, CANCELLED = 0, 1, 2, 3, 4, 5
"""Values of the status field (field 11); -1 is unknown."""
NONE: Final = -1
"""Stands for a missing time, cause or exit code in an array."""


@dataclass(frozen=True)
class Rule:
    """When values of the status field that the format does not know are taken for exit codes."""

    foreign_share: float = 1e-3
    """of all lines, at least, hold another value than -1 to 5; our choice: more than slips"""


@dataclass(frozen=True)
class Meaning:
    """What a log means by two of its fields."""

    exit_codes: bool
    """the status field holds exit codes, 0 for success"""
    enforced: bool
    """a job that reaches its requested time is killed"""
    reached: int
    """how many jobs did"""

    @property
    def limit(self) -> str:
        """Whether the requested time is enforced, in words."""
        if not self.reached:
            return "not known to be enforced: no job reached it"
        return "enforced" if self.enforced else "not enforced"


class Runs(NamedTuple):
    """One entry per run, in the order of the lines; times [ms], `NONE` where missing."""

    row: Ints  # line that describes the job
    line: Ints  # line of the run itself
    queued: Ints
    start: Ints
    end: Ints
    outcome: Ints
    cause: Ints
    exit_code: Ints
    length: Ints


def meaning_of(rows: Rows, header: Header, rule: Rule | None = None) -> Meaning:
    """Decide what a log means by its status and by its requested time.

    The status field holds exit codes if 0, which would be a failure, is as frequent as 1 and a note
    in the header says so, or if 0 is more frequent and at least `Rule.foreign_share` of the values
    are none of the format's. Requested time is enforced if jobs reached it, unless the header
    allows overuse, or more of these jobs completed than did not.
    """
    rule = rule or Rule()
    status = rows["status"]
    foreign = int(((status < NONE) | (status > CANCELLED)).sum())
    zeros, ones = int((status == 0).sum()), int((status == 1).sum())
    exit_codes = (header.has_exit_codes and zeros >= ones) or (
        foreign > 0 and foreign >= rule.foreign_share * len(status) and zeros > ones
    )
    reached = _reached(rows)
    reaching = int(reached.sum())
    completed = (reached & (status == (0 if exit_codes else COMPLETED))).sum()
    enforced = not header.allows_overuse and bool(reaching > 0 and 2 * completed <= reaching)
    return Meaning(exit_codes, enforced, reaching)


def _reached(rows: Rows) -> Flags:
    """Which jobs ran for as long as they requested."""
    requested, run = rows["requested time"], rows["run time"]
    flags: Flags = (requested > 0) & (run >= requested)
    return flags


def runs_of(rows: Rows, meaning: Meaning, is_log: bool, counts: Counts) -> Runs:
    """The runs of all jobs; those that are open end at `NONE`.

    `is_log`: the rows tell of a real system, not of a model, so that a run without a wait time has
    happened all the same.
    """
    status = rows["status"]
    partial = np.zeros(len(rows), dtype=np.bool_)
    if not meaning.exit_codes:
        partial = (status >= CONTINUED) & (status <= LAST_FAILED)
    pieces, summarised = _partial_executions(rows, partial, counts)
    usable = ~partial & ~summarised
    usable &= _timed(rows, usable, counts) & _finished(rows, usable, meaning, counts)
    whole = _whole_runs(rows, np.flatnonzero(usable), meaning, is_log, counts)
    runs = Runs(*(np.concatenate(both) for both in zip(whole, pieces, strict=True)))
    order = np.argsort(runs.line, kind="stable")
    return Runs(*(column[order] for column in runs))


def _timed(rows: Rows, usable: Flags, counts: Counts) -> Flags:
    known: Flags = rows["submit time"] >= 0
    _count(counts.drop, "submit time missing", usable & ~known)
    return known


def _finished(rows: Rows, usable: Flags, meaning: Meaning, counts: Counts) -> Flags:
    """All but jobs that completed in an unknown time."""
    completed = rows["status"] == (0 if meaning.exit_codes else COMPLETED)
    unknown = completed & (rows["run time"] < 0)
    _count(
        counts.drop, "completed, run time missing", usable & unknown & (rows["submit time"] >= 0)
    )
    flags: Flags = ~unknown
    return flags


def _whole_runs(rows: Rows, line: Ints, meaning: Meaning, is_log: bool, counts: Counts) -> Runs:
    """The runs of jobs that have one line."""
    chosen = rows[line]
    outcome = _outcomes(chosen["status"], meaning, counts)
    submit, wait, run = (milliseconds(chosen[f"{name} time"]) for name in ("submit", "wait", "run"))
    censored, killed = outcome == Outcome.CENSORED, outcome == Outcome.KILL
    ran = np.where(killed, run > 0, run >= 0)
    ran = np.where(censored, (run >= 0) & ((wait >= 0) | is_log) | (wait >= 0), ran)
    _count(counts.note, "wait time missing, taken as 0", ran & (wait < 0))
    _count(counts.note, "never ran", ~ran)
    begun = submit + np.maximum(wait, 0)
    end = begun + np.where(ran, np.maximum(run, 0), 0)
    end = np.where(censored & (~ran | (run < 0)), NONE, end)
    reached = _reached(chosen) & meaning.enforced
    cause = np.full(len(line), NONE)
    failed = outcome == Outcome.FAIL
    cause[failed] = Cause.INTRINSIC
    if meaning.exit_codes:
        codes, place = np.unique(chosen["status"][failed], return_inverse=True)
        cause[failed] = np.array([CODES.cause(code) for code in codes.tolist()], np.int64)[place]
    cause[killed] = Cause.USER
    cause[reached & (killed | failed)] = Cause.WALLTIME
    return Runs(
        row=line,
        line=line,
        queued=submit,
        start=np.where(ran, begun, NONE),
        end=end,
        outcome=outcome,
        cause=cause,
        exit_code=chosen["status"].astype(np.int64) if meaning.exit_codes else cause * 0 + NONE,
        length=np.where(censored & ~ran & (run >= 0), run, NONE),
    )


def _outcomes(status: Ints, meaning: Meaning, counts: Counts) -> Ints:
    outcome = np.full(len(status), int(Outcome.CENSORED))
    if meaning.exit_codes:
        outcome[status != NONE] = Outcome.FAIL
        outcome[status == 0] = Outcome.FINISH
    else:
        outcome[status == FAILED] = Outcome.FAIL
        outcome[status == COMPLETED] = Outcome.FINISH
        outcome[status == CANCELLED] = Outcome.KILL
        foreign = (status < NONE) | (status > CANCELLED)
        _count(counts.note, "status that the format does not know, taken as unknown", foreign)
    _count(counts.note, "status unknown", status == NONE)
    return outcome


def milliseconds(seconds: npt.NDArray[np.float64]) -> Ints:
    """Seconds in milliseconds, rounded half up; negative ones, which mean missing, are `NONE`."""
    return np.where(seconds < 0, NONE, np.floor(seconds * 1000 + 0.5)).astype(np.int64)


def _count(count: Any, reason: str, rows: Flags) -> None:
    number = int(rows.sum())
    if number:
        count(reason, number)


# --- Partial executions ---------------------------------------------------------------------------


def _partial_executions(rows: Rows, partial: Flags, counts: Counts) -> tuple[Runs, Flags]:
    """The runs of jobs that have lines for partial executions, and which lines sum others up.

    Those of a job follow its summary, which has the status 0, 1 or 5 and the same job number; they
    may also stand alone. A line after the first has its wait since the end of the previous one; if
    it has a submit time all the same, the wait is counted from there.
    """
    summarised = np.zeros(len(rows), dtype=np.bool_)
    found: dict[int, list[int]] = {}
    last: dict[int, int] = {}
    numbers = rows["job number"]
    for line in np.flatnonzero(np.isin(numbers, np.unique(numbers[partial]))).tolist():
        number = int(numbers[line])
        if not partial[line]:
            last[number] = line
            continue
        job = last.setdefault(number, line)
        found.setdefault(job, []).append(line)
        summarised[job] |= not partial[job]
    table: list[tuple[int, ...]] = []
    for job, lines in found.items():
        table += _pieces(rows, job, lines, bool(summarised[job]), counts)
    columns = np.array(table, dtype=np.int64).reshape(len(table), len(Runs._fields))
    return Runs(*columns.T), summarised


def _pieces(
    rows: Rows, job: int, lines: list[int], summarised: bool, counts: Counts
) -> list[tuple[int, ...]]:
    """The runs of one job, a tuple like `Runs` each."""
    counts.read("partial executions", len(lines))
    if summarised:
        counts.read("summaries of partial executions")
    submit, wait, run = (
        milliseconds(rows[f"{name} time"][[job, *lines]]).tolist()
        for name in ("submit", "wait", "run")
    )
    ready = submit[0] if submit[0] >= 0 else submit[1]
    if ready < 0:
        counts.drop("submit time missing", len(lines))
        return []
    status = rows["status"][[job, *lines]].tolist()
    table: list[tuple[int, ...]] = []
    for place, line in enumerate(lines, start=1):
        queued = max(submit[place], ready if place > 1 else 0) if submit[place] >= 0 else ready
        start = min(queued + max(wait[place], 0), LATEST)
        ready = min(start + max(run[place], 0), LATEST)
        code = status[place]
        if place == len(lines) and code == CONTINUED and summarised:
            code = _SUMMED_UP.get(status[0], code)
        outcome, cause = _PIECE[code]
        table.append((job, line, queued, start, ready, outcome, cause, NONE, NONE))
    if table[-1][5] == Outcome.EVICT:
        counts.note("partial executions without a last one")
        table.append((job, lines[-1], ready, NONE, NONE, int(Outcome.CENSORED), NONE, NONE, NONE))
    return table


_PIECE: Final = {
    CONTINUED: (int(Outcome.EVICT), int(Cause.PREEMPTION)),
    LAST_COMPLETED: (int(Outcome.FINISH), NONE),
    LAST_FAILED: (int(Outcome.FAIL), int(Cause.INTRINSIC)),
    CANCELLED: (int(Outcome.KILL), int(Cause.USER)),
}
_SUMMED_UP: Final = {COMPLETED: LAST_COMPLETED, FAILED: LAST_FAILED, CANCELLED: CANCELLED}
"""What the summary of a job says of its last partial execution."""
