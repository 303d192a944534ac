"""System A of Kumar et al., "The Mystery of the Failing Jobs", DSN 2020."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from failgym.traces.synthetic.profiles.kumar import (
    Days,
    Environment,
    FailingUsage,
    Gaps,
    Kumar,
    Requeues,
    Runs,
    Sessions,
    Usage,
)
from failgym.traces.synthetic.profiles.kumar_applications import (
    Parts,
    RecurringApplications,
)
from failgym.traces.synthetic.profiles.outages import OutageLaw
from failgym.traces.synthetic.quantiles import Numbers, QuantileTable
from failgym.traces.synthetic.ranges import (
    Amount,
    Count,
    Deviation,
    ExitCode,
    Filled,
    Power,
    Rate,
    Sampling,
    Span,
)
from failgym.vocabulary import DAY, HOUR, MINUTE

RUNS = Runs(
    success=QuantileTable(
        ((0.1, 30.0), (0.5, 600.0), (0.9, 9_000.0), (0.99, 80_000.0)), 1.0, 172_800.0
    ),
    user=QuantileTable(
        ((0.1, 5.0), (0.56, 60.0), (0.8, 12_000.0), (0.95, 150_000.0)), 1.0, 172_800.0
    ),
    signal=QuantileTable(((0.1, 10.0), (0.3, 60.0), (0.5, 300.0), (0.9, 5_000.0)), 1.0, 172_800.0),
    walltimes=(0.5, 1.0, 4.0, 8.0, 12.0, 24.0, 48.0),
    walltime_shares=(0.12, 0.20, 0.36, 0.15, 0.08, 0.07, 0.02),
)
"""Chosen: about half of the jobs below 1,000 node-seconds (Kumar et al., Fig. 1), a third of the
failures within a minute (section V-E), and node-seconds that keep the 580 nodes busy for some .8 of
the time. No job needs more than two days, unless its environment says what node-seconds its exits
have."""

SINGLE = FailingUsage(
    local_io=-0.6,
    remote_io=-0.55,
    network=-0.31,
    local_peak=1.0,
    out_of_memory=0.8,
    strain=(2.6, 1.0),
)
"""Local I/O so that the fit of Fig. 4a comes out at -.48 beside its peak at 6 MB/s (Kumar et al.,
section V-B); of the others only the sign is published (Table V), the size chosen; strain after the
precision and recall that Table VIII implies: AUC .96."""
MULTI = FailingUsage(remote_io=-0.57, strain=(3.2, 1.5))
"""Memory, local I/O and network without effect (Kumar et al., Table V)."""
SHARED = FailingUsage(
    remote_io=0.42, network=0.40, local_peak=0.5, out_of_memory=0.8, strain=(2.25, 0.8)
)
"""The peak of local I/O at 3 MB/s (Kumar et al., Fig. 4b); signs after Table V; AUC .95."""


@dataclass(frozen=True)
class SystemA(Kumar):
    """System A: the community cluster of Purdue University, March 2015 to June 2017.

    Published: shares of jobs and of node-seconds by environment, exits by environment, the share
    of failures within a minute, the limit of walltimes, the median overestimation of run times,
    the median time between bursts (of System B, the only one given), what counts as a burst, how
    failures go with usage (Table V), how well histories foretell (Table VI), times up and down.
    Chosen: the law of run times, widths, how node-seconds by exit part between the environments,
    the split of system failures into bursts, machines and start-up, how failures come in spells,
    and the levels of usage.

    So the system fails jobs as they start, and seldom past an hour. In 200,000 jobs, three seeds,
    success, system, user, user or system, and walltime have 48.7, 3.8, 12.9, 1.3 and 33.2 % of the
    node-seconds of first runs (published: 48.4, 4.0, 12.9, 1.3 and 33.4 %), and checkpoints could
    save few. `HARSH` is the same cluster where failures strike long jobs.

    Departures: of non-shared single jobs the system fails 14 % below 300 node-seconds, 1 % from
    1,000 to 10,000, and 5 % above 100,000 again; in bins r is stronger than published
    (`experiments/kumar2020_table5.py`). No bursts stand out; they are published of System B only.

    Requests of memory, and outages, are drawn apart: requests go neither with users nor with what
    is used, and a job does not say which nodes it ran on. Who runs out of memory shows in the
    windows and the exit code: the failure is one of a machine.
    """

    empty: ClassVar[str] = (
        "jobs.priority jobs.width tasks.anti_affinity tasks.cpu tasks.disk tasks.output_bytes "
        "tasks.stage"
    )
    """columns that its traces leave empty, of widths those that are always 1"""

    name: str = "system-a"
    jobs_per_day: Rate = 2_908_000 / 852
    """28 months."""
    sampling: Sampling = 0.1
    """Chosen: many bursts in a trace of some ten thousand jobs. A burst of 25 jobs is one of 2 or 3
    here."""
    default_jobs: Count = 15_000
    """Chosen: about 44 days."""
    environments: Annotated[tuple[Environment, ...], Filled()] = (
        Environment(
            "shared-single",
            True,
            False,
            0.387,
            0.158,
            (0.931, 0.027, 0.016, 0.006, 0.020),
            RUNS,
            SHARED,
            1.6,
            exit_node_seconds=(11.4, 1.05, 0.05, 1.55),
        ),
        Environment(
            "shared-multi",
            True,
            True,
            0.010,
            0.019,
            (0.876, 0.065, 0.022, 0.002, 0.035),
            RUNS,
            MULTI,
            1.2,
            exit_node_seconds=(1.25, 0.2, 0.01, 0.5),
        ),
        Environment(
            "single",
            False,
            False,
            0.463,
            0.184,
            (0.876, 0.065, 0.035, 0.004, 0.020),
            RUNS,
            SINGLE,
            1.9,
            exit_node_seconds=(12.8, 2.6, 0.1, 1.85),
        ),
        Environment(
            "multi",
            False,
            True,
            0.140,
            0.639,
            (0.618, 0.088, 0.072, 0.061, 0.161),
            RUNS,
            MULTI,
            1.4,
            exit_node_seconds=(20.3, 10.0, 1.1, 29.2),
        ),
    )
    """Shares of jobs and of node-seconds: Kumar et al., Table I; exits: Table IV. Node-seconds by
    exit of all together, less what the system takes: Table IV; their parting between environments,
    and factors of run times, chosen: to give Table I's node-seconds, and the median of Fig. 1."""
    sessions: Sessions = Sessions(
        block=4_000, jobs=80.0, odd=0.09, users=617, skew=2.5, applications=4
    )
    """617 users (Kumar et al., Table I); the rest chosen, so that histories foretell run times as
    in Table VI."""
    usage: Usage = Usage(
        window=5 * MINUTE,
        dense=4,
        thinning=1.25,
        memory=QuantileTable(((0.1, 0.06), (0.5, 0.22), (0.9, 0.5), (0.99, 0.75)), 0.01, 0.97),
        out_of_memory=QuantileTable(
            ((0.02, 0.5), (0.1, 0.53), (0.25, 0.58), (0.5, 0.65), (0.75, 0.76), (0.9, 0.885)),
            0.45,
            0.99,
        ),
        local_unit=6.0,
        remote_unit=46.0,
        local_io=(-0.89, 0.8),
        remote_io=(-0.5, 0.8),
        network=(0.3, 0.7),
        spread=(0.028, 0.32, 0.32, 0.16),
        flutter=(0.01, 0.10, 0.10, 0.05),
    )
    """Half of the failed jobs use less than 65 % of the memory, the rate rises from half of it on
    (Kumar et al., section V-A). The mean of local I/O follows from the fit f = .04 e^(-.48 x) and
    the failures of Table IV; deviations within a session from Table VI; the rest is chosen."""
    outages: OutageLaw = OutageLaw(
        machines=580,
        mtbf=round(9.1 * DAY),
        shape=0.75,
        repair=QuantileTable(((0.5, 150.0), (0.95, 1_600.0)), 1.0),
        causes=(("unreachable", 0.5), ("reboot", 0.3), ("planned", 0.2)),
        grouped=0.2,
        group_sizes=((2, 0.7), (8, 0.3)),
        domain=20,
    )
    """580 nodes; 95th percentiles of 31 days up and 24 hours down; the kinds of outages (Kumar et
    al., sections II to IV). A Weibull law of shape .75, about LANL's (Schroeder and Gibson, 2010),
    has that percentile, in a record of 28 months, if its mean is 9.1 days. Repairs that would
    outlast the next failure end before it, so their law lies higher. The shares of the kinds,
    groups and the median time down are chosen."""
    multi_nodes: Numbers = QuantileTable(((0.1, 2.0), (0.5, 4.0), (0.9, 16.0)), 2.0, 64.0)
    """Chosen (580 nodes in all)."""
    longest: Span = 580 * 336 * HOUR
    """The whole machine for the longest walltime, which no job comes near."""
    walltime_limit: Span = 336 * HOUR
    """Kumar et al., section II."""
    overestimate: QuantileTable = QuantileTable(((0.1, 1.6), (0.5, 9.0), (0.9, 60.0)), 1.1, 1e4)
    """9 at the median (Kumar et al., section V-E)."""
    beyond_end: Deviation = 0.7
    """Chosen: no source states it."""

    # Failures of the system: relative hazards; each environment's factor follows from its exits.
    startup: Amount = 0.6
    """Chosen: first runs that the system fails take 4 % of the node-seconds (Kumar et al., Table
    IV)."""
    startup_scale: Rate = 230.0
    """Chosen: a third of all failures come within a minute (Kumar et al., section V-E)."""
    machine: Amount = 1.0 / (40 * 86_400)
    """Chosen: no source states it."""
    machine_nodes: Power = 0.5
    """Chosen: no source states it."""
    burst_gap: Days = 3.3
    """Kumar et al., section V-C, of System B."""
    burst_gaps: Gaps | None = None
    """Chosen: no source states it."""
    burst_seconds: Rate = 300.0
    """Kumar et al., section V-C."""
    burst_weight: Amount = 0.35
    """Chosen: no source states it."""
    spell_gap: Days = 1.0
    """Chosen: no source states it."""
    spell_hours: QuantileTable = QuantileTable(((0.1, 0.5), (0.5, 1.5), (0.9, 5.0)), 0.25, 12.0)
    """Chosen: no source states it."""
    spell: Amount = 1.0 / 20_000
    """Chosen: mean time between failures of the order of hours."""
    calm: Amount = 1.0 / 2_000_000
    """Chosen: no source states it."""
    requests_memory: bool = True
    """Chosen: jobs share nodes, and who shares one must ask for memory."""
    memory_slope: Amount = 2.0
    """Chosen: failures rise with memory above half of the capacity (Kumar et al., Fig. 2)."""
    most_requeues: Requeues = 40
    """Chosen: no source states it."""
    requeue_minutes: QuantileTable = QuantileTable(
        ((0.1, 1.0), (0.5, 8.0), (0.9, 60.0)), 0.1, 720.0
    )
    """Chosen: no source states it."""
    queue_minutes: QuantileTable = QuantileTable(
        ((0.1, 0.05), (0.5, 2.0), (0.9, 90.0)), 0.01, 2880.0
    )
    """Chosen: no source states it."""
    exit_shared: ExitCode = 107
    """Jobs that lost their file system (Kumar et al., section V-C, of System B)."""
    exit_out_of_memory: ExitCode = 137
    """Kumar et al., section V-A."""
    applications: RecurringApplications | None = None
    """By default jobs are dealt to sessions."""


