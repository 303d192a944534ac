"""Overview of the workload traces.

Claim
    Table I of El-Sayed et al. (ICDCS 2017): how many of the jobs of Google's, Carnegie Mellon's and
    Los Alamos' clusters succeed, fail, are killed or aborted, or end otherwise. Section II:
    unsuccessful executions take more than half of each cluster's time.

Kind and band
    Approximate, on generated traces. Shares: a point to both sides, below 5 % a fifth of the share.
    Time of unsuccessful executions: .5 to .8. All are fitted: profiles were given the shares, and
    laws of run times chosen after the time. Printed, not judged: users, and the other outcomes of
    Google and CMU (.003 and .04 %), which no profile has.

Choices
    Shares are of the jobs whose end is known; the paper's sum to 99.8, 99.95 and 99.8 %, and are
    taken as they are. An unsuccessful execution is a task that does not finish at Google, whose
    killed jobs hold many finished tasks, and a job that does not succeed at CMU and LANL. The
    number of jobs and the span are not reproduced: the traces are samples.
"""

from __future__ import annotations

import numpy as np

from experiments.elsayed2017 import PAPER, Cell, cells, described, number, percent, traced
from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from failgym.evaluation.progress import Advance

COLUMNS = {
    "%Success Jobs": "share FINISH",
    "%Failed Jobs": "share FAIL",
    "%Killed or Aborted Jobs": "share KILL",
    "%Other": "share other",
}
"""The paper's name of a column, and ours."""
SHARES = {
    "Google": (63.0, 1.3, 35.5, 0.003),
    "CMU": (88.8, 8.11, 3.0, 0.04),
    "LANL": (67.5, 0.62, 30.7, 1.0),
}
"""[%]"""
USERS = {"Google": 227, "CMU": 73, "LANL": 446}
LEAST = 0.1
"""Shares below are not judged [%]."""
TIME = {"Google": "machine_time", "CMU": "machine_time_by_job", "LANL": "machine_time_by_job"}
"""The table of the time by outcome."""
UNSUCCESSFUL = (0.5, 0.8)
"""Band of the share of the time; the paper says "more than 50 %"."""

CELLS = tuple(
    Cell(
        name,
        cluster,
        "job_outcomes_by_width",
        "all",
        column,
        share,
        percent(share) if share > LEAST else None,
        scale=100.0,
        real="all" if cluster == "Google" else "",
    )
    for cluster, shares in SHARES.items()
    for (name, column), share in zip(COLUMNS.items(), shares, strict=True)
)


def measure(options: Options, advance: Advance) -> Measured:
    """Shares of outcomes, then users and time."""
    rows = list(cells(CELLS, options, advance))
    seeds = range(options.seeds)
    for cluster in USERS:
        traces = [traced(cluster, seed, options.quick) for seed in seeds]
        users = [float(len(np.unique(trace.column("jobs", "user")))) for trace in traces]
        rows.append(Row.over(f"{cluster}: #Users", users, USERS[cluster]))
    for cluster, table in TIME.items():
        spent = [
            1.0 - number(described(cluster, seed, options.quick), table, "FINISH", "share")
            for seed in seeds
        ]
        name = f"{cluster}: time of unsuccessful executions"
        rows.append(Row.over(name, spent, None, UNSUCCESSFUL, fitted=True))
    return Measured(tuple(rows))


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Table I",
    title="overview of the workload traces",
    kind=Kind.APPROXIMATE,
    measure=measure,
)

if __name__ == "__main__":
    EXPERIMENT.command()
