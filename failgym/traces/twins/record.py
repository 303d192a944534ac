"""`Record`: what a twin is made from, as arrays; and the applications whose jobs recur in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from failgym.traces.schema import TABLES
from failgym.traces.split import select
from failgym.traces.trace import Trace
from failgym.traces.twins.rows import begins
from failgym.vocabulary import DAY, MINUTE, SECOND, Cause, Outcome

__all__ = ["Flags", "Floats", "Ints", "Record", "with_tasks"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

WEEKS = 4
"""A record of so many weeks is repeated by whole weeks; a shorter one, of two days at least, by
whole days."""
LIMIT = MINUTE
"""What runs for its wall time, this much more or less, ran into it [ms]."""
RECURRING = 0.1
"""Share of the named jobs that must have their name from another job of the user, for names to tell
of applications; chosen: .44 on Google's record of 2011, .91 on CTC-SP2, .01 on a log whose names
are those of jobs."""


@dataclass(frozen=True)
class Record:
    """A record that is to have a twin.

    A job belongs to an application: the jobs of one user and one name; where jobs have no names, or
    next to each has its own (`names_recur`), those of one user with the same request (cpu, memory,
    slots, wall time) and about as many tasks, to a factor of two.
    """

    trace: Trace

    @cached_property
    def span(self) -> int:
        """How long the record is [ms]: to the end of its data, else to its last end; of an outage,
        if there are no jobs.
        """
        end = self.trace.meta.end
        alone = (("outages", "down"), ("outages", "up"))
        ends = (("attempts", "end"),) if self.trace.rows("jobs") else alone
        last = max(int(self.trace.column(*one).max(initial=0)) for one in ends)
        return max(last if end is None else end, 1)

    @cached_property
    def period(self) -> int:
        """After how long it is repeated [ms]: whole weeks or days, so that these stay."""
        if self.span < 2 * DAY:
            return self.span
        return self.span // self.rhythm * self.rhythm

    @cached_property
    def rhythm(self) -> int:
        """By what times can be moved so that hours stay [ms]: a week or a day; any, if it has not
        two days.
        """
        if self.span < 2 * DAY:
            return self.unit
        return 7 * DAY if self.span >= WEEKS * 7 * DAY else DAY

    @cached_property
    def unit(self) -> int:
        """The unit in which its times are whole [ms]: a second, in most logs of batch systems."""
        columns = (("jobs", "submit"), *(("attempts", one) for one in ("queued", "start", "end")))
        whole = all((self.trace.column(*one, missing=0) % SECOND == 0).all() for one in columns)
        return SECOND if whole else 1

    @cached_property
    def wait_unit(self) -> int:
        """The unit in which waits are whole [ms]: a minute, where a scheduler looks once a minute.

        The coarsest of which all but a hundredth of the waits are multiples.
        """
        ran = self.trace.present("attempts", "start") & self.trace.present("attempts", "queued")
        start = self.trace.column("attempts", "start", missing=0)[ran].astype(np.int64)
        waits = start - self.queued[ran]
        waits = waits[waits > 0]
        for unit in (MINUTE, 10 * SECOND, SECOND):
            if unit > self.unit and len(waits) and (waits % unit == 0).mean() > 0.99:
                return unit
        return self.unit

    # --- Jobs -------------------------------------------------------------------------------------

    @cached_property
    def submit(self) -> Ints:
        """When each job was submitted [ms], (jobs,)."""
        return self.trace.column("jobs", "submit").astype(np.int64)

    @cached_property
    def user(self) -> Ints:
        """Each job's user, 0 on; one for all who have none, (jobs,)."""
        return self._codes("jobs", "user")

    @cached_property
    def names_recur(self) -> bool:
        """Do names tell of applications? Not where they tell each job from the others."""
        known = self.trace.present("jobs", "name")
        called = np.stack([self.user, self._codes("jobs", "name")])[:, known]
        _, of, count = np.unique(called, axis=1, return_inverse=True, return_counts=True)
        return bool(np.mean(count[of.ravel()] > 1) >= RECURRING) if known.any() else False

    @cached_property
    def application(self) -> Ints:
        """Each job's application, 0 on, (jobs,)."""
        name = self._codes("jobs", "name")
        known = self.trace.present("jobs", "name") & self.names_recur
        first = self.task_order[self.task_begin[:-1].clip(max=max(len(self.task_order) - 1, 0))]
        alike = [np.where(known, name, -1)]
        for column in ("cpu", "memory", "width"):
            value = self.trace.column("tasks", column)[first] if len(first) else first
            alike.append(np.where(known, 0, np.unique(value, return_inverse=True)[1]))
        walltime = self.trace.column("jobs", "walltime")
        alike.append(np.where(known, 0, walltime))
        alike.append(np.where(known, 0, np.log2(self.tasks.clip(1)).astype(np.int64)))
        return np.unique(np.stack([self.user, *alike]), axis=1, return_inverse=True)[1].ravel()

    @cached_property
    def group(self) -> Ints:
        """Each job's group, 0 on; one for all who have none, (jobs,)."""
        return self._codes("jobs", "group")

    def _codes(self, table: str, column: str) -> Ints:
        values = self.trace.table(table).column(column).combine_chunks().dictionary_encode()
        return values.indices.fill_null(len(values.dictionary)).to_numpy().astype(np.int64)

    @cached_property
    def outcome(self) -> Ints:
        """How each job ended, (jobs,)."""
        return self.trace.column("jobs", "outcome").astype(np.int64)

    @cached_property
    def stock(self) -> Flags:
        """Jobs that were there when the record began, (jobs,)."""
        return self.submit <= 0

    # --- Tasks ------------------------------------------------------------------------------------

    @cached_property
    def task_order(self) -> Ints:
        """The tasks, those of a job one after another, (tasks,)."""
        return np.argsort(self.trace.column("tasks", "job"), kind="stable")

    @cached_property
    def task_begin(self) -> Ints:
        """Where those of each job begin in `task_order`, and the end, (jobs + 1,)."""
        job = self.trace.column("tasks", "job")[self.task_order]
        return begins(job, len(self.submit))

    @cached_property
    def tasks(self) -> Ints:
        """The number of tasks of each job, (jobs,)."""
        return np.diff(self.task_begin)

    @cached_property
    def staged(self) -> Flags:
        """Jobs whose tasks are in stages, (jobs,)."""
        staged = np.zeros(len(self.submit), dtype=np.bool_)
        staged[self.trace.column("stages", "job")] = True
        return staged

    # --- Attempts ---------------------------------------------------------------------------------

    @cached_property
    def queued(self) -> Ints:
        """When the record first tells of each attempt [ms], (attempts,)."""
        began = self.trace.column("attempts", "end").astype(np.int64)
        for name in ("start", "queued"):  # the later one wins
            known = self.trace.present("attempts", name)
            began = np.where(known, self.trace.column("attempts", name), began)
        return began

    @cached_property
    def run(self) -> Ints:
        """How long each attempt ran [ms]; 0 if it did not, (attempts,)."""
        ran = self.trace.present("attempts", "start")
        start, end = self.trace.column("attempts", "start"), self.trace.column("attempts", "end")
        return np.where(ran, end - start, 0).astype(np.int64)

    @cached_property
    def censored(self) -> Flags:
        """Attempts whose end is not known, (attempts,)."""
        return self.trace.column("attempts", "outcome") == Outcome.CENSORED

    @cached_property
    def in_turn(self) -> Flags:
        """Tasks of no stage whose attempts come one after another, (tasks,)."""
        task = self.trace.column("attempts", "task")
        end = self.trace.column("attempts", "end")
        found = ~self.staged[self.trace.column("tasks", "job")]
        found[task[1:][(task[1:] == task[:-1]) & (self.queued[1:] < end[:-1])]] = False
        return found

    @cached_property
    def at_limit(self) -> Flags:
        """Tasks with an attempt that ran for as long as it was allowed to, (tasks,)."""
        task = self.trace.column("attempts", "task")
        walltime = self.trace.column("jobs", "walltime")[self.trace.column("tasks", "job")[task]]
        ended = self.trace.column("attempts", "cause") == Cause.WALLTIME
        near = (walltime > 0) & (np.abs(self.run - walltime) <= LIMIT)
        found = np.zeros(self.trace.rows("tasks"), dtype=np.bool_)
        found[task[ended | near]] = True
        return found

    @cached_property
    def task_run(self) -> Ints:
        """How long the attempts of each task ran in all [ms], (tasks,)."""
        total = np.concatenate([[0], np.cumsum(self.run)])
        first = self.trace.task_first
        return total[first[1:]] - total[first[:-1]]

    @cached_property
    def job_run(self) -> Floats:
        """The median of `task_run` in each job; 0 for one without tasks, (jobs,)."""
        job = self.trace.column("tasks", "job")
        order = np.lexsort((self.task_run, job))
        low, high = self.task_begin[:-1], self.task_begin[1:] - 1
        found = np.zeros(len(low))
        some = high >= low
        sorted_run = self.task_run[order].astype(np.float64)
        lower, upper = (low + high)[some] // 2, (low + high + 1)[some] // 2
        found[some] = (sorted_run[lower] + sorted_run[upper]) / 2.0
        return found


def with_tasks(trace: Trace) -> Trace:
    """Without the jobs of which no task is known: those submitted just before a record was cut."""
    some = np.bincount(trace.column("tasks", "job"), minlength=trace.rows("jobs")) > 0
    if some.all():
        return trace
    tables = select({name: trace.table(name) for name in TABLES}, {"jobs": some}).tables
    return Trace(trace.meta, **tables)
