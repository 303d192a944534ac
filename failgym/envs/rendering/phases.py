"""What an attempt spent its time on, and on whose account."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from failgym.envs.rendering.timeline import Attempt, Kind

__all__ = ["PHASES", "Phase", "phases"]

PHASES = ("transfer", "restore", "work", "checkpoint", "recomputation")
"""What the time of an attempt goes to; a checkpoint is one of its progress or of its output."""


class Phase(NamedTuple):
    """A stretch of the time of an attempt [ms]."""

    start: int
    end: int
    name: str
    """one of `PHASES`"""
    account: str
    """one of `timeline.ACCOUNTS`"""


def phases(attempt: Attempt, now: int) -> Iterator[Phase]:
    """The time of an attempt up to now, in order, without the stretches of no length.

    What it spent on each account, times its width, adds up to the accounts of the outcome table;
    what is not classified there yet is ``in_flight`` here.
    """
    for phase in _phases(attempt, now):
        if phase.end > phase.start:
            yield phase


def _phases(attempt: Attempt, now: int) -> Iterator[Phase]:
    until, ended = attempt.until(now), attempt.end is not None
    if attempt.kind is Kind.RECOMPUTATION:
        yield Phase(attempt.start, until, "recomputation", "lost" if ended else "in_flight")
    else:
        transferred = min(attempt.transferred, until)
        restored = min(attempt.restored, until)
        yield Phase(attempt.start, transferred, "transfer", "transfer" if ended else "in_flight")
        yield Phase(transferred, restored, "restore", "restore" if ended else "in_flight")
        yield from _working(attempt, restored, until)
    if attempt.write is not None and ended:
        end = attempt.write.end
        account = "in_flight" if end is None else "checkpoint"
        yield Phase(until, now if end is None else end, "checkpoint", account)


def _working(attempt: Attempt, begin: int, until: int) -> Iterator[Phase]:
    """Work and checkpoints by turns."""
    account = "in_flight" if attempt.end is None else "checkpoint"
    at, done = begin, 0
    for pause in attempt.pauses:
        yield from _work(attempt, at, pause.start, done)
        done += pause.start - at
        at = until if pause.end is None else pause.end
        yield Phase(pause.start, at, "checkpoint", account)
    yield from _work(attempt, at, until, done)


def _work(attempt: Attempt, start: int, end: int, done: int) -> Iterator[Phase]:
    """A stretch of work, cut where the account changes; ``done`` is the work before it [ms]."""
    at = start
    for amount, account in _accounts(attempt):
        to = end if amount is None else min(max(start + amount - done, at), end)
        yield Phase(at, to, "work", account)
        at = to


def _accounts(attempt: Attempt) -> tuple[tuple[int | None, str], ...]:
    """Accounts of the work of an attempt, each with the amount that it ends at."""
    saved = attempt.account if attempt.settled or attempt.account == "useful" else "in_flight"
    return ((attempt.useful, "useful"), (attempt.saved, saved), (None, attempt.account))
