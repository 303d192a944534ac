"""Applications that recur: what users run again and again, and what each run is like.

A profile that has them makes jobs that resemble the jobs before: of the same user, of the same
name. Without them every job is drawn apart.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated

from failgym.traces.synthetic.quantiles import Numbers, QuantileTable
from failgym.traces.synthetic.ranges import (
    Amount,
    Between,
    Count,
    Deviation,
    Filled,
    Level,
    Mix,
    Number,
    Rate,
    Shape,
    Share,
)

PACKAGE = "failgym.traces.synthetic.profiles"

Regularity = Annotated[float, Between(0.01, 100.0)]
"""Shape of a gamma law of the gaps between runs: large if they are periodic, 1 if they come at
random, small if they come in bursts."""
Tasks = Annotated[float, Between(1.0, 1e6)]
"""The median number of tasks of a job."""
Runs = Annotated[float, Between(1.0, 1e6)]
"""A mean number of runs."""
Hours = Annotated[float, Between(0.0, 1e6)]
"""A time, in hours, that may be 0."""


@dataclass(frozen=True)
class Application:
    """What one user runs again and again with one request: its habits."""

    jobs: Rate
    """Jobs of it in a record, or in proportion to them."""
    owner: Number
    """Number of the user."""
    cpu: Share
    """Requested by each task, of the largest machine."""
    memory: Share
    """The same of memory."""
    disk: Share
    """The same of disk."""
    priority: Number
    """Position in the profile's priorities."""
    scheduling_class: Number
    """0 to 3."""
    tasks: Tasks
    """Median of the tasks of a job."""
    tasks_spread: Deviation
    """Standard deviation of their logarithm between jobs; 0: always as many."""
    minutes: Rate
    """Median run time of a task [min]."""
    minutes_spread: Deviation
    """Standard deviation of its logarithm between jobs."""
    within: Deviation
    """Coefficient of variation of the run times of the tasks of one job."""
    finished: Share
    """Share of its jobs that finish."""
    failed: Share
    """Share of its jobs that fail; the rest is killed."""
    unfinished: Share
    """Share of the tasks of a job that does not finish which do not finish either."""
    names: Share
    """Names over jobs: 1 if each run has a name of its own."""
    hours: Hours
    """How long a campaign of runs lasts."""
    regularity: Regularity
    """How regularly runs of a campaign follow each other."""
    turns: Number
    """The same for applications that take turns, as the steps of a workflow; 0: it takes none."""
    rare: Amount
    """Jobs of the rare applications that take after it, in a record, or in proportion to them."""

    def faults(self) -> Iterator[tuple[str, str]]:
        """What does not fit in the shares of ends."""
        if self.finished + self.failed > 1.0 + 1e-9:
            yield "failed", f"at most {1.0 - self.finished:g}, what finished leaves"


@dataclass(frozen=True)
class Applications:
    """The applications of a batch cluster, and how their runs come.

    How many jobs there are by outcome and width stays what the profile says, and so do the
    quantiles of tasks and run times: applications decide which jobs have which. Common
    applications are listed; a rare one takes its habits from several listed ones.
    """

    catalogue: Annotated[tuple[Application, ...], Filled()]
    """The common applications."""
    jobs_per_hour: Rate
    """In the record. The campaigns of a trace that has fewer last as much longer: what is left of a
    record if jobs are left out lasts as long as it did."""
    batch: Share
    """Share of jobs of batch priorities. The profile's mix of outcomes and widths, and its
    quantiles of run times, are those of these jobs."""
    others: tuple[Mix, Mix]
    """Shares of the jobs of other priorities by outcome (finished, failed, killed): of one task, of
    several. They run as long as the catalogue says."""
    rare: tuple[tuple[Mix, Mix], tuple[Mix, Mix]]
    """Share of the jobs of rare applications by outcome: of other priorities, of one task and of
    several; of batch priorities, of one task and of several."""
    rare_runs: Numbers
    """Runs of a rare application."""
    rare_hours: QuantileTable
    """How long the runs of a rare application go on."""
    rare_spread: Deviation
    """Standard deviation of the log run time, and of the log number of tasks, of a rare application
    about that of the listed one that it takes after."""
    rare_names: Share
    """Names over jobs of rare applications."""
    rare_users: Share
    """Share of rare applications that belong to any user; the others to the owner of the listed one
    that they take after."""
    rare_requests: Share
    """Share of rare applications that request memory as no listed one does."""
    unfinished: Level
    """Share of the tasks of failed jobs of several tasks that do not finish."""
    always: Hours
    """An application whose campaign lasts so long runs at all times."""
    together: Share
    """Part of the variance of the log run times of an application that the runs of one bundle have
    in common."""
    bundle: Runs
    """Runs that a user submits together, on what is the same input, by the mean."""
    mixed: Count
    """Runs of a user in a row among which jobs of one task and of several are spread evenly."""
    stretch: Runs
    """Runs of an application in a row that end alike, if it has several ways to end: 1 if each run
    ends by chance, more if a change breaks what follows until it is mended."""
    usage: tuple[Share, Share, Share]
    """Cpu, memory and I/O: share of the range of quantiles of usage, over request, in which that of
    all tasks of one application lies; of I/O that of jobs."""
    office: Shape
    """Campaigns begun in office hours, 9 to 17 o'clock on five days of seven, over those of other
    hours of the same length."""


@cache
def catalogue(file: str) -> tuple[Application, ...]:
    """The applications in a CSV file of this package, one a row."""
    with files(PACKAGE).joinpath(file).open(encoding="utf-8") as lines:
        return tuple(_application(row) for row in csv.DictReader(lines))


def _application(row: dict[str, str]) -> Application:
    whole = ("owner", "priority", "scheduling_class", "turns")
    numbers = {name: int(text) if name in whole else float(text) for name, text in row.items()}
    return Application(**numbers)  # type: ignore[arg-type]
