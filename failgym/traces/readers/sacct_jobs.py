"""Rows of Slurm's `sacct` become the runs of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import nan
from typing import Final, NamedTuple

from failgym.traces.readers import sacct_fields as fields_of
from failgym.traces.readers.counts import Counts
from failgym.traces.readers.job_log import (
    INT32,
    LAST_SECOND,
    NO_EXIT_CODE,
    NONE,
    FieldError,
    JobLog,
    LocalTimes,
    amount_of_memory,
)
from failgym.traces.readers.sacct_fields import MISSING, JobId, State, exit_category
from failgym.traces.readers.sacct_times import time_of
from failgym.traces.trace import Cause, Outcome

__all__ = ["Jobs"]

Key = tuple[str, str, int | None]
"""Cluster, job, and element or component."""


@dataclass(slots=True)
class _Life:
    """A task, and the last row about it."""

    task: int
    run: int = NONE
    submit: int = NONE
    start: int = NONE
    owner: int = NONE  # text of the user and the job's name
    placed: bool = False
    cpu: float = nan  # of its own row [s]
    steps: float = nan  # of the steps so far [s]


class _Row(NamedTuple):
    """A row that is not a step's."""

    id: JobId
    state: State
    submit: int
    start: int
    end: int
    code: int | None
    slots: int


@dataclass(frozen=True)
class Bounds:
    """How much a few short rows may stand for; beyond what real clusters do, to bound memory."""

    machines: int = 1 << 17
    """hosts in all"""
    places: int = 1 << 22
    """placements, and `places_per_row` more per row"""
    places_per_row: int = 64
    waiting: int = 1 << 18
    """elements of arrays that share a row, and `waiting_per_row` more per row"""
    waiting_per_row: int = 16


