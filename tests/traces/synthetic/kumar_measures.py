"""What the tests of system-a and system-b measure, from the tables alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.traces import Cause, Outcome, Trace

CATEGORIES = ("success", "system", "user", "user/system", "walltime")
FAILURES = CATEGORIES[1:4]
OUT_OF_MEMORY = 137

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Texts = npt.NDArray[np.str_]


class Measures(NamedTuple):
    """Jobs and attempts of a trace as arrays."""

    environment: Ints
    category: Texts  # "" if unknown
    nodes: Floats
    first_run: Floats  # [s]
    node_seconds: Floats  # of the first run
    walltime: Floats  # [s]
    system: Flags  # attempts that the system ended
    shared: Flags  # of these, by a shared failure
    first: Flags  # attempts that are first runs
    end: Ints
    run: Floats  # of each attempt [s]

    @classmethod
    def of(cls, trace: Trace) -> Measures:
        run = _run(trace) / 1e3
        job, first = trace.column("tasks", "job"), trace.task_first[:-1]
        first_run, nodes = np.zeros(trace.rows("jobs")), np.zeros(trace.rows("jobs"))
        first_run[job], nodes[job] = run[first], trace.column("tasks", "width")
        cause = trace.column("attempts", "cause")
        return cls(
            trace.column("jobs", "scheduling_class").astype(np.int64),
            np.array(trace.column("jobs", "exit_category"), dtype=np.str_),
            nodes,
            first_run,
            first_run * nodes,
            trace.column("jobs", "walltime") / 1e3,
            (cause == Cause.SHARED) | (cause == Cause.MACHINE),
            cause == Cause.SHARED,
            np.isin(np.arange(len(run)), first),
            trace.column("attempts", "end"),
            run,
        )

    def exits(self, environment: int | None = None) -> list[float]:
        """The shares of `CATEGORIES` among the jobs whose exit is known."""
        here = self.category[(self.category != "") & self._of(environment)]
        return [float((here == name).mean()) for name in CATEGORIES]

    def node_second_exits(self) -> list[float]:
        """The shares of `CATEGORIES` in the node-seconds of first runs."""
        of = [self.node_seconds[self.category == name].sum() for name in CATEGORIES]
        return [float(spent / self.node_seconds[self.category != ""].sum()) for spent in of]

    def node_seconds_by_environment(self) -> Floats:
        """The shares of the environments in the node-seconds of first runs."""
        return np.bincount(self.environment, self.node_seconds) / self.node_seconds.sum()

    def within_a_minute(self) -> float:
        """The share of the failed first runs that end within a minute."""
        return float((self.first_run[np.isin(self.category, FAILURES)] < 60).mean())

    def overestimate(self) -> float:
        """The median of requested over used time, of jobs that succeed."""
        good = self.category == "success"
        return float(np.median(self.walltime[good] / self.first_run[good]))

    def failures_by_node_seconds(self, environment: int) -> tuple[Ints, Ints]:
        """Jobs, and those of them that the system failed, by quarters of log10 node-seconds."""
        here = self._of(environment) & (self.category != "") & (self.category != "walltime")
        place = np.floor(4 * np.log10(np.maximum(self.node_seconds[here], 1))).astype(np.int64)
        failed = self.category[here] == "system"
        return np.bincount(place, minlength=40), np.bincount(place[failed], minlength=40)

    def _of(self, environment: int | None) -> Flags:
        if environment is None:
            return np.ones(len(self.environment), dtype=np.bool_)
        return self.environment == environment


def _run(trace: Trace) -> Floats:
    start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
    return np.where(start >= 0, end - start, 0).astype(np.float64)


class Tails(NamedTuple):
    """The last window of each first run of known end that did not meet its walltime."""

    environment: Ints
    system: Flags  # failed by the system, or out of memory
    out_of_memory: Flags
    usage: dict[str, Floats]

    @classmethod
    def of(cls, trace: Trace) -> Tails:
        attempt = trace.column("windows", "attempt")
        last = np.flatnonzero(np.append(attempt[1:] != attempt[:-1], True))
        cause, outcome = trace.column("attempts", "cause"), trace.column("attempts", "outcome")
        known = (outcome != Outcome.CENSORED) & (cause != Cause.WALLTIME)
        known &= np.isin(np.arange(len(known)), trace.task_first[:-1])
        last = last[known[attempt[last]]]
        rows = attempt[last]
        job = trace.column("tasks", "job")[trace.column("attempts", "task")[rows]]
        out_of_memory = trace.column("attempts", "exit_code")[rows] == OUT_OF_MEMORY
        return cls(
            trace.column("jobs", "scheduling_class")[job].astype(np.int64),
            np.isin(cause[rows], (Cause.SHARED, Cause.MACHINE)) | out_of_memory,
            out_of_memory,
            {
                name: trace.column("windows", name)[last].astype(np.float64)
                for name in ("cpu", "memory", "local_io", "remote_io", "network")
            },
        )

    def failure_rate(self, name: str, environment: int, edges: Sequence[float]) -> Floats:
        """The share of failed runs between each two edges of a usage."""
        here = self.environment == environment
        place = np.searchsorted(edges, self.usage[name][here], side="right")
        jobs = np.bincount(place, minlength=len(edges) + 1)
        failed = np.bincount(place, self.system[here], len(edges) + 1)
        return (failed / np.maximum(jobs, 1))[1:-1]

    def auc(self, environment: int) -> float:
        """How well a low use of processors tells failed runs from others."""
        here = self.environment == environment
        idle, failed = -self.usage["cpu"][here], self.system[here]
        positive, negative = np.sort(idle[failed]), np.sort(idle[~failed])
        below = np.searchsorted(negative, positive, side="left")
        upto = np.searchsorted(negative, positive, side="right")
        return float((below + upto).mean() / 2 / len(negative))


def pooled(tails: Sequence[Tails]) -> Tails:
    """The same of several traces."""
    return Tails(
        np.concatenate([t.environment for t in tails]),
        np.concatenate([t.system for t in tails]),
        np.concatenate([t.out_of_memory for t in tails]),
        {name: np.concatenate([t.usage[name] for t in tails]) for name in tails[0].usage},
    )


class History(NamedTuple):
    """The jobs of a trace as histories know them; one entry per job."""

    user: Texts
    name: Texts
    queue: Texts
    submit: Ints
    finish: Floats  # infinite if unknown
    nodes: Floats
    walltime: Floats
    run: Floats  # of the last attempt [ms]; NaN if unknown

    @classmethod
    def of(cls, trace: Trace) -> History:
        job, last = trace.column("tasks", "job"), trace.task_first[1:] - 1
        known = trace.present("attempts", "start")[last]
        known &= trace.column("attempts", "outcome")[last] != Outcome.CENSORED
        run, finish = np.full(trace.rows("jobs"), np.nan), np.full(trace.rows("jobs"), np.inf)
        nodes = np.ones(trace.rows("jobs"))
        run[job[known]] = np.maximum(_run(trace)[last[known]], 1.0)
        finish[job[known]] = trace.column("attempts", "end")[last[known]]
        nodes[job] = trace.column("tasks", "width")
        return cls(
            np.array(trace.column("jobs", "user"), dtype=np.str_),
            np.array(trace.column("jobs", "name"), dtype=np.str_),
            np.array(trace.column("jobs", "queue"), dtype=np.str_),
            trace.column("jobs", "submit"),
            finish,
            nodes / nodes.max(),
            trace.column("jobs", "walltime") / trace.column("jobs", "walltime").max(),
            run,
        )

    def error(self, value: Floats, rule: Rule, length: int) -> float:
        """The median absolute percentage error of a rule on the jobs submitted last, 30 %.

        The rule is given the job and its user's last `length` finished ones, oldest first.
        """
        errors: list[float] = []
        tested = self.submit > np.quantile(self.submit, 0.7)
        for user in np.unique(self.user):
            here = np.flatnonzero((self.user == user) & np.isfinite(value) & (self.finish < np.inf))
            past = here[np.argsort(self.finish[here], kind="stable")]
            known = np.searchsorted(self.finish[past], self.submit[here], side="right")
            for job, upto in zip(here.tolist(), known.tolist(), strict=True):
                if tested[job] and upto:
                    predicted = rule(self, value, job, past[max(upto - length, 0) : upto])
                    errors.append(abs(predicted - value[job]) / value[job])
        return 100 * float(np.median(errors))


Rule = Callable[[History, Floats, int, Ints], float]


def last(history: History, value: Floats, job: int, past: Ints) -> float:
    """Kumar et al.'s model L."""
    return float(value[past[-1]])


