"""Savings of checkpoints by runtime.

Claim
    Fig. 10 of Kumar et al. (DSN 2020): S_OCP, S_ML and S_T of shared single jobs of System A, for
    runtimes up to 5 hours, in four cells of mean time between failures and checkpoint time.

Kind and band
    Exact: closed forms. The paper prints no values of the curves; the areas under them are Table
    VIII's, here by numerical integration, within .015. The cells that the predictor was fitted to
    in Table VIII are marked as fitted.

Choices
    As in `experiments.kumar2020_table8`, with its predictor. The working point is chosen once per
    cell; "for each runtime" is the other reading of "maximum net savings over all possible
    (precision, recall) pairs": printed, not judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.kumar2020 import A_SHARED, HOUR, PAPER, label
from experiments.kumar2020_table8 import (
    BAND,
    COMBINED,
    FIRST,
    LONGEST,
    ML,
    PERIODIC,
    combined_area,
    fitted,
    ml_area,
    young,
)
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, within
from failgym import metrics
from failgym.evaluation.progress import Advance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP, QUICK_STEP = 6.0, 30.0
"""Of the runtimes [s]."""
DRAWN = 60.0
"""Of those in the picture [s]."""
METHODS = ("Periodic", "ML", "ML+Periodic")


def measure(options: Options, advance: Advance) -> Measured:
    """The curves of the four cells and the areas under them."""
    step = QUICK_STEP if options.quick else STEP
    runtime = np.arange(step / 2, LONGEST, step)
    every = round(DRAWN / step)
    predictor, rows, series = fitted(A_SHARED), list[Row](), dict[str, Any]()
    points = predictor.points()
    for cell, periodic, both in zip(PERIODIC, PERIODIC.values(), COMBINED[A_SHARED], strict=True):
        work, cost = young(cell), cell.cost
        _, *ml_point = ml_area(predictor, cost)
        _, *both_point = combined_area(predictor, cell)
        curves = (
            metrics.saving_periodic(runtime, work, cost),
            metrics.saving_ml(ml_point[0], ml_point[1], runtime, cost),
            metrics.saving_combined(both_point[0], both_point[1], runtime, work, cost),
        )
        papers = (periodic, ML[A_SHARED][cost], both)
        for name, curve, paper in zip(METHODS, curves, papers, strict=True):
            row, band = f"{name}, {cell.name}, area", within(paper, BAND)
            chosen = name == "ML" or (name == "ML+Periodic" and cell == FIRST)
            rows.append(Row(row, paper, float(curve.mean()), band=band, fitted=chosen))
        columns = (points[0][:, None], points[1][:, None], runtime[None, ::every], work, cost)
        best = metrics.saving_combined(*columns).max(axis=0)
        name = f"ML+Periodic, {cell.name}, area, best point for each runtime"
        rows.append(Row(name, both, float(best.mean())))
        series[cell.name] = {
            "runtime": runtime[::every].tolist(),
            **{name: curve[::every].tolist() for name, curve in zip(METHODS, curves, strict=True)},
        }
        advance(1)
    return Measured(tuple(rows), series)


def draw(measured: Measured, figure: Figure) -> None:
    """The four panels."""
    for place, (name, curves) in enumerate(measured.series.items()):
        axes: Any = figure.add_subplot(2, 2, place + 1)
        hours = np.array(curves["runtime"]) / HOUR
        for method, colour in zip(METHODS, ("#5c6670", "#d0743c", "#2f6690"), strict=True):
            axes.plot(hours, curves[method], label=method, color=colour, linewidth=1.2)
        axes.set_ylim(0.0, 1.02)
        label(axes, name, "runtime [h]", "saving")
        if not place:
            axes.legend(fontsize=7, loc="lower right")


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Fig. 10",
    title="savings of checkpoints by runtime",
    kind=Kind.EXACT,
    measure=measure,
    draw=draw,
    seeds=0,
    steps=lambda options: len(PERIODIC),
)

if __name__ == "__main__":
    EXPERIMENT.command()
