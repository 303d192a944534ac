"""PANDA: how sizes and run times of tasks vary; outliers.

Claim
    Figs. 3 and 6 of Ghit and Epema, "Better Safe than Sorry", HPDC 2017, and sections 3.2, 4 and
    6.1: the median selectivity of the tasks is below .1 and spans decades; the 90th percentile of
    their run times is 1.5 times the median; the longest 10 % take "roughly 50 %" of the time of
    BTWORLD and PPPQ (section 6.3: "more than 60 %" of PPPQ's); the coefficient of variation is 3.4
    over BTWORLD; 70 % of its outliers lie evenly between 1.5 and 3 medians, and the top 5 % from 10
    on. Google's tasks fit a Pareto distribution of shape 1.3.

Kind and band
    Approximate, over 10 jobs or more: a tenth of the paper's. The `panda-das` profile was chosen to
    meet them: all are fitted, but for Google's, on the profile google-2011; that of the real trace
    is printed.

Choices
    Selectivity is a task's output over its share of the stage's input; tasks that read the input
    have a block of it. An outlier takes 1.5 medians of its stage or more; they are looked for in
    BTWORLD's scans, which are alike. Google's shape is Hill's estimate from the longest tenth of
    the tasks that finished, in the `google-2011` profile and, if it is there, the real trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.ghit2017 import PROFILE, Floats, jobs_of
from experiments.reproduction import Experiment, Kind, Measured, Options, Row, relative
from failgym.evaluation.progress import Advance
from failgym.traces import Outcome, Trace, generate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOTH = ("BTWORLD", "PPPQ")
LONGEST = 0.1
"""Share of the tasks."""
TENTH = 0.1
"""Of the bands."""
OUTLIER = 1.5
"""Medians from which a task is an outlier."""
SHARE = 0.5
"""Of the time, that the longest tasks take (section 6.1)."""
PPPQ_SHARE = 0.6
"""The same of PPPQ, at least (section 6.3)."""
SELECTIVITY = 0.1
PARETO = 1.3
BELOW = (
    "selectivities of stages were chosen for .1 in the median over all tasks: .107 in both"
    " applications together (row both), .084 in all five"
)
HALF = "section 6.1 says half of both applications, to which the profile was fitted"
TAIL = (
    "the tail is of tasks of killed jobs, which have a shape of 1.07, those of finished jobs 1.35;"
    " cut off after half a day, as the real trace is, all have 1.18 (12,000 jobs, three seeds)"
)
GOOGLE_JOBS = 2_000
POINTS = 101
"""Of each curve."""


def of_jobs(trace: Trace, values: Floats) -> list[Floats]:
    """Values of the tasks of each job."""
    job = trace.column("tasks", "job")
    return [values[job == number] for number in range(trace.rows("jobs"))]


def seconds(trace: Trace) -> Floats:
    """Run time of each task [s]."""
    return trace.column("attempts", "length") / 1e3


def selectivities(trace: Trace) -> Floats:
    """Output over input of each task."""
    stage = trace.column("tasks", "stage")
    edges = (trace.column("stage_edges", name) for name in ("child", "bytes"))
    read = np.bincount(*edges, minlength=trace.rows("stages"))
    tasks = np.bincount(stage, minlength=trace.rows("stages"))
    per_task = np.where(read > 0, read / np.maximum(tasks, 1), PROFILE.block)[stage]
    return trace.column("tasks", "output_bytes") / per_task


def longest_share(times: Floats) -> float:
    """Share of the time that the longest tenth takes."""
    count = round(len(times) * LONGEST)
    return float(np.sort(times)[-count:].sum() / times.sum())


def outliers(trace: Trace) -> Floats:
    """Run times of the outliers among the scans, over the median of their stage."""
    times, stage = seconds(trace), trace.column("tasks", "stage")
    found: list[Floats] = []
    for row in np.flatnonzero(
        np.char.startswith(trace.column("stages", "name").astype(str), "scan")
    ):
        here = times[stage == row]
        found.append(here / np.median(here))
    relative_times = np.concatenate(found)
    return relative_times[relative_times >= OUTLIER]


def hill(values: Floats, share: float) -> float:
    """Hill's estimate of a Pareto distribution's shape, from the largest values."""
    largest = np.sort(values)[-max(round(len(values) * share), 2) :]
    return 1.0 / float(np.log(largest[1:] / largest[0]).mean())


def finished_seconds(trace: Trace) -> Floats:
    """Run times of the attempts that finished [s]."""
    done = trace.column("attempts", "outcome") == Outcome.FINISH
    start, end = (trace.column("attempts", name)[done] for name in ("start", "end"))
    return np.maximum(end - start, 1) / 1e3


def measure(options: Options, advance: Advance) -> Measured:
    """All rows, and the curves of Fig. 6."""
    rows: list[Row] = []
    curves: dict[str, Any] = {}
    for name in BOTH:
        trace = jobs_of(name, options.seeds)
        rows += of_application(name, trace)
        curves[name] = curves_of(trace)
        advance(1)
    rows += [of_both(options.seeds), *of_outliers(jobs_of("BTWORLD", options.seeds))]
    jobs = GOOGLE_JOBS // 10 if options.quick else GOOGLE_JOBS
    traces = [generate("google-2011", jobs=jobs, seed=s, usage=False) for s in range(options.seeds)]
    shapes = [hill(finished_seconds(trace), LONGEST) for trace in traces]
    name, band = "3.2 google-2011 profile: Pareto shape", relative(PARETO, TENTH)
    rows.append(Row.over(name, shapes, PARETO, band).because(TAIL))
    real = options.trace("google-2011")
    if real is not None:
        rows.append(
            Row("3.2 google-2011: Pareto shape", PARETO, hill(finished_seconds(real), LONGEST))
        )
    advance(1)
    return Measured(tuple(rows), curves)


def of_application(name: str, trace: Trace) -> list[Row]:
    """Fig. 6, and the variation of section 4."""
    times, sizes = of_jobs(trace, seconds(trace)), of_jobs(trace, selectivities(trace))
    ratio = [float(np.quantile(each, 0.9) / np.median(each)) for each in times]
    share = [longest_share(each) for each in times]
    variation = [float(each.std() / each.mean()) for each in times]
    decades = [float(np.log10(np.quantile(s, 0.95) / np.quantile(s, 0.05))) for s in sizes]
    known = name == "BTWORLD"
    return [
        Row.over(
            f"6a {name}: median selectivity",
            [float(np.median(s)) for s in sizes],
            SELECTIVITY,
            relative(SELECTIVITY, TENTH),
            True,
        ).because(BELOW),
        Row.over(f"6a {name}: decades from 5 % to 95 % of the tasks", decades),
        Row.over(f"6b {name}: 90th percentile over median", ratio, 1.5, relative(1.5, TENTH), True),
        Row.over(
            f"6c {name}: time of the longest tenth", share, SHARE, relative(SHARE, TENTH), True
        ),
        *([] if known else [of_section_6_3(share)]),
        Row.over(
            f"4 {name}: coefficient of variation",
            variation,
            3.4 if known else None,
            relative(3.4, TENTH) if known else None,
            known,
        ),
    ]


def of_section_6_3(share: list[float]) -> Row:
    """The other figure that the paper has of PPPQ."""
    name, band = "6.3 PPPQ: time of the longest tenth", (PPPQ_SHARE * (1.0 - TENTH), 1.0)
    return Row.over(name, share, PPPQ_SHARE, band, True).because(HALF)


def of_both(jobs: int) -> Row:
    """The median over the tasks of both applications, to which GREEDY's budget is set."""
    tasks = np.concatenate([selectivities(jobs_of(name, jobs)) for name in BOTH])
    name, band = "6a both: median selectivity", relative(SELECTIVITY, TENTH)
    return Row(name, SELECTIVITY, float(np.median(tasks)), band=band, fitted=True)


