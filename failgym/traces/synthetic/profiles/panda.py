"""The clusters of Ghit and Epema, "Better Safe than Sorry" (PANDA), HPDC 2017."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from failgym.traces.synthetic.ranges import (
    Between,
    Bytes,
    Count,
    Deviation,
    Factor,
    Filled,
    Multiple,
    Number,
    Rising,
    Share,
    SomeShare,
    Span,
)
from failgym.vocabulary import MINUTE

Scale = Annotated[int, Between(1, 1_000)]
"""A factor that a run time is multiplied by, 1 to 1,000."""


@dataclass(frozen=True)
class Application:
    """An application of PANDA's simulated workload, as a whole."""

    name: str
    nodes: Count
    """Machines of a job (Table 5)."""
    failed_nodes: Number
    """Machines that a job loses in a failure event (Table 5)."""
    runtime: Count
    """Run time without failures at scale 1 [s] (Table 5)."""
    shares: Annotated[tuple[tuple[Scale, Share], ...], SomeShare()]
    """Scales of the run time, and the share of each among all jobs (Table 5)."""
    slowdown: Multiple
    """Run time of a job that is hit, over the undisturbed one, in unmodified Spark (Figs. 8, 9)."""


@dataclass(frozen=True)
class Panda10k:
    """Three days of jobs on a cluster of the size of Google's, as unmodified Spark would run them.

    A job is a gang of machines, all or nothing, first come first served, and one attempt. A failure
    event takes machines from one job, or from several small ones; the cluster replaces them at
    once, and the job runs on, longer than without: every run FINISHes or is cut by the end of the
    data. `exit_category` says whether a job was hit; `queue` names its scale.

    Published: machines, days, load, the mix and the run times of jobs, what an event does to them
    (Ghit and Epema, section 6.5, Table 5), slowdowns (Figs. 8 and 9), the delay until a loss is
    noticed (section 2.2). Chosen: which jobs an event hits, as noted.
    """

    empty: ClassVar[str] = (
        "jobs.priority jobs.scheduling_class jobs.walltime jobs.width tasks.anti_affinity "
        "tasks.cpu tasks.disk tasks.memory tasks.output_bytes tasks.stage windows.attempt "
        "windows.cpu windows.local_io windows.memory windows.network windows.remote_io"
    )
    """columns that its traces leave empty, of widths those that are always 1"""

    name: str = "panda-10k"
    machines: Count = 10_000
    """Ghit and Epema, section 6.5."""
    default_jobs: Count = 22_406
    """Three days (section 6.5) of the arrivals at the default load."""
    load: Factor = 0.5
    """Machine-time of the jobs without failures, over what there is (section 6.5)."""
    events_per_hour: Annotated[float, Between(0.0, 100_000.0)] = 5.0
    """Failure events: 1 to 30 (Fig. 10); 5 is the most that Google's cluster sees (section 6.5)."""
    event_machines: Count = 5
    """Machines that a failure event takes (section 6.5)."""
    applications: Annotated[tuple[Application, ...], Filled()] = (
        Application("BTWORLD", 20, 5, 1_587, ((1, 0.16), (5, 0.05), (10, 0.05)), 1.48),
        Application("PPPQ", 20, 5, 1_461, ((1, 0.16), (5, 0.05), (10, 0.05)), 1.40),
        Application("PageRank", 5, 1, 185, ((1, 0.16), (5, 0.16), (10, 0.16)), 11.0),
    )
    """Table 5. An event hits an application drawn evenly from those that run, then jobs of it that
    were not hit before; chosen: that is how the published numbers of failed jobs come out."""
    detection: Span = MINUTE
    """From the loss of a machine to its replacement [ms] (section 2.2)."""


Spread = Annotated[tuple[Multiple, Multiple], Rising()]
"""Least and most run time, over that of an ordinary task; all between are equally likely."""
ORDINARY: tuple[float, float] = (0.55, 1.55)
"""Run times in most stages; chosen: at the 90th and the 50th percentile of all tasks of a job they
then have a ratio of 1.4 (Ghit and Epema, section 6.1: 1.5), and no outlier is among them."""


@dataclass(frozen=True)
class DagStage:
    """A stage of a data-analytics job."""

    name: str
    parents: tuple[Number, ...] = ()
    """Positions of the stages whose whole output every task reads."""
    tasks: Number = 0
    """Number of its tasks; 0: one per block of the input that it scans."""
    scans: Share = 0.0
    """Share of the job's input that it reads."""
    cached: tuple[Number, ...] = ()
    """Positions of further stages: a task reads the output of the one at its own position."""
    times: Spread = ORDINARY
    """Run times of its tasks that are not outliers."""
    outliers: Share = 0.0
    """Share of outliers among its tasks."""
    selectivity: Factor = 0.1
    """Median size of a task's output over its input: .1 in the median of all (Ghit and Epema,
    sections 4 and 6.1)."""


