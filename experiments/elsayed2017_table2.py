"""How long jobs last, by how they end.

Claim
    Table II of El-Sayed et al. (ICDCS 2017): quantiles of the durations of completed, failed, and
    killed or aborted jobs of three clusters. Completed jobs are the shortest everywhere; failed
    jobs are shorter than killed ones at Google and CMU, and comparable to them at LANL.

Kind and band
    Approximate, on generated traces: the quartiles within 10 %, the 99th percentile within 30 %.
    Fitted: these quantiles are the profiles' own.

Choices
    The duration of a job is the sum of the run times of all attempts of all its tasks, at LANL of
    its nodes [minutes]. Jobs cut off by the end of the data do not count. Of the real trace the
    paper's batch jobs are taken, those of priority 2 to 8, over half a day.
"""

from __future__ import annotations

from experiments.elsayed2017 import PAPER, Cell, cells
from experiments.reproduction import Experiment, Kind, Measured, Options, relative
from failgym.evaluation.progress import Advance

COLUMNS = {"25tile": "p25", "Median": "p50", "75tile": "p75", "99tile": "p99"}
"""The paper's name of a column, and ours."""
STATUS = {"COMPLETED": "FINISH", "FAILED": "FAIL", "KILLED/ABORTED": "KILL"}
MINUTES = {
    "Google": {
        "COMPLETED": (1.0225, 2.8158, 7.7739, 357.6081),
        "FAILED": (2.128, 5.9519, 38.908, 31_462.0),
        "KILLED/ABORTED": (17.4708, 69.5155, 328.106, 52_144.0),
    },
    "CMU": {
        "COMPLETED": (0.8532, 8.7213, 75.1883, 14_241.0),
        "FAILED": (2.3509, 22.9641, 204.8583, 54_868.0),
        "KILLED/ABORTED": (9.2011, 61.7547, 550.1506, 80_018.0),
    },
    "LANL": {
        "COMPLETED": (76.0, 300.0, 5_165.0, 3_156_100.0),
        "FAILED": (2_737.5, 15_934.0, 107_578.0, 7_901_700.0),
        "KILLED/ABORTED": (1_339.0, 16_034.0, 236_352.0, 7_396_864.0),
    },
}
"""Task-minutes, at LANL node-minutes."""
TOLERANCE = {"p25": 0.1, "p50": 0.1, "p75": 0.1, "p99": 0.3}
"""Half a band, as a share of the paper's figure."""

CELLS = tuple(
    Cell(
        f"{status}, {name}",
        cluster,
        "job_durations",
        STATUS[status],
        column,
        minutes,
        relative(minutes, TOLERANCE[column]),
        real=f"batch {STATUS[status]}" if cluster == "Google" else "",
    )
    for cluster, by_status in MINUTES.items()
    for status, quantiles in by_status.items()
    for (name, column), minutes in zip(COLUMNS.items(), quantiles, strict=True)
)


def measure(options: Options, advance: Advance) -> Measured:
    """The table, row by row."""
    return Measured(cells(CELLS, options, advance))


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Table II",
    title="job-duration quantiles of successful and unsuccessful jobs",
    kind=Kind.APPROXIMATE,
    measure=measure,
)

if __name__ == "__main__":
    EXPERIMENT.command()