@dataclass
class Jobs:
    """What is known of all jobs so far."""

    counts: Counts
    clock: LocalTimes
    log: JobLog = field(default_factory=JobLog)
    lives: dict[Key, _Life] = field(default_factory=dict[Key, _Life])
    jobs: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    bounds: Bounds = field(default_factory=lambda: Bounds())
    rows: int = 0
    waiting: int = 0  # elements of arrays that share rows
    seen: int = NONE  # up to when what still runs was seen to run [s since 1970]

    def take(self, values: Mapping[str, str]) -> None:
        """Take the next row, its fields by the names of their columns in small letters.

        Raises FieldError.
        """
        self.rows += 1
        text = values.get("jobid") or values.get("jobidraw", "")
        name = fields_of.job_id(text)
        if name is None:
            raise FieldError("JobID", text, "a job id like 123, 123_4, 123+0 or 123.batch")
        if name.step:
            self._step(name, values)
            return
        row = self._row(name, values)
        for index in self._elements(name):
            self._run(row, index, values)

    def _elements(self, name: JobId) -> list[int | None]:
        if not name.pending:
            return [name.element]
        indices = fields_of.indices_of(name.pending)
        if indices is None:
            expected = f"at most {fields_of.MOST_ELEMENTS} elements like 5-9%2"
            raise FieldError("JobID", f"{name.job}_[{name.pending}]", expected)
        self.waiting += len(indices)
        if self.waiting > self.bounds.waiting + self.bounds.waiting_per_row * self.rows:
            self.counts.drop("waiting elements of arrays: too many for so few rows", len(indices))
            return []
        if "..." in name.pending:
            self.counts.note("list of an array's elements cut short")
        return list(indices)

    def _row(self, name: JobId, values: Mapping[str, str]) -> _Row:
        state = fields_of.state_of(values["state"])
        if state is None:
            if values["state"] in MISSING:
                raise FieldError("State", values["state"], "a state like COMPLETED")
            self.counts.note("state that is not known, taken as open")
            state = fields_of.STATES["RUNNING"]
        submit = self._time(values, "submit")
        start, end = self._time(values, "start"), self._time(values, "end")
        elapsed, nodes = _elapsed(values), values.get("nodelist")
        if start != NONE and end == NONE and elapsed and state.outcome != Outcome.CENSORED:
            end = start + int(elapsed)
        if start == end and (state.cause == Cause.USER or nodes == "None assigned"):
            start = NONE  # cancelled while it waited: older versions give it a start
        if values["state"].upper().startswith("P") and state.outcome == Outcome.CENSORED:
            start = NONE  # pending: if there is a start, it is the expected one
        if state.outcome == Outcome.CENSORED:
            end = NONE
            if start != NONE and elapsed:
                self.seen = max(self.seen, start + int(elapsed))
        if state.cause == Cause.USER and "depend" in values.get("reason", "").lower():
            state = state._replace(cause=Cause.DEPENDENCY)
        return _Row(name, state, submit, start, end, self._code(values), self._slots(values))

    def _time(self, values: Mapping[str, str], name: str) -> int:
        text = values.get(name, "")
        if text in MISSING:
            return NONE
        try:
            return time_of(text, self.clock)
        except ValueError as error:
            expected = "a time like 2014-08-26T17:08:04, or Unknown"
            raise FieldError(name.capitalize(), text, expected) from error

    def _code(self, values: Mapping[str, str]) -> int | None:
        text = values.get("exitcode", "")
        if text in MISSING:
            return None
        code = fields_of.exit_code(text)
        if code is None:
            raise FieldError("ExitCode", text, "an exit code and a signal like 1:0")
        return code

    def _slots(self, values: Mapping[str, str]) -> int:
        """Processors that were allocated, else requested; else nodes; else one."""
        for name in ("alloccpus", "ncpus", "alloctres", "reqcpus", "reqtres", "nnodes", "reqnodes"):
            text = values.get(name, "")
            if text in MISSING:
                continue
            number = fields_of.trackable(text)[0] if "=" in text else _number(name, text)
            if number:
                return number
        self.counts.note("number of processors missing, taken as 1")
        return 1

    # --- Runs -----------------------------------------------------------------------------------

    def _run(self, row: _Row, index: int | None, values: Mapping[str, str]) -> None:
        """Add the run of a row, or put it in the place of an earlier state of the same run."""
        if row.submit == row.start == row.end == NONE:
            self.counts.drop("no time known")
            return
        life, again = self._life(row, index, values)
        state, start, end = row.state, row.start, row.end
        if state.outcome != Outcome.CENSORED and end == NONE:
            if max(start, row.submit) == NONE or state.outcome == Outcome.FINISH:
                self.counts.note("over, but its end is missing: taken as open")
                state = fields_of.STATES["RUNNING"]
            else:
                end = max(start, row.submit)
                self.counts.note("over, but its end is missing: taken as its start or submission")
        if state.outcome == Outcome.FINISH and start == NONE:
            start = end
            self.counts.note("success without a start, taken to start at its end")
        outcome = (life.task, row.submit, start, end, state.outcome)
        cause = NONE if state.cause is None else state.cause
        code = row.code if row.code is not None and state.outcome != Outcome.CENSORED else None
        shown = NO_EXIT_CODE if code is None else code
        if again:
            runs = self.log.runs
            changed = zip(("queued", "start", "end", "outcome"), outcome[1:], strict=True)
            for name, value in (*changed, ("cause", cause), ("exit_code", shown)):
                runs[name, life.run] = value
        else:
            life.run = self.log.runs.add(*outcome, cause, shown, nan, nan, nan)
            life.placed, life.steps = False, nan
        life.submit, life.start = row.submit, row.start
        self._describe(row, life, code, state, values)
        if start != NONE and not life.placed:
            self._place(life, row.slots, values.get("nodelist", ""))

    def _life(self, row: _Row, index: int | None, values: Mapping[str, str]) -> tuple[_Life, bool]:
        """The task of a row, and whether its last run is the same one, heard of before."""
        cluster = values.get("cluster", "")
        key = (cluster, row.id.job, index)
        owner = self.log.text(f"{values.get('user', '')} {values.get('jobname', '')}")
        life = self.lives.get(key)
        if life is not None:
            runs, run = self.log.runs, life.run
            outcome, last_start = runs["outcome", run], life.start
            same = life.submit == row.submit and last_start in (NONE, row.start)
            if same and (outcome == Outcome.CENSORED or last_start == row.start):
                self.counts.note("row about a run of an earlier row, which it replaces")
                return life, True
            if life.owner == owner and outcome != Outcome.FINISH:
                self._requeued(run)
                return life, False
            self.counts.note("job id of an earlier job")
            if self.jobs.get((cluster, row.id.job)) == self.log.tasks.whole("job", life.task):
                del self.jobs[cluster, row.id.job]
        job = self.jobs.get((cluster, row.id.job))
        if job is None:
            job = self.jobs[cluster, row.id.job] = self.log.new_job(row.id.job)
        life = _Life(self.log.new_task(job, index or 0), owner=owner)
        self.lives[key] = life
        return life, False

    def _requeued(self, run: int) -> None:
        """A run was followed by another one: a machine's failure evicted it, a kill requeued it."""
        runs = self.log.runs
        outcome, cause = runs["outcome", run], runs["cause", run]
        if outcome == Outcome.FAIL and cause == Cause.MACHINE:
            runs["outcome", run] = Outcome.EVICT
        elif outcome == Outcome.KILL and cause in (Cause.USER, Cause.DEPENDENCY):
            runs["cause", run] = Cause.REQUEUE
        elif outcome == Outcome.CENSORED:
            known = max(runs["start", run], runs["queued", run])
            runs["outcome", run], runs["end", run] = Outcome.LOST, max(known, 0)

    # --- What rows say of jobs and runs ---------------------------------------------------------

    def _describe(
        self,
        row: _Row,
        life: _Life,
        code: int | None,
        state: State,
        values: Mapping[str, str],
    ) -> None:
        log, job = self.log, self.log.tasks.whole("job", life.task)
        for column, name in _TEXTS:
            text = values.get(name, "")
            if text not in MISSING:
                log.jobs[column, job] = log.text(text)
        limit = _limit(values)
        if limit is not None:
            log.jobs["walltime", job] = limit
        priority = values.get("priority", "")
        if priority.isascii() and priority.isdigit() and len(priority) < 11:
            log.jobs["priority", job] = min(int(priority), INT32)
        shared = values.get("oversubscribe", values.get("shared", "")).lower()
        if shared in _SHARED:
            log.jobs["shared", job] = _SHARED[shared]
        log.tasks["width", life.task] = row.slots
        log.tasks["category", life.task] = log.text(exit_category(state, code))
        memory = _memory(values, row.slots)
        if memory == memory:
            log.tasks["memory", life.task] = memory
        life.cpu = fields_of.duration(values.get("totalcpu", "")) or nan
        self._measure(life, values, tasks=1)
        self._spent(life, life.cpu)

    def _step(self, name: JobId, values: Mapping[str, str]) -> None:
        """Fold a step into the run that it is of: its memory, and its processor time."""
        life = self.lives.get((values.get("cluster", ""), name.job, name.element))
        self.counts.read("steps")
        if life is None or life.run == NONE:
            self.counts.drop("step of a job that is not there")
            return
        tasks = values.get("ntasks", "")
        self._measure(life, values, _number("ntasks", tasks) if tasks not in MISSING else 1)
        used = fields_of.duration(values.get("totalcpu", ""))
        if used is not None and life.cpu != life.cpu:
            life.steps = used if life.steps != life.steps else life.steps + used
            self._spent(life, life.steps)

    def _measure(self, life: _Life, values: Mapping[str, str], tasks: int) -> None:
        """Memory: a step's is of its largest, or average, task."""
        runs, width = self.log.runs, self.log.tasks["width", life.task]
        for column, name in (("max_memory", "maxrss"), ("mean_memory", "averss")):
            bytes_used = amount_of_memory(values.get(name, "")) * max(tasks, 1) / width
            before = runs[column, life.run]
            if bytes_used == bytes_used and not before >= bytes_used:
                runs[column, life.run] = bytes_used

    def _spent(self, life: _Life, seconds: float) -> None:
        runs, run = self.log.runs, life.run
        start, end = runs["start", run], runs["end", run]
        if seconds == seconds and start != NONE and end > start:
            runs["cpu", run] = seconds / (end - start) / self.log.tasks["width", life.task]

    def _place(self, life: _Life, slots: int, nodes: str) -> None:
        """The slots are spread over the nodes evenly: the format does not say how they were."""
        if nodes in MISSING or nodes == "None assigned":
            return
        hosts = fields_of.hosts_of(nodes)
        if hosts is None:
            raise FieldError("NodeList", nodes, "a list of hosts like node[01-03,07],login1")
        log, bounds = self.log, self.bounds
        if len(log.placements) + len(hosts) > bounds.places + bounds.places_per_row * self.rows:
            self.counts.note("where a run was left out: too many hosts for so few rows")
            return
        if len(log.machines) + len(hosts) > bounds.machines and bounds.machines < len(
            log.machines.keys() | set(hosts)
        ):
            raise FieldError("NodeList", nodes, f"at most {bounds.machines} hosts in all")
        each, more = divmod(slots, len(hosts))
        spread = [max(each + (place < more), 1) for place in range(len(hosts))]
        log.place(life.run, tuple(zip(hosts, spread, strict=True)))
        life.placed = True


