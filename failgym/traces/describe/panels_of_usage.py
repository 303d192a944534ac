"""Pictures of requests, usage, exits and environments."""

from __future__ import annotations

import numpy as np

from failgym.traces.describe.configuration import configuration
from failgym.traces.describe.elsayed import ENDS
from failgym.traces.describe.facts import Facts, Flags, Floats
from failgym.traces.describe.fits import Curve
from failgym.traces.describe.kumar import categories, groups, job_sizes, request_ratio
from failgym.traces.describe.marks import (
    COLOURS,
    INK,
    PALE,
    SERIES,
    Axes,
    Panel,
    cdf,
    cdf_axes,
    grouped_bars,
    intervals,
    legend,
    log_ticks,
    percent,
    stacked,
)
from failgym.traces.describe.tables import DescriptionTable
from failgym.traces.describe.usage import HINGED, LINEAR, FailureRates, Points, binned, fitted
from failgym.vocabulary import Outcome

EXITS = {
    "success": COLOURS[Outcome.FINISH],
    "system": COLOURS[Outcome.FAIL],
    "user": COLOURS[Outcome.KILL],
    "user/system": SERIES[3],
    "walltime": PALE,
    "completed": COLOURS[Outcome.FINISH],
    "failed": COLOURS[Outcome.FAIL],
    "killed": COLOURS[Outcome.KILL],
    "aborted": COLOURS[Outcome.EVICT],
    "syskilled": COLOURS[Outcome.LOST],
    "unknown": PALE,
}
"""Colours of the exit categories of Kumar et al., and of LANL's in El-Sayed et al."""


def panels_of_usage(facts: Facts) -> list[Panel]:
    """Those that the trace allows."""
    made = (requests, used, settings, exits, node_seconds, sizes, request_over_run)
    found = [panel for make in made if (panel := make(facts)) is not None]
    return found + failure_rates(facts)


def requests(facts: Facts) -> Panel | None:
    """El-Sayed et al., Fig. 2."""
    rows: dict[str, dict[Outcome, Floats]] = {}
    for resource in ("cpu", "memory", "disk"):
        asked = facts.request(resource)
        if np.isfinite(asked).any():
            mean = facts.job_mean(asked)
            rows[resource] = {o: mean[facts.job_outcome == o] for o in ENDS}
    if not rows:
        return None

    def draw(axes: Axes) -> None:
        intervals(axes, rows)
        axes.set_xlabel("request, mean of the job's tasks")

    return Panel("Requests by the job's outcome", draw)


def used(facts: Facts) -> Panel | None:
    """El-Sayed et al., Fig. 4; usage itself, Fig. 3, where nothing was requested."""
    rows: dict[str, dict[Outcome, Floats]] = {}
    outcome = facts.trace.task_outcome
    for resource in ("cpu", "memory"):
        if resource in facts.usage:
            usage = facts.usage[resource]
            for name, values in (
                (f"{resource}\nmean", facts.task_mean(usage.mean)),
                (f"{resource}\nmost", facts.task_peak(usage.peak)),
            ):
                ratio = facts.over_request(values, resource)
                if np.isfinite(ratio).any():
                    rows[name] = {o: ratio[outcome == o] for o in ENDS}
    if not rows:
        return None

    def draw(axes: Axes) -> None:
        intervals(axes, rows)
        axes.axvline(1.0, color=INK, linewidth=0.8, linestyle=":")
        axes.set_xlabel("usage over request, by task")

    return Panel("Usage over request by outcome", draw)


def settings(facts: Facts) -> Panel | None:
    """El-Sayed et al., section IV-B: jobs that left the defaults."""
    names = {"speculation": "no\nspeculation", "skip_mode": "skip mode", "attempt_limit": "limit"}
    labels: list[str] = []
    shares: dict[str, list[float]] = {outcome.name: [] for outcome in ENDS}
    for table in configuration(facts):
        if isinstance(table, DescriptionTable):
            labels.append(names[table.name])
            for name, listed in shares.items():
                columns = [c for c in table.columns if c.startswith("share") and "(" not in c]
                listed.append(sum(float(table.cell(name, c) or 0.0) for c in columns))
    if not labels:
        return None

    def draw(axes: Axes) -> None:
        grouped_bars(axes, labels, shares, [COLOURS[outcome] for outcome in ENDS])
        percent(axes)
        axes.set_ylabel("share of jobs")

    return Panel("Jobs that left the default", draw)


def exits(facts: Facts) -> Panel | None:
    """Kumar et al., Table IV."""
    known = facts.trace.present("jobs", "exit_category")
    if not known.any():
        return None
    bars: dict[str, list[float]] = {}
    shown = categories(facts)
    for label, among in groups(facts):
        if (among & known).any():
            bars[label] = [float((among & (facts.exit_category == c)).sum()) for c in shown]
    bars["node-time"] = [float(facts.job_node_time[facts.exit_category == c].sum()) for c in shown]
    others = iter([*SERIES, *COLOURS.values()] * len(shown))
    colours = [EXITS.get(category) or next(others) for category in shown]

    def draw(axes: Axes) -> None:
        stacked(axes, bars, shown, colours)

    return Panel("Exit categories", draw)


