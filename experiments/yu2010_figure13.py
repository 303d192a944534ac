"""What predictions gain of the makespan, against the number of concurrent workflows.

Claim
    "The advantage of failure prediction increases as the workload increases" (FLAW, Cluster
    Computing 2010, section V-D, Fig. 13).

Kind and band
    Approximate: the rank correlation of the average makespan, relative to that of RANK_HYBD without
    predictions, and the number of workflows at most -.5. The values are lost.

Choices
    Those of `experiments.yu2010`. The correlation is Spearman's over four loads, of the ratios
    averaged over the stretches; stretch by stretch it is printed. Each load has workflows of its
    own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from experiments.yu2010 import bench, levels, loads, rank_correlation, sweep
from failgym.evaluation.progress import Advance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
FALLING = (-1.0, -0.5)
WHY = (
    "what failures cost, and so what there is to gain, does not grow with the load: 4, 4, 6 and"
    " 4 % of the makespan for 1, 2, 5 and 10 DAGs (Fig. 10's rows without failures)"
)


def measure(options: Options, advance: Advance) -> Measured:
    """Makespan relative to that without predictions, by load."""
    relative = np.zeros((len(levels(options)), len(loads(options)), options.seeds))
    for place, dags in enumerate(loads(options)):
        found = sweep(options, dags)
        for number, level in enumerate(levels(options)):
            relative[number, place] = found[level].makespan / found[0.0].makespan
        advance(1)
    rows = tuple(
        row
        for number, level in enumerate(levels(options))
        if level
        for row in trends(f"AOA {level:g}", loads(options), relative[number])
    )
    means = {
        f"{level:g}": row.mean(axis=1).tolist()
        for level, row in zip(levels(options), relative, strict=True)
    }
    return Measured(
        rows, {"source": bench(options).source, "DAGs": loads(options), "relative": means}
    )


def trends(name: str, dags: tuple[int, ...], relative: Floats) -> tuple[Row, Row]:
    """Over the stretches together, and one by one; `relative` is [loads, stretches]."""
    whole = rank_correlation(dags, relative.mean(axis=1))
    each = [rank_correlation(dags, stretch) for stretch in relative.T]
    return (
        Row(
            f"{name}: rank correlation, relative makespan and DAGs", None, whole, band=FALLING
        ).because(WHY),
        Row.over(f"{name}: rank correlation, stretch by stretch", each),
    )


def draw(measured: Measured, figure: Figure) -> None:
    """A line for each accuracy."""
    axes: Any = figure.subplots()
    for level, means in measured.series["relative"].items():
        axes.plot(measured.series["DAGs"], means, marker="o", label=f"AOA {level}")
    axes.set_xlabel("concurrent DAGs")
    axes.set_ylabel("makespan / makespan at AOA 0")
    axes.set_title(measured.series["source"])
    axes.legend()


EXPERIMENT = Experiment(
    paper="FLAW 2010",
    item="Figure 13",
    title="what predictions gain of the makespan, by number of concurrent DAGs",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
    per="stretches",
    steps=lambda options: len(loads(options)),
)

if __name__ == "__main__":
    EXPERIMENT.command()
