"""What the continued record says of tasks and recorded attempts before anything is played.

Rules C2 to C4 of `failgym.sim.reference`: the work of each task, the time in which each recorded
attempt would have done it, and the intrinsic failures before it. What drawn attempts meet, kernels
draw when they start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.compile import Attempts
from failgym.sim.shared.continuation import COUNTS, LONGEST_FATE, Continuation
from failgym.sim.shared.keys import Purpose, stream, uniform
from failgym.sim.shared.laws import NO_LAWS, Laws, draw_all, pack, share_up_to
from failgym.sim.shared.records import Records, record_type
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import NEVER, Ending

__all__ = ["CONTINUED", "NOT_CONTINUED", "Beyond", "continue_record"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

CONTINUED = record_type(
    stream="u8",  # of its draws, see `keys.stream`
    work="f8",  # W [ms], infinite for never
    slow="f8",
    cell=f"{COUNTS}i4",
    chance_cell="i4",
    failures="i4",  # J: intrinsic failures of its started rows
)
"""How a task goes on beyond its record."""


class Beyond(NamedTuple):
    """How the tasks of a trace go on."""

    tasks: Records
    """CONTINUED [tasks]; [0] where the record is not continued"""
    laws: Laws
    longest: Ints
    """[tasks] how long a drawn attempt can run, until the user's final kill aside [ms]"""
    gap: Ints
    """[tasks] longest time until a restart that is drawn [ms]"""


NOT_CONTINUED = Beyond(
    np.zeros(0, dtype=CONTINUED), NO_LAWS, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
)
"""What stands for that where the record is not continued."""


def continue_record(
    rules: Rules,
    continuation: Continuation | None,
    a: Attempts,
    tasks: Records,
    rows: Records,
    seed: int,
) -> Beyond:
    """Work out how tasks go on; the rows get their undisturbed length F and their past failures.

    Args:
        rules: say whether the record is continued.
        continuation: of as many tasks; None where it is not.
        a: the attempts table.
        tasks: TASK [tasks].
        rows: ROW [started attempts], changed in place.
        seed: key of the draws.

    Raises:
        ValueError: if laws are needed and there are none, or of another number of tasks.
    """
    if rules.beyond_record != "continued":
        return NOT_CONTINUED
    if continuation is None:
        raise ValueError('continuation: expected laws, as beyond_record is "continued", got None')
    if len(continuation.cell) != len(tasks):
        raise ValueError(
            f"continuation: expected {len(tasks)} tasks, as the trace has, got"
            f" {len(continuation.cell)}"
        )
    task, failed = a.task[a.started], rows["ending"] == Ending.INTRINSIC
    known = np.zeros(len(tasks), dtype=CONTINUED)
    known["stream"] = stream(seed, continuation.key)
    known["slow"], known["cell"] = continuation.slow, continuation.cell
    known["chance_cell"] = continuation.chance_cell
    known["failures"] = np.bincount(task[failed], minlength=len(tasks))
    ran = np.zeros(len(tasks))
    np.maximum.at(ran, task[~failed], rows["duration"][~failed].astype(np.float64))
    known["work"] = _work(continuation, a, tasks, known["failures"], ran, seed)
    before = np.cumsum(failed) - failed
    rows["past"] = np.minimum(before - before[tasks["rows_at"][task]], COUNTS - 1)
    rows["gap"] = _behind(tasks, rows, task)
    rows["ends"] = _ends(tasks, rows, task, failed)
    rows["length"] = _lengths(a, rows, known["work"][task], continuation.key[task], seed)
    return Beyond(known, pack(continuation), _longest(continuation, known), _gaps(continuation))


