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

from typing import TYPE_CHECKING

from experiments.reproduction import Experiment, Kind, Measured, Options
from experiments.yu2010 import draw_falling, falling
from failgym.evaluation.progress import Advance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AT_MOST = 0.9
"""Band of an AOA of .5, relative to none."""


def measure(options: Options, advance: Advance) -> Measured:
    """By accuracy, and relative to no predictions."""
    found = falling(options, "reschedulings", AT_MOST)
    advance(1)
    return found


def draw(measured: Measured, figure: Figure) -> None:
    """A line against the accuracy."""
    draw_falling(measured, figure, "average number of reschedulings")


EXPERIMENT = Experiment(
    paper="FLAW 2010",
    item="Figure 12",
    title="reschedulings by AOA, 10 concurrent DAGs",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
    per="stretches",
    steps=lambda _: 1,
)

if __name__ == "__main__":
    EXPERIMENT.command()
