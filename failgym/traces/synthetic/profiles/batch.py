"""What the profiles of batch clusters, Google's and Hadoop's, have in common."""

from __future__ import annotations

from dataclasses import dataclass

from failgym.traces.synthetic.profiles.usage import UsageLaw
from failgym.traces.synthetic.quantiles import Numbers, QuantileTable
from failgym.traces.synthetic.ranges import (
    Chance,
    Correlation,
    Deviation,
    Factor,
    Mix,
    Share,
    Shares,
    Span,
)


@dataclass(frozen=True)
class BatchProfile:
    """The fields that the shared mechanisms read; a profile gives their values and sources.

    The order of outcomes is finished, failed, killed throughout.
    """

    job_shares: Mix
    """Jobs by outcome."""
    task_minutes: tuple[QuantileTable, QuantileTable, QuantileTable]
    """Task-minutes of all attempts of a job, by its outcome."""
    width_correlation: Correlation
    """Rank correlation of width and task-minutes within an outcome."""
    longest: Span
    """Longest machine-time of a task [ms]."""
    task_spread: Deviation
    """Standard deviation of the log machine-time of the tasks of one job."""
    failed_factor: Factor
    """Machine-time of a task that finally fails over that of a finished one of its job, at the
    median."""
    late_share: Share
    """Tasks that are submitted after the job, at any time of it, or of their stage of it."""

    success_multi: tuple[Chance, Chance, Chance]
    """Chance that an attempt finishes and does not fail, after 0, 1 and 2 failures; 0 after more.
    Of jobs of several tasks."""
    success_single: tuple[Chance, Chance, Chance]
    """The same in jobs of one task."""
    failed_attempts: Shares
    """Shares of tasks that finally fail by number of failures: 1, 2, 3, ..., more."""
    more_attempts: Numbers
    """Failures of the last group."""
    killed_again: tuple[Share, Share]
    """Killed tasks with two failures among those with one, with three among those with two."""
    finished_with_failure: Share
    """Finished jobs of several tasks that hold a failed attempt."""
    killed_with_failure: Share
    """Killed jobs of several tasks that hold all failures of killed jobs."""
    failure_weight: Factor
    """Mean share of a failed attempt in its task's machine-time, over that of other attempts."""

    queue_delay: QuantileTable
    """Submission to start [s]."""
    requeue_delay: tuple[QuantileTable, ...]
    """End to next start [s] after a failure, an eviction, a kill with requeue."""
    pending_minutes: QuantileTable
    """How long a task that is killed while it waits has waited [min]."""
    usage: UsageLaw
    """The windows of resource usage."""
