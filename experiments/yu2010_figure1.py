"""How accurate predictions of failures are, whatever is scheduled by them (AOA).

Claim
    "Failure-aware workflow scheduling in cluster environments" (FLAW), Cluster Computing 2010: the
    predictions of Fig. 1, one in time of service and one in the downtime of the second failure,
    have an application-oblivious accuracy AOA of 33.3 % (section III); those of Fig. 5 make 2 hits,
    1 false positive and 1 false negative, an AOA of 50 % (section IV-D). A false positive may give
    the right answer: a node fails at 100, predicted is 130, asked is whether it fails within 140
    (section IV-C).

Kind and band
    Exact: equality.

Choices
    Fig. 1 has no numbers; any with its order do. The conventional precision and recall beside it
    depend on a prediction period that it does not give either.
"""

from __future__ import annotations

from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from experiments.yu2010_figure6 import PREDICTED, exactly, example
from failgym.evaluation.progress import Advance
from failgym.metrics import aoa, node_detection
from failgym.predictors import NodeForecast
from failgym.traces import Meta, Trace

FAILURES = {"machine": [0, 0], "down": [20, 60], "up": [30, 80]}
PREDICTIONS = {"machine": [0, 0], "time": [10, 70]}
"""Fig. 1: the first before a failure, the second in the downtime of another."""


def asked_once() -> bool:
    """Is the query of section IV-C answered rightly?"""
    trace = Trace.of(
        Meta("FLAW, section IV-C"),
        machines={"original_id": ["P0"], "speed": 1.0},
        outages={"machine": [0], "down": [100], "up": [120]},
    )
    said, true = NodeForecast.of(trace, [0], [130]), NodeForecast.exact(trace)
    return said.fails(0, at=0, within=140) == true.fails(0, at=0, within=140)


def measure(options: Options, advance: Advance) -> Measured:
    """Accuracies of both figures, and the query."""
    trace = example()
    node, time = zip(*PREDICTED, strict=True)
    found = node_detection(
        {"machine": node, "time": time},
        {name: trace.column("outages", name) for name in ("machine", "down", "up")},
    )
    rows: tuple[Row, ...] = (
        exactly("Fig. 1: AOA", 1 / 3, aoa(PREDICTIONS, FAILURES)),
        exactly("Fig. 5: hits", 2, found.hits),
        exactly("Fig. 5: false positives", 1, found.false_positives),
        exactly("Fig. 5: false negatives", 1, found.false_negatives),
        exactly("Fig. 5: AOA", 0.5, found.aoa),
        exactly("section IV-C: the answer is right", 1, float(asked_once())),
    )
    advance(1)
    return Measured(rows)


EXPERIMENT = Experiment(
    paper="FLAW 2010",
    item="Figures 1 and 5",
    title="application-oblivious accuracy (AOA)",
    kind=Kind.EXACT,
    measure=measure,
    seeds=0,
)

if __name__ == "__main__":
    EXPERIMENT.command()
