"""Cluster resources that jobs use, by how they end.

Claim
    Section III-c and Fig. 3 of El-Sayed et al. (ICDCS 2017). At Google killed jobs use more CPU and
    memory than the rest, and failed jobs far more local I/O. OpenCloud's failed jobs write most to
    local disks.

Kind and band
    Approximate, on generated traces; the values are lost. Judged by order: ratios of medians above
    one, for "dramatically higher" above two. Local I/O is fitted: rates were chosen by outcome.

Choices
    The usage of a job is the mean over the runs of its tasks. OpenCloud's local reads and writes
    are one figure in a trace. The real trace has no usage at hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.elsayed2017 import PAPER, STATUS, boxes, every, number, spread
from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from failgym.evaluation.progress import Advance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MORE, FAR_MORE = (1.0, 1_000.0), (2.0, 1_000.0)
"""Bands of ratios."""
REQUESTED = (
    "failed jobs are generated to request twice the memory of others (Fig. 2 has them request"
    " significantly more), and all use what they request alike"
)
CLAIMS = (
    ("Google", "cpu", "KILL", MORE, ""),
    ("Google", "memory", "KILL", MORE, REQUESTED),
    ("Google", "local_io", "FAIL", FAR_MORE, ""),
    ("CMU", "local_io", "FAIL", FAR_MORE, ""),
)
"""Cluster, resource, the jobs that use most of it, band, and why it may be outside."""
PANELS = (("Google", "cpu"), ("Google", "memory"), ("Google", "local_io"), ("CMU", "local_io"))
"""What the picture shows."""


def measure(options: Options, advance: Advance) -> Measured:
    """Who uses most."""
    rows: list[Row] = []
    for cluster, resource, most, band, why in CLAIMS:
        made = every(options, cluster, usage=True)
        for other, status in STATUS.items():
            if other != most:
                pairs = [
                    [
                        number(one, "utilisation", f"{resource}: {end}", "p50")
                        for end in (most, other)
                    ]
                    for one in made
                ]
                name = f"{cluster}: {resource} of {STATUS[most]} over {status} jobs, medians"
                ratios, fitted = [a / b for a, b in pairs], resource == "local_io"
                rows.append(Row.over(name, ratios, None, band, fitted).because(why))
    advance(max(1, options.seeds))
    found = {
        f"{cluster}: {value}": spread(every(options, cluster, usage=True), "utilisation", value)
        for cluster, value in PANELS
    }
    return Measured(tuple(rows), found)


def draw(measured: Measured, figure: Figure) -> None:
    """Boxes from the quartiles, whiskers from the tenths."""
    boxes(figure, measured.series, "used by a job's tasks, mean")


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Figure 3",
    title="cluster resource utilization of successful and unsuccessful jobs",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
)

if __name__ == "__main__":
    EXPERIMENT.command()
