"""How OpenCloud's jobs are configured to deal with slow and failing tasks.

Claim
    Section IV-B and Fig. 5 of El-Sayed et al. (ICDCS 2017). Speculative execution is disabled by
    .02 % of the completed, .5 % of the killed, 2 % of the failed and 1 % of all jobs. Skip mode is
    left to start after 2 attempts by 96.5, 97.6 and 95.5 % of them, by 96 % of all, and the next
    most frequent number is 16. 4 % of the jobs change the limit of 4 attempts of a mapper, and go
    up to 100; limits above 4 are most frequent among killed jobs, then among failed ones.

Kind and band
    Approximate, on generated traces: shares within a point, numbers of attempts equal. Fig. 5,
    whose values are lost, by its order. Fitted, since the profile was given them, but for the
    shares of all jobs that disable speculation or keep the skip mode, which follow. Of the former
    the paper's figures do not agree: .02, .5 and 2 % of these jobs make .2 % of all, not 1 %.

Choices
    A job has one limit of attempts in a trace, that of its mappers: the limit of reducers, which
    1 % of the jobs change, up to 130, is not reproduced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.elsayed2017 import PAPER, Cell, cells, every, number
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, within
from failgym.evaluation.progress import Advance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STATUS = {
    "FINISH": "completed jobs",
    "KILL": "killed jobs",
    "FAIL": "failed jobs",
    "all": "all jobs",
}
"""Our row, and the paper's name."""
DISABLED = {"FINISH": 0.02, "KILL": 0.5, "FAIL": 2.0, "all": 1.0}
"""Jobs without speculative execution [%]."""
SKIP_MODE = {"FINISH": 96.5, "KILL": 97.6, "FAIL": 95.5, "all": 96.0}
"""Jobs with the default [%]."""
NEXT_SKIP_MODE = 16
KEPT_LIMIT = 96.0
"""Jobs with the default limit of attempts [%]."""
LARGEST_LIMIT = 100
POINT = 1.0
"""Half a band [%]."""
LIMITS = ("share below 4", "share 4 (default)", "share above 4")
"""Columns of the table behind Fig. 5."""

CELLS = (
    *(
        Cell(
            f"{STATUS[row]} that disable speculative execution [%]",
            "CMU",
            "speculation",
            row,
            "share off",
            share,
            within(share, POINT),
            100.0,
            fitted=row != "all",
        )
        for row, share in DISABLED.items()
    ),
    *(
        Cell(
            f"{STATUS[row]} with the default skip mode [%]",
            "CMU",
            "skip_mode",
            row,
            "share 2 (default)",
            share,
            within(share, POINT),
            100.0,
            fitted=row != "all",
        )
        for row, share in SKIP_MODE.items()
    ),
    Cell(
        "next most frequent skip mode",
        "CMU",
        "skip_mode",
        "all",
        "next most frequent",
        NEXT_SKIP_MODE,
        (NEXT_SKIP_MODE, NEXT_SKIP_MODE),
    ),
    Cell(
        "all jobs with the default limit of map attempts [%]",
        "CMU",
        "attempt_limit",
        "all",
        LIMITS[1],
        KEPT_LIMIT,
        within(KEPT_LIMIT, POINT),
        100.0,
    ),
    Cell(
        "largest limit of map attempts",
        "CMU",
        "attempt_limit",
        "all",
        "most",
        LARGEST_LIMIT,
        (LARGEST_LIMIT, LARGEST_LIMIT),
    ),
)


def measure(options: Options, advance: Advance) -> Measured:
    """Section IV-B, then the order of Fig. 5."""
    rows = list(cells(CELLS, options, advance))
    bars = {name: [mean(options, row, column) for column in LIMITS] for row, name in STATUS.items()}
    high = {name: bar[-1] for name, bar in bars.items()}
    for more, fewer in (("killed jobs", "failed jobs"), ("failed jobs", "completed jobs")):
        name = f"CMU: limits above 4, {more} less {fewer} [%]"
        rows.append(Row(name, None, high[more] - high[fewer], band=(0.0, 100.0), fitted=True))
    return Measured(tuple(rows), {"limits": list(LIMITS), "jobs": bars})


def mean(options: Options, row: str, column: str) -> float:
    """A share of the table of limits, over all traces [%]."""
    made = every(options, "CMU")
    return 100.0 * sum(number(x, "attempt_limit", row, column) for x in made) / len(made)


def draw(measured: Measured, figure: Figure) -> None:
    """Fig. 5: limits other than the default, by how the job ended."""
    axes: Any = figure.subplots()
    jobs = measured.series["jobs"]
    base = [0.0] * len(jobs)
    for n in (0, 2):
        heights = [bar[n] for bar in jobs.values()]
        axes.bar(list(jobs), heights, bottom=base, label=measured.series["limits"][n][6:])
        base = heights
    axes.set_ylabel("jobs with another limit of map attempts [%]")
    axes.legend()


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Figure 5",
    title="section IV-B: fault-tolerance configuration of OpenCloud's jobs",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
)

if __name__ == "__main__":
    EXPERIMENT.command()
