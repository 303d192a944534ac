"""What the profiles after Kumar et al., "The Mystery of the Failing Jobs", DSN 2020, consist of.

The fields of both systems; `SystemA` and `SystemB` give the values and say where each is from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from failgym.traces.synthetic.profiles.kumar_applications import RecurringApplications
from failgym.traces.synthetic.profiles.outages import OutageLaw
from failgym.traces.synthetic.quantiles import LARGEST, Numbers, QuantileTable
from failgym.traces.synthetic.ranges import (
    Amount,
    Between,
    Chance,
    Count,
    Decades,
    Dense,
    Deviation,
    ExitCode,
    Factor,
    Filled,
    Power,
    Rate,
    Sampling,
    Share,
    Shares,
    Skew,
    Slope,
    SomeShare,
    Span,
    Thinning,
    Window,
    Within,
)

LEAST_SHARE = 0.001
"""Of jobs that meet a walltime: less than that is lost between the steps of a table."""


@dataclass(frozen=True)
class Runs:
    """Run times of an environment's jobs, by how they end of themselves."""

    success: QuantileTable
    """[s]"""
    user: QuantileTable
    """[s]"""
    signal: QuantileTable
    """Of Kumar et al.'s category "user or system" [s]."""
    walltimes: Annotated[tuple[Rate, ...], Filled()]
    """Walltimes of the jobs that meet them [h]."""
    walltime_shares: Shares
    """Shares of these."""

    def faults(self) -> Iterator[tuple[str, str]]:
        """What does not fit in the walltimes."""
        if len(self.walltime_shares) != len(self.walltimes):
            yield "walltime_shares", f"as many as walltimes, {len(self.walltimes)}"
        elif list(self.walltimes) != sorted(self.walltimes):
            yield "walltimes", "rising hours"
        elif min(self.walltime_shares) < LEAST_SHARE * sum(self.walltime_shares):
            yield "walltime_shares", f"at least {LEAST_SHARE:g} of all each"


@dataclass(frozen=True)
class Environment:
    """Jobs of one kind, shared or not, on one node or several: their exits and run times."""

    name: str
    """Also the name of its queue."""
    shared: bool
    """Whether jobs share nodes."""
    multi: bool
    """Whether jobs have several nodes."""
    jobs: Share
    """Share of jobs (Kumar et al., Table I)."""
    node_seconds: Share
    """Share of node-seconds (Kumar et al., Table I)."""
    exits: Annotated[tuple[Share, Share, Share, Share, Share], SomeShare()]
    """Shares of success, system, user, user or system, walltime (Kumar et al., Table IV)."""
    runs: Runs
    """Run times, before `runtime`."""
    usage: FailingUsage
    """What goes before failures of the system."""
    runtime: Factor = 1.0
    """Run time over that of the tables, except of jobs that meet their walltime; chosen to give
    `node_seconds`."""
    out_of_memory: Share = 0.0
    """Share of jobs that run out of memory by themselves, whatever the system does; part of the
    system's exits."""
    shared_part: Chance | None = None
    """Part of the other system failures that is shared, whatever the number of bursts. By default
    the profile's weights decide."""
    exit_node_seconds: tuple[Amount, Amount, Amount, Amount] | None = None
    """Node-seconds of success, user, user or system, walltime in proportion, to those of other
    environments too. By default as the run times make them."""

    def faults(self) -> Iterator[tuple[str, str]]:
        """What does not fit in the exits."""
        if self.out_of_memory > self.exits[1]:
            yield "out_of_memory", f"at most the share of system exits, {self.exits[1]:g}"
        if self.exit_node_seconds is not None and self.exit_node_seconds[-1] == 0.0:
            yield "exit_node_seconds", "some of jobs that meet their walltime, the last"


@dataclass(frozen=True)
class FailingUsage:
    """How the usage of an environment's failed jobs differs from that of the others.

    Failure rates go with the exponential of log10 of a rate of I/O, as in Kumar et al.'s fits
    f = a e^(b x); `local_io`, `remote_io` and `network` are the b. If log10 of the rate is normal
    with deviation s, so it is of jobs that fail, b s^2 higher.
    """

    local_io: Slope = 0.0
    remote_io: Slope = 0.0
    network: Slope = 0.0
    local_peak: Amount = 0.0
    """Rate of local I/O, in units of `Usage.local_unit`, at which a few more fail; 0: none."""
    out_of_memory: Share = 0.0
    """Share of the failures of machines that are out of memory."""
    burst_at_peak: bool = False
    """Shared failures strike at one unit of remote I/O."""
    strain: tuple[Slope, Deviation] = (0.0, 1.0)
    """Mean and deviation of the strain in the last window before a system failure, where other
    windows have a standard normal one; it lowers the use of processors."""