APPLICATIONS = RecurringApplications(
    runs=QuantileTable(((0.1, 4.0), (0.5, 25.0), (0.9, 110.0), (0.99, 300.0)), 1.0, 400.0),
    sittings=QuantileTable(
        ((0.5, 1.0), (0.8, 4.0), (0.9, 6.0), (0.95, 9.0), (0.99, 13.0), (0.999, 16.0)), 1.0, 30.0
    ),
    hours=QuantileTable(((0.1, 1.7), (0.5, 26.0), (0.9, 93.0)), 0.0, 720.0),
    regularity=0.5,
    office=4.5,
    skew=1.2,
    run=Parts(0.7, 0.298),
    odd=0.09,
    nodes=Parts(0.8, 0.2),
    end=Parts(0.5, 0.3),
    failure=Parts(0.1, 0.1),
    request=Parts(0.75, 0.2),
    usual=0.9,
    own_request=0.06,
    usage=0.5,
)
"""The applications of system-a-applications and system-b-applications: one law, but for `failure`.

Estimated from the first 70 % of LANL-CM5's log in the Parallel Workloads Archive, in stretches of
44 days (`experiments/swf_applications.py`): `sittings` (2.5 of an application by the mean), `hours`
(of sittings of five jobs or more), `regularity` (.46), `office` (4.1; CTC-SP2 2.5; jobs of LANL-CM5
3.7), and, so that they come about: `end`, `nodes`, `request`, `usual`, `own_request`. In that log,
and in brackets in system-a-harsh-applications and system-b-applications, three seeds each:
correlation of log run time with the application's run before, in a sitting .78 (.70; .73) and from
sitting to sitting .55 (.44; .54); of whether it finishes .51 (.38; .47) and .38 (.12; .33); as long
a walltime .87 (.78; .77) and .74 (.60; .57).

After Kumar et al., Table VI: `run`, `odd`, and sittings of some tens of jobs (`runs`), which no log
at hand has (by the mean LANL-CM5 6.9 jobs, SDSC-SP2 4.1, CTC-SP2 2.7, KTH-SP2 2.4). With LANL-CM5's
in their place a user's last job tells run time to 21 %, memory to 3.7 % and local I/O to 37 %
(published 16.7, 3.0 and 31.9), and the median of nine tells no more.

`skew`: so that 200,000 jobs have nearly all users. Chosen without a measure, as no record at hand
tells it: `usage`, and `failure`, of whom the system fails. In system-a-harsh-applications whether
it does has a correlation of .24 from run to run of an application, of .23 if the parts of `failure`
are 0, as run times and nodes are alike, and of .29 if they are .3 and .2.
"""
A_RECURRING = SystemA(name="system-a-applications", startup=0.48, applications=APPLICATIONS)
"""System A with applications that recur.

How closely it resembles LANL-CM5's log, the later 30 %, by `failgym trace compare`: 30,000 jobs,
seeds 0 and 1 (in brackets: that part of the log; its first 70 %; system-a). Correlation of
successive jobs of a user, of whether they finish .32 and .38 (.37; .40; .19), of log run time .70
and .76 (.61; .63; .76); of one name .32 and .38 (.36; .35; .19), .70 and .76 (.69; .62; .80). How a
job ends is told at its arrival with AUC .70 and .68 (.65; .67; .69), by the user's past .78 and .66
(.69; .69; .55). Jobs of another size on another machine are told apart by 13 features with AUC 1.00
(the log's past: .81), by nodes and run time with .71 and .68 (.62).

Kumar et al.'s Tables I and IV and Figs. 1 and 6, as `experiments/kumar2020_*.py` measure them, ten
seeds, are within their bands (of node-seconds success, system, user, user or system, and walltime
have 48.5, 3.6, 13.1, 1.3 and 33.4 %; `startup` was chosen anew), but scatter between seeds up to
twice as much, as few sittings decide them. In Table VI a user's last job tells run time to 14.7 %
(published 16.7), memory to 3.0 % (3.0), local I/O to 34 % (31.9); the median of nine tells more.
Departures that system-a has not: the most similar job (MCS) tells no more than the last (.99 to
1.01 of its error), since jobs of a sitting request alike; the fit of Fig. 2 has R squared .95 (.72;
three seeds), and that of Fig. 4 a slope of -.41 (-.48).
"""
