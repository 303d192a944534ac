"""Two clusters of Los Alamos National Laboratory (LANL): systems 2 and 20 of its failure data.

Sources: the failure data themselves, LA-UR-05-7318 (LANL, 1996 to 2005); "Failure-aware workflow
scheduling in cluster environments" (FLAW, Cluster Computing 2010); El-Sayed, Zhu and Schroeder,
"Learning from Failure Across Multiple Clusters", ICDCS 2017. "Record" stands for what the failure
data show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from failgym.traces.synthetic.profiles.outages import OutageLaw
from failgym.traces.synthetic.quantiles import QuantileTable
from failgym.traces.synthetic.ranges import (
    Amount,
    Between,
    Correlation,
    Count,
    Filled,
    Rate,
    Rising,
    Sampling,
    Share,
    Skew,
    Span,
    Thinning,
)
from failgym.vocabulary import DAY, HOUR, MINUTE

LANL_2_OUTAGES = OutageLaw(
    machines=49,
    mtbf=730 * DAY * 49 / 1_332,
    shape=0.87,
    repair=QuantileTable(
        (
            (0.01, 7.0),
            (0.1, 17.0),
            (0.5, 46.0),
            (0.75, 100.0),
            (0.9, 174.0),
            (0.99, 846.0),
            (0.9993, 29_000.0),
        ),
        low=1.0,
        high=30_240.0,
    ),
    causes=(
        ("hardware", 960 / 1_332),
        ("software", 202 / 1_332),
        ("undetermined", 128 / 1_332),
        ("network", 16 / 1_332),
        ("facilities", 14 / 1_332),
        ("human error", 12 / 1_332),
    ),
    rates=QuantileTable(
        (
            (0.01, 0.03),
            (0.03, 0.35),
            (0.1, 0.5),
            (0.25, 0.6),
            (0.5, 0.8),
            (0.75, 1.12),
            (0.908, 1.47),
            (0.929, 1.73),
            (0.949, 2.24),
            (0.969, 3.6),
            (0.99, 5.05),
        ),
        low=0.01,
        high=5.1,
    ),
    spells=QuantileTable(((0.16, 0.61), (0.5, 1.0), (0.84, 1.65))),
    spell=3 * DAY,
    grouped=28 / 1_332,
    group_sizes=((2, 11 / 13), (3, 2 / 13)),
    domain=7,
)
"""Outages of system 2 in 2001 and 2002: 1,332 failures of 48 of its 49 nodes (record).

From the record: the mean time between failures (26.9 days over all nodes, 26.3 over those that
fail), the quantiles of repairs (median 46 minutes, mean 128), causes, failures per node (standard
deviation 21.7, at most 137), failures in the same minute. Chosen: `shape`, `spells` and `spell`, so
that the gaps have the record's Weibull shapes, .741 per node and .883 of all; `domain`.
"""

LANL_20_OUTAGES = OutageLaw(
    machines=256,
    mtbf=1_022 * DAY * 256 / 1_212,
    shape=0.62,
    repair=QuantileTable(
        ((0.01, 5.0), (0.1, 15.0), (0.5, 62.0), (0.75, 157.0), (0.95, 401.0), (0.99, 1_475.0)),
        low=1.0,
        high=5_542.0,
    ),
    causes=(
        ("hardware", 785 / 1_211),
        ("software", 368 / 1_211),
        ("undetermined", 31 / 1_211),
        ("facilities", 11 / 1_211),
        ("human error", 8 / 1_211),
        ("network", 8 / 1_211),
    ),
    rates=QuantileTable(
        ((0.05, 0.75), (0.5, 0.93), (0.95, 1.3), (0.99, 2.5), (0.995, 4.8), (0.998, 15.0)),
        low=0.1,
        high=15.0,
    ),
    spells=QuantileTable(((0.16, 0.45), (0.5, 1.0), (0.84, 2.22))),
    spell=3 * DAY,
    grouped=38 / 1_211,
    group_sizes=((2, 16 / 18), (3, 2 / 18)),
    domain=16,
)
"""Outages of nodes 0 to 255 of system 20 in the 1,022 days from 2002-11-21: 1,212 (record).

