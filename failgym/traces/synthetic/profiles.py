"""What the synthetic traces are calibrated to, one frozen dataclass per profile.

Each field says where its value comes from: a publication, or *chosen*, which means that no
publication gives it and that it was set so that the rest comes out.

Sources: El-Sayed, Zhu and Schroeder, "Learning from Failure Across Multiple Clusters", ICDCS 2017;
Rosà, Chen and Binder, "Catching Failures of Failures at Big-Data Clusters", IWQoS 2015; Kumar et
al., "The Mystery of the Failing Jobs", DSN 2020; Reiss, Wilkes and Hellerstein, "Google
cluster-usage traces: format + schema", 2011. "Record" stands for counts in the first 12.7 hours of
the trace that the last one describes.
"""

from __future__ import annotations

from dataclasses import dataclass

from failgym.traces.synthetic.quantiles import QuantileTable

SECOND = 1_000
"""One second [ms]."""
MINUTE = 60 * SECOND
"""One minute [ms]."""
HOUR = 60 * MINUTE
"""One hour [ms]."""
DAY = 24 * HOUR
"""One day [ms]."""


@dataclass(frozen=True)
class Google2011:
    """A sample of the batch jobs of Google's 2011 trace.

    Published: the mix of job outcomes, alone and by width; task-minutes of a job by outcome; the
    chance of success by number of past failures; how often tasks retry; which jobs hold failures;
    the covariance of requests and run time. From the record: delays, eviction rates, priorities,
    sizes of jobs, the spread of run times. Chosen: everything else, as marked.

    Outcomes and sizes come in an even mix over time, so that early and late parts are alike.

    Not reproduced: the median hour between a task's first failure and its exit (El-Sayed et al.,
    Fig. 9), which contradicts the six task-minutes of a failed job (Table II) unless jobs wait;
    jobs of more than `job_tasks` tasks; the windows of resource usage. Killed attempts run longer
    than in the record (84th percentile two hours, 83 minutes in Rosà et al.), failed ones shorter
    (twenty minutes against 56): Table II decides.
    """

    name: str = "google-2011"

    # Jobs. The order of outcomes is finished, failed, killed throughout.
    jobs_per_hour: float = 349_000 / (29 * 24)
    """Arrivals of the whole cluster (El-Sayed et al., Table I)."""
    sampling: float = 0.02
    """Share of the cluster's jobs in the trace; chosen: a day holds 240 jobs, so that a trace of a
    few thousand spans many of the days that the longest jobs take."""
    default_jobs: int = 3_000
    """Chosen: about 25,000 tasks."""
    job_shares: tuple[float, float, float] = (0.63, 0.013, 0.355)
    """El-Sayed et al., Table I."""
    multi_share: float = 0.35
    """Jobs of several tasks (El-Sayed et al., section III-b)."""
    multi_killed: float = 0.893
    """Killed jobs among those of several tasks (El-Sayed et al., section III-b)."""
    job_tasks: int = 100
    """Most tasks in a job; chosen, so that no job rules a slice (the record goes up to 20,010)."""
    multi_tasks: QuantileTable = QuantileTable(((0.714, 20.0), (0.971, 650.0)), 2.0, 100.0)
    """Tasks of a job of several; quantiles .9 and .99 of all jobs in the record."""
    task_minutes: tuple[QuantileTable, QuantileTable, QuantileTable] = (
        QuantileTable(((0.25, 1.0225), (0.5, 2.8158), (0.75, 7.7739), (0.99, 357.6081))),
        QuantileTable(((0.25, 2.128), (0.5, 5.9519), (0.75, 38.908), (0.99, 31_462.0))),
        QuantileTable(((0.25, 17.4708), (0.5, 69.5155), (0.75, 328.106), (0.99, 52_144.0))),
    )
    """Task-minutes of all attempts of a job, by its outcome (El-Sayed et al., Table II)."""
    width_correlation: float = 0.85
    """Rank correlation of width and task-minutes within an outcome; chosen."""
    longest: int = 29 * DAY
    """Longest machine-time of a task [ms]: the span of the original trace."""

    # Tasks.
    unfinished_all: float = 0.1
    """Killed jobs none of whose tasks finished; chosen."""
    unfinished_beta: tuple[float, float] = (0.6, 3.7)
    """Beta law of the unfinished share in the other killed jobs. Chosen so that a quarter of the
    tasks of unsuccessful jobs do not finish (Rosà et al., Fig. 2)."""
    failed_beta: tuple[float, float] = (1.5, 2.0)
    """Beta law of the failed share of the tasks of a failed job; chosen."""
    failed_job_killed: float = 0.15
    """Share of the other tasks of a failed job that are killed with it; chosen."""
    task_spread: float = 0.7
    """Standard deviation of the log machine-time of the tasks of one job; chosen."""
    hung_power: float = 6.0
    """The killed tasks of a job hung with a chance that is the job's rank by machine-time, in
    (0, 1], to this power; chosen: jobs that hang run longest (El-Sayed et al., section III-a).
    Others are cut short, so that run times of killed and finished tasks overlap, as recorded."""
    hung_factor: float = 40.0
    """Machine-time of a hung task over that of a finished one of its job, at the median. Chosen so
    that tasks that do not finish take two thirds of the machine-time (Rosà et al., Fig. 1)."""
    cut_factor: float = 0.4
    """The same of a killed task that did not hang: it began late; chosen."""
    late_share: float = 0.5
    """Tasks of a job that are submitted after the job; chosen."""
    never_started: float = 0.085
    """Killed tasks that wait for a machine when the kill comes (record: 9,237 of 109,295)."""

    # Failures.
    success_multi: tuple[float, float, float] = (0.98, 0.42, 0.02)
    """Chance that an attempt finishes and does not fail, after 0, 1 and 2 failures; 0 after more
    (El-Sayed et al., Fig. 6)."""
    success_single: tuple[float, float, float] = (0.97, 0.13, 0.0)
    """The same in jobs of one task (El-Sayed et al., Fig. 6)."""
    failed_attempts: tuple[float, ...] = (0.14, 0.72, 0.06, 0.06, 0.02)
    """Failures of tasks that finally fail: 1, 2, 3, 4, more (El-Sayed et al., section IV-B, read as
    attempts: .86 more than one, .14 more than two)."""
    more_attempts: QuantileTable = QuantileTable(((0.5, 6.0), (0.9, 20.0)), 5.0, 100.0)
    """Failures of the last group; up to 100 (El-Sayed et al., section IV-B), the rest chosen."""
    killed_again: tuple[float, float] = (0.35, 0.1)
    """Killed tasks with two failures among those with one, with three among those with two; chosen.
    How many have one follows from `success_multi` and `success_single`."""
    failed_with_failure: float = 0.98
    """Failed jobs with a failed attempt (El-Sayed et al., section IV-C)."""
    finished_with_failure: float = 0.0025
    """Finished jobs with a failed attempt (El-Sayed et al., section IV-C)."""
    killed_with_failure: float = 0.1
    """Killed jobs of several tasks that hold all failures of killed jobs; chosen: failures come
    together, so that siblings tell of each other."""
    failure_weight: float = 0.8
    """Mean share of a failed attempt in its task's machine-time, over that of other attempts;
    chosen: at the first failure the median failed task has 60 % of its life before it (El-Sayed et
    al., Fig. 9)."""

    # What the cluster does.
    evictions_per_hour: tuple[float, ...] = (1.43, 0.13, 0.013, 0.014, 0.15)
    """Evictions per hour of running, by priority band (record)."""
    most_evictions: int = 12
    """Evictions of one task at most; chosen."""
    requeue_share: float = 0.03
    """Tasks that are killed and requeued once (record, without one job of endless requeues)."""
    queue_delay: QuantileTable = QuantileTable(
        ((0.1, 0.8), (0.25, 1.5), (0.5, 2.08), (0.75, 2.88), (0.9, 5.14), (0.99, 48.52)), 0.6
    )
    """Submission to start [s] (record)."""
    requeue_delay: tuple[QuantileTable, QuantileTable, QuantileTable] = (
        QuantileTable(((0.1, 1.45), (0.5, 1.71), (0.9, 3.66), (0.99, 25.0)), 0.6),
        QuantileTable(((0.1, 1.7), (0.5, 25.2), (0.9, 120.0), (0.99, 4_219.0)), 0.6, 86_400.0),
        QuantileTable(((0.1, 1.4), (0.5, 1.6), (0.9, 2.46), (0.99, 493.0)), 0.6, 86_400.0),
    )
    """End to next start [s] after a failure, an eviction, a kill with requeue (record)."""
    pending_minutes: QuantileTable = QuantileTable(
        ((0.1, 0.5), (0.5, 8.0), (0.9, 120.0)), 0.05, 1440.0
    )
    """How long a task that is killed while pending has waited [min]; chosen."""

    # Requests.
    priorities: tuple[int, ...] = (0, 1, 2, 8, 9)
    """The priorities in use: gratis 0 and 1, batch 2 to 8, production 9 (Reiss et al.; record)."""
    priority_single: tuple[tuple[float, ...], ...] = (
        (0.22, 0.20, 0.22, 0.27, 0.09),
        (0.50, 0.15, 0.20, 0.10, 0.05),
        (0.45, 0.15, 0.22, 0.10, 0.08),
    )
    """Shares by outcome of the job, one task; the mean as in the record, the tilt chosen."""
    priority_multi: tuple[tuple[float, ...], ...] = (
        (0.10, 0.04, 0.80, 0.02, 0.04),
        (0.50, 0.06, 0.40, 0.02, 0.02),
        (0.15, 0.03, 0.79, 0.01, 0.02),
    )
    """The same for jobs of several tasks."""
    class_single: tuple[tuple[float, ...], ...] = (
        (0.25, 0.46, 0.285, 0.005),
        (0.40, 0.30, 0.29, 0.01),
        (0.28, 0.25, 0.45, 0.02),
    )
    """Scheduling classes 0 to 3 by outcome, one task; mean as in the record, tilt chosen."""
    class_multi: tuple[tuple[float, ...], ...] = (
        (0.88, 0.08, 0.03, 0.01),
        (0.80, 0.14, 0.05, 0.01),
        (0.79, 0.12, 0.065, 0.025),
    )
    """The same for jobs of several tasks."""
    request_median: tuple[float, float, float] = (0.025, 0.02, 0.0002)
    """cpu, memory, disk, as shares of the largest machine (record)."""
    request_covariance: tuple[float, float, float] = (1.2, 1.0, -0.6)
    """Covariance of log request and log machine-time in unfinished tasks (recovered from the
    reductions of resource use in Rosà et al., Fig. 7)."""
    request_spread: float = 0.6
    """Standard deviation of the rest of a log request; chosen."""
    failed_request: tuple[float, float, float] = (1.0, 2.0, 2.0)
    """Requests of failed jobs over those of others: more memory and disk (El-Sayed et al.,
    section III-c, which gives no number)."""
    users: int = 227
    """El-Sayed et al., Table I."""
    user_skew: float = 2.5
    """A user's number is a uniform number to this power; chosen."""


