"""Google's cluster of 2011.

Sources: El-Sayed, Zhu and Schroeder, "Learning from Failure Across Multiple Clusters", ICDCS 2017;
Rosà, Chen and Binder, "Catching Failures of Failures at Big-Data Clusters", IWQoS 2015; Reiss,
Wilkes and Hellerstein, "Google cluster-usage traces: format + schema", 2011. "Record" stands for
counts in the first 12.7 hours of the trace that the last one describes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from failgym.traces.synthetic.profiles.applications import Applications, catalogue
from failgym.traces.synthetic.profiles.batch import BatchProfile
from failgym.traces.synthetic.profiles.kills import Kills
from failgym.traces.synthetic.profiles.usage import UsageLaw
from failgym.traces.synthetic.quantiles import Numbers, QuantileTable
from failgym.traces.synthetic.ranges import (
    Amount,
    Between,
    Chance,
    Correlation,
    Count,
    Deviation,
    Factor,
    Mix,
    Number,
    Rate,
    Sampling,
    Shape,
    Share,
    Shares,
    Skew,
    Slope,
    Span,
)
from failgym.vocabulary import DAY

TINY = 1e-9
"""What rounding leaves of a share of 0."""


@dataclass(frozen=True)
class Google2011(BatchProfile):
    """A sample of the batch jobs of Google's 2011 trace.

    Published: the mix of job outcomes, alone and by width; task-minutes of a job by outcome; the
    chance of success by number of past failures; how often tasks retry; which jobs hold failures;
    the covariance of requests and run time; how often tasks use more memory than they requested,
    and ever more of it. From the record: delays, eviction rates, priorities, sizes of jobs, the
    spread of run times. Chosen: everything else, as marked.

    Outcomes and sizes come in an even mix over time, so that early and late parts are alike.

    Not reproduced: the median hour between a task's first failure and its exit (El-Sayed et al.,
    Fig. 9), which contradicts the six task-minutes of a failed job (Table II) unless jobs wait;
    jobs of more than `job_tasks` tasks; machines and their removals, with the sixth of the
    evictions that is due to them (Table III): every eviction is a pre-emption here. Killed attempts
    run longer than in the record (84th percentile two hours, 83 minutes in Rosà et al.), failed
    ones shorter (twenty minutes against 56): Table II decides.
    """

    empty: ClassVar[str] = (
        "jobs.walltime tasks.anti_affinity tasks.output_bytes tasks.stage tasks.width "
        "windows.network windows.remote_io"
    )
    """columns that its traces leave empty, of widths those that are always 1"""

    name: str = "google-2011"

    # Jobs. The order of outcomes is finished, failed, killed throughout.
    jobs_per_hour: Rate = 349_000 / (29 * 24)
    """Arrivals of the whole cluster (El-Sayed et al., Table I)."""
    sampling: Sampling = 0.02
    """Share of the cluster's jobs in the trace; chosen: a day holds 240 jobs, so that a trace of a
    few thousand spans many of the days that the longest jobs take."""
    default_jobs: Count = 3_000
    """Chosen: about 25,000 tasks."""
    job_shares: Mix = (0.63, 0.013, 0.355)
    """El-Sayed et al., Table I."""
    multi_share: Share = 0.35
    """Jobs of several tasks (El-Sayed et al., section III-b)."""
    multi_killed: Share = 0.893
    """Killed jobs among those of several tasks (El-Sayed et al., section III-b)."""
    job_tasks: Annotated[int, Between(2, 100_000)] = 100
    """Most tasks in a job; chosen, so that no job rules a slice (the record goes up to 20,010)."""
    multi_tasks: QuantileTable = QuantileTable(((0.714, 20.0), (0.971, 650.0)), 2.0, 100.0)
    """Tasks of a job of several; quantiles .9 and .99 of all jobs in the record."""
    task_minutes: tuple[QuantileTable, QuantileTable, QuantileTable] = (
        QuantileTable(((0.25, 1.0225), (0.5, 2.8158), (0.75, 7.7739), (0.99, 357.6081))),
        QuantileTable(((0.25, 2.128), (0.5, 5.9519), (0.75, 38.908), (0.99, 31_462.0))),
        QuantileTable(((0.25, 17.4708), (0.5, 69.5155), (0.75, 328.106), (0.99, 52_144.0))),
    )
    """Task-minutes of all attempts of a job, by its outcome (El-Sayed et al., Table II)."""
    width_correlation: Correlation = 0.85
    """Rank correlation of width and task-minutes within an outcome; chosen."""
    longest: Span = 29 * DAY
    """Longest machine-time of a task [ms]: the span of the original trace."""

    # Tasks.
    unfinished_all: Share = 0.1
    """Killed jobs none of whose tasks finished, whether they hung or not; chosen."""
    unfinished_beta: tuple[Shape, Shape] = (0.6, 3.7)
    """Beta law of the unfinished share in the other killed jobs, before it is tempered so that as
    many tasks do not finish as `kills` says; chosen."""
    failed_beta: tuple[Shape, Shape] = (1.5, 2.0)
    """Beta law of the failed share of the tasks of a failed job; chosen."""
    failed_job_killed: Share = 0.15
    """Share of the other tasks of a failed job that are killed with it; chosen."""
    task_spread: Deviation = 0.7
    """Standard deviation of the log machine-time of the tasks of one job; chosen."""
    kills: Kills = Kills(
        unfinished=0.245,
        lost_time=0.65,
        ratio=QuantileTable(
            ((0.25, 1.01), (0.5, 1.04), (0.75, 1.24), (0.9, 2.14), (0.95, 3.16)), 1.0, 10.0
        ),
    )
    """Which killed tasks hang: `lost_time` and `unfinished` after Rosà et al., Figs. 1 and 2,
    `ratio` of the record's first 6.6 hours; jobs that hang run longest (El-Sayed et al., section
    III-a)."""
    failed_factor: Factor = 1.0
    """Chosen: no source states it."""
    late_share: Share = 0.5
    """Tasks of a job that are submitted after the job; chosen."""
    never_started: Share = 0.085
    """Killed tasks that wait for a machine when the kill comes (record: 9,237 of 109,295)."""

    # Failures.
    success_multi: tuple[Chance, Chance, Chance] = (0.98, 0.42, 0.02)
    """Chance that an attempt finishes and does not fail, after 0, 1 and 2 failures; 0 after more
    (El-Sayed et al., Fig. 6)."""
    success_single: tuple[Chance, Chance, Chance] = (0.97, 0.13, 0.0)
    """The same in jobs of one task (El-Sayed et al., Fig. 6)."""
    failed_attempts: Shares = (0.14, 0.72, 0.06, 0.06, 0.02)
    """Failures of tasks that finally fail: 1, 2, 3, 4, more (El-Sayed et al., section IV-C: 70 to
    90 % more than once, 15 to 30 % more than twice; shares as in the record, .86 and .14)."""
    more_attempts: Numbers = QuantileTable(((0.5, 6.0), (0.9, 20.0)), 5.0, 100.0)
    """Failures of the last group; up to 100 (El-Sayed et al., section IV-C), the rest chosen."""
    killed_again: tuple[Share, Share] = (0.35, 0.1)
    """Killed tasks with two failures among those with one, with three among those with two; chosen.
    How many have one follows from `success_multi` and `success_single`."""
    failed_with_failure: Share = 0.98
    """Failed jobs with a failed attempt (El-Sayed et al., section IV-C)."""
    finished_with_failure: Share = 0.0025
    """Finished jobs with a failed attempt (El-Sayed et al., section IV-C)."""
    killed_with_failure: Share = 0.1
    """Killed jobs of several tasks that hold all failures of killed jobs; chosen: failures come
    together, so that siblings tell of each other."""
    failure_weight: Factor = 0.8
    """Mean share of a failed attempt in its task's machine-time, over that of other attempts;
    chosen: at the first failure the median failed task has 60 % of its life before it (El-Sayed et
    al., Fig. 9)."""

    # What the cluster does.
    evictions_per_hour: tuple[Amount, ...] = (1.43, 0.13, 0.013, 0.014, 0.15)
    """Evictions per hour of running, by priority band (record)."""
    most_evictions: Number = 12
    """Evictions of one task at most; chosen."""
    requeue_share: Share = 0.03
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
    priorities: tuple[Number, ...] = (0, 1, 2, 8, 9)
    """The priorities in use: gratis 0 and 1, batch 2 to 8, production 9 (Reiss et al.; record)."""
    priority_single: tuple[Shares, Shares, Shares] = (
        (0.22, 0.20, 0.22, 0.27, 0.09),
        (0.50, 0.15, 0.20, 0.10, 0.05),
        (0.45, 0.15, 0.22, 0.10, 0.08),
    )
    """Shares by outcome of the job, one task; the mean as in the record, the tilt chosen."""
    priority_multi: tuple[Shares, Shares, Shares] = (
        (0.10, 0.04, 0.80, 0.02, 0.04),
        (0.50, 0.06, 0.40, 0.02, 0.02),
        (0.15, 0.03, 0.79, 0.01, 0.02),
    )
    """The same for jobs of several tasks."""
    class_single: tuple[Shares, Shares, Shares] = (
        (0.25, 0.46, 0.285, 0.005),
        (0.40, 0.30, 0.29, 0.01),
        (0.28, 0.25, 0.45, 0.02),
    )
    """Scheduling classes 0 to 3 by outcome, one task; mean as in the record, tilt chosen."""
    class_multi: tuple[Shares, Shares, Shares] = (
        (0.88, 0.08, 0.03, 0.01),
        (0.80, 0.14, 0.05, 0.01),
        (0.79, 0.12, 0.065, 0.025),
    )
    """The same for jobs of several tasks."""
    request_median: tuple[Factor, Factor, Factor] = (0.025, 0.02, 0.0002)
    """cpu, memory, disk, as shares of the largest machine (record)."""
    request_covariance: tuple[Slope, Slope, Slope] = (1.2, 1.0, -0.6)
    """Covariance of log request and log machine-time in unfinished tasks (recovered from the
    reductions of resource use in Rosà et al., Fig. 7)."""
    request_spread: Deviation = 0.6
    """Standard deviation of the rest of a log request; chosen."""
    failed_request: tuple[Factor, Factor, Factor] = (1.0, 2.0, 2.0)
    """Requests of failed jobs over those of others: more memory and disk (El-Sayed et al.,
    section III-c, which gives no number)."""
    users: Count = 227
    """El-Sayed et al., Table I."""
    user_skew: Skew = 2.5
    """A user's number is a uniform number to this power; chosen."""
    usage: UsageLaw = UsageLaw()
    """Windows of five minutes (Reiss et al.); of input and output only the local disk's is known
    (El-Sayed et al., section III-c)."""
    applications: Applications | None = None
    """What users run again and again; by default every job is drawn apart.

    Where they do, what the tasks of a job have in common is theirs to say: `task_spread`,
    `unfinished_all`, `unfinished_beta` and `failed_beta` are not read."""

    def faults(self) -> Iterator[tuple[str, str]]:
        """What does not fit in outcomes by width, and in what goes by priority."""
        if self.multi_share == 1.0:
            yield "multi_share", "less than 1"
        elif min(min(mix) for mix in self.fates_by_width()) < -TINY:
            yield "multi_killed", "outcomes of both widths that come to job_shares"
        for name in ("priority_single", "priority_multi"):
            if any(len(row) != len(self.priorities) for row in getattr(self, name)):
                yield name, f"as many as priorities in each row, {len(self.priorities)}"
        if len(self.evictions_per_hour) != len(self.priorities):
            yield "evictions_per_hour", f"as many as priorities, {len(self.priorities)}"

    def fates_by_width(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Shares of finished, failed, killed: jobs of one task, jobs of several."""
        total = sum(self.job_shares)
        _, failed, killed = (share / total for share in self.job_shares)
        wide, narrow = self.multi_share, 1 - self.multi_share
        single_killed = (killed - wide * self.multi_killed) / narrow
        return (
            (1 - failed - single_killed, failed, single_killed),
            (1 - failed - self.multi_killed, failed, self.multi_killed),
        )


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

APPLICATIONS = Applications(
    catalogue=catalogue("google_2011_applications.csv"),
    jobs_per_hour=804.0,
    batch=0.517,
    others=((0.5966, 0.0078, 0.2957), (0.0141, 0.0043, 0.0815)),
    rare=(
        ((0.05, 0.55, 0.073), (0.5, 0.909, 0.644)),
        ((0.101, 0.106, 0.439), (0.526, 0.0, 0.414)),
    ),
    rare_runs=QuantileTable(((0.6, 1.0), (0.8, 2.0), (0.95, 4.0)), 1.0, 4.0),
    rare_hours=QuantileTable(((0.1, 0.01), (0.5, 0.71), (0.9, 4.01)), 0.0, 24.0),
    rare_spread=0.5,
    rare_names=0.78,
    rare_users=0.15,
    rare_requests=0.8,
    unfinished=0.03,
    always=3.9,
    together=0.9,
    bundle=5.0,
    mixed=4,
    stretch=1.0,
    usage=(0.3, 0.05, 0.55),
    office=3.0,
)
"""Of the record: see `RECURRING`."""

RECURRING = Google2011(
    name="google-2011-applications",
    job_tasks=1_000,
    failed_job_killed=0.0,
    never_started=0.008,
    applications=APPLICATIONS,
)
"""The google-2011 profile with applications that recur, as the record's do.

From the record's first 6.6 hours (5,280 jobs that came and ended in them; the rest is kept to judge
by): the catalogue, 168 applications with 5 jobs or more and 83 % of the jobs, which of them take
turns, and which rare ones are like which (`experiments/google_2011_applications.py`, which prints
also `jobs_per_hour`, `batch`, `others`, the `ratio` of `kills`, `rare` and its like, but for
`rare_spread` and `rare_requests`); `never_started` (203 of 26,806). Chosen, so that what is below
comes out: `together`, `bundle`, `rare_spread`, `rare_requests`; so that jobs of one task and of
several of a user alternate as often as there, 1.04 times as often as by chance: `mixed` (1.00 to
1.03; .84 if it is 1, 1.2 if it is 10); so that tasks succeed as published: the failed ones of
`unfinished`. `usage` of memory and of I/O is as much alike as Kumar et al. find in another cluster
(DSN 2020, Table VI: the last job of a user tells memory to 3 %, local I/O to 32 %); of cpu it is
chosen. Chosen without a measure, as the record is half a day: `always` (three fifths of the 6.6
hours), `office`. In the record applications with several ends end by chance (successive runs alike
.57, by chance .59), hence `stretch`.

