"""Resource limits that tasks violate, and memory that grows.

Claim
    Section IV-A and Fig. 4 of El-Sayed et al. (ICDCS 2017), of Google's tasks. On average tasks
    rarely exceed their memory limits, but 25 % of the failed ones do at some time. Tasks that
    complete exceed their CPU requests more often than others. The mean memory of the second half of
    a task's life is more than twice that of the first for 22.87 % of the failed, 13.5 % of the
    killed and 9.68 % of the completed tasks.

Kind and band
    Approximate, on generated traces: shares within two points; "rarely" as at most 5 %; CPU by its
    order. All are fitted: laws of usage were given these shares, or chosen after them.

Choices
    Of an odd number of windows the middle one belongs to neither half; tasks with fewer than two
    windows have no growth. The real trace has no usage at hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.elsayed2017 import PAPER, STATUS, Cell, boxes, cells, every, number, spread
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, within
from failgym.evaluation.progress import Advance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATIOS = "used_over_requested"
POINTS = 2.0
"""Half a band [%]."""
RARELY = (0.0, 5.0)
"""[%]"""
EXCEED = 25.0
"""Failed tasks that exceed their memory limit at some time [%]."""
DOUBLE = {"FAIL": 22.87, "KILL": 13.5, "FINISH": 9.68}
"""Tasks whose memory more than doubles [%]."""
PANELS = ("mean cpu", "mean memory", "most cpu", "most memory")
"""Those of the figure: (a), and (b)."""

CELLS = (
    *(
        Cell(
            f"{STATUS[outcome]} tasks above their memory limit on average [%]",
            "Google",
            RATIOS,
            f"mean memory: {outcome}",
            "share above 1",
            None,
            RARELY,
            100.0,
        )
        for outcome in STATUS
    ),
    Cell(
        "failed tasks above their memory limit at some time [%]",
        "Google",
        RATIOS,
        "most memory: FAIL",
        "share above 1",
        EXCEED,
        within(EXCEED, POINTS),
        100.0,
    ),
    *(
        Cell(
            f"{STATUS[outcome]} tasks whose memory more than doubles [%]",
            "Google",
            "memory_growth",
            outcome,
            "share above 2",
            share,
            within(share, POINTS),
            100.0,
        )
        for outcome, share in DOUBLE.items()
    ),
)


def measure(options: Options, advance: Advance) -> Measured:
    """Section IV-A, then the order of the CPU's panel."""
    rows = list(cells(CELLS, options, advance, usage=True))
    google = every(options, "Google", usage=True)
    for outcome in ("FAIL", "KILL"):
        values = [
            100.0 * (above(made, "mean cpu", "FINISH") - above(made, "mean cpu", outcome))
            for made in google
        ]
        name = f"Google: tasks above their CPU request, completed less {STATUS[outcome]} [%]"
        rows.append(Row.over(name, values, None, (0.0, 100.0), fitted=True))
    return Measured(tuple(rows), {value: spread(google, RATIOS, value) for value in PANELS})


def above(made: Any, value: str, outcome: str) -> float:
    """The share of the tasks that use more than they request."""
    return number(made, RATIOS, f"{value}: {outcome}", "share above 1")


def draw(measured: Measured, figure: Figure) -> None:
    """Boxes from the quartiles, whiskers from the tenths, and the limit."""
    for panel in boxes(figure, measured.series, "used over requested", sharey=True):
        panel.axhline(1.0, linestyle="--", color="grey")


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Figure 4",
    title="resource-limit violation by Google's tasks",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
)

if __name__ == "__main__":
    EXPERIMENT.command()
