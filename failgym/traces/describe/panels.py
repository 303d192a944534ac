"""Pictures of jobs, tasks and attempts: outcomes, times, retries, sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.describe.basics import success_by_failures
from failgym.traces.describe.elsayed import ENDS, interruptions, outage_events
from failgym.traces.describe.facts import Facts
from failgym.traces.describe.marks import (
    COLOURS,
    INK,
    SERIES,
    Axes,
    Panel,
    cdf,
    cdf_axes,
    duration_name,
    grouped_bars,
    legend,
    log_ticks,
    percent,
    short,
    span_unit,
    stacked,
    whole_numbers,
)
from failgym.traces.describe.tables import DescriptionTable
from failgym.traces.machine_time import attempt_times
from failgym.vocabulary import DAY, Outcome

BINS = 160
"""Number of bins of time in the picture over time."""
FLAT = 100.0
"""Bars this much lower than others would not be seen on a linear scale."""


def panels(facts: Facts) -> list[Panel]:
    """Those that the trace allows."""
    made = (
        outcomes,
        over_time,
        run_times,
        durations,
        success,
        restarts,
        tasks_per_job,
        interruption_rates,
        after_failure,
        outage_share,
    )
    return [panel for make in made if (panel := make(facts)) is not None]


def outcomes(facts: Facts) -> Panel | None:
    """Outcome shares of jobs, tasks, attempts and machine-time."""
    if not facts.jobs:
        return None
    task_outcome = facts.trace.task_outcome

    def count(values: npt.NDArray[Any]) -> list[float]:
        return np.bincount(values, minlength=len(Outcome)).tolist()

    spent = facts.sum(
        task_outcome[facts.task].astype(np.int64), attempt_times(facts.trace) / 1000, len(Outcome)
    )
    bars = {
        "jobs": count(facts.job_outcome),
        "tasks": count(task_outcome),
        "attempts": count(facts.outcome),
        "machine-time\n(by task)": spent.tolist(),
    }

    def draw(axes: Axes) -> None:
        stacked(axes, bars, [o.name for o in Outcome], [COLOURS[o] for o in Outcome])

    return Panel("Outcomes", draw)


def over_time(facts: Facts) -> Panel | None:
    """Attempts that run, and those that fail, over time."""
    start, end = facts.start[facts.timed], facts.end[facts.timed]
    if not len(start) or int(end.max()) == int(start.min()):
        return None
    edges = np.linspace(float(start.min()), float(end.max()), BINS + 1)
    times, begun, ended = edges / DAY, np.sort(start), np.sort(end)
    running = np.searchsorted(begun, edges, side="right") - np.searchsorted(
        ended, edges, side="right"
    )
    fails = facts.end[facts.timed & (facts.outcome == Outcome.FAIL)]
    failed = np.histogram(fails, edges)[0]

    def draw(axes: Axes) -> None:
        scale, unit = span_unit(float(times[-1] - times[0]))
        axes.fill_between(times * scale, running, color=SERIES[0], alpha=0.25, linewidth=0)
        axes.plot(times * scale, running, color=SERIES[0], linewidth=1.2)
        axes.set_ylim(0, max(1.05 * float(running.max()), 1.0))
        axes.set_ylabel("running", color=SERIES[0])
        whole_numbers(axes.yaxis)
        axes.set_xlabel(unit)
        if len(fails):
            other = axes.twinx()
            other.grid(visible=False)
            other.bar(
                (times[:-1] + times[1:]) / 2 * scale,
                failed,
                (times[1] - times[0]) * scale,
                color=COLOURS[Outcome.FAIL],
                alpha=0.75,
            )
            other.set_ylim(0, 2.2 * float(failed.max()))
            width = duration_name(float(times[1] - times[0]) * DAY)
            other.set_ylabel(f"FAIL per {width}", color=COLOURS[Outcome.FAIL])
            whole_numbers(other.yaxis)

    return Panel("Attempts running, and failing", draw)


def run_times(facts: Facts) -> Panel | None:
    """Run times of attempts by outcome."""
    return _by_outcome(
        "Run time of attempts",
        {
            outcome: facts.run_time[facts.timed & (facts.outcome == outcome)] / 1000
            for outcome in Outcome
        },
    )


def durations(facts: Facts) -> Panel | None:
    """El-Sayed et al., Table II."""
    return _by_outcome(
        "Task-time of jobs",
        {
            outcome: facts.job_time[facts.job_ran & (facts.job_outcome == outcome)] / 1000
            for outcome in ENDS
        },
    )


def restarts(facts: Facts) -> Panel | None:
    """From the end of an attempt to the start of the next."""
    before = np.flatnonzero((facts.task[:-1] == facts.task[1:]) & facts.ran[1:])
    gap = np.maximum(facts.start[before + 1] - facts.end[before], 0) / 1000
    return _by_outcome(
        "From an attempt's end to the next's start",
        {outcome: gap[facts.outcome[before] == outcome] for outcome in Outcome},
    )


def success(facts: Facts) -> Panel | None:
    """El-Sayed et al., Fig. 6."""
    table = success_by_failures(facts)
    tried = {name: _numbers(table, f"{name}: attempts") for name in ("single", "multi")}
    shown = {name: colour for name, colour in zip(tried, SERIES, strict=False) if any(tried[name])}
    if not any(_numbers(table, "all: attempts")[1:]):
        return None  # nothing failed

    def draw(axes: Axes) -> None:
        for name, colour in shown.items():
            rates = _numbers(table, f"P(FINISH) {name}")
            label = f"{name}-task jobs"
            axes.plot(rates, "o-", color=colour, label=label, markersize=4, linewidth=1.2)
        for k, tried in enumerate(_numbers(table, "all: attempts")):
            axes.text(k, -0.06, f"n = {tried:,.0f}", ha="center", va="top", fontsize=6.5, color=INK)
        axes.set_xticks(range(len(table.rows)), [str(row[0]) for row in table.rows])
        axes.set_xlabel("past failures of the task")
        axes.set_ylabel("P(FINISH)")
        axes.set_ylim(-0.16, 1.05)
        percent(axes)
        axes.set_xlim(-0.4, len(table.rows) - 0.6)
        legend(axes)

    return Panel("Success by past failures", draw)


def tasks_per_job(facts: Facts) -> Panel | None:
    """How many jobs have at least so many tasks."""
    width = facts.trace.column("jobs", "width")
    if not len(width) or width.max() == 1:
        return None
    sizes, counts = np.unique(width, return_counts=True)
    share = np.cumsum(counts[::-1])[::-1] / len(width)

    def draw(axes: Axes) -> None:
        axes.step(sizes, share, where="post", color=SERIES[0], linewidth=1.4)
        axes.set_xscale("log")
        axes.set_yscale("log")
        log_ticks(axes.xaxis)
        log_ticks(axes.yaxis)
        axes.set_xlabel("tasks, at least")
        axes.set_ylabel("share of jobs")

    return Panel("Tasks per job", draw)


def interruption_rates(facts: Facts) -> Panel | None:
    """El-Sayed et al., Fig. 1."""
    table = interruptions(facts)
    if not isinstance(table, DescriptionTable):
        return None
    groups = [str(row[0]) for row in table.rows if row[1]]
    rates = {
        name: [float(table.cell(group, f"{name} per week") or 0.0) for group in groups]
        for name in ("FAIL", "KILL")
    }
    rates = {name: found for name, found in rates.items() if any(found)}
    if not rates:
        return None

    def draw(axes: Axes) -> None:
        colours = [COLOURS[Outcome[name]] for name in rates]
        labels = [group.replace(" ", "\n") for group in groups]
        grouped_bars(axes, labels, rates, colours)
        shown = [rate for found in rates.values() for rate in found if rate > 0]
        if max(shown) > FLAT * min(shown):
            axes.set_yscale("log")
            log_ticks(axes.yaxis)
        for bars in axes.containers:
            axes.bar_label(bars, fmt=short, padding=1.0, fontsize=6.0)
        axes.margins(y=0.15)
        axes.set_ylabel("jobs per task-week")

    return Panel("Interrupted jobs per machine-time", draw)


def after_failure(facts: Facts) -> Panel | None:
    """El-Sayed et al., Fig. 9: what is left of a job's life after its first failed attempt."""
    failures = facts.timed & (facts.outcome == Outcome.FAIL)
    never = np.iinfo(np.int64).max
    first = np.full(facts.jobs, never)
    np.minimum.at(first, facts.attempt_job[failures], facts.end[failures])
    last = np.zeros(facts.jobs, dtype=np.int64)
    np.maximum.at(last, facts.attempt_job, facts.end)
    several = facts.trace.column("jobs", "width") > 1
    hit = several & (first < never)
    return _by_outcome(
        "From a parallel job's first failure on",
        {
            outcome: ((last - first)[hit & (facts.job_outcome == outcome)]) / 1000
            for outcome in ENDS
        },
    )


