"""The laws of a cluster as counted from a trace, and which of them speaks of which task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.continued import extended
from failgym.continued.patience import habits_after
from failgym.continued.rows import Rows
from failgym.continued.slowness import Chance, Slowness
from failgym.continued.strata import LEVELS, Cells, Finest, enough
from failgym.continued.survival import Lives, joined
from failgym.sim.shared.continuation import Continuation, Law
from failgym.traces import Trace
from failgym.vocabulary import HOUR, Ending

__all__ = ["LEAST_JOBS", "LEAST_ROWS", "TASK_SHARE", "UNKNOWN_WORK", "Habits", "fit"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LEAST_ROWS = 30
"""Attempts without which a stratum has no laws of its own."""
LEAST_JOBS = 5
"""Jobs of which they must be: attempts of one job are too much alike to speak of others."""
TASK_SHARE = 0.1
"""kappa: share of the logarithm of a task's slowness that is its own. On Google's record of 2011
(`experiments/task_share.py`) the slope between two runs of a task is -.14 [-.35, .24] where users
ran finished tasks again (1,377 pairs, 37 jobs with several), and .14 [-.01, .19] between the same
tasks of consecutive jobs of one name (21,531 pairs, 85 names); .1 lies in both. Neither run need do
the same work as the other, so that more may be a task's own: show results on copies at 0 and 1
too."""
UNKNOWN_WORK = HOUR
"""Work of a task where the fitted trace holds no attempt at all [ms]. No source: nothing was
seen."""


@dataclass(frozen=True)
class Habits:
    """How attempts fare on a cluster, and how it starts tasks again; see `fit`."""

    cells: Cells
    failure: Law
    external: Law
    work: Law
    gap_after_failure: Law
    gap_after_external: Law
    gives_up: Floats
    ends_external: Floats
    chance: Chance
    task_share: float

    def of(self, trace: Trace, key: Ints) -> Continuation:
        """By which of these laws the tasks of a trace go on beyond their records.

        A task's line depends on its own job only, and on whether the trace begins with a running
        cluster. So of a trace that holds some of the jobs of another, whole, the lines are those of
        the other.

        Args:
            trace: the trace that is played; not necessarily the one that was fitted.
            key: [tasks] row of each task in the whole trace.

        Raises:
            ValueError: if ``key`` has not a whole number for each task.
        """
        tasks = trace.rows("tasks")
        key = np.asarray(key)
        if key.shape != (tasks,):
            raise ValueError(f"key: expected {tasks} rows of tasks, got shape {key.shape}")
        if tasks and not np.can_cast(key.dtype, np.int64):
            raise ValueError(f"key: expected whole numbers, got {key.dtype}")
        job = trace.column("tasks", "job")
        slowness = Slowness.of(trace, Rows.of(trace))
        slow = extended.exp((self.task_share - 1.0) * slowness.log)
        return Continuation(
            cell=self.cells.of_jobs(trace)[job],
            failure=self.failure,
            external=self.external,
            work=self.work,
            chance=self.chance.law,
            gap_after_failure=self.gap_after_failure,
            gap_after_external=self.gap_after_external,
            gives_up=self.gives_up,
            ends_external=self.ends_external,
            slow=np.where(slowness.stated, 1.0, slow),
            chance_cell=self.chance.cells(slowness),
            key=key.astype(np.int64),
        )


def fit(
    trace: Trace,
    *,
    task_share: float | None = None,
    finest: Finest = "name",
    least_rows: int = LEAST_ROWS,
    least_jobs: int = LEAST_JOBS,
) -> Habits:
    """Count the laws by which attempts beyond a record fare (rules C1 to C9).

    Strata are jobs of one name; else of one scheduling class, band of priorities and kind of width;
    else all; each by intrinsic failures before the attempt, 0, 1, 2, 3 or more. The finest stratum
    that holds ``least_rows`` attempts of ``least_jobs`` jobs speaks of a task; if not even all
    attempts with as many failures are so many, that for one failure less.

    The times until an intrinsic failure, an external end, and the end of the work are Kaplan-Meier
    curves by time worked, in which all other ends censor: the rest of the first two is never, the
    work ends with the longest time seen. Where no stratum has enough, nothing ever happens but the
    end of the work, by the curve of all attempts. No attempt beyond a record is the first of its
    task, and what fails early fails in its first: where a stratum holds enough later attempts,
    failures are counted of these alone.

    Args:
        trace: what was known, as a train split.
        task_share: kappa, the share of a task's slowness beside its siblings that is its own, 0 to
            1; the rest is chance, and drawn anew for each attempt. `TASK_SHARE` if left out.
        finest: the finest strata that are told apart.
        least_rows: attempts that a stratum must hold.
        least_jobs: jobs of which they must be.

    Raises:
        ValueError: if an option is out of range; the message names it.
    """
    share: Any = TASK_SHARE if task_share is None else task_share  # whatever the caller's types say
    if not isinstance(share, int | float) or not 0.0 <= share <= 1.0:
        raise ValueError(f"task_share: expected 0 to 1, got {task_share!r}")
    if finest not in LEVELS:
        raise ValueError(f"finest: expected {', '.join(LEVELS)}, got {finest}")
    counts: dict[str, Any] = {"least_rows": least_rows, "least_jobs": least_jobs}
    for name, least in counts.items():
        whole = isinstance(least, int | np.integer) and not isinstance(least, bool)
        if not whole or least < 1:
            raise ValueError(f"{name}: expected a whole number, at least 1, got {least!r}")
    rows = Rows.of(trace)
    cells = Cells.of(trace, rows, finest, least_rows, least_jobs)
    failure, external, work = _risks(trace, rows, cells, least_rows, least_jobs)
    after_failure, gives_up = habits_after(
        trace, rows, cells, Ending.INTRINSIC, least_rows, least_jobs
    )
    after_external, ends_external = habits_after(
        trace, rows, cells, Ending.EXTERNAL, least_rows, least_jobs
    )
    slowness = Slowness.of(trace, rows)
    return Habits(
        cells=cells,
        failure=failure,
        external=external,
        work=work,
        gap_after_failure=after_failure,
        gap_after_external=after_external,
        gives_up=gives_up,
        ends_external=ends_external,
        chance=Chance.of(trace, rows, slowness, share, least_rows, least_jobs),
        task_share=share,
    )


def _risks(
    trace: Trace, rows: Rows, cells: Cells, least_rows: int, least_jobs: int
) -> tuple[Law, Law, Law]:
    """Laws of `failure`, `external` and `work`, of all cells."""
    known = np.flatnonzero(rows.known)
    ending, duration = rows.ending[known], rows.duration[known]
    job, first = rows.job[known], rows.first[known]
    made: dict[Ending, list[Law]] = {
        Ending.INTRINSIC: [],
        Ending.EXTERNAL: [],
        Ending.FINISH: [],
    }
    for level, cell in enumerate(cells.of_rows(trace, rows)):
        begin, behind = cells.level_at[level], cells.level_at[level + 1]
        of = cell[known] - begin
        counted = np.flatnonzero(of >= 0)
        again = np.where(first, -1, of)
        told = enough(again, job, behind - begin, least_rows, least_jobs)
        later = counted[~first[counted] | ~told[of[counted]]]
        for end, laws in made.items():
            chosen = later if end == Ending.INTRINSIC else counted
            lives = Lives.of(of[chosen], duration[chosen], behind - begin)
            laws.append(lives.law(ending[chosen] == end, closed=end == Ending.FINISH))
    everything = Lives.of(np.zeros(len(known), dtype=np.int64), duration, 1)
    made[Ending.INTRINSIC].append(Law.never(1))
    made[Ending.EXTERNAL].append(Law.never(1))
    made[Ending.FINISH].append(
        everything.law(ending == Ending.FINISH, closed=True) if len(known) else _unknown_work()
    )
    failure, external, work = (joined(laws) for laws in made.values())
    return failure, external, work


def _unknown_work() -> Law:
    return Law(np.array([0, 1]), np.array([float(UNKNOWN_WORK)]), np.ones(1))