def node_seconds(facts: Facts) -> Panel | None:
    """Kumar et al., Fig. 1a."""
    listed = [(label, among & facts.job_ran) for label, among in groups(facts) if label != "all"]
    listed = [(label, among) for label, among in listed if among.any()]
    if not listed:
        return None
    seconds = np.maximum(facts.job_node_time / 1000, 0.001)

    def draw(axes: Axes) -> None:
        for (label, among), colour in zip(listed, SERIES, strict=False):
            cdf(axes, seconds[among], f"{label} ({int(among.sum()):,})", colour)
        cdf_axes(axes, (seconds[among] for _, among in listed), "node-seconds of a job")
        legend(axes, loc="best")

    return Panel("Node-seconds of jobs", draw)


def sizes(facts: Facts) -> Panel | None:
    """Kumar et al., Fig. 1b."""
    table = job_sizes(facts)
    if not isinstance(table, DescriptionTable) or len(table.rows) < 2:
        return None
    labels = [str(row[0]).split(" ")[0] for row in table.rows]
    bars = {
        "of jobs": [float(row[2] or 0.0) for row in table.rows],
        "of node-time": [float(row[3] or 0.0) for row in table.rows],
    }

    def draw(axes: Axes) -> None:
        grouped_bars(axes, labels, bars, SERIES)
        if len(labels) > 8:
            axes.tick_params(axis="x", labelrotation=45)
        axes.set_xlabel("nodes of a job, from")
        axes.set_ylabel("share")
        percent(axes)

    return Panel("Sizes of jobs", draw)


def request_over_run(facts: Facts) -> Panel | None:
    """Kumar et al., section V-E."""
    over = request_ratio(facts)
    known = np.isfinite(over) & (over > 0)
    if not known.any():
        return None

    def draw(axes: Axes) -> None:
        for outcome in ENDS:
            found = over[known & (facts.job_outcome == outcome)]
            if len(found):
                label = f"{outcome.name} (median {np.median(found):.2g})"
                cdf(axes, found, label, COLOURS[outcome])
        cdf_axes(axes, [over[known]], "requested walltime over run time")
        axes.axvline(1.0, color=INK, linewidth=0.8, linestyle=":")
        legend(axes, loc="lower right")

    return Panel("Requested over used time", draw)


def failure_rates(facts: Facts) -> list[Panel]:
    """Kumar et al., Figs. 2, 4, 5, 6: a picture for each usage."""
    rates = FailureRates(facts)
    if not rates.failed.any():
        return []
    found = (_failure_rate(rates, resource) for resource in rates.usages)
    return [panel for panel in found if panel is not None]


def _failure_rate(rates: FailureRates, resource: str) -> Panel | None:
    known, failed, value = rates.among(resource)
    lines: list[tuple[str, Points, Curve | None]] = []
    listed = list(groups(rates.facts))
    for label, among in listed if len(listed) == 1 else listed[:-1]:
        here: Flags = known & among[rates.facts.attempt_job]
        points = binned(value[here], failed[here])
        if len(points.rate) >= 3:
            lines.append((label, points, fitted(resource, points)))
    if not lines:
        return None

    def draw(axes: Axes) -> None:
        for (label, points, curve), colour in zip(lines, SERIES, strict=False):
            x = points.usage if resource in LINEAR else 10.0**points.usage
            size = 3.0 + 5.0 * np.log10(points.attempts / points.attempts.min())
            axes.scatter(x, points.rate, s=size, color=colour, label=label, linewidths=0)
            if curve is not None:
                axes.plot(*_curve(resource, curve, points.usage), color=colour, linewidth=1.0)
        if resource not in LINEAR:
            axes.set_xscale("log")
            log_ticks(axes.xaxis)
        axes.set_ylim(0.0, min(axes.get_ylim()[1], 1.05))
        axes.set_xlabel(resource.replace("_io", " I/O"))
        axes.set_ylabel("share failed")
        percent(axes)
        legend(axes, loc="best", markerscale=1.5)

    return Panel(f"Failure rate against {resource.replace('_io', ' I/O')}", draw)


def _curve(resource: str, curve: Curve, usage: Floats) -> tuple[Floats, Floats]:
    """Usages, and the fit's failure rates there."""
    x = np.linspace(float(usage.min()), float(usage.max()), 200)
    rate = curve.a * np.exp(curve.b * x)
    if resource in HINGED:
        rate = curve.b * np.maximum(x - curve.a, 0.0)
    return (x if resource in LINEAR else 10.0**x), rate
