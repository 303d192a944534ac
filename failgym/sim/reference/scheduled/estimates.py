"""What run times are taken to be by EASY backfilling (rule 9 of the package)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from failgym.sim.reference.scheduled.attempts import Attempt
from failgym.sim.reference.scheduled.records import Job
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.vocabulary import HOUR, MINUTE, SimOutcome

__all__ = ["Estimator"]

CORRECTIONS = (
    *(1 * MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE),
    *(1 * HOUR, 2 * HOUR, 5 * HOUR, 10 * HOUR, 20 * HOUR, 50 * HOUR, 100 * HOUR),
)
"""What is added to an estimate that has proved too small if the job requested no walltime (Tsafrir,
Etsion and Feitelson 2007)."""


@dataclass(frozen=True)
class _Ended:
    """An attempt that ended by itself."""

    job: Job
    width: int
    submit: int
    run_time: int


class Estimator:
    """Estimates run times from what users request and from the attempts that ended so far.

    Args:
        rules: which estimator, and whether it is corrected.
        jobs: all jobs of the trace.
        submits: when each task of the trace was submitted.
        widest: width of the widest task of the trace.
    """

    def __init__(
        self, rules: ScheduledRules, jobs: Sequence[Job], submits: Sequence[int], widest: int
    ) -> None:
        self._rules = rules
        self._jobs = jobs
        self._submits = submits
        self._longest = max((job.walltime for job in jobs), default=0)
        self._widest = widest
        self._ended: list[_Ended] = []

    def note_end(self, attempt: Attempt) -> None:
        """Remember an attempt that finished, failed, or was killed at its walltime."""
        by_itself = attempt.outcome in (SimOutcome.FINISH, SimOutcome.FAIL)
        if by_itself or attempt.hit_walltime:
            assert attempt.end is not None
            record = attempt.task.record
            run_time = attempt.end - attempt.start
            job = self._jobs[record.job]
            submit = self._submits[record.task]
            self._ended.append(_Ended(job, record.width, submit, run_time))

    def estimate(self, attempt: Attempt, now: int) -> int:
        """The run time of an attempt as expected when it joins the queue [ms]."""
        walltime = self._jobs[attempt.task.record.job].walltime
        expected = self._expected(attempt, now)
        return max(min(expected, walltime) if walltime > 0 else expected, 1)

    def estimated_end(self, attempt: Attempt, now: int) -> int:
        """When a running attempt is expected to end, as seen now [ms]."""
        if now < attempt.start + attempt.estimate:
            return attempt.start + attempt.estimate
        age = now - attempt.start
        walltime = self._jobs[attempt.task.record.job].walltime
        if self._rules.correction and walltime > age:
            return attempt.start + walltime
        for step in CORRECTIONS if self._rules.correction and walltime == 0 else ():
            if attempt.estimate + step > age:
                return attempt.start + attempt.estimate + step
        return now + 1

    def _expected(self, attempt: Attempt, now: int) -> int:
        job = self._jobs[attempt.task.record.job]
        own = attempt.truth(now, self._rules.restore_cost)
        requested = job.walltime or self._longest or own
        kind = self._rules.estimator
        if kind == "oracle":
            return own
        look_back = 1 if kind == "last" else self._rules.history
        same_user = [ended for ended in self._ended if ended.job.user == job.user != ""]
        known = same_user[-look_back:]
        if kind == "user" or not known:
            return requested
        run_times = [ended.run_time for ended in known]
        if kind == "median":
            return sorted(run_times)[(len(run_times) - 1) // 2]
        if kind == "mcs":
            return self._most_similar(attempt, known).run_time
        return sum(run_times) // len(run_times)

    def _most_similar(self, attempt: Attempt, known: Sequence[_Ended]) -> _Ended:
        """The one most like it; of several, the latest (Kumar et al. 2020, section V)."""
        record = attempt.task.record
        job = self._jobs[record.job]
        this = (1.0, 1.0, self._width(record.width), self._walltime(job), 1.0)

        def attributes(ended: _Ended) -> tuple[float, ...]:
            hours = abs(ended.submit - self._submits[record.task]) / HOUR
            return (
                float(ended.job.name == job.name),
                float(ended.job.queue == job.queue),
                self._width(ended.width),
                self._walltime(ended.job),
                1.0 / (1.0 + hours),
            )

        similarity = [_cosine(this, attributes(ended)) for ended in known]
        latest = max(i for i, x in enumerate(similarity) if x == max(similarity))
        return known[latest]

    def _width(self, width: int) -> float:
        return width / self._widest

    def _walltime(self, job: Job) -> float:
        return job.walltime / self._longest if self._longest > 0 else 0.0


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    dot = aa = bb = 0.0
    for x, y in zip(a, b, strict=True):
        dot, aa, bb = dot + x * y, aa + x * x, bb + y * y
    return dot / (sqrt(aa) * sqrt(bb))
