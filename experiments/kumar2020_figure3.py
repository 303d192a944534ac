"""Errors of memory predictions by history length.

Claim
    Fig. 3 of Kumar et al. (DSN 2020), System A: with 1 to 20 of a user's last jobs all predictors
    of memory have a median absolute percentage error below 12 %, for at least one length, and MCS
    the least for any length (a); the distribution of errors at the best lengths (b).

Kind and band
    Approximate, on generated jobs of system-a, whose sessions were made after Table VI: below 12 %,
    marked as fitted. The rest is printed: the figure's values are not published as numbers.

Choices
    As in `experiments.kumar2020_table6`. Percentage error is (actual - predicted) / actual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from experiments.kumar2020 import PAPER, label
from experiments.kumar2020_table6 import JOBS, QUICK_JOBS, TITLES
from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from failgym.evaluation.progress import Advance
from failgym.predictors import UserHistory
from failgym.predictors.history.job_use import QUANTITIES, past_jobs
from failgym.predictors.history.methods import METHODS
from failgym.traces import generate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 12.0
"""[%]"""
MEMORY = QUANTITIES.index("memory")
SHARES = np.linspace(0.05, 0.95, 91)
"""Quantiles of the errors that are drawn."""
SPREAD = (0.1, 0.9)
"""Quantiles of the errors that are shown as rows."""
Floats = npt.NDArray[np.float64]

COLOURS = ("#5c6670", "#d0743c", "#6a994e", "#2f6690")


def measure(options: Options, advance: Advance) -> Measured:
    """Errors by length, and their distribution."""
    by_length: list[Any] = []
    quantiles: list[Any] = []
    for seed in range(options.seeds):
        trace = generate("system-a", jobs=QUICK_JOBS if options.quick else JOBS, seed=seed)
        early, late = trace.split("train"), trace.split("test")
        learned = UserHistory().fit(early)
        by_length.append(learned.errors_by_length(late)[:, :, MEMORY])
        actual = past_jobs(late).use.memory
        quantiles.append([])
        for method in METHODS:
            foretold = learned.predict(late, method).memory
            relative = 100.0 * (actual - foretold) / actual
            quantiles[-1].append(np.nanquantile(relative, SHARES))
        advance(1)
    errors: Floats = np.array(by_length)
    spread: Floats = np.array(quantiles)
    rows: list[Row] = []
    for place, method in enumerate(METHODS):
        best = errors[:, :, place].min(axis=1).tolist()
        name = f"(a) {TITLES[method]}, error at its best length [%]"
        rows.append(Row.over(name, best, None, (0.0, MOST), fitted=True))
    others = np.delete(errors, METHODS.index("mcs"), axis=2).min(axis=2)
    best = (errors[:, :, METHODS.index("mcs")] <= others).mean(axis=1).tolist()
    rows.append(Row.over("(a) share of lengths at which MCS errs least", best, 1.0))
    for place, method in enumerate(METHODS):
        for share in SPREAD:
            at = int(np.abs(SHARES - share).argmin())
            name = f"(b) {TITLES[method]}, {share:.0%} of the errors are below [%]"
            rows.append(Row.over(name, spread[:, place, at].tolist()))
    series = {
        "methods": [TITLES[method] for method in METHODS],
        "error": errors.mean(axis=0).T.tolist(),
        "share": SHARES.tolist(),
        "quantiles": spread.mean(axis=0).tolist(),
    }
    return Measured(tuple(rows), series)


def draw(measured: Measured, figure: Figure) -> None:
    """Errors by length, and their distribution."""
    left: Any = figure.add_subplot(1, 2, 1)
    right: Any = figure.add_subplot(1, 2, 2)
    shown = measured.series
    lines = zip(shown["methods"], shown["error"], shown["quantiles"], COLOURS, strict=True)
    for name, errors, quantiles, colour in lines:
        left.plot(range(1, len(errors) + 1), errors, color=colour, label=name, linewidth=1.2)
        right.plot(quantiles, shown["share"], color=colour, linewidth=1.2)
    left.set_ylim(bottom=0.0)
    label(left, "(a) by history length", "jobs looked back at", "median absolute error [%]")
    label(right, "(b) at the best lengths", "error [%]", "share of jobs")
    left.legend(fontsize=7)


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Fig. 3",
    title="errors of memory predictions by history length",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
)

if __name__ == "__main__":
    EXPERIMENT.command()
