"""Reschedulings against the accuracy of predictions.

Claim
    "The number of rescheduling jobs is improved with more accurate failure prediction" (FLAW,
    Cluster Computing 2010, section V-D, Fig. 12).

Kind and band
    Approximate: with an AOA of .5 there are at most .9 of the reschedulings without predictions.
    The values of the figure are lost.

Choices
    Those of `experiments.yu2010`; ten concurrent workflows. A rescheduling is an execution that a
    failure ended, of a node or of the source of a transfer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from experiments.yu2010 import bench, levels, sweep
from failgym.evaluation.progress import Advance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AT_MOST = (0.0, 0.9)


def measure(options: Options, advance: Advance) -> Measured:
    """By accuracy, and relative to no predictions on the same stretch."""
    found = {level: runs.reschedulings for level, runs in sweep(options).items()}
    rows = [
        Row.over(f"AOA {level:g}: reschedulings", list(found[level])) for level in levels(options)
    ]
    rows += [
        Row.over(
            f"reschedulings at AOA {level:g} / at 0",
            list(found[level] / found[0.0]),
            band=AT_MOST if level == 0.5 else None,
        )
        for level in levels(options)[1:]
    ]
    advance(1)
    means = [float(found[level].mean()) for level in levels(options)]
    each = [found[level].tolist() for level in levels(options)]
    series = {
        "source": bench(options).source,
        "AOA": levels(options),
        "mean": means,
        "stretches": each,
    }
    return Measured(tuple(rows), series)


def draw(measured: Measured, figure: Figure) -> None:
    """The mean, and behind it each stretch."""
    axes: Any = figure.subplots()
    axes.plot(measured.series["AOA"], measured.series["stretches"], color="0.8", linewidth=1)
    axes.plot(measured.series["AOA"], measured.series["mean"], marker="o")
    axes.set_xlabel("AOA")
    axes.set_ylabel("average number of reschedulings")
    axes.set_ylim(bottom=0.0)
    axes.set_title(f"10 concurrent DAGs, {measured.series['source']}")


EXPERIMENT = Experiment(
    paper="FLAW 2010",
    item="Figure 12",
    title="reschedulings by AOA, 10 concurrent DAGs",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
    steps=lambda _: 1,
)

if __name__ == "__main__":
    EXPERIMENT.command()
