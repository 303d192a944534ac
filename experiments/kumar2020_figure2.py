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
    Tail usage is that of a job's last window, over a node's memory. Bins as in Table V, of the
    jobs of all seeds together: few run out of memory.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from experiments.kumar2020 import (
    A_SINGLE,
    B_SINGLE,
    PAPER,
    Panel,
    Pool,
    facts,
    panels,
)
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, relative, within
from failgym.evaluation.progress import Advance
from failgym.traces.describe.fits import fit_hinge
from failgym.traces.describe.usage import FailureRates, Points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

R2 = {"A": 0.72, "B": 0.97}
HALF_BELOW = 0.65
"""Share of the capacity that half of the jobs that ran out of memory use less than."""
CAPACITY = 0.95
"""Of a node's memory: what is above counts as close to the capacity."""
TOO_FEW = "no bin with failures has a hundred jobs"
AXIS = "memory, share of a node's"
SHOWN = (
    Panel("(a) A non-shared single", "A", A_SINGLE.group, "memory", axis=AXIS),
    Panel("(b) B non-shared single", "B", B_SINGLE.group, "memory", axis=AXIS),
)


def measure(options: Options, advance: Advance) -> Measured:
    """The fits to the jobs of all seeds, and the median of each."""
    pool, medians = Pool(), list[float]()
    for seed in range(options.seeds):
        for shown in SHOWN:
            known = facts(shown.system, seed, options.quick)
            pool.add(shown, known)
            if shown.system == "A":
                ended, failed, memory = FailureRates(known).among("memory")
                out = memory[ended & failed]
                medians.append(float(np.median(out)) if len(out) else math.nan)
        facts.cache_clear()
        advance(1)
    rows: list[Row] = []
    for shown in SHOWN:
        rows += fitted(shown.system, pool.points(shown))
    name, band = "A, median memory of failed jobs", within(HALF_BELOW, 0.05)
    rows.append(Row.over(name, medians, HALF_BELOW, band, fitted=True))
    return Measured(tuple(rows), {"panels": pool.panels()})


def fitted(system: str, line: Points) -> list[Row]:
    """The fit to the points of a system, and what is said of it."""
    curve = fit_hinge(line.usage, line.rate)
    if curve is None or not curve.b > 0.0:
        return [Row(f"{system}, R squared of b (x - a)+", R2[system], math.nan, note=TOO_FEW)]
    name, band = f"{system}, R squared of b (x - a)+", relative(R2[system], 0.15)
    below = float(line.rate[line.usage < curve.a].max(initial=0.0))
    above = curve.r2 > band[1]
    note = f"below a at most {below:.2%} fail: generated jobs scatter less" if above else ""
    rows = [Row(name, R2[system], curve.r2, band=band, fitted=True, note=note)]
    if system == "A":
        name = "A, a: share of memory from which failures rise"
        return [*rows, Row(name, 0.5, curve.a, band=(0.0, 0.5), fitted=True)]
    last, before = float(line.rate[-1]), float(line.rate[line.usage < CAPACITY].max())
    return [
        *rows,
        Row("B, failure rate of the fullest bin", 1.0, last, band=(0.9, 1.0), fitted=True),
        Row(f"B, highest rate below {CAPACITY:.0%} of memory", 0.0, before),
    ]


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