From the record: the mean time between failures (20.3 hours of the system), the quantiles of repairs
(median 62 minutes, mean 146), causes, the unequal nodes (one with 71 failures), failures in the
same minute. Chosen: `shape`, `spells` and `spell`, so that the gaps have the record's Weibull
shapes, .618 per node and .765 of the system; `domain`.
"""


@dataclass(frozen=True)
class Lanl2:
    """FLAW's cluster, and random workflows like those of its test bench.

    A job is a workflow: a directed acyclic graph of tasks, each on one machine, with unrelated
    compute times. A stage is one task. Nothing of them was run: an attempt is CENSORED, never
    started, with the mean compute time as its length. Workflows come in batches; each batch has
    its own two months of the cluster's outages.

    Published: the numbers of nodes and of target processing elements, tasks per workflow, the unit
    of time, the concurrent workflows, the months per experiment (FLAW, section V). Chosen: what the
    paper only names: the laws of meshing degree, edge length, node and edge weights.
    """

    empty: ClassVar[str] = (
        "attempts.outcome attempts.start jobs.priority jobs.scheduling_class jobs.walltime "
        "tasks.anti_affinity tasks.cpu tasks.disk tasks.memory tasks.output_bytes tasks.width "
        "windows.attempt windows.cpu windows.local_io windows.memory windows.network "
        "windows.remote_io"
    )
    """columns that its traces leave empty, of widths those that are always 1"""

    name: str = "lanl-2"
    default_jobs: Count = 120
    """Chosen: twelve batches, two years."""
    outages: OutageLaw = LANL_2_OUTAGES
    elements: Count = 32
    """Nodes that the workflows may use, drawn from all; the table of costs has no others (FLAW,
    section V-A)."""
    unit: Span = 5 * MINUTE
    """A unit of time of the test bench [ms] (FLAW, section V-A)."""
    tasks: Annotated[tuple[Count, Count], Rising()] = (175, 249)
    """Least and most tasks of a workflow (FLAW, section V-A); all numbers are equally likely."""
    batch: Count = 10
    """Workflows that arrive together (FLAW, Fig. 9)."""
    batch_gap: Span = 730 * DAY // 12
    """Time between batches [ms]: two months (FLAW, section V-B)."""
    weight: Annotated[tuple[Count, Count], Rising()] = (1, 399)
    """Least and most weight of a task [units], equally likely; chosen: 200 units in the mean keep
    ten workflows on 32 nodes busy for seven weeks."""
    heterogeneity: Annotated[float, Between(0.0, 2.0)] = 1.0
    """Compute times lie between 1 - h/2 and 1 + h/2 of the weight, at random for each task and
    machine; chosen."""
    meshing: Annotated[tuple[Thinning, Thinning], Rising()] = (1.0, 4.0)
    """Mean number of parents that a workflow's tasks draw, some of them twice: between these;
    chosen."""
    edge_length: Annotated[tuple[Share, Share], Rising()] = (0.03, 0.25)
    """Mean distance of the two ends of an edge, in the order of the tasks and as a share of their
    number: between these; chosen."""
    communication: Annotated[tuple[Amount, Amount], Rising()] = (0.1, 1.0)
    """Communication-to-computation ratio, mean transfer time over mean weight: between these;
    chosen."""
    bandwidth: Annotated[int, Between(1, 10**9)] = 125_000
    """Bytes per ms between two nodes, which make bytes of transfer times; chosen: 1 Gbit/s."""

    def faults(self) -> Iterator[tuple[str, str]]:
        """What does not fit in the numbers of nodes."""
        if self.elements > self.outages.machines:
            yield "elements", f"at most outages.machines, {self.outages.machines}"
        longest = 2 * self.weight[1] * self.unit * max(self.communication[1], 1.0)
        if longest * max(self.bandwidth, 2**16) > 2**62:
            yield "unit", "with weight, communication and bandwidth fewer than 2^62 bytes an edge"


STRUCK = ("syskilled", "killed", "aborted", "failed", "unknown")
"""Exits of jobs that an outage may have ended."""


@dataclass(frozen=True)
class Exits:
    """How jobs of LANL's system 20 end; those left are aborted by their users."""

    success: Share
    """Completed."""
    killed: Share
    """Killed by a signal or, "syskilled", by an administrator."""
    failed: Share
    """Failed by themselves, or with a node."""
    other: Share
    """Share of jobs whose end is not known."""

    def faults(self) -> Iterator[tuple[str, str]]:
        """What does not fit in the shares."""
        if self.success + self.killed + self.failed + self.other > 1.0:
            yield "other", "at most what the other shares leave of 1"


