"""OpenCloud, the Hadoop cluster of Carnegie Mellon University.

Source: El-Sayed, Zhu and Schroeder, "Learning from Failure Across Multiple Clusters", ICDCS 2017,
who studied thirty months of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from failgym.traces.synthetic.profiles.batch import BatchProfile
from failgym.traces.synthetic.profiles.usage import IoLaw, UsageLaw
from failgym.traces.synthetic.quantiles import Numbers, QuantileTable
from failgym.traces.synthetic.ranges import (
    Chance,
    Correlation,
    Count,
    Deviation,
    Factor,
    Filled,
    Mix,
    Number,
    Power,
    Rate,
    Sampling,
    Shape,
    Share,
    Shares,
    Skew,
    SomeShare,
    Span,
)
from failgym.vocabulary import DAY, MINUTE


@dataclass(frozen=True)
class OpenCloud(BatchProfile):
    """Jobs of map tasks and reduce tasks.

    Published: the mix of job outcomes, the same for jobs of one mapper and of several; task-minutes
    of a job by outcome; how many jobs have several mappers, and several reducers; the chance of
    success by number of past failures; how often tasks retry; which jobs hold failures; how jobs
    set speculation, skip mode, the limit of attempts, and memory. Chosen: everything else, as
    marked. Jobs of one task are those of one mapper, which is how the paper counts parallelism.

    Reducers come when the maps of their job are done. A job whose maps do not all finish has no
    reducer that does; when a job fails, what is left of it is killed (cause dependency). A task
    never fails more often than the job's limit of attempts allows.

    Not reproduced: the 0.04 % of jobs with no known outcome; the limit of attempts of reducers,
    which 1 % of the jobs changed, up to 130 (there is one column, which holds that of mappers);
    separate settings of speculation for mappers and reducers; the copies that speculation starts;
    the machines on which tasks ran, and their outages, of which nothing is published; bytes between
    stages, hence edges.

    Jobs are drawn apart: no application recurs. El-Sayed et al. tell the number of users (73) and
    nothing of how successive jobs of one resemble each other, name no application of this cluster,
    and had no predictor learn from its users. The one Hadoop record at hand in Rumen's form is of
    another cluster, 19 jobs of five users within 28 minutes and without names: a user has nine at
    most. Habits estimated from so few would be chosen ones.
    """

    empty: ClassVar[str] = (
        "jobs.priority jobs.scheduling_class jobs.walltime tasks.anti_affinity tasks.cpu "
        "tasks.disk tasks.output_bytes tasks.width windows.cpu windows.memory "
        "windows.network"
    )
    """columns that its traces leave empty, of widths those that are always 1"""

    name: str = "opencloud"

    # Jobs. The order of outcomes is finished, failed, killed throughout.
    days: Rate = 883.0
    """Span of the original trace (El-Sayed et al., Table I)."""
    all_jobs: Count = 78_000
    """Jobs in it (El-Sayed et al., Table I)."""
    nodes: Count = 64
    """El-Sayed et al., Table I."""
    sampling: Sampling = 1.0
    """Share of the cluster's jobs in the trace: all of them, over fewer days."""
    default_jobs: Count = 600
    """Chosen: a week, and about 25,000 tasks."""
    job_shares: Mix = (0.888, 0.0811, 0.03)
    """El-Sayed et al., Table I."""
    multi_share: Share = 0.8
    """Jobs of at least two mappers (El-Sayed et al., section III-b: more than 80 %)."""
    few_reducers: Share = 0.6
    """Jobs of at most one reducer (El-Sayed et al., section III-b); all jobs of one mapper, which
    is chosen."""
    no_reducer: Share = 0.5
    """Share of jobs without reducer in those of at most one; chosen."""
    maps: Numbers = QuantileTable(((0.5, 20.0), (0.9, 150.0)), 2.0, 400.0)
    """Mappers of jobs of several; chosen."""
    reducers: Numbers = QuantileTable(((0.5, 8.0), (0.9, 32.0)), 2.0, 64.0)
    """Reducers of jobs of several; chosen."""
    task_minutes: tuple[QuantileTable, QuantileTable, QuantileTable] = (
        QuantileTable(
            (
                (0.25, 0.8532),
                (0.5, 8.7213),
                (0.75, 75.1883),
                (0.95, 350.0),
                (0.98, 2_200.0),
                (0.99, 14_241.0),
            ),
            high=20_000.0,
        ),
        QuantileTable(
            (
                (0.25, 2.3509),
                (0.5, 22.9641),
                (0.75, 204.8583),
                (0.9, 5_000.0),
                (0.95, 28_000.0),
                (0.99, 54_868.0),
            ),
            high=400_000.0,
        ),
        QuantileTable(
            (
                (0.25, 9.2011),
                (0.5, 61.7547),
                (0.75, 550.1506),
                (0.9, 15_000.0),
                (0.95, 50_000.0),
                (0.99, 80_018.0),
            ),
            high=400_000.0,
        ),
    )
    """Quartiles and 99th percentiles: El-Sayed et al., Table II. What is between and beyond is
    chosen so that jobs that do not finish take more than half of the machine-time (section II)."""
    width_correlation: Correlation = 0.85
    """Chosen: no source states it."""
    longest: Span = 7 * DAY
    """Chosen: a longer task would hold a job for weeks."""

    # Tasks.
    unfinished_all: Share = 0.5
    """Killed jobs none of whose tasks finished; chosen."""
    unfinished_beta: tuple[Shape, Shape] = (1.0, 2.0)
    """Beta law of the unfinished share in the other killed jobs; chosen."""
    failed_in_maps: Share = 0.75
    """Failed jobs with reducers that fail in their maps; chosen."""
    failed_beta: tuple[Shape, Shape] = (1.0, 6.0)
    """Beta law of the failed share of the tasks of the stage in which a job fails. Chosen: few, as
    the job ends with the first task that is out of attempts."""
    failed_job_killed: Share = 0.2
    """Share of the other tasks of that stage that are killed with the job; chosen."""
    waiting_reducers: Share = 0.7
    """Reducers of jobs whose maps do not finish that never started; chosen."""
    task_spread: Deviation = 0.7
    """Chosen: no source states it."""
    hung_power: Power = 0.5
    """Chosen: most hang, so that their attempts take the time of the jobs that do not finish."""
    hung_factor: Factor = 40.0
    """Chosen: no source states it."""
    cut_factor: Factor = 0.4
    """Chosen: no source states it."""
    failed_factor: Factor = 10.0
    """Chosen, for the same: tasks time out, and are tried again."""
    late_share: Share = 0.5
    """Chosen: no source states it."""

    # Failures.
    success_multi: tuple[Chance, Chance, Chance] = (0.97, 0.28, 0.11)
    """El-Sayed et al., section IV-C and Fig. 6."""
    success_single: tuple[Chance, Chance, Chance] = (0.90, 0.15, 0.0)
    """El-Sayed et al., section IV-C and Fig. 6."""
    failed_attempts: Shares = (0.2, 0.55, 0.07, 0.16, 0.02)
    """Tasks that finally fail after 1, 2, 3, 4, more failures. El-Sayed et al., section IV-C: 70 to
    90 % more than once, 15 to 30 % more than twice; the rest chosen."""
    more_attempts: Numbers = QuantileTable(((0.5, 7.0), (0.9, 25.0)), 5.0, 100.0)
    """Up to 100 (El-Sayed et al., section IV-C), the rest chosen."""
    killed_again: tuple[Share, Share] = (0.35, 0.1)
    """Chosen: no source states it."""
    failed_with_failure: Share = 0.95
    """Failed jobs with a failed attempt (El-Sayed et al., section IV-C)."""
    finished_with_failure: Share = 0.247
    """Chosen so that 20 % of all finished jobs hold a failed attempt (El-Sayed et al., section
    IV-C): of those of one mapper 1 % do."""
    killed_with_failure: Share = 0.5
    """Chosen: no source states it."""
    failure_weight: Factor = 0.8
    """Chosen, as for Google's cluster."""

    # What the cluster does.
    queue_delay: QuantileTable = QuantileTable(((0.1, 1.0), (0.5, 6.0), (0.9, 120.0)), 0.3, 7_200.0)
    """Chosen: no source states it."""
    requeue_delay: tuple[QuantileTable, ...] = (
        QuantileTable(((0.1, 1.0), (0.5, 4.0), (0.9, 30.0)), 0.3, 3_600.0),
    )
    """After a failure; chosen: a few heartbeats of three seconds."""
    pending_minutes: QuantileTable = QuantileTable(
        ((0.1, 0.2), (0.5, 5.0), (0.9, 120.0)), 0.05, 1440.0
    )
    """Chosen: no source states it."""

    # Configuration.
    no_speculation: tuple[Share, Share, Share] = (0.0002, 0.02, 0.005)
    """Jobs that disable speculative execution, by outcome (El-Sayed et al., section IV-B)."""
    default_skip_mode: Number = 2
    """Attempts after which skip mode starts (El-Sayed et al., section IV-B)."""
    skip_mode_kept: tuple[Share, Share, Share] = (0.965, 0.955, 0.976)
    """Jobs that keep it, by outcome (El-Sayed et al., section IV-B)."""
    skip_modes: Annotated[tuple[tuple[Number, Share], ...], SomeShare()] = (
        (16, 0.8),
        (4, 0.15),
        (1, 0.05),
    )
    """Other values, with shares: 16 comes second (El-Sayed et al., section IV-B), the rest
    chosen."""
    default_attempt_limit: Count = 4
    """Attempts of a mapper (El-Sayed et al., section IV-B)."""
    attempt_limit_changed: tuple[Share, Share, Share] = (0.035, 0.08, 0.1)
    """Jobs that change it, by outcome: 4 % of all, killed jobs most, then failed ones (El-Sayed et
    al., section IV-B); how many of each is chosen."""
    attempt_limits: tuple[tuple[Count, tuple[Share, Share, Share]], ...] = (
        (1, (0.40, 0.15, 0.05)),
        (2, (0.20, 0.10, 0.05)),
        (8, (0.20, 0.30, 0.30)),
        (10, (0.12, 0.25, 0.30)),
        (20, (0.05, 0.12, 0.18)),
        (100, (0.03, 0.08, 0.12)),
    )
    """Other limits, with shares by outcome: up to 100, high ones above all in killed jobs, then in
    failed ones (El-Sayed et al., Fig. 5); the rest chosen."""
    default_memory: Count = 1_024
    """Requested by a task [MB] (El-Sayed et al., section III-c)."""
    node_memory: Count = 16_384
    """Memory of a node [MB]; chosen."""
    memory_kept: tuple[Share, Share, Share] = (0.995, 0.995, 0.6)
    """Jobs that keep the default, by outcome: above 99 % of finished and failed ones, and clearly
    fewer of the killed ones (El-Sayed et al., section III-c, which gives no number)."""
    memories: Annotated[tuple[Count, ...], Filled()] = (512, 2_048, 3_072, 4_096)
    """Other requests [MB], equally likely; chosen."""
    users: Count = 73
    """El-Sayed et al., Table I."""
    user_skew: Skew = 2.0
    """A user's number is a uniform number to this power; chosen."""
    usage: UsageLaw = UsageLaw(
        window=MINUTE,
        cpu=None,
        memory=None,
        local_io=IoLaw(median=(0.02, 0.08, 0.03)),
        remote_io=IoLaw(median=(0.03, 0.03, 0.035), failing=1.0),
    )
    """Input and output alone are known of OpenCloud, on local disks and HDFS, as totals; failed
    jobs write most to local disks (El-Sayed et al., section III-c). Windows and rates are
    chosen."""

    def faults(self) -> Iterator[tuple[str, str]]:
        """What does not fit in mappers, reducers and limits of attempts."""
        if self.multi_share == 0.0 or self.few_reducers < 1.0 - self.multi_share:
            yield "few_reducers", f"at least {1.0 - self.multi_share:g}: all jobs of one mapper"
        limits = [limit for limit, _ in self.attempt_limits]
        if not limits or limits != sorted(limits) or limits[-1] < self.more_attempts.high:
            yield "attempt_limits", f"in order, up to {self.more_attempts.high:g} at least"
        elif not all(sum(each[fate] for _, each in self.attempt_limits) for fate in range(3)):
            yield "attempt_limits", "shares of every outcome"