def _work(
    continuation: Continuation, a: Attempts, tasks: Records, failures: Ints, ran: Floats, seed: int
) -> Floats:
    """W of each task (rule C2), infinite for never; `ran` is its r."""
    finishes = tasks["own_finish"] < NEVER
    work = np.where(finishes, tasks["own_duration"], -1).astype(np.float64)
    stated = np.flatnonzero(a.started & (a.length >= 0) & ~finishes[a.task])[::-1]
    work[a.task[stated]] = a.length[stated]  # of repeated indices numpy keeps the last: the first
    work[~finishes & (tasks["kill_at"] < NEVER)] = np.inf
    unknown = np.flatnonzero(work < 0)
    cell = continuation.cell[unknown, np.minimum(failures[unknown], COUNTS - 1)]
    over = share_up_to(continuation.work, cell, ran[unknown])
    u = over + (1.0 - over) * uniform(seed, continuation.key[unknown], 0, Purpose.WORK)
    drawn = draw_all(continuation.work, cell, u)
    work[unknown] = np.where(np.isinf(drawn), ran[unknown] + 1.0, drawn)
    return work


def _lengths(a: Attempts, rows: Records, work: Floats, key: Ints, seed: int) -> Ints:
    """F of each recorded attempt (rule C3), `NEVER` for never."""
    d, stated = rows["duration"].astype(np.float64), a.length[a.started]
    finishes = rows["ending"] == Ending.FINISH
    length = np.where(finishes, d, np.where(stated >= 0, stated, work))
    u = (1.0 + uniform(seed, key, rows["number"], Purpose.SLOW_ROW)) / 2.0
    length = np.where(~finishes & (d >= length), np.floor(d / u + 0.5), length)
    never = np.isinf(work)
    return np.where(never, NEVER, np.where(never, 1.0, np.maximum(length, 1.0)).astype(np.int64))


def _behind(tasks: Records, rows: Records, task: Ints) -> Ints:
    """Time from the end of each row to the first start behind it (rules C8, C9), -1 without."""
    start, end = rows["start"], rows["start"] + rows["duration"]
    beyond = (tasks["rows_at"] + tasks["rows"])[task]
    behind = np.arange(1, len(rows) + 1)  # rows of a task start one after another
    early = np.arange(len(rows))
    while len(early):
        early = early[behind[early] < beyond[early]]
        early = early[start[behind[early]] < end[early]]
        behind[early] += 1
    known = np.flatnonzero(behind < beyond)
    gap = np.full(len(rows), -1, dtype=np.int64)
    gap[known] = start[behind[known]] - end[known]
    return gap


def _ends(tasks: Records, rows: Records, task: Ints, failed: Bools) -> Bools:
    """Does no row lie behind the j-th intrinsic failure of a task, by end? Told by row j - 1."""
    at = np.flatnonzero(failed)
    end = (rows["start"] + rows["duration"])[at]
    ordered = at[np.lexsort((at, end, task[at]))]
    first = np.searchsorted(task[ordered], task[ordered])
    ends = np.zeros(len(rows), dtype=np.bool_)
    ends[tasks["rows_at"][task[ordered]] + np.arange(len(ordered)) - first] = (
        rows["gap"][ordered] < 0
    )
    return ends


def _longest(continuation: Continuation, known: Records) -> Ints:
    """The longest F that may be drawn for each task; 0 where only its user's kill ends it."""
    chance = np.append(_largest(continuation.chance.at, continuation.chance.value), 1.0)
    most = np.maximum(chance[continuation.chance_cell], 1.0)  # cell -1 is the last, no chance
    with np.errstate(over="ignore"):
        length = known["work"] * known["slow"] * most
    drawn = np.floor(np.clip(length, 1.0, LONGEST_FATE) + 0.5).astype(np.int64)
    return np.where(np.isinf(known["work"]), 0, drawn)


def _gaps(continuation: Continuation) -> Ints:
    """The longest gap that may be drawn for each task."""
    laws = (continuation.gap_after_failure, continuation.gap_after_external)
    cells = np.maximum(*(_largest(law.at, law.value) for law in laws))
    return np.maximum(cells[continuation.cell].max(axis=1, initial=1), 1).astype(np.int64)


def _largest(at: Ints, value: Floats) -> Floats:
    """The largest value of each cell, 0 of an empty one."""
    out = np.zeros(len(at) - 1)
    filled = np.flatnonzero(np.diff(at))
    if len(filled):
        out[filled] = np.maximum.reduceat(value, at[:-1][filled])
    return out