El-Sayed et al. describe jobs of batch priorities (2 to 8): of these the outcomes, widths and
task-minutes are as published. Jobs of other priorities, and the numbers of tasks of all, are as in
the record, up to `job_tasks`.

Where tasks that do not finish lose their time is as in the record: most of it in jobs that are
killed whole after a long time, of which none finishes, and in other killed jobs about as long as
those of their tasks that finish have run (nine in ten jobs at most 2.1 to 2.2 times; later hours
2.2, earlier ones 2.5).

How closely it resembles the record's later 6.1 hours, by `failgym trace compare`: 9,452 jobs, seeds
0 to 2, of which as many as those hours have, the first 4,050, are compared (in brackets: those
later hours; what 6.6 earlier ones have). No number comes from the later hours, but which habits
there are was decided with the whole record in sight. Correlation of successive jobs of a user, of
whether all tasks finish .34 to .44 (.43; .41), of log run time .73 to .76 (.80; .76), of log tasks
.18 to .21 (.14; .10), of requested cpu .66 to .70 (.65; .60); of one name, of finishing .87 to .93
(.92; .87), of log run time .90 to .92 (.91; .91), of log tasks .88 to .97 (.98; .98), of cpu 1.00
(1.00; .89); distinct (cpu, memory), of jobs, .12 (.13; .11); median coefficient of variation of the
run times in a job of five tasks or more .05 to .06 (.05; .04). How a task ends is told at its
arrival with AUC .95 to .96, weighted by job (.97; .96), .62 to .80 by task (.76; .87), .77 to .81
by the user's past (.81; .76). A boosted classifier tells its jobs from the later ones with AUC .81
by 13 features (the earlier ones: .67), .71 to .73 by requests (.63), .60 to .62 by tasks and run
time (.56), its tasks with .94 to .96 (.84), its attempts with .75 to .78 (.66). Profile
google-2011 has correlations of -.01 to .01 and no names, and is told by 13 features with 1.00.

