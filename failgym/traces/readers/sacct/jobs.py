"""Rows of Slurm's `sacct` become the runs of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, nan
from typing import Final

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.job_log import (
    INT32,
    NO_EXIT_CODE,
    NONE,
    FieldError,
    JobLog,
    LocalTimes,
    amount_of_memory,
)
from failgym.traces.readers.sacct import fields as fields_of
from failgym.traces.readers.sacct.fields import MISSING, JobId, exit_category
from failgym.traces.readers.sacct.rows import (
    Row,
    Rows,
    count_of,
    gpus_of,
    limit_of,
    memory_of,
)
from failgym.vocabulary import Cause, Outcome

__all__ = ["Jobs"]

Key = str | tuple[str, str, int | None]
"""Job; with its cluster and its element or component, if there is one of both."""
ANY: Final = -2
"""Stands for any start of a run."""


@dataclass(slots=True)
class _Life:
    """A task, and its runs as far as rows told of them, in whatever order."""

    task: int
    owner: int  # text of the user and the job's name
    run: int = NONE  # that the latest row is about, and the steps that follow
    last: int = NONE  # that was submitted last
    others: dict[tuple[int, int], int] | None = None  # the other runs, by submission and start
    timed: bool = False  # its own row told of the run's processor time
    steps: float = nan  # processor time of its steps so far [s]


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
    merge: bool = False  # clusters are taken for one
    clusters: dict[str, None] = field(default_factory=dict[str, None])
    rows: int = 0
    waiting: int = 0  # elements of arrays that share rows

    def __post_init__(self) -> None:
        self.reader = Rows(self.counts, self.clock)

    def last_second(self) -> int:
        """The last moment that the rows tell of [s since 1970]."""
        return max(self.log.last_second(), self.reader.seen)

    def take(self, values: Mapping[str, str]) -> None:
        """Take the next row, its fields by the names of their columns in small letters.

        Raises FieldError.
        """
        self.rows += 1
        self._check(values.get("cluster", ""))
        text = values.get("jobid") or values.get("jobidraw", "")
        name = fields_of.job_id(text)
        if name is None:
            raise FieldError("JobID", text, "a job id like 123, 123_4, 123+0 or 123.batch")
        if name.step:
            self._step(name, values)
            return
        row = self.reader.read(name, values)
        if row is not None:
            for index in self._elements(name):
                self._take_run(row, index, values)

    def _check(self, cluster: str) -> None:
        """Raise FieldError for another cluster than before, if they are not taken for one."""
        if not cluster or cluster in self.clusters:
            return
        if self.clusters and not self.merge:
            expected = f"{next(iter(self.clusters))[:60]!r} as before (merge_clusters,"
            raise FieldError(
                "Cluster", cluster, f"{expected} --merge-clusters: to take all for one)"
            )
        self.log.text(cluster, "Cluster")
        self.clusters[cluster] = None

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

    # --- Runs -----------------------------------------------------------------------------------

    def _take_run(self, row: Row, index: int | None, values: Mapping[str, str]) -> None:
        """Add the run of a row, or put it in the place of an earlier state of the same run."""
        life, known = self._life(row, index, values)
        ran = known != NONE and self.log.runs["start", known] != NONE
        if known == NONE:
            self._add(life, row)
        else:
            self.counts.note("row about a run of an earlier row, which it replaces")
            life.run = known
            if not self._is_later_state(row, known):
                return
            self._put(life, row)
        life.steps = nan
        if life.run == life.last:
            self._describe(row, life, values)
        self._measure(life, values, tasks=1)
        used = fields_of.duration(values.get("totalcpu", ""))
        life.timed = bool(used)
        if used:
            self._spent(life, used)
        if row.start != NONE and not ran:
            self._place(life, row.slots, values.get("nodelist", ""), values.get("cluster", ""))

    def _life(self, row: Row, index: int | None, values: Mapping[str, str]) -> tuple[_Life, int]:
        """The task of a row, and the run that it is about, if that was heard of before."""
        cluster, job = values.get("cluster", ""), row.id.job
        key = _key(cluster, job, index)
        user, name = values.get("user", ""), values.get("jobname", "")
        owner = self.log.text(f"{user} {name}", "user" if len(user) > len(name) else "jobname")
        life = self.lives.get(key)
        if life is not None:
            known = self._known(life, row)
            if known != NONE or (life.owner == owner and self._is_attempt(life, row)):
                return life, known
            self.counts.note("job id of an earlier job")
            if self.jobs.get((cluster, job)) == self.log.tasks.whole("job", life.task):
                del self.jobs[cluster, job]
        number = self.jobs.get((cluster, job)) if index is not None else None
        if number is None:
            number = self.log.new_job(job)
            if index is not None:
                self.jobs[cluster, job] = number
        life = self.lives[key] = _Life(self.log.new_task(number, index or 0), owner)
        return life, NONE

    def _known(self, life: _Life, row: Row) -> int:
        """The run that a row is about: the submission is the same, and the start unless it waits"""
        runs, candidates = self.log.runs, [life.last]
        if life.others:
            candidates += [life.others.get((row.submit, start), NONE) for start in (row.start, ANY)]
        for run in candidates:
            if run != NONE and runs["queued", run] == row.submit:
                start, waits = runs["start", run], row.start == NONE and row.submit != NONE
                if (
                    start == row.start
                    or (start == NONE and runs["outcome", run] in _OPEN)
                    or (waits and row.state.outcome == Outcome.CENSORED)
                ):
                    return run
        return NONE

    def _is_later_state(self, row: Row, run: int) -> bool:
        """Whether a row tells more of a run than what is known: a later state, if both are open."""
        if row.state.outcome != Outcome.CENSORED:
            return True
        runs = self.log.runs
        return runs["outcome", run] == Outcome.CENSORED and runs["start", run] in (NONE, row.start)

    def _follows(self, life: _Life, row: Row) -> bool:
        """Whether a row is about a run after the last one."""
        submit, start = (self.log.runs[name, life.last] for name in ("queued", "start"))
        return (row.submit, _or_never(row.start)) >= (submit, _or_never(start))

    def _is_attempt(self, life: _Life, row: Row) -> bool:
        """Whether another run can be of the same task: the one of both before did not complete."""
        if self._follows(life, row):
            return self.log.runs["outcome", life.last] != Outcome.FINISH
        return row.state.outcome != Outcome.FINISH

    def _add(self, life: _Life, row: Row) -> None:
        last, follows = life.last, life.last == NONE or self._follows(life, row)
        life.run = self.log.runs.add(life.task, *_fate(row), nan, nan, nan)
        if follows:
            life.last = life.run
        if last != NONE:
            other = last if follows else life.run
            life.others = life.others or {}
            submit, start = (self.log.runs.whole(name, other) for name in ("queued", "start"))
            life.others[submit, start] = life.others[submit, ANY] = other
            self._requeued(other)

    def _put(self, life: _Life, row: Row) -> None:
        names = ("queued", "start", "end", "outcome", "cause", "exit_code")
        for name, value in zip(names, _fate(row), strict=True):
            self.log.runs[name, life.run] = value
        if life.run != life.last:
            self._requeued(life.run)

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

    def _describe(self, row: Row, life: _Life, values: Mapping[str, str]) -> None:
        log, job = self.log, self.log.tasks.whole("job", life.task)
        for column, name in _TEXTS:
            text = values.get(name, "")
            if text not in MISSING:
                log.jobs[column, job] = log.text(text, name)
        limit = limit_of(values)
        if limit is not None:
            log.jobs["walltime", job] = limit
        priority = values.get("priority", "")
        if priority.isascii() and priority.isdigit() and len(priority) < 11:
            log.jobs["priority", job] = min(int(priority), INT32)
        shared = values.get("oversubscribe", values.get("shared", "")).lower()
        if shared in _SHARED:
            log.jobs["shared", job] = _SHARED[shared]
        log.tasks["width", life.task] = row.slots
        log.tasks["category", life.task] = log.text(exit_category(row.state, _code(row)))
        memory = memory_of(values, row.slots, self.counts)
        if memory == memory:
            log.tasks["memory", life.task] = memory
        gpus = gpus_of(values)
        if gpus == gpus:
            log.tasks["gpu", life.task] = gpus

    def _step(self, name: JobId, values: Mapping[str, str]) -> None:
        """Fold a step into the run that it is of: its memory, and its processor time."""
        life = self.lives.get(_key(values.get("cluster", ""), name.job, name.element))
        self.counts.read("steps")
        if life is None or life.run == NONE:
            self.counts.drop("step of a job that is not there")
            return
        tasks = values.get("ntasks", "")
        self._measure(life, values, count_of("ntasks", tasks) if tasks not in MISSING else 1)
        used = fields_of.duration(values.get("totalcpu", ""))
        if used is not None and not life.timed:
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

    def _place(self, life: _Life, slots: int, nodes: str, cluster: str) -> None:
        """The slots are spread over the nodes evenly: the format does not say how they were."""
        if nodes in MISSING or nodes == "None assigned":
            return
        hosts = fields_of.hosts_of(nodes)
        if hosts is None:
            raise FieldError("NodeList", nodes, "a list of hosts like node[01-03,07],login1")
        if self.merge and cluster:
            hosts = tuple(f"{cluster}/{host}" for host in hosts)
        log, bounds = self.log, self.bounds
        if len(log.placements) + len(hosts) > bounds.places + bounds.places_per_row * self.rows:
            self.counts.note("where a run was left out: too many hosts for so few rows")
            return
        if len(log.machines) + len(hosts) > bounds.machines and bounds.machines < len(
            log.machines.keys() | set(hosts)
        ):
            raise FieldError("NodeList", nodes, f"at most {bounds.machines} hosts in all")
        log.place_evenly(life.run, hosts, slots)


_TEXTS: Final = (("user", "user"), ("group", "group"), ("name", "jobname"), ("queue", "partition"))
_OPEN: Final = (Outcome.CENSORED, Outcome.LOST)
"""What becomes of a run whose end is not told of: LOST if another one followed."""
_SHARED: Final = {"yes": 1, "ok": 1, "1": 1, "no": 0, "0": 0, "exclusive": 0}


def _key(cluster: str, job: str, index: int | None) -> Key:
    return job if not cluster and index is None else (cluster, job, index)


def _code(row: Row) -> int | None:
    return None if row.state.outcome == Outcome.CENSORED else row.code


def _fate(row: Row) -> tuple[int, int, int, int, int, int]:
    """When a run was queued, started and ended, its outcome, cause and exit code."""
    outcome, cause, _ = row.state
    code = _code(row)
    return (
        row.submit,
        row.start,
        row.end,
        outcome,
        NONE if cause is None else cause,
        NO_EXIT_CODE if code is None else code,
    )


def _or_never(start: float) -> float:
    return inf if start == NONE else start
