"""What happened: where the machine-time of a record went, counted from its tables.

Machine-time is that of `failgym.traces.machine_time`: run time times slots. Of tasks whose fate is
known it is *useful*, that of the attempt that finished the task first, or *wasted*: that of
attempts that ended without finishing their task, and of those beside or after the one that did.
A replay of the record divides it in the same way (`failgym replay`: useful; lost and redundant).
The rest is that of tasks which the end of the data cuts off: nobody knows what became of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.continued import restarts
from failgym.traces import Trace
from failgym.traces.machine_time import attempt_times, fate_known
from failgym.vocabulary import HOUR, Cause, Outcome

__all__ = [
    "PERIODS",
    "Group",
    "Happened",
    "Period",
    "happened",
    "known_hours",
    "period_of",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

LISTED = 10
"""Jobs, users and applications that are listed."""
DAY, WEEK = 24 * HOUR, 7 * 24 * HOUR
PERIODS = {"year": 365 * DAY, "week": WEEK, "day": DAY, "hour": HOUR}
"""Stretches of time that a record is cut into [ms], the longest first."""
MOST_WEEKS = 520
"""Of longer records years are shown: more columns than that nobody reads."""
LEAST_PERIODS = 4
"""A record is cut into the longest stretches of which it has so many."""

BESIDE = "copies and reruns that were not needed"
_CAUSES = {
    Cause.INTRINSIC: "it failed by itself",
    Cause.MACHINE: "its machine failed",
    Cause.PREEMPTION: "it was evicted for others",
    Cause.SHARED: "a failure that many shared",
    Cause.REQUEUE: "it was requeued",
    Cause.DEPENDENCY: "it was ended with its job",
    Cause.WALLTIME: "it ran into its time limit",
    Cause.USER: "its user cancelled it",
}
_OUTCOMES = {
    Outcome.FINISH: BESIDE,
    Outcome.CENSORED: BESIDE,
    Outcome.LOST: "how it ended is not recorded",
}
"""Those that have no cause."""
_LEVEL = len(Outcome)


@dataclass(frozen=True)
class Group:
    """Wasted machine-time of a group of attempts."""

    name: str
    hours: float
    """wasted [machine-h]"""
    share: float
    """of all that is wasted"""
    jobs: int
    """how many jobs wasted that"""
    used: float
    """machine-time of the group, wasted or not, of tasks whose fate is known [machine-h]"""


@dataclass(frozen=True)
class Period:
    """A stretch of time of a record."""

    start: int
    """[ms] since the origin of the record"""
    useful: float
    """[machine-h]"""
    wasted: float
    """[machine-h]"""
    unknown: float
    """of tasks that the end of the data cuts off [machine-h]"""


@dataclass(frozen=True)
class Happened:
    """Where the machine-time of a record went."""

    source: str
    content: str
    """content hash of the trace"""
    span: float
    """from the first submission to the last end [h]"""
    unix_origin: int | None
    """time 0 in ms since 1970 (UTC), where it is known"""
    jobs: int
    tasks: int
    attempts: int
    """that ran"""
    users: int | None
    """None where the record names none"""
    applications: int | None
    machines: int | None
    outcomes: dict[str, int]
    """tasks by outcome"""
    useful: float
    """[machine-h]"""
    wasted: float
    """[machine-h]"""
    unknown: float
    """of tasks that the end of the data cuts off [machine-h]"""
    gpu_hours: dict[str, float] | None
    """GPU-hours of the same three parts, by what tasks request; None where no task requests any"""
    restarts: int
    """attempts that follow one of the same task that did not finish"""
    causes: tuple[Group, ...]
    """of what was wasted, the largest first"""
    top_jobs: tuple[Group, ...]
    top_users: tuple[Group, ...]
    top_applications: tuple[Group, ...]
    period: str
    """of `PERIODS`: what `periods` are"""
    periods: tuple[Period, ...]
    burst: float | None
    """share of all attempts that failed or were evicted which lies in the hour with most of them"""
    silent: tuple[str, ...]
    """what the record cannot say, and what follows, a sentence each"""
    dropped: int = 0
    """rows of the log that an import could not use"""

    @property
    def hours(self) -> float:
        """All machine-time [machine-h]."""
        return self.useful + self.wasted + self.unknown

    @property
    def size(self) -> str:
        """How many jobs and tasks, in words."""
        parts = ((self.jobs, "job"), (self.tasks, "task"))
        return ", ".join(f"{count:,} {name}{'s' * (count != 1)}" for count, name in parts)

    @property
    def length(self) -> str:
        """How long the record is, in words: in the longest unit of which it has two.

        >>> from types import SimpleNamespace
        >>> [Happened.length.fget(SimpleNamespace(span=hours)) for hours in (8016, 12.7, 0.1, 0)]
        ['334 days', '12.7 hours', '6.0 minutes', '0.0 seconds']
        """
        for name, hours in (("days", 24.0), ("hours", 1.0), ("minutes", 1 / 60)):
            if self.span >= 2.0 * hours:
                return f"{self.span / hours:,.{0 if name == 'days' else 1}f} {name}"
        return f"{self.span * 3_600:,.1f} seconds"

    @property
    def wasted_share(self) -> float:
        """Of the machine-time of tasks whose fate is known; NaN without any."""
        known = self.useful + self.wasted
        return self.wasted / known if known > 0.0 else float("nan")


def period_of(span: int) -> str:
    """What stretches a record of this length [ms] is cut into.

    >>> period_of(4_000 * DAY), period_of(40 * DAY), period_of(6 * DAY), period_of(13 * HOUR)
    ('year', 'week', 'day', 'hour')
    """
    if span > MOST_WEEKS * WEEK:
        return "year"
    for name, length in list(PERIODS.items())[1:]:
        if span >= LEAST_PERIODS * length:
            return name
    return "hour"


def happened(trace: Trace) -> Happened:
    """Count a record.

    Raises:
        ValueError: if it has no task.
    """
    if not trace.rows("tasks"):
        raise ValueError("assess: expected a record with tasks, got none")
    count = _Count(trace)
    begin, end = count.begin, count.end
    period = period_of(end - begin)
    return Happened(
        source=trace.meta.source,
        content=trace.content_hash,
        span=(end - begin) / HOUR,
        unix_origin=trace.meta.unix_origin,
        jobs=trace.rows("jobs"),
        tasks=trace.rows("tasks"),
        attempts=int(count.ran.sum()),
        users=_distinct(trace, "user"),
        applications=_distinct(trace, "name"),
        machines=trace.rows("machines") or None,
        outcomes={each.name: int((trace.task_outcome == each).sum()) for each in Outcome},
        useful=float(count.time[count.useful].sum()) / HOUR,
        wasted=float(count.time[count.wasted].sum()) / HOUR,
        unknown=float(count.time[~count.useful & ~count.wasted].sum()) / HOUR,
        gpu_hours=count.gpu_hours(),
        restarts=restarts(trace),
        causes=count.causes(),
        top_jobs=count.top(trace.column("jobs", "original_id")),
        top_users=count.top(trace.column("jobs", "user")),
        top_applications=count.top(trace.column("jobs", "name")),
        period=period,
        periods=count.periods(PERIODS[period]),
        burst=count.burst(),
        silent=tuple(_silent(trace)),
        dropped=sum(trace.meta.dropped.values()),
    )


def known_hours(trace: Trace) -> float:
    """Machine-time of all tasks whose fate is known, useful or wasted [machine-h]."""
    count = _Count(trace)
    return float(count.time[count.useful | count.wasted].sum()) / HOUR


class _Count:
    """Attempts of a trace: their machine-time, and what it was."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.task = trace.column("attempts", "task")
        self.job = trace.column("tasks", "job")[self.task]
        self.outcome = trace.column("attempts", "outcome")
        self.cause = trace.column("attempts", "cause")
        self.start, self.stop = (trace.column("attempts", name) for name in ("start", "end"))
        self.ran = trace.present("attempts", "start") & trace.present("attempts", "end")
        self.time = attempt_times(trace)
        known = (trace.task_outcome != Outcome.CENSORED)[self.task] & fate_known(trace)
        self.useful = known & self._first_success()
        self.wasted = known & ~self.useful

    @property
    def begin(self) -> int:
        """The first submission, or what ran before it [ms]."""
        submit, started = self._trace.column("jobs", "submit"), self.start[self.ran]
        return min(int(submit.min()), int(started.min(initial=submit.min())))

    @property
    def end(self) -> int:
        """The last end, or the end of the data [ms]."""
        last = int(self.stop.max(initial=0))
        return max(last, self._trace.meta.end or 0, self.begin)

    def gpu_hours(self) -> dict[str, float] | None:
        """GPUs that tasks request, times how long their attempts ran [GPU-h]."""
        gpus = np.nan_to_num(self._trace.column("tasks", "gpu"))
        if not gpus.any():
            return None
        spent = np.where(self.ran, self.stop - self.start, 0) * gpus[self.task] / HOUR
        parts = (self.useful, self.wasted, ~self.useful & ~self.wasted)
        named = zip(("useful", "wasted", "unknown"), parts, strict=True)
        return {name: float(spent[chosen].sum()) for name, chosen in named}

    def _first_success(self) -> Bools:
        """Which attempts finished their task first (of those at once, the earlier row)."""
        rows = np.flatnonzero(self.outcome == Outcome.FINISH)
        rows = rows[np.lexsort((rows, self.stop[rows], self.task[rows]))]
        first = np.ones(len(rows), dtype=np.bool_)
        first[1:] = self.task[rows][1:] != self.task[rows][:-1]
        found = np.zeros(len(self.task), dtype=np.bool_)
        found[rows[first]] = True
        return found

    def causes(self) -> tuple[Group, ...]:
        """What was wasted, by why the attempt ended."""
        won = (self._trace.task_outcome == Outcome.FINISH)[self.task]
        beside = won & np.isin(self.outcome, [Outcome.FINISH, Outcome.CENSORED])
        code = np.where(self.cause >= 0, self.cause + _LEVEL, self.outcome)
        code = np.where(beside, Outcome.FINISH, code)
        labels = np.full(_LEVEL + len(_CAUSES), "", dtype=object)
        for outcome, text in _OUTCOMES.items():
            labels[outcome] = text
        for cause, text in _CAUSES.items():
            labels[_LEVEL + cause] = text
        return self._groups(labels[code], self.wasted, None)

    def top(self, of_job: npt.NDArray[Any]) -> tuple[Group, ...]:
        """The groups of jobs that hold most of what was wasted; none where they have no names."""
        named = of_job != ""
        if not named.any():
            return ()
        return self._groups(of_job[self.job], self.wasted & named[self.job], LISTED)

    def _groups(self, name: npt.NDArray[Any], where: Bools, most: int | None) -> tuple[Group, ...]:
        names, group = np.unique(name.astype(str), return_inverse=True)
        hours = np.bincount(group, np.where(where, self.time, 0), len(names)) / HOUR
        known = np.where(self.useful | self.wasted, self.time, 0)
        used = np.bincount(group, known, len(names)) / HOUR
        took = where & (self.time > 0)
        pairs = np.unique(np.stack([group[took], self.job[took]]), axis=1)
        jobs = np.bincount(pairs[0], minlength=len(names))
        total = float(self.time[self.wasted].sum()) / HOUR
        order = np.lexsort((names, -hours))[:most]
        return tuple(
            Group(
                name=str(names[i]),
                hours=float(hours[i]),
                share=float(hours[i]) / total,
                jobs=int(jobs[i]),
                used=float(used[i]),
            )
            for i in order
            if hours[i] > 0.0
        )

    def periods(self, length: int) -> tuple[Period, ...]:
        """Machine-time by when it was spent: a long attempt is shared out."""
        count = max(-(-(self.end - self.begin) // length), 1)
        edges = self.begin + length * np.arange(count + 1)
        rate = np.where(self.ran & (self.stop > self.start), self.time, 0).astype(np.float64)
        rate /= np.maximum(self.stop - self.start, 1)
        parts = [
            np.diff(self._spent_before(edges, rate, chosen)) / HOUR
            for chosen in (self.useful, self.wasted, ~self.useful & ~self.wasted)
        ]
        return tuple(
            Period(int(edges[i]), *(float(part[i]) for part in parts)) for i in range(count)
        )

    def _spent_before(self, edges: Ints, rate: Floats, chosen: Bools) -> Floats:
        """Machine-time that some attempts had taken at some moments [machine-ms]."""
        start, stop, of = self.start[chosen], self.stop[chosen], rate[chosen]
        return np.array(
            [float((of * (np.minimum(stop, edge) - start).clip(0)).sum()) for edge in edges]
        )

    def burst(self) -> float | None:
        """Share of the failed and evicted attempts that lies in one hour; None with too few."""
        failed = np.isin(self.outcome, [Outcome.FAIL, Outcome.EVICT]) & self.ran
        if failed.sum() < LISTED:
            return None
        hour = (self.stop[failed] - self.begin) // HOUR
        return float(np.unique(hour, return_counts=True)[1].max() / failed.sum())


def _distinct(trace: Trace, name: str) -> int | None:
    values = trace.column("jobs", name)
    named = values[values != ""]
    return len(np.unique(named.astype(str))) if len(named) else None


def _silent(trace: Trace) -> list[str]:
    """What a record cannot say."""
    found: list[str] = []
    if not restarts(trace):
        found.append(
            "No task was started again after it failed: what a retry, a copy or a checkpoint would"
            " have been worth cannot be judged."
        )
    if not trace.rows("windows") and not trace.present("attempts", "mean_cpu").any():
        found.append("No usage is recorded: forecasts know requests, times and histories only.")
    if not trace.rows("machines"):
        found.append("No machines are recorded: nothing can be said of their failures.")
    elif not trace.rows("outages"):
        found.append("No outages of machines are recorded.")
    elif not (trace.column("attempts", "cause") == Cause.MACHINE).any():
        found.append(
            "No attempt is recorded as ended by one of the outages: they change nothing in these"
            " figures."
        )
    for name, what in (("user", "users"), ("name", "applications")):
        if _distinct(trace, name) is None:
            found.append(f"No {what} are named: what recurs with them cannot be learned.")
    censored = float((trace.task_outcome == Outcome.CENSORED).mean())
    if censored > 0.0:
        found.append(
            f"{100 * censored:.1f} % of the tasks were cut off by the end of the data: their fate"
            " is unknown, and they are left out of what could have been saved."
        )
    for what, rows in (("dropped", trace.meta.dropped), ("kept and odd", trace.meta.noted)):
        counts = "; ".join(f"{why} ({count:,})" for why, count in rows.items() if count)
        if counts:
            found.append(f"Rows of the log that were {what} when it was read: {counts}.")
    return found
