"""What `continued_records` draws: attempts that are hidden, by the laws of those that are not.

Rules C2 to C5, C8 and C9 of `failgym.sim.reference` once more, in numpy and for s = 0: attempts of
many tasks at once, each from its start.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
import numpy.typing as npt

from failgym.continued import Habits, fit
from failgym.continued.rows import Rows, end_of_data
from failgym.sim.shared.compile import attempts_of, user_kill
from failgym.sim.shared.continuation import COUNTS, LONGEST_FATE, Continuation, Law
from failgym.sim.shared.keys import Purpose, uniform
from failgym.traces import Trace
from failgym.traces.schema import TABLES
from failgym.traces.split import select
from failgym.vocabulary import NEVER, Ending

__all__ = ["CUT", "EXTERNAL", "FAIL", "FINISH", "Attempts", "Hidden", "Work", "drawn", "of_jobs"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

Work = Literal["any", "longer", "anew"]
"""How the work of a task is drawn that the visible record does not finish: of all lengths in its
cell; of those longer than what its attempts ran until something outside ended them; or of these,
once for each number of failures."""
FINISH, FAIL, EXTERNAL, CUT = (
    int(one) for one in (Ending.FINISH, Ending.INTRINSIC, Ending.EXTERNAL, Ending.CENSORED)
)
LATEST = 2.0**46
"""Later than any time of a law [ms]."""


@dataclass(frozen=True)
class Attempts:
    """Attempts, recorded or drawn, (attempts,) each."""

    job: Ints
    level: Ints
    """Level of the stratum that speaks of it, a place in `failgym.continued.strata.LEVELS`; one
    more where none does."""
    past: Ints
    """Intrinsic failures before it, `COUNTS` - 1 at most."""
    ending: Ints
    """FINISH, FAIL, EXTERNAL, or CUT off by the end of the data or by the user."""
    duration: Ints

    @classmethod
    def joined(cls, parts: list[Attempts]) -> Attempts:
        """All of several."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))

    def where(self, chosen: Bools) -> Attempts:
        """Some of them."""
        return Attempts(*(getattr(self, field.name)[chosen] for field in fields(self)))


def of_jobs(trace: Trace, jobs: Bools) -> tuple[Trace, Ints, Ints]:
    """The trace of some jobs, whole; which rows of the tables of jobs and tasks they were."""
    kept = select({name: trace.table(name) for name in TABLES}, {"jobs": jobs})
    return Trace(trace.meta, **kept.tables), kept.rows["jobs"], kept.rows["tasks"]


def drawn(law: Law, cell: Ints, u: Floats) -> Floats:
    """The first value of each cell whose share is above u, infinite for never."""
    if not len(law.value):
        return np.full(len(cell), np.inf)
    of_entry = np.repeat(np.arange(law.cells), np.diff(law.at))
    place = np.searchsorted(2.0 * of_entry + law.share, 2.0 * cell + u, side="right")
    inside = place < law.at[cell + 1]
    return np.where(inside, law.value[np.minimum(place, len(law.value) - 1)], np.inf)


def reached(law: Law, cell: Ints, time: Floats) -> Floats:
    """The share of each cell that is over by a time."""
    if not len(law.value):
        return np.zeros(len(cell))
    of_entry = np.repeat(np.arange(law.cells), np.diff(law.at))
    place = np.searchsorted(LATEST * of_entry + law.value, LATEST * cell + time, side="right")
    return np.where(place > law.at[cell], law.share[np.maximum(place - 1, 0)], 0.0)