@dataclass(frozen=True)
class DagApplication:
    """A data-analytics job as a graph of stages."""

    name: str
    nodes: Count
    """Machines that it runs on (Table 3)."""
    input_bytes: Bytes
    """Size of its input (Table 3)."""
    runtime: Count
    """Run time without failures [s] (Table 3)."""
    share: Share
    """Share of the jobs; chosen: mostly short ones, as in Table 5."""
    stages: Annotated[tuple[DagStage, ...], Filled()]
    """Chosen after Fig. 5 and section 5.2, in an order in which parents come first."""

    def faults(self) -> Iterator[tuple[str, str]]:
        """What does not fit in the graph."""
        for number, stage in enumerate(self.stages):
            if any(parent >= number for parent in stage.parents + stage.cached):
                yield "stages", f"parents of stage {number} that come before it"
            if not stage.tasks and not stage.scans:
                yield "stages", f"tasks in stage {number}, or a part of the input"


KEY = 0.015
"""Selectivity of stages that reduce their input so much that a tenth of its size, the budget of
GREEDY (section 6.1), holds all they put out; chosen: saved whole, they "cut off the lineage graph
at key stages" (section 6.3)."""
EARLY = 0.03
"""Selectivity of stages of which that budget may hold all or a part; chosen."""
SCAN = 0.25
"""Selectivity of stages that read the input; chosen: the median over all tasks is .1."""


def _slow(times: float) -> tuple[float, float]:
    """Run times of tasks that are longer than ordinary ones, and more alike."""
    return 0.8 * times, 1.2 * times


def _chain(names: str, parent: int, tasks: int) -> tuple[DagStage, ...]:
    """Stages in a row, each behind the one before, the first behind `parent` and in its place."""
    return tuple(
        DagStage(name, (parent + number,), tasks, selectivity=KEY)
        for number, name in enumerate(names.split())
    )


BTWORLD = DagApplication(
    "BTWORLD",
    20,
    600 * 10**9,
    1_587,
    0.08,
    (
        *(
            DagStage(f"scan-{number}", scans=1.0, outliers=0.015, selectivity=SCAN)
            for number in range(1, 6)
        ),
        DagStage("trackers", (0, 1), 1_300, selectivity=KEY),
        DagStage("hourly", (2, 5), 1_300, selectivity=KEY),
        DagStage("swarms", (3, 6), 1_300, selectivity=KEY),
        DagStage("daily", (7,), 1_300, selectivity=KEY),
        DagStage("lifetimes", (4, 8), 864, times=_slow(42.4), selectivity=EARLY),
        *_chain("new-swarms growth totals", 9, 1_300),
        DagStage("join", (6, 12), 1_300, selectivity=EARLY),
        *_chain("rank popularity report", 13, 1_300),
    ),
)
"""Scans of the complete input (section 3.2: "only a few" stages do), then a long chain of stages
and a single join (section 5.2). Chosen: 864 tasks 43 times as long as ordinary ones make
a coefficient of variation of 3.1 and 54 % of the time in the longest tenth; the published 3.4 and
50 % cannot be had together in so few waves."""

PPPQ = DagApplication(
    "PPPQ",
    20,
    600 * 10**9,
    1_461,
    0.08,
    (
        DagStage("lineitem", scans=0.83, selectivity=SCAN),
        DagStage("partsupp", scans=0.14, selectivity=SCAN),
        DagStage("part", scans=0.03, selectivity=SCAN),
        DagStage("shipped", (0,), 1_100, selectivity=EARLY),
        DagStage("available", (1, 2), 1_100, selectivity=KEY),
        DagStage("excess", (3, 4), 960, times=_slow(10.8), selectivity=KEY),
        DagStage("suppliers", (2, 5), 1_100, selectivity=KEY),
        DagStage("promotion", (4, 5, 6), 2_000),
    ),
)
"""Almost every stage combines two or three others (section 5.2)."""

NMSQ = DagApplication(
    "NMSQ",
    20,
    600 * 10**9,
    656,
    0.08,
    (
        DagStage("lineitem", scans=0.78, selectivity=SCAN),
        DagStage("orders", scans=0.17, selectivity=SCAN),
        DagStage("customer", scans=0.05, selectivity=SCAN),
        DagStage("region", (1, 2), 1_600, selectivity=EARLY),
        DagStage("volume", (0, 3), 960, times=_slow(10.8), selectivity=KEY),
        DagStage("years", (3, 4), 1_600, selectivity=KEY),
        DagStage("share", (4, 5), 2_000),
    ),
)
"""Almost every stage combines two or three others (section 5.2)."""

ITERATIONS = 14
"""Iterations of PageRank (Table 5)."""


def _iteration(number: int) -> tuple[DagStage, DagStage]:
    """The two stages of an iteration of PageRank, counted from 0, behind edges and graph."""
    messages = 2 + 2 * number
    shipped, updated = ((messages - 1,), (messages - 1,)) if number else ((), ())
    edges = (1, messages - 2) if number else (1,)
    return (
        _half(f"messages-{number + 1}", shipped, edges),
        _half(f"ranks-{number + 1}", (messages,), updated),
    )


