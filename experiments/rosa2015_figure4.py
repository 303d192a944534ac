"""How often the two-level network errs, by the size of its learning window.

Claim
    Trained anew every midnight on the last D days, the network misclassifies .089 (D = 1) to .066
    (D = 5) of the jobs, falling with D, and between .266 (D = 3) and .318 (D = 1) of the tasks
    considered; D = 3 minimises the sum (Rosà, Chen and Binder, IWQoS 2015, section IV-1, Fig. 4).

Kind and band
    Original data: what requests and load tell of the fate of a job is in Google's trace, of which
    nobody generates those 29 days. Printed, and not judged.

Choices
    The profile google-2011 over 29 days, halved as in the paper: networks predict the second half
    day by day. One trace of the profile for each seed; networks of the paper's size.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from failgym.evaluation.progress import Advance
from failgym.predictors.network.misclassification import Misclassified, misclassified_by_days
from failgym.traces import generate
from failgym.traces.synthetic import PROFILES, Google2011

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WINDOWS = (1, 2, 3, 4, 5)
"""D [days]."""
JOBS = {1: 0.089, 5: 0.066}
TASKS = {1: 0.318, 3: 0.266}
CHOSEN = 3
DAYS = 29
SAMPLING = 0.01
"""Share of the cluster's jobs: 120 a day, so that five days are 600 jobs."""


def by_window(seed: int, quick: bool) -> dict[int, Misclassified]:
    """Rates on one trace, by D."""
    profile = PROFILES["google-2011"]
    assert isinstance(profile, Google2011)
    profile = replace(profile, sampling=SAMPLING / 10 if quick else SAMPLING)
    jobs = round(profile.jobs_per_hour * profile.sampling * 24 * DAYS)
    trace = generate(profile, jobs=jobs, seed=seed, usage=False)
    return misclassified_by_days(trace, WINDOWS[::4] if quick else WINDOWS)


def measure(options: Options, advance: Advance) -> Measured:
    """Rates of jobs and tasks by D, and the D of the least sum."""
    each: list[dict[int, Misclassified]] = []
    for seed in range(options.seeds):
        each.append(by_window(seed, options.quick))
        advance(1)
    rows: list[Row] = []
    means: dict[str, list[float]] = {"jobs": [], "tasks": []}
    for days in each[0]:
        for what, paper in (("jobs", JOBS), ("tasks", TASKS)):
            rates = [one[days].job_rate if what == "jobs" else one[days].task_rate for one in each]
            row = Row.over(f"D = {days}: misclassified {what}", rates, paper.get(days))
            rows.append(row)
            means[what].append(row.ours)
    windows = list(each[0])
    best = windows[int(np.argmin(np.add(means["jobs"], means["tasks"])))]
    rows.append(Row("D of the least sum", CHOSEN, best))
    return Measured(tuple(rows), {"days": windows, **means})


def draw(measured: Measured, figure: Figure) -> None:
    """Both rates by D, and what the text of the paper gives of them."""
    axes: Any = figure.subplots()
    for what, paper, colour in (("jobs", JOBS, "C0"), ("tasks", TASKS, "C1")):
        days = measured.series["days"]
        axes.plot(days, measured.series[what], marker="o", color=colour, label=what)
        axes.plot(list(paper), list(paper.values()), "*", color=colour, label=f"{what}, paper")
    axes.set_xlabel("learning window D [days]")
    axes.set_ylabel("misclassification rate")
    axes.set_ylim(bottom=0.0)
    axes.legend()


EXPERIMENT = Experiment(
    paper="Rosà et al. 2015",
    item="Figure 4",
    title="misclassified jobs and tasks by learning window",
    kind=Kind.ORIGINAL,
    measure=measure,
    draw=draw,
    seeds=1,
)

if __name__ == "__main__":
    EXPERIMENT.command()