_TEXTS: Final = (("user", "user"), ("group", "group"), ("name", "jobname"), ("queue", "partition"))
_SHARED: Final = {"yes": 1, "ok": 1, "1": 1, "no": 0, "0": 0, "exclusive": 0}


@lru_cache(maxsize=1 << 12)
def _number(name: str, text: str) -> int:
    """A count; with --units or without --noconvert it may end in K or M, which are thousands."""
    factor = {"K": 1_000, "M": 1_000_000}.get(text[-1:], 1)
    digits = text if factor == 1 else text[:-1]
    whole, _, fraction = digits.partition(".")
    if not (whole + fraction).isdigit() or not digits.isascii() or len(digits) > 10:
        raise FieldError(name, text, "a whole number")
    number = round(float(digits) * factor)
    if number > INT32:
        raise FieldError(name, text, f"at most {INT32}")
    return number


def _elapsed(values: Mapping[str, str]) -> float | None:
    raw = values.get("elapsedraw", "")
    seconds = fields_of.duration(raw if raw.isdigit() else values.get("elapsed", ""))
    return seconds if seconds is not None and seconds <= LAST_SECOND // 2 else None


def _limit(values: Mapping[str, str]) -> int | None:
    """Requested walltime [s]; None for unlimited, or a partition's limit."""
    raw = values.get("timelimitraw", "")
    if raw.isascii() and raw.isdigit() and len(raw) < 10:
        return int(raw) * 60
    seconds = fields_of.duration(values.get("timelimit", ""))
    return int(seconds) if seconds is not None and seconds <= LAST_SECOND else None


def _memory(values: Mapping[str, str], slots: int) -> float:
    """Bytes per slot that were requested, else allocated; NaN if neither is known."""
    nodes = values.get("nnodes", "")
    count = int(nodes) if nodes.isascii() and nodes.isdigit() and len(nodes) < 10 else 1
    memory = fields_of.memory_per_slot(values.get("reqmem", ""), slots, count)
    for name in ("reqtres", "alloctres"):
        if memory != memory:
            memory = fields_of.trackable(values.get(name, ""))[1] / slots
    return memory
