"""Loss time against the accuracy of predictions.

Claim
    "On average, higher level of AOA helps FLAW reduces the loss time considerably" (FLAW, Cluster
    Computing 2010, section V-D, Fig. 11).

Kind and band
    Approximate: with an AOA of .5 the loss time is at most .7 of that without predictions. The
    values of the figure are lost.

Choices
    Those of `experiments.yu2010`; ten concurrent workflows. Loss time is counted from dispatch to
    death, transfers included (section V-C).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from experiments.yu2010 import bench, levels, sweep
from failgym.evaluation.progress import Advance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AT_MOST = (0.0, 0.7)


def measure(options: Options, advance: Advance) -> Measured:
    """By accuracy, and relative to no predictions on the same stretch."""
    found = {level: runs.loss for level, runs in sweep(options).items()}
    rows = [Row.over(f"AOA {level:g}: loss time", list(found[level])) for level in levels(options)]
    rows += [
        Row.over(
            f"loss time at AOA {level:g} / at 0",
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
    axes.set_ylabel("average loss time [units]")
    axes.set_ylim(bottom=0.0)
    axes.set_title(f"10 concurrent DAGs, {measured.series['source']}")


EXPERIMENT = Experiment(
    paper="FLAW 2010",
    item="Figure 11",
    title="loss time by AOA, 10 concurrent DAGs",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
    steps=lambda _: 1,
)

if __name__ == "__main__":
    EXPERIMENT.command()
