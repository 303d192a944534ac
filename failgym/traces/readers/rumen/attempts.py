"""The attempts of a Hadoop job history: their times, and what ended each."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.json_fields import Fields
from failgym.traces.readers.rumen.hosts import Hosts
from failgym.traces.schema import LATEST
from failgym.vocabulary import Cause, Outcome

__all__ = [
    "MOST_BYTES",
    "RESULTS",
    "Run",
    "byte_count",
    "close",
    "read_run",
    "result",
    "settle",
    "tell_kills_apart",
    "time_told",
]

RESULTS: dict[str, Outcome] = {
    "SUCCESS": Outcome.FINISH,
    "SUCCEEDED": Outcome.FINISH,
    "FAILED": Outcome.FAIL,
    "KILLED": Outcome.KILL,
    "RUNNING": Outcome.CENSORED,
    "PREP": Outcome.CENSORED,
}
"""What Rumen says of a job or an attempt (Pre21JobHistoryConstants.Values) -> its outcome."""

MEGABYTE = 2**20
MOST_BYTES = 2**62
"""Sums of bytes stay within int64 [bytes]."""


@dataclass(slots=True)
class Run:
    """An attempt as it is told; times in ms since 1970, None: not told."""

    start: int | None
    end: int | None
    told: Outcome | None
    machine: int | None
    outcome: Outcome = Outcome.CENSORED
    cause: Cause | None = None
    mean_cpu: float | None = None
    memory: float | None = None
    """[MB]"""
    output: int | None = None
    """of this attempt if it finished [bytes]"""
    shuffled: int | None = None
    """likewise, read from the outputs of maps [bytes]"""

    @property
    def times(self) -> Iterator[int]:
        """Those that are told."""
        return (time for time in (self.start, self.end) if time is not None)


def read_run(attempt: Fields, hosts: Hosts) -> Run:
    """An attempt (LoggedTaskAttempt) as it is told. Raises TraceError."""
    start, end = time_told(attempt, "startTime"), time_told(attempt, "finishTime")
    run = Run(start, end, result(attempt, "result"), hosts.of(attempt))
    usage = attempt.object("resourceUsageMetrics") or attempt.object("metrics")
    if usage is not None:
        spent = byte_count(usage, "cumulativeCpuUsage")
        held = byte_count(usage, "physicalMemoryUsage")
        if spent and start is not None and end is not None and end > start:
            run.mean_cpu = spent / (end - start)
        if held:
            run.memory = held / MEGABYTE
    if run.told is Outcome.FINISH:
        written = [byte_count(attempt, name) for name in ("hdfsBytesWritten", "fileBytesWritten")]
        run.shuffled = byte_count(attempt, "reduceShuffleBytes")
        direct = run.shuffled is not None or written[0] is not None
        run.output = written[0] if direct else written[1]
    return run


def settle(run: Run, count: Counts) -> None:
    """Outcome and times of an attempt on its own."""
    if run.start is not None and run.end is not None and run.end < run.start:
        count.note("attempt that ends before it begins (clocks differ): taken to last no time")
        run.end = run.start
    told = None if run.told is Outcome.CENSORED else run.told
    if run.end is None:
        return
    run.outcome = Outcome.LOST if told is None else told
    if told is None:
        count.note("attempt that ended, it is not told how: LOST")
    elif told is Outcome.FAIL:
        run.cause = Cause.INTRINSIC
    if run.start is None and told is Outcome.FINISH:
        count.note("success without a start: taken to last no time")
        run.start = run.end
    elif run.start is None:
        count.note("attempt that ended without a start: never ran")


def close(runs: Sequence[Run], count: Counts) -> None:
    """What is known last of attempts without an end: that their task succeeded, else nothing."""
    won = min((_end(run) for run in runs if run.outcome is Outcome.FINISH), default=None)
    for run in runs:
        if run.end is None and won is not None and run.start is not None:
            count.note("attempt without an end beside a success: LOST when its task succeeded")
            run.outcome, run.end = Outcome.LOST, max(run.start, won)
        elif run.end is None:
            count.note("attempt without an end: CENSORED")


def tell_kills_apart(runs: Sequence[Run], job_outcome: Outcome, count: Counts) -> None:
    """Why each KILLED attempt was killed: by what else its task did, else by its job's outcome."""
    winners = sorted((_start(run), _end(run)) for run in runs if run.outcome is Outcome.FINISH)
    begins = [begin for begin, _ in winners]
    latest_ends = list(itertools.accumulate((end for _, end in winners), max))
    first_end = min((end for _, end in winners), default=LATEST + 1)
    goes_on = sorted(_start(run) if run.end is not None else LATEST for run in runs)[-2:]
    for run in runs:
        if run.outcome is not Outcome.KILL or run.end is None:
            continue
        start = run.end if run.start is None else run.start
        before = bisect_left(begins, run.end)
        others = goes_on[:-1] if start == goes_on[-1] else goes_on
        if before and latest_ends[before - 1] > start:
            run.cause, why = Cause.REQUEUE, "clone that lost: it overlaps a success of its task"
        elif first_end <= start:
            run.cause, why = Cause.REQUEUE, "clone that began after its task's success"
        elif others and others[-1] >= run.end:
            run.cause, why = Cause.REQUEUE, "its task ran on"
        elif job_outcome is Outcome.KILL:
            run.cause, why = Cause.USER, "with its killed job"
        elif job_outcome is Outcome.FAIL:
            run.cause, why = Cause.DEPENDENCY, "with its failed job"
        elif job_outcome is Outcome.FINISH:
            run.cause, why = Cause.DEPENDENCY, "its job succeeded without it"
        else:
            run.cause, why = Cause.REQUEUE, "its job's outcome is not told"
        count.note(f"KILLED attempt: {why}")


def _start(run: Run) -> int:
    """When it began, else when it ended; -1 if neither is told."""
    if run.start is not None:
        return run.start
    return -1 if run.end is None else run.end


def _end(run: Run) -> int:
    return LATEST if run.end is None else run.end


def time_told(fields: Fields, name: str) -> int | None:
    """A time [ms since 1970]; Rumen writes -1 or 0 where it is not known."""
    time = fields.integer(name, least=-LATEST)
    return time if time is not None and time > 0 else None


def byte_count(fields: Fields, name: str) -> int | None:
    """A number of bytes (or of ms); Rumen writes -1 where it is not known."""
    value = fields.integer(name, least=-MOST_BYTES, most=MOST_BYTES)
    return value if value is not None and value >= 0 else None


def result(fields: Fields, name: str) -> Outcome | None:
    """What is told of a job, task or attempt (`RESULTS`); None: nothing. Raises TraceError."""
    told = fields.text(name)
    if told is None or told == "":
        return None
    if told.upper() not in RESULTS:
        fields.fail(name, f"one of {', '.join(RESULTS)}")
    return RESULTS[told.upper()]
