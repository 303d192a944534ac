"""The columns that several tables need, each made once, when first asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.traces.trace import Trace
from failgym.vocabulary import MINUTE, Cause, Outcome

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

BATCH = (2, 8)
"""Priorities of Google's batch jobs, least and greatest (El-Sayed et al., ICDCS 2017)."""
GOOGLE_2011 = "google-2011"
"""What the source of a trace with Google's priorities of 2011 ends in."""
OUTAGE_SLACK = MINUTE
"""An attempt that ends this soon after its machine went down ended by that [ms]; our choice."""

RESOURCES = ("cpu", "memory", "local_io", "remote_io", "network")
"""What usage windows measure."""
TOTALS = {"cpu": "mean_cpu", "memory": "mean_memory"}
"""Column of the attempts that stands in for a resource without usage windows."""


class Usage(NamedTuple):
    """Of one resource, per attempt; NaN where it is not known."""

    mean: Floats
    tail: Floats  # in the last window before the end; the mean where there are no windows
    peak: Floats  # the largest window


@dataclass(frozen=True)
class Facts:
    """A trace, and arrays with a value per attempt, task or job, as their first word says."""

    trace: Trace

    # --- Attempts -------------------------------------------------------------------------------

    @cached_property
    def task(self) -> Ints:
        """Task of each attempt."""
        return self.trace.column("attempts", "task")

    @cached_property
    def outcome(self) -> npt.NDArray[np.int8]:
        """`Outcome` of each attempt."""
        return self.trace.column("attempts", "outcome")

    @cached_property
    def cause(self) -> npt.NDArray[np.int8]:
        """`Cause` of each attempt, -1 without one."""
        return self.trace.column("attempts", "cause")

    @cached_property
    def start(self) -> Ints:
        """Start of each attempt [ms], -1 if it never ran."""
        return self.trace.column("attempts", "start")

    @cached_property
    def end(self) -> Ints:
        """End of each attempt [ms]."""
        return self.trace.column("attempts", "end")

    @cached_property
    def ran(self) -> Flags:
        """Which attempts ran."""
        return self.trace.present("attempts", "start")

    @cached_property
    def timed(self) -> Flags:
        """Which attempts have a run time."""
        return self.ran & self.trace.present("attempts", "end")

    @cached_property
    def run_time(self) -> Ints:
        """Run time of each attempt [ms], 0 if it never ran."""
        return np.where(self.timed, self.end - self.start, 0)

    @cached_property
    def slots(self) -> Ints:
        """Slots of each attempt."""
        return self.trace.column("tasks", "width").astype(np.int64)[self.task]

    @cached_property
    def nodes(self) -> Ints:
        """Machines of each attempt: those that it is placed on, where any are, else its slots."""
        placed = self.count(self.trace.column("placements", "attempt"), len(self.task))
        return np.where(placed > 0, placed, self.slots)

    @cached_property
    def attempt_job(self) -> Ints:
        """Job of each attempt."""
        return self.job[self.task]

    @cached_property
    def past_failures(self) -> Ints:
        """FAILs among the earlier attempts of the same task, per attempt."""
        failed = (self.outcome == Outcome.FAIL).astype(np.int64)
        before = np.cumsum(failed) - failed
        first = self.trace.task_first[:-1]
        return before - before[first[self.task]] if len(failed) else failed

    @cached_property
    def by_outage(self) -> Flags | None:
        """Which attempts a machine's outage ended; None if the trace cannot tell.

        Those with cause MACHINE, and those that were running on a machine when it went down and
        ended within `OUTAGE_SLACK`.
        """
        caused = self.cause == Cause.MACHINE
        machine = self.trace.column("placements", "machine")
        if not (self.trace.rows("outages") and len(machine)):
            return caused if caused.any() else None
        attempt = self.trace.column("placements", "attempt")
        # The last outage of the machine that is not after the end.
        down, host, last = self._last_outage(machine, self.end[attempt])
        hit = self.timed[attempt] & (self.outcome[attempt] != Outcome.CENSORED)
        hit &= (last >= 0) & (host[last] == machine) & (down[last] >= self.start[attempt])
        hit &= self.end[attempt] - down[last] <= OUTAGE_SLACK
        return caused | (self.count(attempt[hit], len(caused)) > 0)

    def _last_outage(self, machine: Ints, time: Ints) -> tuple[Ints, Ints, Ints]:
        """The outages' times and machines in order of (machine, time), and positions in that order.

        A position is of the last outage that is not after each given (machine, time), or -1.
        """
        down, host = self.trace.column("outages", "down"), self.trace.column("outages", "machine")
        times = np.unique(down)
        key = host * (len(times) + 1) + np.searchsorted(times, down, side="right")
        order = np.argsort(key, kind="stable")
        asked = machine * (len(times) + 1) + np.searchsorted(times, time, side="right")
        return down[order], host[order], np.searchsorted(key[order], asked, side="right") - 1

    # --- Jobs and tasks -------------------------------------------------------------------------

    @cached_property
    def job(self) -> Ints:
        """Job of each task."""
        return self.trace.column("tasks", "job")

    @cached_property
    def jobs(self) -> int:
        """How many jobs there are."""
        return self.trace.rows("jobs")

    @cached_property
    def job_outcome(self) -> npt.NDArray[np.int8]:
        """`Outcome` of each job."""
        return self.trace.column("jobs", "outcome")

    @cached_property
    def job_width(self) -> Ints:
        """Parallelism of each job: its tasks, or the slots of them all where those are more."""
        slots = self.sum(self.job, self.trace.column("tasks", "width"), self.jobs)
        return np.maximum(self.trace.column("jobs", "width"), slots).astype(np.int64)

    @cached_property
    def job_nodes(self) -> Ints:
        """Machines of each job: the most of an attempt of each task, over all its tasks."""
        most = np.zeros(self.trace.rows("tasks"), dtype=np.int64)
        np.maximum.at(most, self.task, self.nodes)
        return self.sum(self.job, most, self.jobs).astype(np.int64)

    @cached_property
    def job_ran(self) -> Flags:
        """Which jobs had an attempt that ran."""
        return self.count(self.attempt_job[self.timed], self.jobs) > 0

    @cached_property
    def job_time(self) -> Floats:
        """Machine-time of each job: run times by slots, over all attempts [slot-ms]."""
        return self.sum(self.attempt_job, self.run_time.astype(np.float64) * self.slots, self.jobs)

    @cached_property
    def job_node_time(self) -> Floats:
        """Node-time of each job: run times by machines, over all attempts [node-ms]."""
        return self.sum(self.attempt_job, self.run_time.astype(np.float64) * self.nodes, self.jobs)

    @cached_property
    def batch(self) -> Flags | None:
        """Google's batch jobs; None where the priorities are not Google's of 2011."""
        if not self.trace.meta.source.endswith(GOOGLE_2011):
            return None
        priority = self.trace.column("jobs", "priority")
        return (BATCH[0] <= priority) & (priority <= BATCH[1])

    @cached_property
    def exit_category(self) -> npt.NDArray[Any]:
        """Exit category of each job, "" where it is not known (object)."""
        return self.trace.column("jobs", "exit_category")

    def request(self, resource: str) -> Floats:
        """What each task requests (cpu, memory or disk), NaN where it is not known."""
        return _finite(self.trace.column("tasks", resource))

    def over_request(self, used: Floats, resource: str) -> Floats:
        """What each task uses over what it requests; NaN where that is 0 or either is not known."""
        asked = self.request(resource)
        with np.errstate(over="ignore"):
            return _finite(used / np.where(asked > 0, asked, np.nan))

    # --- Usage ----------------------------------------------------------------------------------

    @cached_property
    def usage(self) -> dict[str, Usage]:
        """What each resource's usage is, for those that the trace knows anything of."""
        found = {name: self._usage(name) for name in RESOURCES}
        return {name: usage for name, usage in found.items() if not np.isnan(usage.mean).all()}

    @cached_property
    def _window_order(self) -> Ints | None:
        """Rows of the usage windows in order of (attempt, offset); None: as they are."""
        attempt = self.trace.column("windows", "attempt")
        offset = self.trace.column("windows", "offset")
        later, same = np.diff(attempt), np.diff(offset)
        if not len(attempt) or bool(((later > 0) | ((later == 0) & (same >= 0))).all()):
            return None
        return np.lexsort((offset, attempt))

    def windows(self, name: str) -> tuple[Ints, Floats]:
        """Attempt and value of the windows that know a column, in order of (attempt, offset)."""
        attempt = self.trace.column("windows", "attempt")
        value = _finite(self.trace.column("windows", name))
        if self._window_order is not None:
            attempt, value = attempt[self._window_order], value[self._window_order]
        known = ~np.isnan(value)
        return attempt[known], value[known]

    def _usage(self, name: str) -> Usage:
        attempts = len(self.task)
        attempt, value = self.windows(name)
        counts = self.count(attempt, attempts)
        with np.errstate(invalid="ignore"):
            mean = self.sum(attempt, value, attempts) / np.where(counts, counts, np.nan)
        tail = np.full(attempts, np.nan)
        tail[attempt] = value  # the last one written stays
        if name in TOTALS:
            total = _finite(self.trace.column("attempts", TOTALS[name]))
            mean = np.where(np.isnan(mean), total, mean)
            tail = np.where(np.isnan(tail), total, tail)
        return Usage(mean, tail, self._peak(name, attempt, value))

    def _peak(self, name: str, attempt: Ints, value: Floats) -> Floats:
        peak = np.full(len(self.task), -np.inf)
        np.maximum.at(peak, attempt, value)
        if name == "memory":
            np.maximum.at(peak, *self.windows("max_memory"))
            most = _finite(self.trace.column("attempts", "max_memory"))
            peak = np.where(np.isfinite(peak), peak, most)
        return np.where(np.isfinite(peak), peak, np.nan)

    def task_mean(self, values: Floats) -> Floats:
        """Mean of the attempts of each task, weighted by run time; NaN where none is known."""
        known = ~np.isnan(values)
        weight = np.maximum(self.run_time[known], 1).astype(np.float64)
        tasks = self.trace.rows("tasks")
        total = self.sum(self.task[known], weight, tasks)
        with np.errstate(invalid="ignore"):
            return self.sum(self.task[known], weight * values[known], tasks) / np.where(
                total > 0, total, np.nan
            )

    def task_peak(self, values: Floats) -> Floats:
        """The largest value of the attempts of each task; NaN where none is known."""
        known = ~np.isnan(values)
        peak = np.full(self.trace.rows("tasks"), -np.inf)
        np.maximum.at(peak, self.task[known], values[known])
        return np.where(np.isfinite(peak), peak, np.nan)

    def job_mean(self, values: Floats) -> Floats:
        """Mean of the tasks of each job; NaN where none is known."""
        known = ~np.isnan(values)
        counts = self.count(self.job[known], self.jobs)
        with np.errstate(invalid="ignore"):
            return self.sum(self.job[known], values[known], self.jobs) / np.where(
                counts, counts, np.nan
            )

    # --- Sums by group --------------------------------------------------------------------------

    @staticmethod
    def count(group: Ints, groups: int) -> Ints:
        """How many rows each group has, (groups,)."""
        return np.bincount(group, minlength=groups)

    @staticmethod
    def sum(group: Ints, values: npt.NDArray[Any], groups: int) -> Floats:
        """Sum of the values of each group, (groups,)."""
        sums: Floats = np.bincount(group, weights=values, minlength=groups).astype(np.float64)
        return sums


def _finite(values: npt.NDArray[Any]) -> Floats:
    """As float64, NaN in the place of infinities too: nothing can be infinite."""
    values = values.astype(np.float64)
    return np.where(np.isfinite(values), values, np.nan)
