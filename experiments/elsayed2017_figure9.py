"""Remaining time and portion of a parallel job after its first task failure.

Claim
    Fig. 9 of El-Sayed et al. (ICDCS 2017), of Google's parallel jobs. After the first failure of a
    task the median failed job runs for another 60 minutes, the median killed job for a day. The
    median job, however it ends, then has 60 % of its life before it.

Kind and band
    Approximate, on generated traces: medians within 15 %.

Choices
    A job lives from its submission to the last end of one of its tasks. The profile meets the
    portion of 60 % for tasks: after its first failure the median failed task that was tried again
    has so much of its machine-time before it; that was fitted. No completed parallel job need have
    a failure: one in 400 has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.elsayed2017 import BOX, PAPER, STATUS, Cell, cells, every, number, traced
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, relative
from failgym.evaluation.progress import Advance
from failgym.traces import Outcome, Trace
from failgym.traces.describe.facts import Facts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE = "after_first_failure"
SHARE = 0.15
"""Half a band, as a share of the paper's figure."""
MINUTES = {"FAIL": 60.0, "KILL": 24 * 60.0}
"""Median time to exit [min]."""
PORTION = 0.6
"""Median portion of the life that is left."""
SHORT = (
    "the median failed or killed job has 6 or 70 task-minutes in all (Table II, which the profile"
    " meets), parallel ones with a failure 80 to 100, over several tasks"
)
MANY = (
    "in a job of many failing tasks the first failure comes early: with 2 to 5 of them .87 (failed)"
    " and .76 (killed) is left, with more over .94; only the life of tasks is fitted"
)

CELLS = (
    *(
        Cell(
            f"{STATUS[outcome]} jobs, median time to exit [min]",
            "Google",
            TABLE,
            f"multi {outcome}",
            "p50 [min]",
            minutes,
            relative(minutes, SHARE),
            real=f"multi {outcome}",
            fitted=False,
            why=SHORT,
        )
        for outcome, minutes in MINUTES.items()
    ),
    *(
        Cell(
            f"{STATUS[outcome]} jobs, median remaining portion",
            "Google",
            TABLE,
            f"multi {outcome}",
            "share of life left (median)",
            PORTION,
            relative(PORTION, SHARE),
            real=f"multi {outcome}",
            fitted=False,
            why=MANY,
        )
        for outcome in MINUTES
    ),
)


def measure(options: Options, advance: Advance) -> Measured:
    """Jobs, then the tasks that the profile was fitted to."""
    rows = list(cells(CELLS, options, advance))
    tasks = [life_left(traced("Google", seed, options.quick)) for seed in range(options.seeds)]
    name = "Google: failed tasks, median remaining portion"
    rows.append(Row.over(name, tasks, PORTION, relative(PORTION, SHARE), fitted=True))
    made = every(options, "Google")
    series = {
        STATUS[outcome]: [
            sum(number(one, TABLE, f"multi {outcome}", f"{q} [min]") for one in made) / len(made)
            for q in BOX
        ]
        for outcome in MINUTES
    }
    return Measured(tuple(rows), {"remaining minutes": series})


def life_left(trace: Trace) -> float:
    """Of failed tasks tried again: the median machine-time after the first failure, as a share."""
    facts = Facts(trace)
    run, task, first = facts.run_time.astype(np.float64), facts.task, trace.task_first[:-1]
    spent = np.cumsum(run)
    spent -= (spent - run)[first[task]]
    total = np.bincount(task, run, trace.rows("tasks"))
    failures = np.bincount(task[facts.outcome == Outcome.FAIL], minlength=len(total))
    chosen = (facts.outcome == Outcome.FAIL) & (facts.past_failures == 0)
    chosen &= ((trace.task_outcome == Outcome.FAIL) & (failures > 1))[task]
    return float(np.median(1.0 - spent[chosen] / total[task[chosen]]))


def draw(measured: Measured, figure: Figure) -> None:
    """Distribution of the remaining time, through the quantiles that are kept."""
    axes: Any = figure.subplots()
    shares = [int(column[1:]) for column in BOX]
    for status, minutes in measured.series["remaining minutes"].items():
        axes.plot(minutes, shares, marker="o", label=f"{status} jobs")
    axes.set_xscale("log")
    axes.set_xlabel("time from the first task failure to the job's exit [min]")
    axes.set_ylabel("parallel jobs [%]")
    axes.legend()


EXPERIMENT = Experiment(
    paper=PAPER,
    item="Figure 9",
    title="remaining time and portion of a parallel job after the first task failure",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
)

if __name__ == "__main__":
    EXPERIMENT.command()
