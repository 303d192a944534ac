"""Records of TORQUE and PBS accounting, in the order of time, become the runs of jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import nan
from typing import Final, NamedTuple

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.exit_status import CODES, SUCCESS, USER_OR_SYSTEM, WALLTIME
from failgym.traces.readers.job_log import (
    NO_EXIT_CODE,
    NONE,
    FieldError,
    Hosts,
    JobLog,
    amount_of_memory,
)
from failgym.traces.readers.torque.fields import (
    duration,
    exit_status,
    fields_of,
    hosts_of,
    is_shared,
    job_and_index,
    memory_per_slot,
    requested_gpus,
    requested_slots,
    time_of,
    walltime_of,
)
from failgym.vocabulary import Cause, Outcome

__all__ = ["Jobs", "Record"]


class Record(NamedTuple):
    """A record of the log."""

    time: int  # [s since 1970]
    kind: str
    job: str
    message: str


@dataclass(slots=True)
class _Life:
    """A task that is not over, or was not when it was last heard of."""

    task: int
    queued: int
    created: int = NONE  # ctime
    start: int = NONE  # of the run that is open
    hosts: Hosts = ()
    last_run: int = NONE
    over: bool = False  # ended by a record E
    stopped: tuple[int, Outcome, Cause | None] | None = None  # deleted ...: when, and as what


@dataclass
class Jobs:
    """The state of all jobs, and what is known of them so far."""

    counts: Counts
    log: JobLog = field(default_factory=JobLog)
    lives: dict[str, _Life] = field(default_factory=dict[str, _Life])
    arrays: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Jobs of several tasks: their number, and their ctime."""

    def take(self, record: Record) -> None:
        """Take the next record. Raises FieldError."""
        handle = _HANDLERS.get(record.kind)
        if handle is None:
            self.counts.drop(f"record {record.kind[:10]!r}, which tells nothing of runs")
        elif "[]" in record.job:
            self.counts.drop("record of a whole array")
        else:
            handle(self, record, fields_of(record.message))

    def close(self) -> int:
        """Give every open run its end, or leave it open; returns the last moment [s since 1970]."""
        for life in self.lives.values():
            if not life.over:
                self._settle(life)
        return self.log.last_second()

    def _settle(self, life: _Life) -> None:
        if life.stopped is not None:
            time, outcome, cause = life.stopped
            self._end(life, time, outcome, cause)
        else:
            self._end(life, NONE, Outcome.CENSORED, None)

    # --- Records --------------------------------------------------------------------------------

    def queue(self, record: Record, fields: Mapping[str, str]) -> None:
        """Q: a job enters a queue, for the first time or from another one."""
        life = self.lives.get(record.job)
        if life is None or life.over:
            life = self._new(record, record.time, NONE)
        if len(fields) > 1:
            self._describe(life, fields)
        elif queue := fields.get("queue"):
            job = self.log.tasks.whole("job", life.task)
            self.log.jobs["queue", job] = self.log.text(queue, "queue")

    def start(self, record: Record, fields: Mapping[str, str]) -> None:
        """S, T: a run begins, from a checkpoint or not."""
        life = self._life(record, fields)
        begun = time_of(fields, "start", record.time)
        if life.over:
            self._requeued(life, self.log.runs.whole("end", life.last_run))
        elif life.start != NONE:
            if life.start == begun:
                return
            self.counts.note("started again without an end: that start came to nothing")
            life.start, life.hosts = NONE, ()
            self._end(life, begun, Outcome.EVICT, Cause.MACHINE)
            life.queued = begun
        if abs(begun - record.time) >= WRONG_ZONE:
            self.counts.note("start far from its record's local time: is the time zone right?")
        self._queued(life, fields, begun)
        life.start, life.stopped, life.over = begun, None, False
        self._describe(life, fields)

    def end(self, record: Record, fields: Mapping[str, str]) -> None:
        """E: a run ends with an exit status."""
        life = self._life(record, fields)
        if life.over and life.start == NONE:
            if time_of(fields, "start", NONE) <= self.log.runs["start", life.last_run]:
                self.counts.drop("second record of an end")
                return
            self._requeued(life, self.log.runs.whole("end", life.last_run))
        if life.start == NONE or not life.hosts:
            self._describe(life, fields)
        else:  # all but the limit, which may have been changed, was said when it started
            self._limit(life, fields)
        life.start = max(time_of(fields, "start", NONE), life.start)
        self._queued(life, fields, life.start)
        end = max(time_of(fields, "end", record.time), life.start)
        code = exit_status(fields)
        reached = self._reached_walltime(life, fields, end)
        category = CODES.category(code, reached_walltime=reached) if code is not None else None
        outcome, cause = self._fate(life, code, category)
        if outcome == Outcome.FINISH and life.start == NONE:
            life.start = end
            self.counts.note("success without a start, taken to start at its end")
        if category is None:
            self.counts.note("end without an exit status")
        self.log.tasks["category", life.task] = self.log.text(category)
        run = self._end(life, end, outcome, cause, NO_EXIT_CODE if code is None else code)
        self._measure(life, run, fields)
        life.over, life.stopped, life.hosts = True, None, ()

    def requeue(self, record: Record, fields: Mapping[str, str]) -> None:
        """R: a run ends, and the job is queued again."""
        life = self._life(record, fields)
        if life.over:
            self._requeued(life, record.time)
        elif life.start != NONE or "start" in fields:
            if life.start == NONE:
                self._describe(life, fields)
            life.start = max(time_of(fields, "start", NONE), life.start)
            end = max(time_of(fields, "end", record.time), life.start)
            code = exit_status(fields)
            run = self._end(
                life, end, Outcome.EVICT, Cause.REQUEUE, NO_EXIT_CODE if code is None else code
            )
            self._measure(life, run, fields)
        life.queued, life.over, life.stopped = max(record.time, life.queued), False, None

    def checkpoint(self, record: Record, fields: Mapping[str, str]) -> None:
        """C: a run is checkpointed, and the job is held."""
        life = self._life(record, fields)
        if life.start != NONE and not life.over:
            self._end(life, max(record.time, life.start), Outcome.EVICT, Cause.PREEMPTION)
            life.queued = max(record.time, life.queued)

    def delete(self, record: Record, fields: Mapping[str, str]) -> None:
        """D: somebody deletes the job; if it runs, E follows."""
        self._stop(record, fields, Outcome.KILL, Cause.USER)

    def abort(self, record: Record, fields: Mapping[str, str]) -> None:
        """A: the server aborts the job."""
        cause = Cause.DEPENDENCY if "depend" in record.message.lower() else Cause.MACHINE
        self._stop(record, fields, Outcome.FAIL, cause)

    def move(self, record: Record, fields: Mapping[str, str]) -> None:
        """M: the job is moved to another server."""
        self._stop(record, fields, Outcome.LOST, None)

    # --- Lives ----------------------------------------------------------------------------------

    def _life(self, record: Record, fields: Mapping[str, str]) -> _Life:
        """The job of a record; a new one if it was not heard of, or is another of the same id."""
        created = time_of(fields, "ctime", NONE)
        life = self.lives.get(record.job)
        if life is not None and NONE not in (created, life.created) and created != life.created:
            if not life.over:
                self._settle(life)
            life = None
        if life is None:
            queued = time_of(fields, "qtime", created)
            begun = time_of(fields, "start", record.time)
            life = self._new(record, min(queued, begun) if queued != NONE else NONE, created)
        if life.created == NONE:
            life.created = created
        return life

    def _new(self, record: Record, queued: int, created: int) -> _Life:
        name, index = job_and_index(record.job)
        if record.job in self.lives:
            self.counts.note("job id of an earlier job")
        known = self.arrays.get(name) if index is not None else None
        if known is None or (created != NONE and known[1] not in (NONE, created)):
            known = self.log.new_job(name), created
            if index is not None:
                self.arrays[name] = known
        life = _Life(self.log.new_task(known[0], index or 0), queued, created)
        self.lives[record.job] = life
        return life

    def _queued(self, life: _Life, fields: Mapping[str, str], begun: int) -> None:
        """When the first run was queued, by the record's own times, which know no time zone."""
        queued = time_of(fields, "qtime", NONE)
        if life.last_run == NONE and queued != NONE:
            life.queued = min(queued, begun) if begun != NONE else queued

    def _stop(
        self, record: Record, fields: Mapping[str, str], outcome: Outcome, cause: Cause | None
    ) -> None:
        life = self._life(record, fields)
        if life.over:
            self.counts.drop("deletion of a job that is over")
        elif life.stopped is None:
            life.stopped = max(record.time, life.start, life.queued), outcome, cause

    def _requeued(self, life: _Life, time: int) -> None:
        """The run that ended was not the last: unless it was a success, it was requeued."""
        runs, run = self.log.runs, life.last_run
        if run != NONE and runs["outcome", run] in _UNSUCCESSFUL:
            runs["outcome", run], runs["cause", run] = Outcome.EVICT, Cause.REQUEUE
        life.queued, life.over = time, False

    def _end(
        self,
        life: _Life,
        time: int,
        outcome: Outcome,
        cause: Cause | None,
        exit_code: int = NO_EXIT_CODE,
    ) -> int:
        run = self.log.runs.add(
            life.task,
            life.queued,
            life.start,
            time,
            outcome,
            NONE if cause is None else cause,
            exit_code,
            nan,
            nan,
            nan,
        )
        if life.start != NONE:
            self.log.place(run, life.hosts)
        life.start, life.last_run = NONE, run
        return run

    def _fate(
        self, life: _Life, code: int | None, category: str | None
    ) -> tuple[Outcome, Cause | None]:
        if code is None or category is None:
            return life.stopped[1:] if life.stopped else (Outcome.CENSORED, None)
        if category == SUCCESS:
            return Outcome.FINISH, None
        if category == WALLTIME:
            return Outcome.KILL, Cause.WALLTIME
        if life.stopped is not None:
            return life.stopped[1:]
        if category == USER_OR_SYSTEM and code > TORQUE_SIGNAL:
            return Outcome.KILL, Cause.USER
        return Outcome.FAIL, CODES.cause(code)

    # --- What records say of a job --------------------------------------------------------------

    def _describe(self, life: _Life, fields: Mapping[str, str]) -> None:
        log, job = self.log, self.log.tasks.whole("job", life.task)
        for column, name in _TEXTS:
            if text := fields.get(name):
                log.jobs[column, job] = log.text(text.strip('"'), name)
        self._limit(life, fields)
        if (shared := is_shared(fields)) is not None:
            log.jobs["shared", job] = shared
        if exec_host := fields.get("exec_host"):
            hosts = hosts_of(exec_host, fields.get("exec_vnode", ""))
            if hosts is None:
                raise FieldError("exec_host", exec_host, "a list of hosts like node1/0+node2/0-3")
            life.hosts = hosts
        width = sum(slots for _, slots in life.hosts) or requested_slots(fields)
        if width:
            log.tasks["width", life.task] = width
        memory = memory_per_slot(fields, log.tasks["width", life.task])
        if memory == memory:
            log.tasks["memory", life.task] = memory
        gpus = requested_gpus(fields)
        if gpus == gpus:
            log.tasks["gpu", life.task] = gpus

    def _limit(self, life: _Life, fields: Mapping[str, str]) -> None:
        if (seconds := walltime_of(fields)) is not None:
            self.log.jobs["walltime", self.log.tasks.whole("job", life.task)] = seconds

    def _reached_walltime(self, life: _Life, fields: Mapping[str, str], end: int) -> bool:
        job = self.log.tasks.whole("job", life.task)
        requested = self.log.jobs["walltime", job]
        used = duration(fields.get("resources_used.walltime", "")) or 0
        ran = end - life.start if life.start != NONE else 0
        return 0 < requested <= max(used, ran)

    def _measure(self, life: _Life, run: int, fields: Mapping[str, str]) -> None:
        runs, width = self.log.runs, self.log.tasks["width", life.task]
        memory = amount_of_memory(fields.get("resources_used.mem", ""))
        runs["max_memory", run] = memory / width
        ran = runs["end", run] - runs["start", run]
        used = duration(fields.get("resources_used.cput", ""))
        if used is not None and runs["start", run] != NONE and ran > 0:
            runs["cpu", run] = used / ran / width


WRONG_ZONE: Final = 900
"""A start this far from the local time of its record tells of a wrong time zone [s]."""
TORQUE_SIGNAL: Final = 256
"""TORQUE adds this to the signal with which it ended a job: 271 is a cancelled one."""

_UNSUCCESSFUL: Final = (Outcome.FAIL, Outcome.KILL, Outcome.CENSORED)
"""How a run ended, as far as is known, that turns out to have been requeued if another follows."""
_TEXTS: Final = (("user", "user"), ("group", "group"), ("name", "jobname"), ("queue", "queue"))

_HANDLERS: Final[dict[str, Callable[[Jobs, Record, Mapping[str, str]], None]]] = {
    "Q": Jobs.queue,
    "S": Jobs.start,
    "T": Jobs.start,
    "E": Jobs.end,
    "R": Jobs.requeue,
    "C": Jobs.checkpoint,
    "D": Jobs.delete,
    "A": Jobs.abort,
    "M": Jobs.move,
}
