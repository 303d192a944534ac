"""How the record of a task goes on: what each attempt of it would meet (C1 to C5).

All of it is fixed before anybody acts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from failgym.sim.reference.record import Row, TaskRecord, round_half_up
from failgym.sim.shared.continuation import COUNTS, LONGEST_FATE, Continuation, Law
from failgym.sim.shared.keys import Purpose, uniform
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import Ending

__all__ = [
    "ContinuedRecord",
    "Draws",
    "Fate",
    "continue_record",
    "draw",
    "draw_above",
    "drawn_fate",
    "drawn_rows",
    "recorded_fate",
    "recorded_full_time",
    "work_of",
]


@dataclass(frozen=True)
class Fate:
    """What one attempt would meet, recorded or drawn; None is never."""

    failures: int
    """k: intrinsic failures among the fates of all lower-numbered attempts."""
    fails_after: int | None
    """T_fail: time worked until it fails by itself [ms]."""
    struck_after: int | None
    """T_ext: time from its start until it is ended from outside [ms]."""
    full_time: int | None
    """F: time worked until all of W is done [ms]."""
    work: int | None
    """W: work of its task [ms]."""

    @property
    def pace(self) -> float:
        """C3: p, work done in one millisecond."""
        if self.work is None or self.full_time is None:
            return 1.0
        return self.work / self.full_time

    def done(self, worked: int) -> int:
        """C3: what it has done of W when it has worked so long [ms]."""
        return math.floor(worked * self.pace)

    def time_for(self, work: int) -> int:
        """C3: the time that so much of W takes [ms]."""
        return 0 if work == 0 else round_half_up(work / self.pace)

    def from_start(self) -> tuple[int | None, Ending | None]:
        """C4: begun at the start and undisturbed, how long does it live, and what ends it?"""
        ends = (
            (self.fails_after, Ending.INTRINSIC),
            (self.struck_after, Ending.EXTERNAL),
            (self.full_time, Ending.FINISH),
        )
        known = [(time, ending) for time, ending in ends if time is not None]
        return min(known, key=lambda end: end[0], default=(None, None))  # of equals the first

    def fails_from_start(self) -> bool:
        """C4: begun at the start and undisturbed, does it fail by itself?"""
        return self.from_start()[1] is Ending.INTRINSIC


def draw(law: Law, cell: int, u: float) -> float | None:
    """The first value of the cell whose share is above u; None if there is none."""
    for entry in range(int(law.at[cell]), int(law.at[cell + 1])):
        if law.share[entry] > u:
            return float(law.value[entry])
    return None


def draw_above(law: Law, cell: int, than: int, u: float) -> int | None:
    """C2: a time of the cell above another, of those alone; None if there is none [ms]."""
    entries = range(int(law.at[cell]), int(law.at[cell + 1]))
    over = max((float(law.share[e]) for e in entries if law.value[e] <= than), default=0.0)
    share = over + (1.0 - over) * u
    left = [int(law.value[e]) for e in entries if law.value[e] > than and law.share[e] > share]
    return left[0] if left else None


@dataclass(frozen=True)
class Draws:
    """The laws that speak of one task, and the keyed numbers that draw from them."""

    laws: Continuation
    task: int
    """Trace row."""
    seed: int

    def uniform(self, number: int, purpose: Purpose) -> float:
        """The number u that is drawn for a purpose."""
        return float(uniform(self.seed, int(self.laws.key[self.task]), number, purpose)[()])

    def cell(self, failures: int) -> int:
        """The cell for so many intrinsic failures."""
        return int(self.laws.cell[self.task, min(failures, COUNTS - 1)])

    def draw(self, law: Law, cell: int, number: int, purpose: Purpose) -> float | None:
        """The first value of the cell whose share is above u; None if there is none."""
        return draw(law, cell, self.uniform(number, purpose))

    def time(self, law: Law, failures: int, number: int, purpose: Purpose) -> int | None:
        """A time from the cell for so many failures; None is never [ms]."""
        value = self.draw(law, self.cell(failures), number, purpose)
        return None if value is None else int(value)


@dataclass(frozen=True)
class ContinuedRecord:
    """The record of a task, and what is drawn behind it."""

    record: TaskRecord
    drawn: tuple[Row, ...]
    """C1: the drawn attempts, each with its number; otherwise they look like the last started
    row."""
    fates: dict[int, Fate]
    """By number of the attempt, of started rows and of drawn attempts."""
    draws: Draws
    work: int | None
    """W; None is never [ms]."""

    def value(self) -> int:
        """V1: what the task is worth where a machine-ms of its work is worth one [machine-ms]."""
        if self.work is None or self.record.censored or not self.record.rows:
            return 0
        return self.work * self.record.width

    # --- patience (C8) and gaps (C9) ------------------------------------------------------------

    def declines_after_failure(self, j: int) -> bool:
        """C8: does the cluster start nothing more after the j-th failure of what it started?"""
        failed = sorted(_failed(self.record), key=lambda row: (row.end, row.number))
        if j <= len(failed):
            return self._next_start(failed[j - 1].number) is None
        share = self.draws.laws.gives_up[self.draws.cell(j - 1)]
        return bool(self.draws.uniform(j, Purpose.GIVES_UP) < share)

    def declines_after_external(self, number: int) -> bool:
        """C8: does the cluster start nothing more after an external end of this attempt?"""
        if self._is_recorded(number):
            return self._next_start(number) is None
        share = self.draws.laws.ends_external[self.draws.cell(self.fates[number].failures)]
        return bool(self.draws.uniform(number, Purpose.NEXT_RESTART) < share)

    def gap(self, number: int, *, failed: bool) -> int:
        """C9: from the end of this attempt to the restart that follows [ms]."""
        if self._is_recorded(number) and (start := self._next_start(number)) is not None:
            return start - self._row(number).end
        laws = self.draws.laws
        law = laws.gap_after_failure if failed else laws.gap_after_external
        time = self.draws.time(law, self.fates[number].failures, number, Purpose.NEXT_GAP)
        return 1 if time is None else time

    def _next_start(self, number: int) -> int | None:
        """C8, C9: the first start of a row that lies behind a recorded one; None without."""
        end = self._row(number).end
        behind = [row for row in self.record.rows if row.number > number and row.start >= end]
        return min((row.start for row in behind), default=None)

    def _row(self, number: int) -> Row:
        return next(row for row in self.record.rows if row.number == number)

    def _is_recorded(self, number: int) -> bool:
        return number < self.record.row_count


def continue_record(
    record: TaskRecord, rules: Rules, laws: Continuation, seed: int
) -> ContinuedRecord:
    """Draw what lies behind the record of a task, and say what each of its attempts would meet."""
    draws = Draws(laws, record.task, seed)
    drawn = drawn_rows(record, rules)
    work = work_of(record, draws)
    fates: dict[int, Fate] = {}
    failures = 0
    for row in record.rows:
        fates[row.number] = recorded_fate(row, failures, work, draws)
        failures += row.ending is Ending.INTRINSIC
    for row in drawn:
        fate = fates[row.number] = drawn_fate(row.number, failures, work, draws)
        failures += fate.fails_from_start()
    return ContinuedRecord(record, drawn, fates, draws, work)


def drawn_rows(record: TaskRecord, rules: Rules) -> tuple[Row, ...]:
    """C1: D drawn attempts, numbered on; none of a censored task, nor of one that never ran."""
    if record.censored or not record.rows:
        return ()
    numbers = range(rules.max_extra + rules.spare_attempts)
    return tuple(replace(record.rows[-1], number=record.row_count + n) for n in numbers)


def _failed(record: TaskRecord) -> Sequence[Row]:
    """The intrinsic failures of the record, J of them, in row order."""
    return [row for row in record.rows if row.ending is Ending.INTRINSIC]


def work_of(record: TaskRecord, draws: Draws) -> int | None:
    """C2: W, None if it is never [ms]."""
    success = record.success
    if success is None and record.user_kill is not None:
        return None
    asked = record.rows if success is None else (success,)
    stated = [row.stated for row in asked if row.stated is not None]
    if stated:
        return stated[0]
    if success is not None:
        return success.duration
    return _unfinished_work(record, draws)


def _unfinished_work(record: TaskRecord, draws: Draws) -> int:
    """C2: more than what any of its attempts ran until something outside ended it [ms]."""
    law, cell = draws.laws.work, draws.cell(len(_failed(record)))
    ran = [row.duration for row in record.rows if row.ending is not Ending.INTRINSIC]
    longest = max(ran, default=0)
    drawn = draw_above(law, cell, longest, draws.uniform(0, Purpose.WORK))
    return longest + 1 if drawn is None else drawn


def recorded_fate(row: Row, failures: int, work: int | None, draws: Draws) -> Fate:
    """C5: what befell a recorded row."""
    return Fate(
        failures=failures,
        fails_after=row.duration if row.ending is Ending.INTRINSIC else None,
        struck_after=row.duration if row.ending is Ending.EXTERNAL else None,
        full_time=recorded_full_time(row, work, draws),
        work=work,
    )


def recorded_full_time(row: Row, work: int | None, draws: Draws) -> int | None:
    """C3: F of a recorded row."""
    if work is None:
        return None
    if row.ending is Ending.FINISH:
        return max(1, row.duration)
    time = work if row.stated is None else row.stated
    if row.duration >= time:
        share = (1.0 + draws.uniform(row.number, Purpose.SLOW_ROW)) / 2.0
        time = round_half_up(row.duration / share)
    return max(1, time)


def drawn_fate(number: int, failures: int, work: int | None, draws: Draws) -> Fate:
    """C4: what a drawn attempt would meet."""
    laws = draws.laws
    return Fate(
        failures=failures,
        fails_after=draws.time(laws.failure, failures, number, Purpose.NEXT_FAILURE),
        struck_after=draws.time(laws.external, failures, number, Purpose.NEXT_EXTERNAL),
        full_time=_drawn_full_time(number, work, draws),
        work=work,
    )


def _drawn_full_time(number: int, work: int | None, draws: Draws) -> int | None:
    """C3: F of a drawn attempt."""
    if work is None:
        return None
    time = work * float(draws.laws.slow[draws.task]) * _chance(number, draws)
    return max(1, round_half_up(min(time, LONGEST_FATE)))


def _chance(number: int, draws: Draws) -> float:
    """C3: how much longer it takes by chance."""
    cell = int(draws.laws.chance_cell[draws.task])
    if cell == -1:
        return 1.0
    factor = draws.draw(draws.laws.chance, cell, number, Purpose.NEXT_CHANCE)
    return 1.0 if factor is None else factor
