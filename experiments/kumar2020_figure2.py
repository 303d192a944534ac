"""Failures out of memory by memory in use.

Claim
    Fig. 2 and section V-A of Kumar et al. (DSN 2020): f = b (x - a)+ fits with an R squared of .72
    (System A, non-shared single) and .97 (System B, single). On System A failures begin to rise
    with more than half of a node's memory still free; on System B the rate is flat until close to
    the capacity and then jumps to 1. Half of System A's failed jobs use less than 65 %.

Kind and band
    Approximate: generated jobs of system-a and system-b, whose memory was made after this figure:
    marked as fitted. R squared within 15 %; on A the fit's a below half of the capacity, on B the
    rate of the last bin at least .9; the median within 5 points.

Choices
    Tail usage is that of a job's last window, over a node's memory. Bins as in Table V.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.kumar2020 import (
    A_SINGLE,
    B_SINGLE,
    PAPER,
    Panel,
    facts,
    panel,
    panels,
    points,
)
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, relative, within
from failgym.evaluation.progress import Advance
from failgym.traces.describe.fits import fit_hinge
from failgym.traces.describe.usage import FailureRates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

R2 = {"A": 0.72, "B": 0.97}
HALF_BELOW = 0.65
"""Share of the capacity that half of the jobs that ran out of memory use less than."""
AXIS = "memory, share of a node's"
SHOWN = (
    Panel("(a) A non-shared single", "A", A_SINGLE.group, "memory", axis=AXIS),
    Panel("(b) B non-shared single", "B", B_SINGLE.group, "memory", axis=AXIS),
)


def measure(options: Options, advance: Advance) -> Measured:
    """The fits, and the points of the first seed."""
    found: dict[str, list[float]] = {}
    series: list[dict[str, Any]] = []
    for seed in range(options.seeds):
        for shown in SHOWN:
            known = facts(shown.system, seed, options.quick)
            line = points(known, "memory", shown.group)
            curve = fit_hinge(line.usage, line.rate)
            if curve is not None and curve.b > 0.0:
                found.setdefault(f"{shown.system} R2", []).append(curve.r2)
                found.setdefault(f"{shown.system} a", []).append(curve.a)
            found.setdefault(f"{shown.system} last", []).append(float(line.rate[-1]))
            if shown.system == "A":
                rates = FailureRates(known)
                ended, failed, memory = rates.among("memory")
                out = memory[ended & failed]
                if len(out):
                    found.setdefault("median", []).append(float(np.median(out)))
            if not seed:
                series.append(panel(shown, line))
        facts.cache_clear()
        advance(1)
    return Measured(tuple(rows(found)), {"panels": series})


def rows(found: dict[str, list[float]]) -> list[Row]:
    """What was found, as far as a sample has it."""
    made: list[Row] = []
    for system, paper in R2.items():
        if f"{system} R2" in found:
            name = f"{system}, R squared of b (x - a)+"
            band = relative(paper, 0.15)
            made.append(Row.over(name, found[f"{system} R2"], paper, band, fitted=True))
    if "A a" in found:
        name = "A, a: share of memory where failures begin"
        made.append(Row.over(name, found["A a"], 0.5, (0.0, 0.5), fitted=True))
    name = "B, failure rate of the fullest bin"
    made.append(Row.over(name, found["B last"], 1.0, (0.9, 1.0), fitted=True))
    if "median" in found:
        name, band = "A, median memory of failed jobs", within(HALF_BELOW, 0.05)
        made.append(Row.over(name, found["median"], HALF_BELOW, band, fitted=True))
    return made


def draw(measured: Measured, figure: Figure) -> None:
    """Both panels."""
    panels(figure, measured.series["panels"])


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Fig. 2",
    title="failures out of memory by memory in use",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
)

if __name__ == "__main__":
    EXPERIMENT.command()