@dataclass(frozen=True)
class Usage:
    """What the sampling windows of a system show."""

    window: Window
    """Sampling window [ms] (Kumar et al., section III)."""
    dense: Dense
    """The first windows of an attempt are all in the trace; chosen."""
    thinning: Thinning
    """Later ones each at this many times the offset of the one before; chosen."""
    memory: QuantileTable
    """Memory in use on a node, over its capacity, of jobs that do not run out of it."""
    out_of_memory: QuantileTable
    """The same in the last window of those that do."""
    local_unit: Factor | None
    """The unit of `local_io` [MB/s]; None: there is no local storage."""
    remote_unit: Factor
    """The unit of `remote_io` and `network` [MB/s]."""
    local_io: tuple[Slope, Decades]
    """Mean and deviation of log10 of the local I/O of a session [MB/s per node]."""
    remote_io: tuple[Slope, Decades]
    """The same of remote I/O."""
    network: tuple[Slope, Decades]
    """The same of the network."""
    spread: tuple[Deviation, Deviation, Deviation, Deviation]
    """Deviation of ln of the usage of the jobs of one session: memory, local I/O, remote I/O,
    network."""
    flutter: tuple[Deviation, Deviation, Deviation, Deviation]
    """The same of the windows of one attempt."""
    lead: Factor = 0.25
    """What precedes a system failure grows e-fold in this share of the time since the start, and
    in a window at least; chosen, so that thinned windows show it."""


MOST_NAMES = 10_000_000
"""Names of applications."""


@dataclass(frozen=True)
class Sessions:
    """How users submit: an application again and again, with run times near the last ones."""

    block: Count
    """Jobs of all users submitted while a session lasts; chosen, so that histories foretell run
    times as well as published."""
    jobs: Rate
    """Mean jobs of a session; chosen."""
    odd: Share
    """Share of a session's jobs that take any time; chosen: a mean of the last runs is no better
    than the last alone (Kumar et al., Table VI)."""
    users: Count
    """Users (Kumar et al., Table I)."""
    skew: Skew
    """A user's number is a uniform number to this power; chosen."""
    applications: Count
    """Applications of a user; chosen."""

    def faults(self) -> Iterator[tuple[str, str]]:
        """What does not fit in users and applications: each pair has a name."""
        if self.users * self.applications > MOST_NAMES:
            yield "applications", f"users times applications at most {MOST_NAMES}"


Days = Annotated[float, Between(0.01, 1e9)]
"""Days between bursts or spells."""
Gaps = Annotated[QuantileTable, Within(0.01, LARGEST)]
"""A law of them."""
Requeues = Annotated[int, Between(0, 1_000)]
"""Times that a job is run again."""


@dataclass(frozen=True)
class Kumar:
    """A sample of the jobs of a system, with all requeues.

    Every job is one task, `width` nodes wide; an attempt is one run of it. The exits of Table IV
    are those of first runs (`exit_category`). After a system failure the job is requeued until it
    finishes, fails by its own fault, is killed by its user or meets its walltime; what is recorded
    of these later runs is chosen. All attempts of a task share one true length.

    A job fails with a hazard that is the sum of a start-up term, which falls with age; a machine
    term, which grows with nodes; and a term shared by all jobs, high during spells of congestion
    and highest as a burst begins; all times what the environment makes of it. So failures of other
    jobs tell of the near future.
    """

    name: str
    jobs_per_day: Rate
    """Arrivals of the whole system (Kumar et al., Table I)."""
    sampling: Sampling
    """Share of the system's jobs in the trace. A burst of 25 jobs is fewer in a sample."""
    default_jobs: Count
    """Jobs of a trace if no number is asked for."""
    environments: Annotated[tuple[Environment, ...], Filled()]
    """The kinds of jobs."""
    sessions: Sessions
    """How users submit them."""
    usage: Usage
    """What they use."""
    outages: OutageLaw
    """The machines and when they are down."""
    multi_nodes: Numbers
    """Nodes of jobs of several."""
    longest: Span
    """Longest machine-time of a run [ms]: that of all its nodes."""
    walltime_limit: Span
    """Longest walltime that can be requested [ms] (Kumar et al., section II)."""
    overestimate: QuantileTable
    """Requested walltime over run time."""
    beyond_end: Deviation
    """Mean of ln(true length / run time) for jobs that do not finish: exponential."""
    startup: Amount
    """Weight of failing at start-up, whatever the length."""
    startup_scale: Rate
    """Mean age at such a failure [s]."""
    machine: Amount
    """Hazard per node [1/s]; only its size against the others matters."""
    machine_nodes: Power
    """It grows with this power of the number of nodes."""
    burst_gap: Days
    """Median days between bursts."""
    burst_gaps: Gaps | None
    """Their law; by default gamma of shape 2."""
    burst_seconds: Rate
    """A burst begins with failures within this time."""
    burst_weight: Amount
    """Weight of failing while a burst begins."""
    spell_gap: Days
    """Mean days between other spells of congestion."""
    spell_hours: QuantileTable
    """How long a spell lasts, and what follows a burst."""
    spell: Amount
    """Hazard during a spell [1/s]."""
    calm: Amount
    """Shared hazard at other times [1/s]."""
    requests_memory: bool
    """Jobs request a part of a node's memory; else they have all of it."""
    memory_slope: Amount
    """Hazard of a job that requests all memory of a node, over that of one without, less 1."""
    most_requeues: Requeues
    """System failures of one job at most."""
    requeue_minutes: QuantileTable
    """System failure to next start [min]."""
    queue_minutes: QuantileTable
    """Submission to start [min]."""
    exit_shared: ExitCode
    """Exit code of shared failures."""
    exit_out_of_memory: ExitCode
    """Exit code of failures of machines that are out of memory; those of the others have none."""
    applications: RecurringApplications | None
    """What users run again and again; if None, jobs are dealt to sessions after their run times."""