def _half(name: str, parents: tuple[int, ...], cached: tuple[int, ...]) -> DagStage:
    """One task per slot."""
    return DagStage(name, parents, 80, times=_slow(1.25), selectivity=KEY, cached=cached)


PAGERANK = DagApplication(
    "PageRank",
    5,
    10**9,
    185,
    0.40,
    (
        DagStage("edges", tasks=3_400, scans=1.0, selectivity=SCAN),
        DagStage("graph", (0,), 80, times=_slow(1.25), selectivity=0.3),
        *(stage for number in range(ITERATIONS) for stage in _iteration(number)),
    ),
)
"""A chain of shuffles as long as there are iterations (section 5.2); 185 s is for 14 (Table 5). In
GraphX an iteration is two shuffles: ranks are shipped to the edges, whose messages make new ranks.
Either stage also reads, at its own position, what it made one iteration before. Chosen: the number
of edge partitions, so that 40 % of the tasks are two hops or more from the input (section 6.2:
AWARE saves roughly so many), and tasks of iterations so short that they are no stragglers. With
both, iterations take 47 % of the time; if Table 3, 128 s, is for 8 of them, the fewest of Fig. 9a,
they took 72 %."""

KMEANS = DagApplication(
    "KMeans",
    5,
    10 * 10**9,
    103,
    0.36,
    (
        *(DagStage(f"iteration-{number + 1}", scans=1.0) for number in range(4)),
        DagStage("centroids", (0, 1, 2, 3), 8),
    ),
)
"""Four iterations with narrow dependencies on the input, so that tasks read it themselves (section
2.2), and a single shuffle (section 5.2): all stages but the last are one hop from the input."""


@dataclass(frozen=True)
class PandaDas:
    """Data-analytics jobs on PANDA's share of the DAS cluster, task by task.

    A job is a graph of stages of parallel tasks. Nothing was run: an attempt is CENSORED, never
    started, with the task's run time as its length. A job's run times are scaled so that it takes
    the published time if its tasks start in order on the slots of its machines. There are no
    outages: the failures of the experiments are injected at a stated moment.

    One stage of each long application has 2 % (BTWORLD) to 9 % of the tasks and nearly half of the
    work: by itself it makes the coefficient of variation and the share of the longest tenth. Its
    tasks come in three waves on 320 slots, so that what a lost machine costs grows with every
    machine; stages in fewer waves would cost the same for one machine as for ten.

    Published: machines, inputs, run times, block size, outliers, selectivity, the coefficient of
    variation of task run times, the ratio of their 90th and 50th percentiles, the share of the
    longest tenth (Ghit and Epema, sections 3.2, 4 and 5). Chosen: what makes these agree, as noted.
    """

    empty: ClassVar[str] = (
        "attempts.outcome attempts.start jobs.priority jobs.scheduling_class jobs.walltime "
        "tasks.anti_affinity tasks.cpu tasks.disk tasks.memory tasks.width windows.attempt "
        "windows.cpu windows.local_io windows.memory windows.network windows.remote_io"
    )
    """columns that its traces leave empty, of widths those that are always 1"""

    name: str = "panda-das"
    default_jobs: Count = 40
    """Chosen: some 280,000 tasks."""
    machines: Count = 20
    """Ghit and Epema, section 5.1."""
    slots: Count = 16
    """Two processors of eight cores (section 5.1)."""
    block: Bytes = 128 * 10**6
    """Bytes in a block of the distributed file system (section 5.1)."""
    load: Factor = 0.5
    """Machine-time of the jobs over what there is; chosen."""
    applications: Annotated[tuple[DagApplication, ...], Filled()] = (
        BTWORLD,
        PPPQ,
        NMSQ,
        PAGERANK,
        KMEANS,
    )
    """Section 5.2."""
    delays: tuple[tuple[Share, Multiple, Multiple], ...] = (
        (0.70, 1.5, 3.0),
        (0.25, 3.0, 10.0),
        (0.05, 10.0, 20.0),
    )
    """Share of the outliers, and between what multiples of the stage's median they lie, uniformly:
    70 % and the first bounds, and 5 % from tenfold on, in section 3.2; the others chosen."""
    selectivity_stages: Deviation = 0.3
    """Standard deviation of the log selectivity between stages; chosen."""
    selectivity_tasks: Deviation = 1.3
    """The same between the tasks of a stage; chosen: it spans decades (sections 3.2 and 6.1)."""

    def tasks_of(self, app: DagApplication, stage: DagStage) -> int:
        """The number of tasks of a stage."""
        return stage.tasks or math.ceil(stage.scans * app.input_bytes / self.block)

    def faults(self) -> Iterator[tuple[str, str]]:
        """What does not fit in stages that read at their own positions."""
        for number, app in enumerate(self.applications):
            sizes = [self.tasks_of(app, stage) for stage in app.stages]
            for stage, size in zip(app.stages, sizes, strict=True):
                if any(sizes[parent] != size for parent in stage.cached):
                    place = f"stage {stage.name!r} of number {number}"
                    yield "applications", f"as many tasks in {place} as in its parents"
