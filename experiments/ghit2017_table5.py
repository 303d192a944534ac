"""The workload of PANDA's simulations: Table 5, what follows from it, and the 6 % rule.

Claim
    Table 5 of Ghit and Epema, "Better Safe than Sorry", HPDC 2017: the applications, their
    machines, run times at three scales, and shares. On 10,000 machines under a load of 50 %
    (section 6.5) this fixes how many jobs come and run at a time. SIZE suffices while "less than
    6 %" of the machines fail per day (section 8): the 5 failure events per hour of section 6.5.

Kind and band
    Exact: arithmetic on the table, by hand; equality. Traces of the `panda-10k` profile must have
    the table's rows, shares to a hundredth of a point, run times to a millisecond: fitted, since
    the profile was given them.

Choices
    Load is the machine-time of jobs without failures over what there is. "Short" jobs are those of
    up to 1,850 s, 80 % of all (section 6.5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.reproduction import Experiment, Kind, Measured, Options, Row, within
from failgym.evaluation.progress import Advance
from failgym.traces import Outcome, Trace, generate
from failgym.traces.synthetic import Panda10k

HOUR = 3_600.0
"""Seconds."""
MACHINES = 10_000
"""Section 6.5."""
DAYS = 3
"""Section 6.5."""
SHORT = 1_850
"""The longest run time of a short job [s]."""
EVENT_MACHINES = 5
"""Machines that a failure event takes (section 6.5)."""
EVENTS_PER_HOUR = 5
"""The most that Google's cluster sees (section 6.5)."""


@dataclass(frozen=True)
class JobType:
    """A row of Table 5."""

    application: str
    nodes: int
    failed_nodes: int
    scale: int
    runtime: int
    """[s]"""
    jobs: int
    """[%]"""


TABLE_5 = (
    JobType("BTWORLD", 20, 5, 1, 1_587, 16),
    JobType("BTWORLD", 20, 5, 5, 7_935, 5),
    JobType("BTWORLD", 20, 5, 10, 15_870, 5),
    JobType("PPPQ", 20, 5, 1, 1_461, 16),
    JobType("PPPQ", 20, 5, 5, 7_305, 5),
    JobType("PPPQ", 20, 5, 10, 14_610, 5),
    JobType("PageRank", 5, 1, 1, 185, 16),
    JobType("PageRank", 5, 1, 5, 925, 16),
    JobType("PageRank", 5, 1, 10, 1_850, 16),
)
APPLICATIONS = tuple(dict.fromkeys(kind.application for kind in TABLE_5))


def mean(values: dict[JobType, float]) -> float:
    """Over the jobs of the workload, of what a job of each type has."""
    shares = sum(kind.jobs for kind in values)
    return sum(kind.jobs * value for kind, value in values.items()) / shares


def machine_seconds() -> float:
    """Mean work of a job without failures [machine-s]."""
    return mean({kind: float(kind.runtime * kind.nodes) for kind in TABLE_5})


def arrivals_per_hour(load: float) -> float:
    """The rate of submissions that makes a load."""
    return load * MACHINES / machine_seconds() * HOUR


def running(load: float, application: str) -> float:
    """Mean number of jobs of an application that run at a time (Little's law)."""
    work = sum(kind.jobs * kind.runtime for kind in TABLE_5 if kind.application == application)
    return arrivals_per_hour(load) / HOUR * work / 100


def by_hand() -> list[Row]:
    """What follows from the table."""
    times = {kind: float(kind.runtime) for kind in TABLE_5}
    short = {kind: time for kind, time in times.items() if time <= SHORT}
    rows = [
        ("Jobs [%], sum", 100.0, sum(kind.jobs for kind in TABLE_5), 1e-9),
        ("short jobs [%]", 80.0, sum(kind.jobs for kind in short), 1e-9),
        ("mean run time of a job [s]", 3_247.28, mean(times), 1e-6),
        ("mean run time of a short job [s]", 1_201.6, mean(short), 1e-6),
        ("mean work of a job [machine-s]", 57_841.6, machine_seconds(), 1e-6),
        ("jobs per hour at a load of 50 %", 311.195, arrivals_per_hour(0.5), 5e-4),
    ]
    for load, jobs in ((0.1, 4_481.2), (0.5, 22_406.0), (0.9, 40_330.8)):
        ours = arrivals_per_hour(load) * DAYS * 24
        rows.append((f"jobs in 3 days at a load of {load:.0%}", jobs, ours, 0.05))
    for application, jobs in zip(APPLICATIONS, (125, 115, 41), strict=True):
        name = f"{application} jobs that run at a time, load 50 %"
        rows.append((name, jobs, running(0.5, application), 0.5))
    failed = 100.0 * EVENTS_PER_HOUR * EVENT_MACHINES * 24 / MACHINES
    rows.append(("machines failed per day at 5 events per hour [%]", 6.0, failed, 1e-9))
    return [Row(name, paper, ours, band=within(paper, by)) for name, paper, ours, by in rows]


def generated(trace: Trace) -> list[Row]:
    """The same table of a trace of the `panda-10k` profile; failed machines as it states them."""
    name, scale = trace.column("jobs", "name"), trace.column("jobs", "queue")
    nodes = trace.column("tasks", "width")
    run = undisturbed(trace)
    failed = {app.name: float(app.failed_nodes) for app in Panda10k().applications}
    rows: list[Row] = []
    for kind in TABLE_5:
        of = f"{kind.application}, scale {kind.scale}"
        here = (name == kind.application) & (scale == f"x{kind.scale}")
        taken = run[here & ~np.isnan(run)]
        values = (
            ("Total nodes", float(kind.nodes), float(nodes[here].mean()), 1e-9),
            ("Failed nodes", float(kind.failed_nodes), failed[kind.application], 1e-9),
            ("Runtime [s]", float(kind.runtime), float(taken.mean()), 1e-3),
            ("Jobs [%]", float(kind.jobs), 100.0 * float(here.mean()), 0.01),
        )
        rows += [
            Row(f"panda-10k, {of}: {what}", p, v, band=within(p, by), fitted=True)
            for what, p, v, by in values
        ]
    return rows


def undisturbed(trace: Trace) -> npt.NDArray[Any]:
    """Run time of each job that was not hit and came to its end [s], else not a number."""
    taken = (trace.column("attempts", "end") - trace.column("attempts", "start")) / 1e3
    whole = trace.column("attempts", "outcome") == Outcome.FINISH
    return np.where(whole & (trace.column("jobs", "exit_category") == "undisturbed"), taken, np.nan)


def measure(options: Options, advance: Advance) -> Measured:
    """All rows: nothing depends on the seed."""
    rows = [*by_hand(), *generated(generate("panda-10k", seed=0))]
    advance(1)
    return Measured(tuple(rows))


EXPERIMENT = Experiment(
    paper="Ghit and Epema 2017",
    item="Table 5",
    title="the distribution of job types, and the 6 % rule",
    kind=Kind.EXACT,
    measure=measure,
    seeds=0,
)

if __name__ == "__main__":
    EXPERIMENT.command()