@dataclass(frozen=True)
class Hidden:
    """The jobs whose later attempts are hidden, and the laws of the others."""

    rows: Rows
    job: Ints
    """[rows] job in the whole trace"""
    number: Ints
    """[rows] number among the started rows of the task"""
    outlasted: Ints
    """[rows] longest earlier row of the task that did not fail by itself [ms]"""
    until: Ints
    """[tasks] when an attempt would be cut off: at the end of the data, at the user's final kill of
    the task, or, if the user killed tasks of its job, at the last of these kills"""
    known: Bools
    """[tasks] is the age of all its attempts known?"""
    alone: Bools
    """[rows] did it begin when all earlier ones had ended, and none had finished?"""
    laws: Continuation
    habits: Habits
    work: Work
    chance: bool
    """Do drawn attempts of a task whose work is drawn too differ by chance?"""

    @classmethod
    def of(cls, trace: Trace, hidden: Bools, work: Work, chance: bool) -> Hidden:
        """Fit the laws on the jobs that are not hidden."""
        habits = fit(of_jobs(trace, ~hidden)[0])
        part, jobs, tasks = of_jobs(trace, hidden)
        rows = Rows.of(part)
        number = np.arange(len(rows.task)) - np.searchsorted(rows.task, rows.task)
        known = np.ones(part.rows("tasks"), dtype=np.bool_)
        known[rows.task[~rows.known]] = False
        return cls(
            rows=rows,
            job=jobs[rows.job],
            number=number,
            outlasted=_outlasted(rows),
            until=_until(part, rows),
            known=known,
            alone=_alone(rows),
            laws=habits.of(part, tasks),
            habits=habits,
            work=work,
            chance=chance,
        )

    def one_attempt(self, seed: int, most: int) -> tuple[Attempts, Attempts]:
        """Each later attempt but those beyond ``most``, as recorded and drawn from its start."""
        rows = self.rows
        later = (self.number > 0) & (self.number < most) & self.alone
        row = np.flatnonzero(later & self.known[rows.task])
        task, past, n = rows.task[row], rows.past[row], self.number[row]
        work = self._work(task, past, n, self.outlasted[row].astype(np.float64), seed)
        ending, lasts = self._fate(task, n, past, work, seed)
        observed = self._recorded(row)
        made = self._cut(observed.job, task, past, ending, lasts, rows.start[row])
        return observed, made

    def whole_records(self, seed: int, most: int) -> tuple[Attempts, Attempts]:
        """All attempts behind the first, up to ``most``, of tasks that it did not finish."""
        rows = self.rows
        unfinished = np.isin(rows.ending, (FAIL, EXTERNAL)) & self.known[rows.task]
        first = np.flatnonzero((self.number == 0) & unfinished)
        goes_on = np.zeros(len(self.known), dtype=np.bool_)
        goes_on[rows.task[first]] = True
        later = (self.number > 0) & (self.number < most) & self.alone & goes_on[rows.task]
        task, job, failed = rows.task[first], self.job[first], rows.ending[first] == FAIL
        ended, past = rows.end[first].astype(np.float64), failed.astype(np.int64)
        before = np.zeros_like(past)
        outlasted = np.where(failed, 0, rows.duration[first]).astype(np.float64)
        work = self._work(task, past, np.zeros_like(task), outlasted, seed)
        parts = list[Attempts]()
        for n in range(1, most):
            start = ended + self._gap(task, before, failed, n - 1, seed)
            on = ~self._ends(task, before, failed, past, n - 1, seed) & (start < self.until[task])
            task, job, past, work = task[on], job[on], past[on], work[on]
            start, outlasted = start[on], outlasted[on]
            count, number = np.minimum(past, COUNTS - 1), np.full(len(task), n)
            if self.work == "anew":
                work = self._work(task, count, np.zeros_like(task), outlasted, seed)
            ending, lasts = self._fate(task, number, count, work, seed)
            parts.append(self._cut(job, task, count, ending, lasts, start))
            on = np.isin(parts[-1].ending, (FAIL, EXTERNAL))
            failed, before, ended = ending[on] == FAIL, count[on], (start + lasts)[on]
            task, job, work, outlasted = task[on], job[on], work[on], outlasted[on]
            past = past[on] + failed
        return self._recorded(np.flatnonzero(later)), Attempts.joined(parts)

    def _recorded(self, row: Ints) -> Attempts:
        """Attempts of the record."""
        rows, task = self.rows, self.rows.task[row]
        ending = np.where(rows.ending[row] == Ending.USER, CUT, rows.ending[row])
        level = self._level(task, rows.past[row])
        return Attempts(self.job[row], level, rows.past[row], ending, rows.duration[row])

    def _cut(
        self, job: Ints, task: Ints, past: Ints, ending: Ints, lasts: Floats, start: Ints | Floats
    ) -> Attempts:
        """Drawn attempts as far as they could be seen."""
        left = np.maximum(self.until[task] - start, 1)
        seen = np.minimum(lasts, left).astype(np.int64)
        return Attempts(
            job, self._level(task, past), past, np.where(lasts > left, CUT, ending), seen
        )

    def _level(self, task: Ints, past: Ints) -> Ints:
        ends = np.array(self.habits.cells.level_at[1:])
        return np.searchsorted(ends, self.laws.cell[task, past], side="right")

    def _work(self, task: Ints, past: Ints, n: Ints, outlasted: Floats, seed: int) -> Floats:
        """W of tasks that the visible record does not finish (C2)."""
        law, cell = self.laws.work, self.laws.cell[task, past]
        u = uniform(seed, self.laws.key[task], n, Purpose.WORK)
        if self.work != "any":
            over = reached(law, cell, outlasted)
            u = over + (1.0 - over) * u
        work = drawn(law, cell, u)
        return np.where(np.isfinite(work), work, outlasted + 1.0)

    def _fate(
        self, task: Ints, n: Ints, past: Ints, work: Floats, seed: int
    ) -> tuple[Ints, Floats]:
        """How an attempt ends, and after how long, undisturbed (C3, C4)."""
        laws, key = self.laws, self.laws.key[task]
        cell, chance_cell = laws.cell[task, past], laws.chance_cell[task]
        if self.chance:
            chance_cell = np.full(len(task), self.habits.chance.law.cells - 1)
        u = uniform(seed, key, n, Purpose.NEXT_CHANCE)
        factor = drawn(laws.chance, np.maximum(chance_cell, 0), u)
        factor = np.where((chance_cell >= 0) & np.isfinite(factor), factor, 1.0)
        length = np.clip(np.floor(work * factor + 0.5), 1, LONGEST_FATE)
        fail = drawn(laws.failure, cell, uniform(seed, key, n, Purpose.NEXT_FAILURE))
        external = drawn(laws.external, cell, uniform(seed, key, n, Purpose.NEXT_EXTERNAL))
        times = np.stack([fail, external, length])
        return np.array([FAIL, EXTERNAL, FINISH])[times.argmin(axis=0)], times.min(axis=0)

    def _gap(self, task: Ints, past: Ints, failed: Bools, n: int, seed: int) -> Floats:
        """From the end of attempt ``n`` to the restart (C9)."""
        laws, cell = self.laws, self.laws.cell[task, past]
        u = uniform(seed, laws.key[task], n, Purpose.NEXT_GAP)
        gap = np.where(
            failed,
            drawn(laws.gap_after_failure, cell, u),
            drawn(laws.gap_after_external, cell, u),
        )
        return np.where(np.isfinite(gap), gap, 1.0)

    def _ends(
        self, task: Ints, past: Ints, failed: Bools, failures: Ints, n: int, seed: int
    ) -> Bools:
        """Does the cluster start the task no more after attempt ``n`` (C8)?"""
        laws, cell, key = self.laws, self.laws.cell[task, past], self.laws.key[task]
        gives_up = uniform(seed, key, failures, Purpose.GIVES_UP) < laws.gives_up[cell]
        final = uniform(seed, key, n, Purpose.NEXT_RESTART) < laws.ends_external[cell]
        return np.where(failed, gives_up, final)


