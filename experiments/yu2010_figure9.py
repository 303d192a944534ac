"""FLAW against a failure-aware FIFO with ten concurrent workflows.

Claim
    "RANK_HYBD based failure aware scheduler, i.e., FLAW, outperforms FIFO based one in terms of
    makespan when 10 concurrent DAGs are running in the system" (FLAW, Cluster Computing 2010,
    section V-D, Fig. 9).

Kind and band
    Approximate: the sign. The values of the figure are lost.

Choices
    Those of `experiments.yu2010`. FIFO serves jobs in the order in which they became ready; like
    FLAW it tries the free nodes in order of earliest finish and passes over those that are
    predicted to fail, so that the two differ in the order of the jobs alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from experiments.yu2010 import bench, predictions, runs
from failgym.evaluation.progress import Advance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
ACCURACIES = (0.0, 0.5, 1.0)


def makespans(options: Options, accuracy: float, rank_by: str) -> Floats:
    """Mean makespan of each stretch, over the traces of predictions."""
    test = bench(options)
    each = [
        runs(test, test.scenario(accuracy, seed=seed, rank_by=rank_by)).makespan
        for seed in predictions(options, accuracy)
    ]
    return np.mean(each, axis=0)


def measure(options: Options, advance: Advance) -> Measured:
    """Mean makespans of both by accuracy, and their ratio on each stretch."""
    rows: list[Row] = []
    means: dict[str, list[float]] = {"FLAW": [], "FIFO": []}
    for level in ACCURACIES:
        flaw, fifo = (makespans(options, level, order) for order in ("path", "arrival"))
        rows.append(
            Row.over(
                f"AOA {level:g}: makespan of FLAW / of FIFO",
                (flaw / fifo).tolist(),
                band=(0.0, 1.0),
            )
        )
        means["FLAW"].append(float(flaw.mean()))
        means["FIFO"].append(float(fifo.mean()))
        advance(1)
    series = {"source": bench(options).source, "AOA": ACCURACIES, "makespan": means}
    return Measured(tuple(rows), series)


def draw(measured: Measured, figure: Figure) -> None:
    """Bars of the two at each accuracy."""
    axes: Any = figure.subplots()
    levels = measured.series["AOA"]
    for number, (name, means) in enumerate(measured.series["makespan"].items()):
        at = [place + 0.4 * number - 0.2 for place in range(len(levels))]
        axes.bar(at, means, 0.4, label=name)
    axes.set_xticks(range(len(levels)), [f"{level:g}" for level in levels])
    axes.set_xlabel("AOA")
    axes.set_ylabel("average makespan [units]")
    axes.set_title(f"10 concurrent DAGs, {measured.series['source']}")
    axes.legend()


EXPERIMENT = Experiment(
    paper="FLAW 2010",
    item="Figure 9",
    title="makespan of FLAW and of a failure-aware FIFO, 10 concurrent DAGs",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
    per="stretches",
    steps=lambda _: len(ACCURACIES),
)

if __name__ == "__main__":
    EXPERIMENT.command()