@dataclass(frozen=True)
class Environment:
    """One of the four environments of Kumar et al.'s System A, with the exits of its jobs."""

    name: str
    shared: bool
    multi: bool
    jobs: float
    """Share of jobs (Kumar et al., Table I)."""
    node_seconds: float
    """Share of node-seconds (Kumar et al., Table I)."""
    exits: tuple[float, float, float, float, float]
    """Shares of success, system, user, user or system, walltime (Kumar et al., Table IV)."""
    runtime: float
    """Run time over that of the profile's tables; chosen to give `node_seconds`."""


@dataclass(frozen=True)
class SystemA:
    """A sample of the jobs of System A (Kumar et al., DSN 2020), with all requeues.

    Every job is one task, `width` nodes wide; an attempt is one run of it. The exits of Table IV
    are those of first runs (`exit_category`). After a system failure the job is requeued until it
    finishes, fails by its own fault, is killed by its user or meets its walltime; what is recorded
    of these later runs is chosen. All attempts of a task share one true length.

    Published: shares of jobs and of node-seconds by environment, exits by environment, the share
    of failures within a minute, the limit of walltimes, the median overestimation of run times,
    the median time between bursts (of System B, the only one given), what counts as a burst.
    Chosen: the law of run times, widths, the split of system failures into bursts, machines and
    start-up, and how failures come in spells. A job fails with a hazard that is the sum of a
    start-up term, which falls with age; a machine term in proportion to nodes; and a term shared
    by all jobs, high during spells of congestion and highest as a burst begins; all times what the
    environment and the job's memory make of it. So failures of other jobs tell of the near future.

    Departure: failed first runs take about a fifth of the node-seconds, where 4 % is published (and
    failures of users a twentieth, for 13 %), because failures of the system must meet long jobs for
    checkpoints to matter at all.
    """

    name: str = "system-a"
    jobs_per_day: float = 2_908_000 / 852
    """Arrivals of the whole system: 28 months (Kumar et al., Table I)."""
    sampling: float = 0.1
    """Share of the system's jobs in the trace; chosen: many bursts in a trace of some ten thousand
    jobs. A burst of 25 jobs is one of 2 or 3 here."""
    default_jobs: int = 15_000
    """Chosen: about 44 days."""
    environments: tuple[Environment, ...] = (
        Environment(
            "shared-single", True, False, 0.387, 0.158, (0.931, 0.027, 0.016, 0.006, 0.020), 1.05
        ),
        Environment(
            "shared-multi", True, True, 0.010, 0.019, (0.876, 0.065, 0.022, 0.002, 0.035), 0.6
        ),
        Environment("single", False, False, 0.463, 0.184, (0.876, 0.065, 0.035, 0.004, 0.020), 1.0),
        Environment("multi", False, True, 0.140, 0.639, (0.618, 0.088, 0.072, 0.061, 0.161), 0.8),
    )
    users: int = 617
    """Kumar et al., Table I."""
    user_skew: float = 2.5
    """A user's number is a uniform number to this power; chosen."""
    multi_nodes: QuantileTable = QuantileTable(((0.1, 2.0), (0.5, 4.0), (0.9, 16.0)), 2.0, 64.0)
    """Nodes of jobs of several; chosen (580 nodes in all)."""
    walltime_limit: int = 336 * HOUR
    """Longest walltime that can be requested [ms] (Kumar et al., section II)."""
    overestimate: QuantileTable = QuantileTable(((0.1, 1.6), (0.5, 9.0), (0.9, 60.0)), 1.1, 1e4)
    """Requested walltime over run time: 9 at the median (Kumar et al., section V-E)."""

    # Run times, in seconds, before the environment's factor.
    run_success: QuantileTable = QuantileTable(
        ((0.1, 30.0), (0.5, 600.0), (0.9, 9_000.0), (0.99, 80_000.0)), 1.0, 172_800.0
    )
    run_user: QuantileTable = QuantileTable(
        ((0.1, 5.0), (0.56, 60.0), (0.8, 12_000.0), (0.95, 150_000.0)), 1.0, 172_800.0
    )
    run_signal: QuantileTable = QuantileTable(
        ((0.1, 10.0), (0.3, 60.0), (0.5, 300.0), (0.9, 5_000.0)), 1.0, 172_800.0
    )
    """Chosen: about half of the jobs below 1,000 node-seconds (Kumar et al., Fig. 1), a third of
    the failures within a minute (section V-E), shares of node-seconds near Table IV's. No job needs
    more than two days: longer ones would never finish without checkpoints."""
    walltimes: tuple[float, ...] = (0.5, 1.0, 4.0, 8.0, 12.0, 24.0, 48.0)
    """Walltimes of the jobs that meet them [h]; chosen."""
    walltime_shares: tuple[float, ...] = (0.08, 0.16, 0.30, 0.16, 0.10, 0.14, 0.06)
    """Shares of these; chosen."""
    beyond_end: float = 0.7
    """Mean of ln(true length / run time) for jobs that do not finish: exponential; chosen."""

    # Failures of the system: relative hazards; each environment's factor follows from its exits.
    startup: float = 0.012
    """Weight of failing at start-up, whatever the length; chosen."""
    startup_scale: float = 45.0
    """Mean age at such a failure [s]; chosen: a third of all failures come within a minute."""
    machine: float = 1.0 / (40 * 86_400)
    """Hazard per node [1/s]; chosen."""
    machine_nodes: float = 0.5
    """It grows with this power of the number of nodes; chosen."""
    burst_gap: float = 3.3
    """Median days between bursts (Kumar et al., section V-C, of System B)."""
    burst_seconds: float = 300.0
    """A burst begins with failures within this time (Kumar et al., section V-C)."""
    burst_weight: float = 0.35
    """Weight of failing while a burst begins; chosen."""
    spell_gap: float = 1.0
    """Mean days between other spells of congestion; chosen."""
    spell_hours: QuantileTable = QuantileTable(((0.1, 0.5), (0.5, 1.5), (0.9, 5.0)), 0.25, 12.0)
    """How long a spell lasts, and what follows a burst; chosen."""
    spell: float = 1.0 / 20_000
    """Hazard during a spell [1/s]; chosen: mean time between failures of the order of hours."""
    calm: float = 1.0 / 2_000_000
    """Shared hazard at other times [1/s]; chosen."""
    memory_slope: float = 2.0
    """Hazard of a job that requests all memory of a node, over that of one without, less 1;
    chosen: failures rise with memory above half of the capacity (Kumar et al., Fig. 2)."""
    most_requeues: int = 40
    """System failures of one job at most; chosen."""
    requeue_minutes: QuantileTable = QuantileTable(
        ((0.1, 1.0), (0.5, 8.0), (0.9, 60.0)), 0.1, 720.0
    )
    """System failure to next start [min]; chosen."""
    queue_minutes: QuantileTable = QuantileTable(
        ((0.1, 0.05), (0.5, 2.0), (0.9, 90.0)), 0.01, 2880.0
    )
    """Submission to start [min]; chosen."""


Profile = Google2011 | SystemA
"""What `generate` takes."""

FAILING = Google2011(
    name="google-2011-failing",
    job_shares=(0.5, 0.5, 0.0),
    multi_killed=0.0,
    finished_with_failure=0.5,
    success_multi=(0.8, 0.42, 0.02),
    success_single=(0.6, 0.13, 0.0),
    longest=DAY,
)
"""The failure-prone jobs of the google-2011 profile, none killed by its user, in numbers.

At the natural mix one job in seventy holds a failed attempt, and user kills take most of the time.
What a retry is worth after one failure and after two is as published (El-Sayed et al., Fig. 6), as
are run times up to a day; how many jobs fail, and how often a first attempt does, is chosen."""

PROFILES: dict[str, Profile] = {
    profile.name: profile for profile in (Google2011(), FAILING, SystemA())
}
"""The profiles by name."""
