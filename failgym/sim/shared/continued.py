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
from failgym.sim.shared.continuation import COUNTS, LONGEST_FATE, Continuation, Law
from failgym.sim.shared.keys import Purpose, stream, uniform
from failgym.sim.shared.laws import NO_LAWS, Laws, draw_all, pack, share_up_to
from failgym.sim.shared.records import Records, record_type
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import NEVER, Ending

__all__ = [
    "CONTINUED",
    "NOT_CONTINUED",
    "Beyond",
    "Played",
    "continue_record",
    "machine_time_of_work",
]

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
    before="i4",  # intrinsic failures among the fates of its rows: k of its first drawn attempt
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
    fails: Floats
    """[started attempts] T_fail [ms], infinite for never"""


class Played(NamedTuple):
    """What of the rows is not as the trace has it, [started attempts] each (rule K1)."""

    latent: Bools
    """was it ended by what the world simulates?"""
    supposed: Bools
    """did it never start in the record?"""


NOT_CONTINUED = Beyond(
    np.zeros(0, dtype=CONTINUED),
    NO_LAWS,
    np.zeros(0, dtype=np.int64),
    np.zeros(0, dtype=np.int64),
    np.zeros(0),
)
"""What stands for that where the record is not continued."""


def continue_record(
    rules: Rules,
    continuation: Continuation | None,
    a: Attempts,
    tasks: Records,
    rows: Records,
    seed: int,
    played: Played | None = None,
) -> Beyond:
    """Work out how tasks go on; the rows get their undisturbed length F and their past failures.

    Args:
        rules: say whether the record is continued.
        continuation: of as many tasks; None where it is not.
        a: the attempts table.
        tasks: TASK [tasks].
        rows: ROW [started attempts], changed in place.
        seed: key of the draws.
        played: where not all rows are played as they ended.

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
    none = np.zeros(len(rows), dtype=np.bool_)
    latent, supposed = (none, none) if played is None else played
    known = np.zeros(len(tasks), dtype=CONTINUED)
    known["stream"] = stream(seed, continuation.key)
    known["slow"], known["cell"] = continuation.slow, continuation.cell
    known["chance_cell"] = continuation.chance_cell
    known["failures"] = np.bincount(task[failed], minlength=len(tasks))
    ran = np.zeros(len(tasks))
    ran_on = ~(failed | supposed)
    np.maximum.at(ran, task[ran_on], rows["duration"][ran_on].astype(np.float64))
    successes = _successes(tasks, rows, task, supposed)
    known["work"] = _work(continuation, a, tasks, successes, known["failures"], ran, seed)
    rows["gap"] = _behind(rows, task, ~supposed)
    rows["ends"] = _ends(tasks, rows, task, failed)
    rows["length"] = _lengths(a, rows, known["work"][task], continuation.key[task], seed)
    fails, bad = _failures(continuation, rows, task, failed, latent, seed)
    past = _counted(bad, task)
    rows["past"] = np.minimum(past, COUNTS - 1)
    filled = np.flatnonzero(tasks["rows"])
    last = tasks["rows_at"][filled] + tasks["rows"][filled] - 1
    known["before"][filled] = past[last] + bad[last]
    longest, gaps = _longest(continuation, known), _gaps(continuation)
    return Beyond(known, pack(continuation), longest, gaps, fails)


def machine_time_of_work(tasks: Records, continued: Records) -> Ints:
    """W x width of each task (rule C2) [machine-ms], [tasks].

    0 where W is never, the task is censored or it has no row to run.

    Args:
        tasks: TASK [tasks].
        continued: CONTINUED [tasks], of the same tasks.
    """
    work = continued["work"]
    nothing = np.isinf(work) | tasks["censored"] | (tasks["rows"] == 0)
    return np.where(nothing, 0.0, work).astype(np.int64) * tasks["width"]


def _successes(tasks: Records, rows: Records, task: Ints, supposed: Bools) -> Ints:
    """How long the first success of each task took [ms], -1 without.

    Where the record has none it is the first of those that are supposed to have run.
    """
    took = np.where(tasks["own_finish"] < NEVER, tasks["own_duration"], -1).astype(np.int64)
    at = np.flatnonzero(supposed)[::-1]
    at = at[took[task[at]] < 0]
    took[task[at]] = rows["duration"][at]  # of repeated indices numpy keeps the last: the first
    return took


def _failures(
    continuation: Continuation,
    rows: Records,
    task: Ints,
    failed: Bools,
    latent: Bools,
    seed: int,
) -> tuple[Floats, Bools]:
    """T_fail of each row (rules C5, K2), and whether it fails from the start (rule C4).

    Whether a latent row fails depends on the fates of the rows of its task before: of all tasks the
    first one is drawn, then the second one, and so on.
    """
    fails = np.where(failed, rows["duration"].astype(np.float64), np.inf)
    bad = failed.copy()
    length = rows["length"].astype(np.float64)
    at = np.flatnonzero(latent)
    place = np.arange(len(at)) - np.searchsorted(task[at], task[at])
    order = np.argsort(place, kind="stable")
    by_place = np.split(at[order], np.cumsum(np.bincount(place)))[:-1] if len(at) else []
    drawn = np.zeros(int(task.max(initial=-1)) + 1, dtype=np.int64)
    recorded = _counted(failed, task)
    for chosen in by_place:
        of = task[chosen]
        k = np.minimum(recorded[chosen] + drawn[of], COUNTS - 1)
        u = uniform(seed, continuation.key[of], rows["number"][chosen], Purpose.NEXT_FAILURE)
        cell, ran = continuation.cell[of, k], rows["duration"][chosen].astype(np.float64)
        fails[chosen] = _draw_above(continuation.failure, cell, ran, u)
        bad[chosen] = fails[chosen] <= length[chosen]
        drawn[of] += bad[chosen]
    return fails, bad


def _counted(flags: Bools, task: Ints) -> Ints:
    """How many rows of the same task before each row are flagged."""
    before = np.cumsum(flags) - flags
    return before - before[np.searchsorted(task, task)]


def _draw_above(law: Law, cell: Ints, least: Floats, u: Floats) -> Floats:
    """Draw from the values of each cell that are above another number (rule C2)."""
    if not len(law.value):
        return np.full(len(cell), np.inf)
    over = share_up_to(law, cell, least)
    return draw_all(law, cell, over + (1.0 - over) * u)


def _work(
    continuation: Continuation,
    a: Attempts,
    tasks: Records,
    successes: Ints,
    failures: Ints,
    ran: Floats,
    seed: int,
) -> Floats:
    """W of each task (rule C2), infinite for never; `ran` is its r."""
    finishes = successes >= 0
    work = successes.astype(np.float64)
    stated = np.flatnonzero(a.started & (a.length >= 0) & ~finishes[a.task])[::-1]
    work[a.task[stated]] = a.length[stated]  # of repeated indices numpy keeps the last: the first
    work[~finishes & (tasks["kill_at"] < NEVER)] = np.inf
    unknown = np.flatnonzero(work < 0)
    cell = continuation.cell[unknown, np.minimum(failures[unknown], COUNTS - 1)]
    u = uniform(seed, continuation.key[unknown], 0, Purpose.WORK)
    drawn = _draw_above(continuation.work, cell, ran[unknown], u)
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


def _behind(rows: Records, task: Ints, started: Bools) -> Ints:
    """Time from the end of each row to the first start behind it (rules C8, C9), -1 without."""
    at = np.flatnonzero(started)
    start = rows["start"][at]
    end, beyond = start + rows["duration"][at], np.searchsorted(task[at], task[at], side="right")
    behind = np.arange(1, len(at) + 1)  # rows of a task start one after another
    early = np.arange(len(at))
    while len(early):
        early = early[behind[early] < beyond[early]]
        early = early[start[behind[early]] < end[early]]
        behind[early] += 1
    known = np.flatnonzero(behind < beyond)
    gap = np.full(len(rows), -1, dtype=np.int64)
    gap[at[known]] = start[behind[known]] - end[known]
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