def of_outliers(trace: Trace) -> list[Row]:
    """Fig. 3b: all jobs together, as a job has few of the longest."""
    found = outliers(trace)
    claims = (
        ("between 1.5 and 3 medians", 0.70, float((found < 3.0).mean())),
        ("from 10 medians on", 0.05, float((found >= 10.0).mean())),
    )
    return [
        Row(f"3b BTWORLD: outliers {where}", paper, ours, band=relative(paper, TENTH), fitted=True)
        for where, paper, ours in claims
    ]


def curves_of(trace: Trace) -> dict[str, list[float]]:
    """Quantiles of the selectivity and the run time, and the time of the longest tasks."""
    at = np.linspace(0.0, 1.0, POINTS)
    times = np.sort(seconds(trace))[::-1]
    summed = np.cumsum(times) / times.sum()
    first = np.clip((at * len(times)).astype(np.int64) - 1, 0, len(times) - 1)
    return {
        "fraction": at.tolist(),
        "selectivity": np.quantile(selectivities(trace), at).tolist(),
        "run time": np.quantile(times, at).tolist(),
        "time of the longest": np.where(at > 0, summed[first], 0.0).tolist(),
    }


def draw_panels(measured: Measured, figure: Figure) -> None:
    """Fig. 6a to c."""
    axes: Any = figure.subplots(1, 3)
    for name, curve in measured.series.items():
        axes[0].plot(curve["selectivity"], curve["fraction"], label=name)
        axes[1].plot(curve["fraction"], curve["run time"], label=name)
        axes[2].plot(curve["fraction"], curve["time of the longest"], label=name)
    axes[0].set_xscale("log")
    axes[0].axvline(0.1, color="grey", linewidth=0.8)
    axes[1].set_yscale("log")
    axes[2].axvline(LONGEST, color="grey", linewidth=0.8)
    labels = (
        ("Task selectivity", "Fraction of tasks"),
        ("Fraction of tasks", "Run time [s]"),
        ("Longest tasks [fraction]", "Fraction of the time"),
    )
    for axis, (x, y) in zip(axes, labels, strict=True):
        axis.set(xlabel=x, ylabel=y)
    axes[0].legend(fontsize="small", loc="lower right")


EXPERIMENT = Experiment(
    paper="Ghit and Epema 2017",
    item="Figures 3 and 6",
    title="selectivities and run times of tasks, and outliers",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw_panels,
    per="jobs",
    steps=lambda options: len(BOTH) + 1,
)

if __name__ == "__main__":
    EXPERIMENT.command()
