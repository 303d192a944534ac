"""The clusters of Ghit and Epema, "Better Safe than Sorry" (PANDA), HPDC 2017."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from failgym.traces.synthetic.profiles.times import MINUTE
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

Scale = Annotated[int, Between(1, 1_000)]
"""Of a run time."""


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


@dataclass(frozen=True)
class DagStage:
    """A stage of a data-analytics job."""

    name: str
    parents: tuple[Number, ...] = ()
    """Positions of the stages whose output it reads."""
    tasks: Number = 0
    """Number of its tasks; 0: one per block of the input that it scans."""
    scans: Share = 0.0
    """Share of the job's input that it reads."""
    wide: bool = True
    """Every task reads from all tasks of the parents; else from the one at its own position."""
    slow: bool = False
    """Whether its tasks run `PandaDas.slow` times as long as others."""
    selectivity: Factor = 0.1
    """Median size of a task's output over its input: .1 (Ghit and Epema, sections 4 and 6.1)."""


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
            if any(parent >= number for parent in stage.parents):
                yield "stages", f"parents of stage {number} that come before it"
            if not stage.tasks and not stage.scans:
                yield "stages", f"tasks in stage {number}, or a part of the input"


def _chain(names: str, parent: int, tasks: int) -> tuple[DagStage, ...]:
    """Stages in a row, each behind the one before, the first behind `parent` and in its place."""
    return tuple(
        DagStage(name, (parent + number,), tasks) for number, name in enumerate(names.split())
    )


BTWORLD = DagApplication(
    "BTWORLD",
    20,
    600 * 10**9,
    1_587,
    0.08,
    (
        DagStage("scan", scans=1.0),
        *_chain("trackers swarms intervals totals popularity", 0, 480),
        DagStage("new-swarms", (2,), 480),
        DagStage("join", (5, 6), 176, slow=True),
        *_chain("rank report", 7, 480),
    ),
)
"""A long chain of stages and a single join (section 5.2)."""

PPPQ = DagApplication(
    "PPPQ",
    20,
    600 * 10**9,
    1_461,
    0.08,
    (
        DagStage("lineitem", scans=0.83),
        DagStage("partsupp", scans=0.14),
        DagStage("part", scans=0.03),
        DagStage("shipped", (0,), 480),
        DagStage("available", (1, 2), 480),
        DagStage("excess", (3, 4), 124, slow=True),
        DagStage("suppliers", (2, 5), 320),
        DagStage("promotion", (4, 5, 6), 160),
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
        DagStage("lineitem", scans=0.78),
        DagStage("orders", scans=0.17),
        DagStage("customer", scans=0.05),
        DagStage("region", (1, 2), 480),
        DagStage("volume", (0, 3), 120, slow=True),
        DagStage("years", (3, 4), 320),
        DagStage("share", (4, 5), 160),
    ),
)
"""Almost every stage combines two or three others (section 5.2)."""

ITERATIONS = 14
"""Iterations of PageRank (Table 5)."""

PAGERANK = DagApplication(
    "PageRank",
    5,
    10**9,
    185,
    0.40,
    (
        DagStage("edges", scans=1.0, slow=True),
        DagStage("graph", (0,), 16, slow=True, selectivity=0.3),
        *(
            DagStage(f"iteration-{number + 1}", (number + 1,), 80, selectivity=0.3)
            for number in range(ITERATIONS)
        ),
    ),
)
"""A chain of shuffles as long as there are iterations (section 5.2); 185 s is for 14 (Table 5). An
iteration keeps the size of the data in the mean: a median selectivity of .3."""

KMEANS = DagApplication(
    "KMeans",
    5,
    10 * 10**9,
    103,
    0.36,
    (
        DagStage("points", scans=1.0),
        *(DagStage(f"iteration-{number + 1}", (0,), 0, 1.0, False) for number in range(4)),
        DagStage("centroids", (1, 2, 3, 4), 8, slow=True),
    ),
)
"""Four iterations with narrow dependencies on the input, and a single shuffle (section 5.2)."""


@dataclass(frozen=True)
class PandaDas:
    """Data-analytics jobs on PANDA's share of the DAS cluster, task by task.

    A job is a graph of stages of parallel tasks. Nothing was run: an attempt is CENSORED, never
    started, with the task's run time as its length. A job's run times are scaled so that it takes
    the published time if its tasks start in order on the slots of its machines. A task of a stage
    without parents, or with narrow ones, reads a block of the input. There are no outages: the
    failures of the experiments are injected at a stated moment.

    Published: machines, inputs, run times, block size, outliers, selectivity, the coefficient of
    variation of task run times, the ratio of their 90th and 50th percentiles, the share of the
    longest tenth (Ghit and Epema, sections 3.2, 4 and 5). Chosen: what makes these agree, as noted.
    """

    name: str = "panda-das"
    default_jobs: Count = 40
    """Chosen: some 86,000 tasks."""
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
    slow: Multiple = 25.0
    """Median run time of a task of a slow stage, over that of others; chosen, with about 2 % of the
    tasks in such stages: a coefficient of variation of 3.4 and half of the time in a tenth of the
    tasks."""
    ordinary: Annotated[tuple[Multiple, Multiple], Rising()] = (0.6, 1.33)
    """Run times of tasks that are not outliers, over the median of the stage: uniform; chosen."""
    outliers: Share = 0.084
    """Share of outliers among the tasks of a stage; chosen: run times at the 90th and the 50th
    percentile have a ratio of 1.5 (section 6.1)."""
    delays: tuple[tuple[Share, Multiple, Multiple], ...] = (
        (0.70, 1.5, 3.0),
        (0.25, 3.0, 10.0),
        (0.05, 10.0, 20.0),
    )
    """Share of the outliers, and between what multiples of the median they lie, uniformly: 70 % and
    the first bounds, and 5 % above tenfold, in section 3.2; the others chosen."""
    selectivity_stages: Deviation = 0.5
    """Standard deviation of the log selectivity between stages; chosen."""
    selectivity_tasks: Deviation = 1.5
    """The same between the tasks of a stage; chosen: it spans decades (sections 3.2 and 6.1)."""

    def tasks_of(self, app: DagApplication, stage: DagStage) -> int:
        """The number of tasks of a stage."""
        return stage.tasks or math.ceil(stage.scans * app.input_bytes / self.block)

    def faults(self) -> Iterator[tuple[str, str]]:
        """What does not fit in stages with narrow dependencies."""
        for number, app in enumerate(self.applications):
            sizes = [self.tasks_of(app, stage) for stage in app.stages]
            for stage, size in zip(app.stages, sizes, strict=True):
                if not stage.wide and any(sizes[parent] != size for parent in stage.parents):
                    place = f"stage {stage.name!r} of number {number}"
                    yield "applications", f"as many tasks in {place} as in its parents"