def average(history: History, value: Floats, job: int, past: Ints) -> float:
    """Kumar et al.'s model A."""
    return float(value[past].mean())


def median(history: History, value: Floats, job: int, past: Ints) -> float:
    """Kumar et al.'s model M."""
    return float(np.median(value[past]))


def most_similar(history: History, value: Floats, job: int, past: Ints) -> float:
    """Kumar et al.'s model MCS: by name, queue, nodes, walltime and time of submission."""
    ago = (history.submit[job] - history.submit[past]) / max(int(history.submit[-1]), 1)
    nodes, walltime = history.nodes[job], history.walltime[job]
    theirs = np.stack(
        [
            history.name[past] == history.name[job],
            history.queue[past] == history.queue[job],
            history.nodes[past],
            history.walltime[past],
            ago,
        ]
    ).astype(np.float64)
    mine = np.array([1.0, 1.0, nodes, walltime, 0.0])
    cosine = mine @ theirs / np.maximum(np.linalg.norm(theirs, axis=0), 1e-12)
    return float(value[past[len(past) - 1 - int(np.argmax(cosine[::-1]))]])


def mean_usage(trace: Trace, name: str) -> Floats:
    """The mean of a usage over the windows of each job's last attempt; NaN without any."""
    attempt = trace.column("windows", "attempt")
    kept = np.isin(attempt, trace.task_first[1:] - 1)
    job = trace.column("tasks", "job")[trace.column("attempts", "task")[attempt[kept]]]
    jobs = trace.rows("jobs")
    count = np.bincount(job, minlength=jobs)
    total = np.bincount(job, trace.column("windows", name)[kept], jobs)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def up_and_down(trace: Trace) -> tuple[Floats, Floats]:
    """Times up between two outages of a machine, and times down [h]."""
    columns = [trace.column("outages", name) for name in ("machine", "down", "up")]
    order = np.lexsort((columns[1], columns[0]))
    machine, down, up = (values[order] for values in columns)
    again = (machine[1:] == machine[:-1]) & (up[:-1] >= 0)
    hour = 3_600_000
    return (down[1:] - up[:-1])[again] / hour, (up - down)[up >= 0] / hour


def on_the_grid(trace: Trace) -> bool:
    """Whether all usage is in multiples of 2^-16."""
    for name in ("cpu", "memory", "local_io", "remote_io", "network", "max_memory"):
        steps = trace.column("windows", name, missing=0.0).astype(np.float64) * 2**16
        if not (steps == np.rint(steps)).all():
            return False
    return True