Departure: the covariance of log request and log machine-time in unfinished tasks
(`request_covariance`; 1.2, 1.0 and -.6 for cpu, memory and disk, recovered from what Rosà et al.
save in Fig. 7) is .3, .6 and .6 here. In the record it is .73, .46 and .54 (first part) and .47,
.95 and .88 (later part): what applications request decides, and of disk the sign is another than
the paper's.

Not reproduced: the drift of habits over weeks, new names of old applications that come back later,
what runs at the start of the record.
"""

RECURRING_NARROW = replace(
    RECURRING,
    name="google-2011-applications-narrow",
    longest=DAY,
    job_tasks=100,
    kills=replace(RECURRING.kills, lost_time=0.54),
)
"""google-2011-applications, where no job is of more weight than many others.

No task takes more than a day, and no job has more than 100 tasks: else one job of a thousand that
hang for a day holds a sixth of all that can be gained in a trace of 50,000 jobs. `lost_time` is
what is left of the other profile's .65 where task times are cut at a day and jobs at 100 tasks, .47
to .60 in four traces of 20,000 jobs."""

RECURRING_FAILING = replace(
    RECURRING_NARROW, name="google-2011-applications-failing", finished_with_failure=0.1
)
"""google-2011-applications-narrow, where more fails.

Of the jobs that finish one in ten has a failed attempt, not one in four hundred as published: at
that mix few jobs of a trace hold any, and what a policy gains on them is chance. What a retry is
worth after one failure and after two, run times up to a day, and who runs what, are as in
google-2011-applications."""
