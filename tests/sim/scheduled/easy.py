"""EASY backfilling of rigid jobs in plain Python: a second opinion, which shares no code.

One pool of processors, jobs that run once and for as long as they run. Every pass looks at
everything anew.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Easy", "Job", "mean_wait"]

FOREVER = 2**62
MINUTE, HOUR = 60_000, 3_600_000
RAISES = [MINUTE * n for n in (1, 5, 15, 30)] + [HOUR * n for n in (1, 2, 5, 10, 20, 50, 100)]


@dataclass(frozen=True)
class Job:
    """A job of a log; times in ms, 0 or None where the log says nothing."""

    submit: int
    run: int
    width: int
    request: int = 0
    user: str | None = None
    name: str | None = None
    queue: str | None = None


@dataclass
class Easy:
    """The scheduler of so many processors; `run` gives the start of every job."""

    jobs: Sequence[Job]
    processors: int
    estimator: str = "user"
    history: int = 16
    correction: bool = True
    walltime_kill: bool = False
    now: int = 0
    free: int = 0
    queue: list[int] = field(default_factory=list[int])
    starts: dict[int, int] = field(default_factory=dict[int, int])
    ends: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    estimates: dict[int, int] = field(default_factory=dict[int, int])
    running: set[int] = field(default_factory=set[int])
    past: dict[str, list[int]] = field(default_factory=dict[str, list[int]])

    def __post_init__(self) -> None:
        self.free = self.processors
        self.most_requested = max((job.request for job in self.jobs), default=0)
        self.widest = max((job.width for job in self.jobs), default=1)

    def run(self) -> list[int]:
        """When each job starts [ms]."""
        coming = sorted(range(len(self.jobs)), key=lambda j: (self.jobs[j].submit, j))
        at = 0
        while at < len(coming) or self.ends:
            arrival = self.jobs[coming[at]].submit if at < len(coming) else FOREVER
            self.now = min(arrival, self.ends[0][0] if self.ends else FOREVER)
            while self.ends and self.ends[0][0] == self.now:
                self.end(heapq.heappop(self.ends)[1])
            while at < len(coming) and self.jobs[coming[at]].submit == self.now:
                self.estimates[coming[at]] = self.estimate(coming[at])
                self.queue.append(coming[at])
                at += 1
            self.schedule()
        return [self.starts[j] for j in range(len(self.jobs))]

    def elapsed(self, j: int) -> int:
        """How long a job is on the processors in the end."""
        job = self.jobs[j]
        return min(job.run, job.request) if self.walltime_kill and job.request else job.run

    def start(self, j: int) -> None:
        """Give a job its processors."""
        self.starts[j] = self.now
        self.running.add(j)
        self.free -= self.jobs[j].width
        heapq.heappush(self.ends, (self.now + self.elapsed(j), j))

    def end(self, j: int) -> None:
        """Take them back, and remember how long that was."""
        self.running.remove(j)
        self.free += self.jobs[j].width
        user = self.jobs[j].user
        if user is not None:
            self.past.setdefault(user, []).append(j)

    def schedule(self) -> None:
        """Start heads while they fit, then what does not delay the first that does not."""
        while self.queue and self.jobs[self.queue[0]].width <= self.free:
            self.start(self.queue.pop(0))
        if not self.queue or not self.free:
            return
        shadow, extra = self.reservation(self.jobs[self.queue[0]].width)
        for j in self.queue[1:]:
            width = self.jobs[j].width
            in_time = self.now + self.estimates[j] <= shadow
            if width <= self.free and (in_time or width <= extra):
                self.start(j)
                extra -= 0 if in_time else width
        self.queue = [j for j in self.queue if j not in self.running]

    def reservation(self, width: int) -> tuple[int, int]:
        """When so many processors will be free, and how many more than that."""
        free = self.free
        for end, j in sorted((self.expected(j), j) for j in self.running):
            free += self.jobs[j].width
            if free >= width:
                return end, free - width
        return FOREVER, 0

    def expected(self, j: int) -> int:
        """When a running job is thought to end, seen from now."""
        start, estimate, request = self.starts[j], self.estimates[j], self.jobs[j].request
        if self.now < start + estimate:
            return start + estimate
        if self.correction and start + request > self.now:
            return start + request
        if self.correction and not request:
            for more in RAISES:
                if start + estimate + more > self.now:
                    return start + estimate + more
        return self.now + 1

    def estimate(self, j: int) -> int:
        """How long a job that is submitted now is thought to run."""
        job = self.jobs[j]
        guess = job.request or self.most_requested or job.run
        known = self.past.get(job.user, []) if job.user is not None else []
        known = known[-1:] if self.estimator == "last" else known[-self.history :]
        times = [self.elapsed(k) for k in known]
        if self.estimator == "oracle":
            guess = job.run
        elif times and self.estimator in ("last", "average"):
            guess = sum(times) // len(times)
        elif times and self.estimator == "median":
            guess = sorted(times)[(len(times) - 1) // 2]
        elif times and self.estimator == "mcs":
            likeness = [self.likeness(job, self.jobs[k]) for k in known]
            best = max(range(len(known)), key=lambda k: (likeness[k], k))
            guess = times[best]
        return max(min(guess, job.request or FOREVER), 1)

    def likeness(self, job: Job, other: Job) -> float:
        """Cosine of the angle between five attributes of two jobs of a user."""
        a = self.attributes(job, job)
        b = self.attributes(other, job)
        dot = a[0] * b[0]
        for k in range(1, 5):
            dot += a[k] * b[k]
        return dot / (norm(b) * norm(a))

    def attributes(self, job: Job, seen_from: Job) -> list[float]:
        """Same name, same queue, width, request, nearness in time."""
        return [
            float(job.name == seen_from.name),
            float(job.queue == seen_from.queue),
            job.width / self.widest,
            job.request / self.most_requested if self.most_requested else 0.0,
            1.0 / (1.0 + abs(job.submit - seen_from.submit) / HOUR),
        ]


def norm(vector: Sequence[float]) -> float:
    """Its length."""
    total = 0.0
    for value in vector:
        total += value * value
    return math.sqrt(total)


def mean_wait(jobs: Sequence[Job], starts: Sequence[int]) -> float:
    """Mean time from submission to start [ms]."""
    waits = [start - job.submit for job, start in zip(jobs, starts, strict=True)]
    return sum(waits) / max(len(waits), 1)
