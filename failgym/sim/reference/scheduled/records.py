"""What a trace says about a task, as the scheduled world takes it (rules 1 to 3 of the package)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from failgym.sim.reference.record import Row, TaskRecord, read_records
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.keys import Purpose, uniform
from failgym.traces import Trace
from failgym.vocabulary import Cause, Ending, Outcome

__all__ = [
    "HIGHEST_PRIORITY",
    "Job",
    "PlayedRows",
    "finishing",
    "read_jobs",
    "read_played_rows",
    "read_scheduled_records",
    "standing_record",
]

_CLUSTER_OUTCOMES = (Outcome.EVICT, Outcome.LOST)
_CLUSTER_CAUSES = (Cause.MACHINE, Cause.PREEMPTION, Cause.REQUEUE, Cause.USER)
"""What the simulated cluster makes itself. (A row with cause USER that is not the user's kill of
the task is a requeue.)"""
HIGHEST_PRIORITY = 31


@dataclass(frozen=True)
class Job:
    """What a job asked for; an unknown name, user or queue is ""."""

    name: str
    user: str
    queue: str
    submit: int
    priority: int
    """0 to 31; 0 if unknown."""
    walltime: int
    """Requested [ms]; 0 if unknown."""
    width: int
    """Number of its tasks."""
    task_class: int
    """Scheduling class, and whether it has several tasks; 0 to 7."""


class PlayedRows(NamedTuple):
    """What of the record of a task is played where records are continued (K1)."""

    record: TaskRecord
    """With the rows that never started and whose length is known, as if they had FINISHed."""
    latent: frozenset[int]
    """Numbers of the rows that the recorded cluster ended."""


def read_jobs(trace: Trace) -> list[Job]:
    """Every job of the trace."""
    texts = [trace.column("jobs", name) for name in ("name", "user", "queue")]
    names = ("submit", "priority", "walltime", "width", "scheduling_class")
    numbers = [trace.column("jobs", name, missing=0) for name in names]
    jobs: list[Job] = []
    for row in range(trace.rows("jobs")):
        name, user, queue = (str(column[row]) for column in texts)
        submit, priority, walltime, width, group = (int(column[row]) for column in numbers)
        task_class = min(max(group, 0), 3) + 4 * (width > 1)
        priority = min(max(priority, 0), HIGHEST_PRIORITY)
        jobs.append(Job(name, user, queue, submit, priority, walltime, width, task_class))
    return jobs


def read_scheduled_records(
    trace: Trace, rules: ScheduledRules, forecast: Forecast, seed: int
) -> list[TaskRecord]:
    """Every task of the trace, in trace order; rows that the cluster ended are made latent."""
    reader = _Reader(trace, rules, seed)
    return [reader.read(record) for record in read_records(trace, rules, forecast, seed)]


def read_played_rows(
    trace: Trace, rules: ScheduledRules, forecast: Forecast, seed: int
) -> list[tuple[TaskRecord, PlayedRows]]:
    """Every task of the trace, in trace order: its record, and what of it is played."""
    reader = _Reader(trace, rules, seed)
    records = read_records(trace, rules, forecast, seed)
    return [(record, reader.read_played(record)) for record in records]


def standing_record(record: TaskRecord, remaining: int, submit: int) -> TaskRecord:
    """A task that stands in the cluster when the episode begins: one attempt, which FINISHes."""
    first = record.rows[0]
    row = finishing(first, first.start, remaining)
    return replace(record, submit=submit, rows=(row,), user_kill=None, censored=False)


def finishing(row: Row, start: int, length: int) -> Row:
    """The row as one that FINISHes after ``length``."""
    return replace(
        row,
        start=start,
        end=start + length,
        outcome=Outcome.FINISH,
        ending=Ending.FINISH,
        length=length,
        share=1.0,
    )


class _Reader:
    def __init__(self, trace: Trace, rules: ScheduledRules, seed: int) -> None:
        self._seed = seed
        self._walltime_kill = rules.walltime_kill
        self._jobs = read_jobs(trace)
        self._cause = [int(x) for x in trace.column("attempts", "cause", missing=-1)]
        self._length = [int(x) for x in trace.column("attempts", "length", missing=-1)]
        self._started = [bool(x) for x in trace.present("attempts", "start")]
        self._first = [int(x) for x in trace.task_first]
        self._finished: list[tuple[Job, int]] = list(_finished(trace, self._jobs))

    def read(self, record: TaskRecord) -> TaskRecord:
        """Rule 2, then rule 3."""
        return self._with_unstarted(record, lambda row: self._as_run(record, row))

    def read_played(self, record: TaskRecord) -> PlayedRows:
        """Rule 3; latent rows stay as they were recorded (K1)."""
        latent = frozenset(row.number for row in record.rows if self._is_latent(row))
        return PlayedRows(self._with_unstarted(record, lambda row: row), latent)

    def _with_unstarted(self, record: TaskRecord, as_run: Callable[[Row], Row]) -> TaskRecord:
        """Rule 3: rows that never started and whose length is known run, too."""
        first = self._first[record.task]
        unstarted = [
            (number, self._length[first + number])
            for number in range(record.row_count)
            if not self._started[first + number] and self._length[first + number] >= 0
        ]
        added = [self._unstarted(record, number, length) for number, length in unstarted]
        started = [
            replace(row, ending=Ending.EXTERNAL)
            if added and row.ending is Ending.CENSORED
            else as_run(row)
            for row in record.rows
        ]
        rows = sorted([*started, *added], key=lambda row: row.number)
        for place, following in enumerate(rows[1:]):
            if following in added:
                rows[place] = replace(rows[place], gap=0)
        if not added or record.success is not None:
            return replace(record, rows=tuple(rows))
        return replace(
            record,
            rows=tuple(rows),
            censored=False,
            outcome=Outcome.FINISH,
            end=record.submit + added[0].length,
            success=added[0],
        )

    def _unstarted(self, record: TaskRecord, number: int, length: int) -> Row:
        """A row that never started and whose length is known: it runs that long."""
        return Row(
            number=number,
            attempt=self._first[record.task] + number,
            start=record.submit,
            end=record.submit + length,
            outcome=Outcome.FINISH,
            ending=Ending.FINISH,
            length=length,
            share=1.0,
            gap=0,
        )

    def _as_run(self, record: TaskRecord, row: Row) -> Row:
        if self._is_latent(row):
            return finishing(row, row.start, self._latent_length(record, row))
        return row

    def _is_latent(self, row: Row) -> bool:
        """Rule 2: was it ended by what is simulated?"""
        return row.ending is Ending.EXTERNAL and self._is_of_the_cluster(row)

    def _is_of_the_cluster(self, row: Row) -> bool:
        """Was it ended by something that the simulated cluster makes itself?"""
        cause = self._cause[row.attempt]
        if cause == Cause.WALLTIME and self._walltime_kill:
            return True
        return row.outcome in _CLUSTER_OUTCOMES or cause in _CLUSTER_CAUSES

    def _latent_length(self, record: TaskRecord, row: Row) -> int:
        """The length given; else one of a finished attempt of its kind that was longer than it."""
        given = self._length[row.attempt]
        if given >= 0:
            return given
        job = self._jobs[record.job]
        same_name = [d for other, d in self._finished if other.name == job.name != ""]
        same_class = [d for other, d in self._finished if other.task_class == job.task_class]
        for durations in (same_name, same_class):
            longer = sorted(d for d in durations if d > row.duration)
            if longer:
                return self._one_of(longer, record.task, row.number)
        return row.length

    def _one_of(self, lengths: Sequence[int], task: int, number: int) -> int:
        drawn = float(uniform(self._seed, task, number, Purpose.LATENT)[()])
        return lengths[int(drawn * len(lengths))]


def _finished(trace: Trace, jobs: Sequence[Job]) -> Iterator[tuple[Job, int]]:
    """Job and duration of every attempt of the trace that FINISHed."""
    job_of = trace.column("tasks", "job")
    columns = [trace.column("attempts", name) for name in ("task", "start", "end", "outcome")]
    for row in range(trace.rows("attempts")):
        task, start, end, outcome = (int(column[row]) for column in columns)
        if outcome == Outcome.FINISH:
            yield jobs[int(job_of[task])], end - start
