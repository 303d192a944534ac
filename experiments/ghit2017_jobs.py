"""A workload on a cluster that loses machines, job by job (Ghit and Epema, HPDC 2017, section 6.5).

"Jobs are submitted according to a Poisson process and they are serviced by a FIFO scheduler. The
scheduler allocates to each job a fixed number of machines which are released only after the job
completes." Failure events are a Poisson process, too. An event takes five machines, and no job is
hit twice: one BTWORLD or PPPQ job loses them, or five PageRank jobs lose one each (Table 5). A job
that is hit runs for a multiple of its run time, which is that of Fig. 8 or 9.

What the paper does not say: which jobs an event hits. Here an application is drawn evenly from
those that run, then jobs of it; `VICTIMS` has other rules. Events end with submissions, after three
days; then jobs run out.

The `panda-10k` profile of failgym is the same model as a trace, with its machines; this one is
written after the paper alone.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from experiments.ghit2017_table5 import (
    DAYS,
    EVENT_MACHINES,
    HOUR,
    MACHINES,
    SHORT,
    TABLE_5,
    JobType,
    arrivals_per_hour,
)

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


FAILED_NODES = {kind.application: kind.failed_nodes for kind in TABLE_5}
"""Machines that a job loses when it is hit."""

Factors = dict[str, tuple[float, float]]
"""Of each application: run time of a job that is not hit, and of one that is, over Spark's without
failures."""

SPARK: Factors = {"BTWORLD": (1.0, 1.48), "PPPQ": (1.0, 1.40), "PageRank": (1.0, 11.0)}
"""Sections 6.3 and 6.4: 48 % and 40 % longer if 5 of 20 machines are lost, 11 times if 1 of 5."""


def panda(overhead: float, pagerank: float = SPARK["PageRank"][1] / 4.0) -> Factors:
    """PANDA with AWARE.

    Args:
        overhead: of checkpoints (Fig. 7c: below a tenth).
        pagerank: PageRank that is hit (Fig. 9a: "four times as fast" as Spark).
    """
    like_undisturbed = (1.0 + overhead, 1.0 + overhead)  # Fig. 8: "constant runtimes"
    return dict.fromkeys(SPARK, like_undisturbed) | {"PageRank": (1.0 + overhead, pagerank)}


@dataclass(frozen=True)
class Drawn:
    """What chance decides, whatever the policy."""

    submit: Floats
    """of each job, ascending [s]"""
    kind: list[JobType]
    """of each job"""
    event: Floats
    """of each failure event, ascending [s]"""
    draws: Floats
    """(events, 1 + machines of an event): what decides on victims, in [0, 1)"""


def draw(load: float, events_per_hour: float, seed: int, days: float = DAYS) -> Drawn:
    """A workload and the failures that it meets."""
    jobs, failures = (np.random.default_rng([seed, number]) for number in range(2))
    submit = poisson(arrivals_per_hour(load), days, jobs)
    shares = [kind.jobs / 100 for kind in TABLE_5]
    kind: list[int] = jobs.choice(len(TABLE_5), len(submit), p=shares).tolist()
    event = poisson(events_per_hour, days, failures)
    draws = failures.random((len(event), 1 + EVENT_MACHINES))
    return Drawn(submit, [TABLE_5[k] for k in kind], event, draws)


def poisson(per_hour: float, days: float, rng: np.random.Generator) -> Floats:
    """Times of a Poisson process [s]."""
    span = days * 24 * HOUR
    return np.sort(rng.random(rng.poisson(per_hour * span / HOUR)) * span)


@dataclass(frozen=True)
class Played:
    """What became of each job."""

    run_time: Floats
    """from start to end [s]"""
    wait: Floats
    """from submission to start [s]"""
    hit: Flags
    short: Flags


SUBMITTED = {app: sum(kind.jobs for kind in TABLE_5 if kind.application == app) for app in SPARK}
"""Jobs that are of an application [%]."""
Rule = Callable[[str, int], float]
"""How likely an application is hit, by its name and the number of its jobs that run."""
RULES: dict[str, Rule] = {
    "application": lambda application, jobs: 1.0,
    "submissions": lambda application, jobs: float(SUBMITTED[application]),
    "running jobs": lambda application, jobs: float(jobs),
}
"""By what applications are hit in proportion to."""

END, FAILURE, SUBMISSION = range(3)
"""Kinds of events, in the order in which they win ties."""


class Cluster:
    """The machines, and all jobs with what became of them."""

    def __init__(self, drawn: Drawn, factors: Factors, rule: Rule) -> None:
        self.drawn, self.factors, self.rule = drawn, factors, rule
        jobs = len(drawn.kind)
        self.start, self.end = [0.0] * jobs, [0.0] * jobs
        self.hit = np.zeros(jobs, dtype=np.bool_)
        self.idle = MACHINES
        self.waiting = deque[int]()
        self.unhit: dict[str, list[int]] = {app: [] for app in factors}  # jobs that run
        times: list[float] = drawn.submit.tolist()
        self.agenda = [(time, SUBMISSION, job) for job, time in enumerate(times)]
        times = drawn.event.tolist()
        self.agenda += [(time, FAILURE, event) for event, time in enumerate(times)]
        heapq.heapify(self.agenda)

    def run(self) -> None:
        """Until no job is left."""
        while self.agenda:
            now, kind, number = heapq.heappop(self.agenda)
            if kind == SUBMISSION:
                self.waiting.append(number)
            elif kind == FAILURE:
                self.fail(now, number)
            elif now == self.end[number]:  # else it was put off
                self.leave(number)
            self.begin(now)

    def begin(self, now: float) -> None:
        """Start jobs, as long as the first that waits gets all its machines."""
        while self.waiting and self.drawn.kind[self.waiting[0]].nodes <= self.idle:
            job = self.waiting.popleft()
            row = self.drawn.kind[job]
            self.idle -= row.nodes
            self.start[job] = now
            self.ends(job, now + row.runtime * self.factors[row.application][0])
            self.unhit[row.application].append(job)

    def ends(self, job: int, time: float) -> None:
        """A job is to end at a time."""
        self.end[job] = time
        heapq.heappush(self.agenda, (time, END, job))

    def leave(self, job: int) -> None:
        """A job ends."""
        row = self.drawn.kind[job]
        self.idle += row.nodes
        if not self.hit[job]:
            self.unhit[row.application].remove(job)

    def fail(self, now: float, event: int) -> None:
        """Machines of some jobs fail: these run on for longer."""
        for job in self.victims(self.drawn.draws[event].tolist()):
            row = self.drawn.kind[job]
            self.unhit[row.application].remove(job)
            self.hit[job] = True
            later = self.start[job] + row.runtime * self.factors[row.application][1]
            if later > self.end[job]:
                self.ends(job, later)

    def victims(self, draws: list[float]) -> list[int]:
        """Jobs of one application, as many as lose an event's machines together."""
        there = {app: self.rule(app, len(jobs)) for app, jobs in self.unhit.items() if jobs}
        if not there:
            return []
        bound = list(accumulate(there.values()))
        chosen = list(there)[bisect_right(bound, draws[0] * bound[-1])]
        left, most = self.unhit[chosen].copy(), EVENT_MACHINES // FAILED_NODES[chosen]
        places = draws[1 : 1 + min(most, len(left))]
        return [left.pop(math.floor(place * len(left))) for place in places]


def simulate(drawn: Drawn, factors: Factors, rule: Rule = RULES["application"]) -> Played:
    """Run all jobs to their end."""
    cluster = Cluster(drawn, factors, rule)
    cluster.run()
    start = np.array(cluster.start)
    short = np.array([kind.runtime <= SHORT for kind in drawn.kind])
    return Played(np.array(cluster.end) - start, start - drawn.submit, cluster.hit, short)


def improvement(panda: Played, spark: Played, short: bool = False) -> float:
    """By how much PANDA shortens the mean run time, as a share of Spark's."""
    kept = spark.short if short else np.ones_like(spark.short)
    return 1.0 - float(panda.run_time[kept].mean() / spark.run_time[kept].mean())