@dataclass(frozen=True)
class Lanl20:
    """A sample of the jobs of LANL's system 20, with the outages of its 256 nodes.

    A job is one task, `width` nodes wide, and one attempt: nothing is retried, applications take
    their own checkpoints. `exit_category` is LANL's word for the end; "killed", "syskilled" and
    "aborted" are all KILL.

    Published: the mix of exits, alone and by width, node-minutes by exit, nodes, days, users, which
    exits go with node outages (El-Sayed et al., Tables I to III, sections III-a and III-b). Chosen:
    widths of multi-node jobs, the correlation of width and node-minutes, waits.

    A job that ends by a node's outage has the cause MACHINE, and one of its nodes goes down just
    then. No job is placed on a node that goes down while it runs; one for which no such nodes are
    to be found, because it is wide and long, has no placement.

    Table II cannot be in minutes if all jobs are to fit: they would need over a hundred times the
    node-minutes that there are. In seconds they fit; `node_minute=1_000` makes such a trace. Read
    as printed, a sample of the jobs stands for the system, and jobs overlap on nodes.
    """

    empty: ClassVar[str] = (
        "jobs.priority jobs.scheduling_class jobs.walltime jobs.width tasks.anti_affinity "
        "tasks.cpu tasks.disk tasks.memory tasks.output_bytes tasks.stage windows.attempt "
        "windows.cpu windows.local_io windows.memory windows.network windows.remote_io"
    )
    """columns that its traces leave empty, of widths those that are always 1"""

    name: str = "lanl-20"
    outages: OutageLaw = LANL_20_OUTAGES
    jobs_per_day: Rate = 290_000 / 1_022
    """Arrivals of the whole system (El-Sayed et al., Table I)."""
    default_jobs: Count = 15_000
    """Chosen: no source states it."""
    sampling: Sampling = 15_000 / 290_000
    """Share of the system's jobs in the trace; chosen: the default spans the 1,022 days."""
    users: Count = 446
    """El-Sayed et al., Table I."""
    user_skew: Skew = 2.5
    """A user's number is a uniform number to this power; chosen."""
    multi_share: Share = 0.21
    """Jobs of several nodes (El-Sayed et al., section III-b)."""
    single: Exits = Exits(success=0.715, killed=0.21, failed=0.0062, other=0.01)
    multi: Exits = Exits(success=0.51, killed=0.44, failed=0.0062, other=0.01)
    """Within three points of the rounded 70 and 50 % of success, 22 and 45 % killed or syskilled
    (section III-b), so that the shares of Table I come out: 67.5, 0.62, 30.7, 1 %."""
    node_minutes: tuple[QuantileTable, QuantileTable, QuantileTable] = (
        QuantileTable(((0.25, 76.0), (0.5, 300.0), (0.75, 5_165.0), (0.99, 3_156_100.0)), high=8e6),
        QuantileTable(
            ((0.25, 2_737.5), (0.5, 15_934.0), (0.75, 107_578.0), (0.99, 7_901_700.0)), high=2e7
        ),
        QuantileTable(
            ((0.25, 1_339.0), (0.5, 16_034.0), (0.75, 236_352.0), (0.99, 7_396_864.0)), high=2e7
        ),
    )
    """Node-minutes of jobs that finish, fail, are killed (El-Sayed et al., Table II); others like
    the killed ones. The largest are chosen so that unsuccessful jobs take more than half of all
    (section III)."""
    node_minute: Annotated[int, Between(1, HOUR)] = MINUTE
    """Its unit [ms]."""
    nodes: QuantileTable = QuantileTable(((0.3, 4.0), (0.6, 16.0), (0.9, 64.0)), 2.0, 256.0)
    """Nodes of jobs of several; chosen."""
    width_correlation: Correlation = 0.95
    """Rank correlation of width and node-minutes within an exit; chosen."""
    longest: Span = 400 * DAY
    """Longest run [ms]; chosen."""
    struck: Annotated[tuple[tuple[str, Share, Share], ...], Filled()] = (
        ("syskilled", 0.48, 0.03),
        ("killed", 0.29, 0.048),
        ("aborted", 0.14, 0.03),
        ("failed", 0.02, 0.054),
        ("unknown", 0.07, 0.07),
    )
    """Of the jobs that end with an outage of one of their nodes, the share of each exit; and the
    share of that exit's jobs that they are (El-Sayed et al., Table III). With Table I, they are
    1.15 % of all jobs. The shares of the killed, by exit, follow."""
    struck_share: Share = 0.0115
    """Jobs that end with an outage: chosen so that the columns of Table III agree with Table I."""
    wait_minutes: QuantileTable = QuantileTable(
        ((0.1, 0.05), (0.5, 5.0), (0.9, 600.0)), 0.02, 10_080.0
    )
    """Submission to start [min]; chosen."""

    def faults(self) -> Iterator[tuple[str, str]]:
        """What does not fit in the exits that outages end."""
        names = [name for name, _, _ in self.struck]
        if sorted(names) != sorted(STRUCK):
            yield "struck", f"one each of {', '.join(STRUCK)}"
        elif any(share == 0.0 or within == 0.0 for _, share, within in self.struck):
            yield "struck", "shares above 0"
