"""How the record of a task goes on where the cluster is simulated (rules K1 to K3 of the package).

All of it is fixed before anybody acts, and before it is known on which machine an attempt runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from failgym.sim.reference.fates import (
    ContinuedRecord,
    Draws,
    Fate,
    draw_above,
    drawn_fate,
    drawn_rows,
    recorded_fate,
    work_of,
)
from failgym.sim.reference.record import Row, TaskRecord
from failgym.sim.reference.scheduled.records import PlayedRows, finishing
from failgym.sim.shared.continuation import Continuation
from failgym.sim.shared.keys import Purpose
from failgym.sim.shared.rules import Rules

__all__ = ["PlayedRecord", "continue_played", "standing_played"]


@dataclass(frozen=True)
class PlayedRecord(ContinuedRecord):
    """The record of a task as it is played, and what is drawn behind it.

    ``record`` holds what happened: patience and gaps go by it.
    """

    played: TaskRecord
    """With the rows that never started; the length of each row is its F [ms], or its duration if
    that is never."""
    latent: frozenset[int]
    """Numbers of the latent rows."""

    def value(self) -> int:
        """V1: what the task is worth where a machine-ms of its work is worth one [machine-ms]."""
        if self.work is None or self.played.censored or not self.played.rows:
            return 0
        return self.work * self.played.width


def continue_played(
    record: TaskRecord, rows: PlayedRows, rules: Rules, laws: Continuation, seed: int
) -> PlayedRecord:
    """Draw what lies behind the record of a task, and say what each of its attempts would meet.

    Args:
        record: what happened.
        rows: what of it is played, and how.
        rules: say how many attempts are drawn.
        laws: of how tasks go on.
        seed: of the draws.
    """
    draws = Draws(laws, record.task, seed)
    work = work_of(replace(record, success=rows.record.success), draws)
    fates: dict[int, Fate] = {}
    failures = 0
    for row in rows.record.rows:
        fate = fates[row.number] = _played_fate(row, rows.latent, failures, work, draws)
        failures += fate.fails_from_start()
    drawn = drawn_rows(rows.record, rules)
    for row in drawn:
        fate = drawn_fate(row.number, failures, work, draws)
        fates[row.number] = replace(fate, struck_after=None)  # K3
        failures += fates[row.number].fails_from_start()
    played = replace(rows.record, rows=_with_lengths(rows.record.rows, fates))
    return PlayedRecord(record, drawn, fates, draws, work, played, rows.latent)


def standing_played(continued: PlayedRecord, remaining: int, submit: int) -> PlayedRecord:
    """Rule 21: a task that stands in the cluster when the episode begins; it has no other fate."""
    first = continued.played.rows[0]
    row = finishing(first, first.start, remaining)
    played = replace(continued.played, submit=submit, rows=(row,), user_kill=None, censored=False)
    fates = {row.number: Fate(0, None, None, remaining, remaining)}
    return replace(continued, played=played, drawn=(), fates=fates, latent=frozenset())


def _played_fate(
    row: Row, latent: frozenset[int], failures: int, work: int | None, draws: Draws
) -> Fate:
    """C5, and K2 of a latent row."""
    fate = recorded_fate(row, failures, work, draws)
    if row.number not in latent:
        return fate
    u = draws.uniform(row.number, Purpose.NEXT_FAILURE)
    later = draw_above(draws.laws.failure, draws.cell(failures), row.duration, u)
    return replace(fate, fails_after=later, struck_after=None)


def _with_lengths(rows: Sequence[Row], fates: dict[int, Fate]) -> tuple[Row, ...]:
    """The rows, each with its F as length."""
    times = [fates[row.number].full_time for row in rows]
    return tuple(
        replace(row, length=row.duration if time is None else time)
        for row, time in zip(rows, times, strict=True)
    )
