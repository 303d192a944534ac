"""How many retries are worth allowing.

Claim
    "Our results show that capping the number of retries" costs next to nothing: with the success
    rates of Fig. 6, all that a second retry adds is .03 points of the tasks of Google's cluster,
    and a third one as little of OpenCloud's (El-Sayed et al., ICDCS 2017, sections IV-C and VI).

Kind and band
    Exact: arithmetic on Fig. 6. A task fails for good if all its attempts do.

Choices
    The rates of Fig. 6 are taken as independent of the retries before: P(an attempt finishes | as
    many failures before).
"""

from __future__ import annotations

import math

from experiments.reproduction import Experiment, Kind, Measured, Options, Row, within
from failgym.evaluation.progress import Advance

SUCCESS = {"Google": (0.98, 0.42, 0.02), "OpenCloud": (0.97, 0.28, 0.11)}
"""P(an attempt finishes), after 0, 1 and 2 failures."""
FAILED = {"Google": (0.02, 0.0116, 0.011368), "OpenCloud": (0.03, 0.0216, 0.019224)}
"""Share of tasks that fail for good, with at most 0, 1 and 2 retries, by hand."""


def measure(options: Options, advance: Advance) -> Measured:
    """The shares of tasks that fail for good, by cap."""
    rows: list[Row] = []
    for cluster, success in SUCCESS.items():
        for cap, expected in enumerate(FAILED[cluster]):
            ours = math.prod(1.0 - p for p in success[: cap + 1])
            rows.append(
                Row(f"{cluster}, {cap} retries", expected, ours, band=within(expected, 1e-9))
            )
    advance(1)
    return Measured(tuple(rows))


EXPERIMENT = Experiment(
    paper="El-Sayed et al. 2017",
    item="retry cap",
    title="tasks that fail for good, by the number of retries allowed",
    kind=Kind.EXACT,
    measure=measure,
    seeds=0,
)

if __name__ == "__main__":
    EXPERIMENT.command()
