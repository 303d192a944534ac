"""Application-aware accuracy (AAA) against application-oblivious accuracy (AOA).

Claim
    "The effectiveness measured by AAA is about 96% when AOA is as low as 50%"; "as work load gets
    more intensive, a failure blind scheduler (i.e., AOA=0.0) can accomplish closer to 50% of AAA";
    AAA "increases steadily as AOA improves" (FLAW, Cluster Computing 2010, section V-D, Fig. 15).

Kind and band
    Approximate: AAA between .85 and 1 at AOA .5. The values at other AOA are lost; the one at AOA 0
    is printed and not judged: where a node fails once in 26 days, most jobs of some hours are not
    struck, and who answers "no" to everything is mostly right.

Choices
    Those of `experiments.yu2010`; ten concurrent workflows. The paper does not say which queries
    count: here the first of each job and node, of those that the scheduler had to ask, so that a
    job which waits for a node that is predicted to fail is not asked about again and again. The
    other counts are printed beside it. Times of jobs are not known: judged are the jobs of 200
    units of the other figures; jobs of 60 units are printed too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from experiments.yu2010 import answers, bench, levels, predictions
from failgym.evaluation.progress import Advance
from failgym.metrics import COUNTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNT = "first_per_job_node"
PAPER = {0.0: 0.5, 0.5: 0.96}
"""AAA by AOA, as the text has it."""
HIGH = (0.85, 1.0)
TRACES = 2
"""Traces of predictions at most: each answers thousands of queries."""
SHORT = 60
"""Mean compute time of the shorter jobs [units]."""


def measure(options: Options, advance: Advance) -> Measured:
    """AAA by accuracy and count."""
    test, short = bench(options), bench(options, weight=SHORT)
    found: dict[float, np.ndarray] = {}
    for level in levels(options):
        each = [
            answers(test, test.scenario(level, seed=seed))
            for seed in predictions(options, level)[:TRACES]
        ]
        found[level] = np.mean(each, axis=0)
        advance(1)
    brief = answers(short, short.scenario(0.5))
    advance(1)
    place = COUNTS.index(COUNT)
    rows = [
        Row.over(
            f"AOA {level:g}: AAA",
            found[level][place].tolist(),
            paper=PAPER.get(level),
            band=HIGH if level == 0.5 else None,
        )
        for level in levels(options)
    ]
    rows.append(Row.over(f"AOA 0.5, jobs of {SHORT} units: AAA", brief[place].tolist()))
    rows += [
        Row.over(f"AOA 0.5, queries counted as {count}", found[0.5][number].tolist())
        for number, count in enumerate(COUNTS)
        if count != COUNT
    ]
    means = {
        count: [float(found[level][number].mean()) for level in levels(options)]
        for number, count in enumerate(COUNTS)
    }
    return Measured(tuple(rows), {"source": test.source, "AOA": levels(options), "AAA": means})


def draw(measured: Measured, figure: Figure) -> None:
    """A line for each count."""
    axes: Any = figure.subplots()
    for count, means in measured.series["AAA"].items():
        style = "-" if count == COUNT else "--"
        axes.plot(measured.series["AOA"], means, style, marker="o", label=count.replace("_", " "))
    axes.plot(list(PAPER), list(PAPER.values()), "k*", markersize=10, label="paper")
    axes.set_xlabel("AOA")
    axes.set_ylabel("AAA")
    axes.set_ylim(0.0, 1.02)
    axes.set_title(f"10 concurrent DAGs, {measured.series['source']}")
    axes.legend()


EXPERIMENT = Experiment(
    paper="FLAW 2010",
    item="Figure 15",
    title="AAA by AOA, 10 concurrent DAGs",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
    per="stretches",
    steps=lambda options: len(levels(options)) + 1,
)

if __name__ == "__main__":
    EXPERIMENT.command()