def outage_share(facts: Facts) -> Panel | None:
    """El-Sayed et al., Table III."""
    table = outage_events(facts)
    if not isinstance(table, DescriptionTable):
        return None
    shown = [row for row in table.rows if row[1]]
    if not shown:
        return None

    def draw(axes: Axes) -> None:
        names = [str(row[0]) for row in shown][::-1]
        shares = [float(row[3] or 0.0) for row in shown][::-1]
        axes.barh(names, shares, color=[COLOURS[Outcome[name]] for name in names], height=0.6)
        for y, row in enumerate(shown[::-1]):
            axes.text(shares[y], y, f" {row[1]:,}", va="center", fontsize=7.0, color=INK)
        axes.set_xlim(0, 1.25 * max(shares))
        axes.set_ylim(-0.7, max(len(shown), 3) - 0.3)
        axes.locator_params(axis="x", nbins=5)
        percent(axes, "x")
        axes.set_xlabel("share of the attempts of that outcome")
        axes.grid(visible=False, axis="y")

    return Panel("Ended by a machine's outage", draw)


def _by_outcome(title: str, values: dict[Outcome, npt.NDArray[Any]]) -> Panel | None:
    """Distributions of times [s] by outcome; what took no time at all counts as 1 ms."""
    values = {outcome: np.maximum(found, 0.001) for outcome, found in values.items() if len(found)}
    if not values:
        return None

    def draw(axes: Axes) -> None:
        for outcome, found in values.items():
            cdf(axes, found, f"{outcome.name} ({len(found):,})", COLOURS[outcome])
        cdf_axes(axes, values.values(), time=True)
        legend(axes, loc="best")

    return Panel(title, draw)


def _numbers(table: DescriptionTable, column: str) -> list[float]:
    cells = [table.cell(str(row[0]), column) for row in table.rows]
    return [float("nan") if cell is None else float(cell) for cell in cells]