def _outlasted(rows: Rows) -> Ints:
    """Of each row, the longest earlier row of its task that did not fail by itself [ms]."""
    return _latest_before(rows, np.where(rows.ending == FAIL, 0, rows.duration))


def _alone(rows: Rows) -> Bools:
    """Rows that begin when all earlier ones of their task have ended, and none has finished."""
    finished = _latest_before(rows, (rows.ending == FINISH).astype(np.int64)) > 0
    return (rows.start >= _latest_before(rows, rows.end)) & ~finished


def _latest_before(rows: Rows, value: Ints) -> Ints:
    """Of each row, the largest value of the earlier rows of its task, 0 of the first."""
    span = int(value.max(initial=0)) + 1
    largest = np.maximum.accumulate(rows.task * span + value) - rows.task * span
    before = np.concatenate([[0], largest])[:-1]
    before[np.searchsorted(rows.task, np.unique(rows.task))] = 0
    return before


def _until(trace: Trace, rows: Rows) -> Ints:
    """When an attempt of each task would be cut off [ms]."""
    kill, job = user_kill(attempts_of(trace)), trace.column("tasks", "job")
    of_job = np.full(trace.rows("jobs"), -1, dtype=np.int64)
    by_user = kill < NEVER
    np.maximum.at(of_job, job[by_user], kill[by_user])
    others = np.where(of_job[job] >= 0, of_job[job], NEVER)
    return np.minimum(np.where(by_user, kill, others), end_of_data(trace, rows))
