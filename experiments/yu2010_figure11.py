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

from typing import TYPE_CHECKING

from experiments.reproduction import Experiment, Kind, Measured, Options
from experiments.yu2010 import draw_falling, falling
from failgym.evaluation.progress import Advance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AT_MOST = 0.7
"""Band of an AOA of .5, relative to none."""


def measure(options: Options, advance: Advance) -> Measured:
    """By accuracy, and relative to no predictions."""
    found = falling(options, "loss", AT_MOST)
    advance(1)
    return found


def draw(measured: Measured, figure: Figure) -> None:
    """A line against the accuracy."""
    draw_falling(measured, figure, "average loss time [units]")


EXPERIMENT = Experiment(
    paper="FLAW 2010",
    item="Figure 11",
    title="loss time by AOA, 10 concurrent DAGs",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
    per="stretches",
    steps=lambda _: 1,
)

if __name__ == "__main__":
    EXPERIMENT.command()
