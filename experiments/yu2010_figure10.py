"""Average makespan against the accuracy of predictions, by the number of concurrent workflows.

Claim
    "With AOA increasing, workflow applications perform better in terms of makespan"; "as the work
    load intensity increases [...] the performance improvement is even bigger" (FLAW, Cluster
    Computing 2010, section V-D, Fig. 10).

Kind and band
    Approximate: the rank correlation of the average makespan and AOA at most -.5. The values are
    lost.

Choices
    Those of `experiments.yu2010`. The correlation is Spearman's over the seven accuracies, of the
    makespans averaged over the stretches, as in the figure. Stretch by stretch, printed, it is
    weaker: predictions save 1 to 3 % of a makespan, and what else moves a schedule from one
    accuracy to the next is as much. For five and ten workflows the band is met only just. What
    predictions can gain at most is measured beside it: the makespan without any failure, over that
    of RANK_HYBD with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from experiments.yu2010 import bench, levels, loads, rank_correlation, runs, sweep
from failgym.evaluation.progress import Advance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FALLING = (-1.0, -0.5)
WHY = (
    "failures cost 4 to 6 % of the makespan here at any load (row without failures), of which"
    " predictions save 1 to 3: less than what else moves a schedule from one accuracy to the next"
)


def measure(options: Options, advance: Advance) -> Measured:
    """Makespan by accuracy and load, and what the accuracy gains."""
    rows: list[Row] = []
    means: dict[str, list[float]] = {}
    for dags in loads(options):
        found, test = sweep(options, dags), bench(options, dags)
        spans = np.array([found[level].makespan for level in levels(options)])
        means[str(dags)] = spans.mean(axis=1).tolist()
        trend = [rank_correlation(levels(options), each) for each in spans.T]
        spared = runs(test, test.scenario(0.0, outages="none")).makespan
        whole = rank_correlation(levels(options), spans.mean(axis=1))
        rows += [
            Row(
                f"{dags} DAGs: rank correlation, average makespan and AOA",
                None,
                whole,
                band=FALLING,
            ),
            Row.over(f"{dags} DAGs: rank correlation, stretch by stretch", trend),
            Row.over(f"{dags} DAGs: makespan at AOA .5 / at 0", list(spans[1] / spans[0])),
            Row.over(f"{dags} DAGs: makespan at AOA 1 / at 0", list(spans[-1] / spans[0])),
            Row.over(f"{dags} DAGs: makespan without failures / at 0", list(spared / spans[0])),
        ]
        advance(1)
    explained = tuple(row.because(WHY) for row in rows)
    return Measured(
        explained, {"source": bench(options).source, "AOA": levels(options), "makespan": means}
    )


def draw(measured: Measured, figure: Figure) -> None:
    """A line for each load."""
    axes: Any = figure.subplots()
    for dags, means in measured.series["makespan"].items():
        axes.plot(measured.series["AOA"], means, marker="o", label=f"{dags} DAGs")
    axes.set_xlabel("AOA")
    axes.set_ylabel("average makespan [units]")
    axes.set_ylim(bottom=0.0)
    axes.set_title(measured.series["source"])
    axes.legend()


EXPERIMENT = Experiment(
    paper="FLAW 2010",
    item="Figure 10",
    title="average makespan by AOA and number of concurrent DAGs",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
    per="stretches",
    steps=lambda options: len(loads(options)),
)

if __name__ == "__main__":
    EXPERIMENT.command()
