"""Failures by local I/O.

Claim
    Fig. 4 and section V-B of Kumar et al. (DSN 2020), System A: among non-shared single jobs the
    failure rate falls with log10 of the tail rate of local I/O, f = .04 e^(-.48 x), R squared .16,
    with a peak about 6 MB/s; among shared single jobs nothing is significant but a peak about 3.

Kind and band
    Approximate: generated jobs of system-a, whose usage was made after this figure: a, b and the
    places of the peaks are marked as fitted. a, b and peaks within 15 %. R squared depends on the
    number of jobs in a bin: printed.

Choices
    x is log10 of MB/s of the last window, bins as in Table V. A peak is the largest failure rate
    over that of the fit, between 1 and 20 MB/s, in finer bins of all seeds together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from experiments.kumar2020 import A_SHARED, A_SINGLE, PAPER, Panel, Pool, facts, panels, points
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, relative
from failgym.evaluation.progress import Advance
from failgym.traces.describe.facts import Facts
from failgym.traces.describe.fits import fit_exponential
from failgym.traces.describe.kumar import groups
from failgym.traces.describe.usage import FailureRates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNIT = 6.0
"""Of local I/O in the trace [MB/s]."""
A, B, R2 = 0.04, -0.48, 0.16
PEAKS = {A_SINGLE: 6.0, A_SHARED: 3.0}
"""[MB/s]"""
EDGES = 20.0 ** np.linspace(0.0, 1.0, 27)
"""Of the bins in which peaks are sought [MB/s]."""
LEAST = 100
"""Jobs of a bin (section V)."""
BAND = 0.15
AXIS = "local I/O [MB/s]"
SHOWN = (
    Panel("(a) A non-shared single", "A", A_SINGLE.group, "local_io", UNIT, AXIS),
    Panel("(b) A shared single", "A", A_SHARED.group, "local_io", UNIT, AXIS),
)

Ints = npt.NDArray[np.int64]


def measure(options: Options, advance: Advance) -> Measured:
    """The fits of each seed, the peaks of all."""
    fits: dict[str, list[float]] = {"a": [], "b": [], "R2": []}
    counts = {kind: np.zeros((2, len(EDGES) - 1), dtype=np.int64) for kind in PEAKS}
    pool = Pool()
    for seed in range(options.seeds):
        known = facts("A", seed, options.quick)
        line = points(known, "local_io", A_SINGLE.group)
        curve = fit_exponential(line.usage + np.log10(UNIT), line.rate)
        if curve is not None:
            for name, value in zip(fits, curve, strict=True):
                fits[name].append(value)
        for kind in PEAKS:
            counts[kind] += finer(known, kind.group)
        for shown in SHOWN:
            pool.add(shown, known)
        facts.cache_clear()
        advance(1)
    rows = [
        Row.over("A non-shared single, a", fits["a"], A, relative(A, BAND), fitted=True),
        Row.over("A non-shared single, b", fits["b"], B, relative(B, BAND), fitted=True),
        Row.over("A non-shared single, R squared", fits["R2"], R2),
    ]
    for kind, place in PEAKS.items():
        at, height = peak(counts[kind])
        note = f"{height:.1f} times the rate of the other bins"
        band = relative(place, BAND)
        rows.append(Row(f"{kind.name}, peak [MB/s]", place, at, band=band, fitted=True, note=note))
    return Measured(tuple(rows), {"panels": pool.panels()})


def finer(known: Facts, group: str) -> Ints:
    """Jobs, and those that the system failed, between each two of `EDGES`: [2, bins]."""
    rates = FailureRates(known)
    there, failed, value = rates.among("local_io")
    here = there & dict(groups(known))[group][known.attempt_job]
    rate = 10.0 ** value[here] * UNIT
    held = np.histogram(rate, EDGES)[0]
    return np.stack([held, np.histogram(rate[failed[here]], EDGES)[0]])


def peak(counts: Ints) -> tuple[float, float]:
    """Where the failure rate is highest [MB/s], and how much above the others'."""
    jobs, failures = counts
    enough = np.flatnonzero(jobs >= LEAST)
    if not len(enough):
        return float("nan"), float("nan")
    rate = failures[enough] / jobs[enough]
    best = int(rate.argmax())
    others = np.delete(enough, best)
    rest = failures[others].sum() / max(int(jobs[others].sum()), 1)
    middle = float(np.sqrt(EDGES[enough[best]] * EDGES[enough[best] + 1]))
    return middle, float(rate[best] / rest) if rest else float("nan")


def draw(measured: Measured, figure: Figure) -> None:
    """Both panels."""
    panels(figure, measured.series["panels"])


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Fig. 4",
    title="failures by local I/O",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
)

if __name__ == "__main__":
    EXPERIMENT.command()
