"""PANDA: jobs that fail per hour, and the work that they waste, in Google's trace.

Claim
    Fig. 1 of Ghit and Epema, "Better Safe than Sorry", HPDC 2017, and section 1: (a) 13 machines
    fail every hour, and 400 jobs "either fail, get killed by the system, or are simply abandoned";
    (b) the median work that a job wastes "increases linearly with the job size".

Kind and band
    Original data: the paper's count is of the whole month; printed.

Choices
    Jobs that ended FAIL, KILL, EVICT or LOST, over the hours of the trace; those of the profile
    over its sampling share. The profile has the 349,000 jobs of El-Sayed et al. (ICDCS 2017), of
    which 37 % are unsuccessful, where this paper has 668,048. Waste is the machine-time of attempts
    that did not finish, of jobs that have any; linear growth is a slope of 1 of its median over the
    size, both in logarithms, for sizes by powers of ten. Neither trace knows of machines that fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from failgym.evaluation.progress import Advance
from failgym.traces import Outcome, Trace, generate
from failgym.traces.synthetic import Google2011

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROFILE = Google2011()
FAILED_PER_HOUR = 400.0
JOBS = 3_000
"""Of a generated trace."""
HOUR = 3_600_000
"""Milliseconds."""
ENDS = (Outcome.FAIL, Outcome.KILL, Outcome.EVICT, Outcome.LOST)
FEWEST = 20
"""Jobs that a range of sizes must have for its median to be shown."""


def failed_per_hour(trace: Trace, share: float = 1.0) -> float:
    """Unsuccessful jobs per hour of the whole cluster, of whose jobs the trace has a share."""
    end = trace.meta.end or int(trace.column("attempts", "end").max())
    return float(np.isin(trace.column("jobs", "outcome"), ENDS).sum()) / (end / HOUR) / share


def wasted(trace: Trace) -> npt.NDArray[np.float64]:
    """Work of each job in attempts that did not finish [machine-h]."""
    job = trace.column("tasks", "job")[trace.column("attempts", "task")]
    ended = np.isin(trace.column("attempts", "outcome"), ENDS) & trace.present("attempts", "start")
    ran = trace.column("attempts", "end") - trace.column("attempts", "start")
    waste = np.zeros(trace.rows("jobs"))
    np.add.at(waste, job[ended], ran[ended] / HOUR)
    return waste


def by_size(trace: Trace) -> tuple[list[float], list[float]]:
    """Sizes, the geometric middle of each range, and the median waste of its jobs [machine-h]."""
    tasks = np.bincount(trace.column("tasks", "job"), minlength=trace.rows("jobs"))
    waste = wasted(trace)
    sizes: list[float] = []
    medians: list[float] = []
    for decade in range(6):
        here = (waste > 0) & (tasks >= 10**decade) & (tasks < 10 ** (decade + 1))
        if here.sum() >= FEWEST:
            sizes.append(float(np.exp(np.log(tasks[here]).mean())))
            medians.append(float(np.median(waste[here])))
    return sizes, medians


def slope(sizes: list[float], medians: list[float]) -> float:
    """Of the median waste over the size, in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(medians), 1)[0])


def measure(options: Options, advance: Advance) -> Measured:
    """Both panels, of the profile and, if it is there, of the real trace."""
    jobs = JOBS // 3 if options.quick else JOBS
    rates: list[float] = []
    slopes: list[float] = []
    curves: dict[str, Any] = {}
    for seed in range(options.seeds):
        trace = generate(PROFILE, jobs=jobs, seed=seed, usage=False)
        rates.append(failed_per_hour(trace, PROFILE.sampling))
        curves["google-2011 profile"] = by_size(trace)
        slopes.append(slope(*curves["google-2011 profile"]))
        advance(1)
    rows = [
        Row.over("(a) google-2011 profile: unsuccessful jobs per hour", rates, FAILED_PER_HOUR),
        Row.over("(b) google-2011 profile: slope of the waste by size", slopes, 1.0),
    ]
    real = options.trace("google-2011")
    if real is not None:
        curves["google-2011"] = by_size(real)
        rows += [
            Row(
                "(a) google-2011: unsuccessful jobs per hour",
                FAILED_PER_HOUR,
                failed_per_hour(real),
            ),
            Row("(b) google-2011: slope of the waste by size", 1.0, slope(*curves["google-2011"])),
        ]
    series = {name: {"size": x, "median waste": y} for name, (x, y) in curves.items()}
    return Measured(tuple(rows), series)


def draw_waste(measured: Measured, figure: Figure) -> None:
    """Fig. 1b."""
    axis: Any = figure.subplots()
    for name, curve in measured.series.items():
        axis.loglog(curve["size"], curve["median waste"], marker="o", label=name)
    axis.set(xlabel="Tasks of a job", ylabel="Median wasted work [machine-h]")
    axis.legend()


EXPERIMENT = Experiment(
    paper="Ghit and Epema 2017",
    item="Figure 1",
    title="jobs that fail per hour, and the work they waste",
    kind=Kind.ORIGINAL,
    measure=measure,
    draw=draw_waste,
)

if __name__ == "__main__":
    EXPERIMENT.command()
