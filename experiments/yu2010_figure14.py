"""Makespan against the kind of errors that predictions make.

Claim
    For each of the ten stretches ten further traces of predictions "with full spectrum of possible
    mixtures of Fp and Fn", at AOA of 50 % and of 60 %, "do not tell any correlation of average
    makespan and the percentage of Fp/(Fp+Fn)" (FLAW, Cluster Computing 2010, section V-D, Fig. 14).

Kind and band
    Approximate: a correlation between -.3 and .3.

Choices
    Those of `experiments.yu2010`; ten concurrent workflows. The mixtures are 0, 1/9, ... 1. The
    correlation is Pearson's, over the makespans relative to the mean of their stretch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from experiments.yu2010 import bench, runs
from failgym.evaluation.progress import Advance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACCURACIES = (0.5, 0.6)
MIXTURES = 10
NONE = (-0.3, 0.3)


def mixtures(options: Options) -> list[float]:
    """Shares of false positives among the errors."""
    return np.linspace(0.0, 1.0, 3 if options.quick else MIXTURES).tolist()


def measure(options: Options, advance: Advance) -> Measured:
    """Relative makespans by mixture, and their correlation."""
    test, shares = bench(options), mixtures(options)
    rows: list[Row] = []
    relative: dict[str, list[list[float]]] = {}
    for accuracy in ACCURACIES:
        spans: list[list[float]] = []
        for number, share in enumerate(shares):
            found = runs(test, test.scenario(accuracy, share, seed=100 + number))
            spans.append(found.makespan.tolist())
            advance(1)
        each = np.array(spans) / np.mean(spans, axis=0)
        relative[f"{accuracy:g}"] = each.tolist()
        overall = np.corrcoef(np.repeat(shares, each.shape[1]), each.ravel())[0, 1]
        name = f"AOA {accuracy:g}: correlation of makespan and Fp/(Fp+Fn)"
        rows.append(Row(name, 0.0, float(overall), band=NONE))
        spread = each.mean(axis=1)
        rows.append(
            Row(f"AOA {accuracy:g}: largest / least mean", None, float(spread.max() / spread.min()))
        )
    return Measured(
        tuple(rows), {"source": test.source, "Fp/(Fp+Fn)": shares, "relative": relative}
    )


def draw(measured: Measured, figure: Figure) -> None:
    """A point for each trace of predictions."""
    axes: Any = figure.subplots()
    shares = measured.series["Fp/(Fp+Fn)"]
    for marker, (accuracy, relative) in zip("ox", measured.series["relative"].items(), strict=True):
        stretches = len(relative[0])
        at = np.repeat(shares, stretches)
        axes.plot(at, np.ravel(relative), marker, alpha=0.5, label=f"AOA {accuracy}")
    axes.set_xlabel("Fp / (Fp + Fn)")
    axes.set_ylabel("makespan / mean of the stretch")
    axes.set_title(f"10 concurrent DAGs, {measured.series['source']}")
    axes.legend()


EXPERIMENT = Experiment(
    paper="FLAW 2010",
    item="Figure 14",
    title="makespan by the mixture of false positives and false negatives",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
    per="stretches",
    steps=lambda options: len(ACCURACIES) * len(mixtures(options)),
)

if __name__ == "__main__":
    EXPERIMENT.command()
