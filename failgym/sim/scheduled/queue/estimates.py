"""Estimates of run times: what EASY backfilling takes an attempt to need.

Users' own requests, the truth, or what the last attempts of the same user needed (Kumar et al.,
DSN 2020, section V; Tsafrir, Etsion and Feitelson 2007).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.beyond import undisturbed
from failgym.sim.scheduled.rules import ESTIMATORS, SCHEDULERS
from failgym.sim.shared.jit import called
from failgym.vocabulary import HOUR, MINUTE, Ending, Outcome

__all__ = [
    "EASY",
    "LIVE",
    "History",
    "clear_history",
    "estimate",
    "expected_end",
    "history_of",
    "make_history",
    "note_ended",
]

EASY = SCHEDULERS.index("easy_backfill")
_USER, _ORACLE = ESTIMATORS.index("user"), ESTIMATORS.index("oracle")
_LAST, _AVERAGE = ESTIMATORS.index("last"), ESTIMATORS.index("average")
_MEDIAN, _MCS = ESTIMATORS.index("median"), ESTIMATORS.index("mcs")
_FINISH, _FAIL, _KILL = int(Outcome.FINISH), int(Outcome.FAIL), int(Outcome.KILL)
_FINISHES = int(Ending.FINISH)

STEPS = (
    *(1 * MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE),
    *(1 * HOUR, 2 * HOUR, 5 * HOUR, 10 * HOUR, 20 * HOUR, 50 * HOUR, 100 * HOUR),
)
"""By how much an estimate that has proved too small is raised where no walltime is requested [ms]
(Tsafrir, Etsion and Feitelson 2007). Where one is, waits are far shorter if the request takes the
place of the estimate: on three logs of the Parallel Workloads Archive these steps, with the request
as their limit, made most estimators worse than the requests alone."""

LIVE = np.dtype([("expected", "i8"), ("key", "i8"), ("slots", "i8"), ("run", "i4")], align=True)
"""An attempt that holds slots: its estimated end [ms], (trace row of the task, number) in one, its
slots, its run."""


class History(NamedTuple):
    """What EASY backfilling remembers of N episodes; empty where the rules have no use for it.

    The last attempts of a user lie in a ring: attempt k at place k modulo its length.
    """

    ended: npt.NDArray[np.int64]
    """[N, users] attempts of the user that have ended by themselves"""
    elapsed: npt.NDArray[np.int64]
    """[N, users, history] how long they ran [ms]"""
    total: npt.NDArray[np.int64]
    """[N, users] sum of those times [ms], for the average"""
    ordered: npt.NDArray[np.int64]
    """[N, users, history] those times, ascending, for the median"""
    tasks: npt.NDArray[np.int64]
    """[N, users, history] trace rows of their tasks, for the most similar"""
    lives: npt.NDArray[np.int64]
    """[N, 1] attempts that hold slots, see `View.live`"""


def make_history(p: Any, episodes: int) -> History:
    """Room for the history of so many episodes under the PARAMETERS `p`."""
    easy = p["scheduler"] == EASY
    estimator = int(p["estimator"]) if easy else _USER
    users = int(p["users"]) if estimator not in (_USER, _ORACLE) else 0
    last = 1 if estimator == _LAST else int(p["history"])

    def ring(wanted: bool) -> npt.NDArray[np.int64]:
        return np.zeros((episodes, users if wanted else 0, last), dtype=np.int64)

    return History(
        ended=np.zeros((episodes, users), dtype=np.int64),
        elapsed=ring(True),
        total=np.zeros((episodes, users if estimator == _AVERAGE else 0), dtype=np.int64),
        ordered=ring(estimator == _MEDIAN),
        tasks=ring(estimator == _MCS),
        lives=np.zeros((episodes, 1), dtype=np.int64),
    )


@called
def history_of(h: History, e: int) -> History:
    """The part of one episode."""
    return History(h.ended[e], h.elapsed[e], h.total[e], h.ordered[e], h.tasks[e], h.lives[e])


@called
def clear_history(w: Any, x: Any) -> None:
    """Forget the episode before."""
    x.history.ended[:] = 0
    x.history.total[:] = 0
    x.history.lives[0] = 0


# --- Attempts that have ended ---------------------------------------------------------------------


@called
def note_ended(w: Any, x: Any, i: int, outcome: int) -> None:
    """Remember a run that ends now, if it does so by itself or at its walltime."""
    run = x.runs[i]
    user = w.tasks[x.tasks[run.local].task].user
    if len(x.history.ended) == 0 or user < 0:
        return
    at_walltime = outcome == _KILL and run.wall == x.ep.now
    if outcome in (_FINISH, _FAIL) or at_walltime:
        _remember(x, i, user)


@called
def _remember(x: Any, i: int, user: int) -> None:
    """Put a run into the ring of its user, in the place of the oldest if that is full."""
    h, run = x.history, x.runs[i]
    elapsed, size = x.ep.now - run.start, h.elapsed.shape[1]
    count = h.ended[user]
    place, full = count % size, count >= size
    oldest = h.elapsed[user, place]
    if len(h.total) > 0:
        h.total[user] += elapsed - (oldest if full else 0)
    if len(h.ordered) > 0:
        ordered = h.ordered[user]
        if full:
            _replace(ordered, size, oldest, elapsed)
        else:
            _insert(ordered, count, elapsed)
    if len(h.tasks) > 0:
        h.tasks[user, place] = x.tasks[run.local].task
    h.elapsed[user, place] = elapsed
    h.ended[user] = count + 1


@called
def _insert(ordered: Any, n: int, value: int) -> None:
    """Put a value among the first `n`, which ascend."""
    at = n
    while at > 0 and ordered[at - 1] > value:
        ordered[at] = ordered[at - 1]
        at -= 1
    ordered[at] = value


@called
def _replace(ordered: Any, n: int, old: int, value: int) -> None:
    """Put a value in the place of another among the first `n`, which ascend."""
    at = 0
    while ordered[at] != old:
        at += 1
    while at < n - 1:
        ordered[at] = ordered[at + 1]
        at += 1
    _insert(ordered, n - 1, value)


# --- Estimates ------------------------------------------------------------------------------------


@called
def estimate(w: Any, x: Any, i: int) -> int:
    """What an attempt that joins the queue is taken to need [ms]; 0 where nobody asks.

    At least 1 ms, and at most the requested walltime, if there is one.
    """
    p = w.parameters[0]
    if p.scheduler != EASY:
        return 0
    run = x.runs[i]
    record = w.tasks[x.tasks[run.local].task]
    if p.estimator == _ORACLE:
        guess = _own_time(w, x, i)
    elif p.estimator == _USER or record.user < 0 or x.history.ended[record.user] == 0:
        guess = _requested(w, x, i)
    else:
        guess = _from_history(w, x, i)
    if record.walltime > 0:
        guess = min(guess, record.walltime)
    return max(guess, 1)


@called
def _own_time(w: Any, x: Any, i: int) -> int:
    """How long an attempt will run from the start, undisturbed [ms]."""
    run = x.runs[i]
    remaining = x.tasks[run.local].remaining
    if remaining >= 0:
        return remaining
    if w.parameters[0].continued:
        return undisturbed(w, x, i)
    row = w.rows[run.row]
    return row.length if row.ending == _FINISHES else row.duration


@called
def _requested(w: Any, x: Any, i: int) -> int:
    """The requested walltime; else the largest of the trace; else the truth [ms]."""
    p = w.parameters[0]
    requested = w.tasks[x.tasks[x.runs[i].local].task].walltime
    if requested > 0:
        return requested
    return p.most_walltime if p.most_walltime > 0 else _own_time(w, x, i)


@called
def _from_history(w: Any, x: Any, i: int) -> int:
    """What the user's last attempts, one at least, say of the next [ms]."""
    p, h, task = w.parameters[0], x.history, x.tasks[x.runs[i].local].task
    user = w.tasks[task].user
    size = h.elapsed.shape[1]
    count = h.ended[user]
    known = min(count, size)
    if p.estimator == _LAST:
        return int(h.elapsed[user, (count - 1) % size])
    if p.estimator == _AVERAGE:
        return int(h.total[user] // known)
    if p.estimator == _MEDIAN:
        return int(h.ordered[user, (known - 1) // 2])
    return _most_similar(w, x, task)


@called
def _most_similar(w: Any, x: Any, task: int) -> int:
    """Run time of the user's ended attempt that is most similar to a task; of equals the latest.

    Similarity is the cosine between five attributes: same name, same queue, width, walltime,
    nearness in time of submission (Kumar et al., DSN 2020, section V).
    """
    p, h, own = w.parameters[0], x.history, w.tasks[task]
    size = h.elapsed.shape[1]
    count = h.ended[own.user]
    width, walltime = own.width / p.widest, _share(own.walltime, p.most_walltime)
    norm = _norm(1.0, 1.0, width, walltime, 1.0)
    best, place = -1.0, 0
    for k in range(max(count - size, 0), count):
        other = w.tasks[h.tasks[own.user, k % size]]
        name = 1.0 if other.name == own.name else 0.0
        queue = 1.0 if other.queue == own.queue else 0.0
        its_width = other.width / p.widest
        its_walltime = _share(other.walltime, p.most_walltime)
        near = 1.0 / (1.0 + abs(own.submit - other.submit) / HOUR)
        dot = name + queue + its_width * width + its_walltime * walltime + near
        similarity = dot / (_norm(name, queue, its_width, its_walltime, near) * norm)
        if similarity >= best:
            best, place = similarity, k % size
    return int(h.elapsed[own.user, place])


@called
def _share(part: int, whole: int) -> float:
    return part / whole if whole > 0 else 0.0


@called
def _norm(a: float, b: float, c: float, d: float, e: float) -> float:
    return math.sqrt(a * a + b * b + c * c + d * d + e * e)


# --- Correction -----------------------------------------------------------------------------------


@called
def expected_end(w: Any, x: Any, i: int) -> int:
    """When a started attempt is expected to end, as seen now; always later than now [ms].

    An estimate that has proved too small gives way to the requested walltime, or is raised step by
    step where none is requested.
    """
    run = x.runs[i]
    elapsed = x.ep.now - run.start
    if elapsed < run.estimate:
        return run.start + run.estimate
    if w.parameters[0].correction:
        walltime = w.tasks[x.tasks[run.local].task].walltime
        if walltime > elapsed:
            return run.start + walltime
        if walltime == 0:
            for step in STEPS:
                if run.estimate + step > elapsed:
                    return run.start + run.estimate + step
    return x.ep.now + 1
