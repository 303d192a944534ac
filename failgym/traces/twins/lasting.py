"""How long things last beyond what the record saw: heavy tails, and what its end cut off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from failgym.traces.twins.record import Flags, Floats, Ints, Record
from failgym.vocabulary import Outcome

__all__ = ["Lasting"]

TAIL = 0.99
"""Run times above this quantile are drawn anew, from a Pareto law."""
LEAST_TAIL = 20
"""Run times above it that tell of the tail at least."""
NEVER = 1e15
"""What has no end, in effect [ms]."""


@dataclass(frozen=True)
class Lasting:
    """The tail of a record's run times, and how jobs that it cut off go on."""

    threshold: float
    """where the tail begins [ms]"""
    shape: float
    """mean log excess: Hill's estimate of the tail's index (Hill, Annals of Statistics 1975)"""
    open: Flags
    """jobs with something that the end of the record cut off, (jobs of the record,)"""
    mean_residual: Floats
    """how long they go on, on average [ms], (jobs of the record,)"""
    ending: Ints
    """a job of their kind that ended, whose ending theirs is; -1 for none, (jobs of the record,)"""

    @classmethod
    def of(cls, record: Record, rng: np.random.Generator) -> Lasting:
        """Estimated from a record: hazards from the jobs that had lasted as long as those cut."""
        job = record.trace.column("tasks", "job")[record.trace.column("attempts", "task")]
        open_ = np.zeros(len(record.submit), dtype=np.bool_)
        open_[job[record.censored]] = True
        run = record.job_run[~open_ & (record.job_run > 0)]
        threshold = float(np.quantile(run, TAIL)) if len(run) else NEVER
        above = run[run > threshold]
        shape = float(np.log(above / threshold).mean()) if len(above) >= LEAST_TAIL else 0.0
        mean, ending = np.full(len(open_), NEVER), np.full(len(open_), -1)
        for stratum in np.unique(record.stock.astype(np.int64)):
            here = record.stock == stratum
            mean[here & open_], ending[here & open_] = _going_on(record, here, open_, rng)
        return cls(threshold, shape, open_, mean, ending)

    def beyond(self, run: Floats, rng: np.random.Generator) -> Floats:
        """The factor that makes each job's run time [ms] one of the tail, if it is in it."""
        drawn = self.threshold * np.exp(self.shape * rng.standard_exponential(len(run)))
        inside = (run > self.threshold) & (self.shape > 0.0)
        return np.where(inside, drawn / np.where(inside, run, 1.0), 1.0)

    def residuals(self, donor: Ints, rng: np.random.Generator) -> Floats:
        """How much longer than the record each job goes on [ms], if its donor was cut off."""
        drawn = np.rint(1.0 + self.mean_residual[donor] * rng.standard_exponential(len(donor)))
        return np.where(self.open[donor], np.minimum(drawn, NEVER), 0.0)


def _going_on(
    record: Record, here: Flags, open_: Flags, rng: np.random.Generator
) -> tuple[Floats | float, Ints | int]:
    """Mean residual time and endings of the open jobs of a stratum, its hazard taken as constant.

    Beyond the median age at which jobs were cut off, as many ended as in how much time?
    """
    age = record.job_run
    cut = here & open_
    ended = here & ~open_ & (age > 0)
    since = float(np.median(age[cut])) if cut.any() else 0.0
    late = np.flatnonzero(ended & (age >= since))
    if not len(late):
        late = np.flatnonzero(ended)
    if not len(late):
        return NEVER, -1
    time = np.maximum(age[here & (age >= min(since, float(age[late].min())))] - since, 0.0).sum()
    mean = max(float(time) / len(late), 1.0)
    return np.full(int(cut.sum()), mean), late[(rng.random(int(cut.sum())) * len(late)).astype(int)]


def outcome_of(record: Record, job: Ints) -> Ints:
    """How jobs that went on ended: as those whose ending is theirs, CENSORED if there is none."""
    return np.where(job >= 0, record.outcome[job], Outcome.CENSORED)
