"""Pictures of outages and of workflows."""

from __future__ import annotations

import numpy as np

from failgym.traces.describe.facts import Facts
from failgym.traces.describe.fits import fit_lognormal, fit_weibull
from failgym.traces.describe.marks import (
    INK,
    SERIES,
    Axes,
    Panel,
    cdf,
    cdf_axes,
    duration_name,
    legend,
    legend_above,
    log_ticks,
    percent,
    span_unit,
    time_ticks,
    whole_numbers,
)
from failgym.traces.describe.outages import Outages, by_cause
from failgym.traces.describe.tables import DescriptionTable
from failgym.traces.describe.workflows import measure
from failgym.vocabulary import DAY

BINS = 60
"""Number of bins of time in the picture over time."""


def panels_of_machines(facts: Facts) -> list[Panel]:
    """Those that the trace allows."""
    found: list[Panel | None] = []
    if facts.trace.rows("outages"):
        outages = Outages(facts.trace)
        found += [over_time(outages), gaps(outages), downtimes(outages)]
        found += [causes(outages), per_machine(outages)]
    if facts.trace.rows("stage_edges"):
        found += shapes(facts)
    return [panel for panel in found if panel is not None]


def over_time(outages: Outages) -> Panel | None:
    """Outages over time."""
    days = outages.down / DAY
    if not days.max() > days.min():
        return None

    def draw(axes: Axes) -> None:
        counts, edges = np.histogram(days, BINS)
        scale, unit = span_unit(float(days.max() - days.min()))
        width = float(edges[1] - edges[0])
        middle = (edges[:-1] + width / 2) * scale
        axes.bar(middle, counts, width * scale, color=SERIES[0], linewidth=0)
        whole_numbers(axes.yaxis)
        axes.set_xlabel(unit)
        axes.set_ylabel(f"outages per {duration_name(width * DAY)}")
        axes.grid(visible=False, axis="x")

    return Panel("Outages", draw)


def gaps(outages: Outages) -> Panel | None:
    """Gaps between failures, with their Weibulls."""
    series = {
        "machine": outages.machine_gaps / 1000,
        "system": outages.system_gaps / 1000,
    }
    series = {label: values[values > 0] for label, values in series.items()}
    if not any(map(len, series.values())):
        return None

    def draw(axes: Axes) -> None:
        for (label, values), colour in zip(series.items(), SERIES, strict=False):
            fit = fit_weibull(values)
            shape = "" if fit is None else f" (Weibull, shape {fit.shape:.3f})"
            cdf(axes, values, f"{label}{shape}", colour)
            if fit is not None:
                x = np.geomspace(float(values.min()), float(values.max()), 200)
                axes.plot(x, 1.0 - fit.survival(x), "--", color=INK, linewidth=0.8)
        cdf_axes(axes, series.values(), time=True)
        legend_above(axes)

    return Panel("Time between failures", draw)


def downtimes(outages: Outages) -> Panel | None:
    """Downtimes, with their lognormal."""
    values = outages.downtime[outages.downtime > 0] / 1000
    fit = fit_lognormal(values)
    if fit is None:
        return None
    normal = np.array([_normal(z) for z in np.linspace(-4, 4, 161).tolist()])

    def draw(axes: Axes) -> None:
        cdf(axes, values, f"median {np.median(values) / 60:,.3g} min", SERIES[0])
        if fit.sigma > 0:
            x = np.exp(fit.mu + fit.sigma * np.linspace(-4, 4, 161))
            inside = (x >= values.min()) & (x <= values.max())
            label = f"lognormal, sigma {fit.sigma:.2f}"
            axes.plot(x[inside], normal[inside], "--", color=INK, linewidth=0.8, label=label)
        cdf_axes(axes, [values], time=True)
        legend(axes, loc="lower right")

    return Panel("Downtimes", draw)


def causes(outages: Outages) -> Panel | None:
    """Outages and downtime by cause."""
    table = by_cause(outages)
    if not isinstance(table, DescriptionTable):
        return None
    shown = table.rows[:8][::-1]

    def draw(axes: Axes) -> None:
        y = np.arange(len(shown))
        for k, (name, colour) in enumerate((("outages", SERIES[0]), ("downtime", SERIES[1]))):
            shares = [float(row[2 + k] or 0.0) for row in shown]
            axes.barh(y + 0.19 - 0.38 * k, shares, 0.34, color=colour, label=name)
        axes.set_yticks(y, [str(row[0])[:24] for row in shown])
        percent(axes, "x")
        axes.set_xlabel("share")
        axes.grid(visible=False, axis="y")
        legend_above(axes)

    return Panel("Outages by cause", draw)


def per_machine(outages: Outages) -> Panel | None:
    """How many outages the machines have, the worst first."""
    counts = np.sort(np.bincount(outages.machine, minlength=outages.trace.rows("machines")))[::-1]
    if len(counts) < 2:
        return None

    def draw(axes: Axes) -> None:
        share = np.append(0.0, np.cumsum(counts) / counts.sum())
        rank = np.arange(len(counts) + 1) / len(counts)
        axes.plot(rank, share, color=SERIES[0], linewidth=1.4)
        axes.plot([0, 1], [0, 1], ":", color=INK, linewidth=0.8)
        axes.set_xlabel("machines, worst first")
        axes.set_ylabel("share of outages")
        percent(axes)
        percent(axes, "x")

    return Panel("Concentration of outages", draw)


def shapes(facts: Facts) -> list[Panel]:
    """Depth and width of the workflows; their work and critical path."""
    found = measure(facts)
    depth, width = found["depth [stages]"], found["width [tasks of a level]"]
    work, critical = found["work [s]"], found["critical path [s]"]
    known = (work > 0) & (critical > 0)

    def draw_shape(axes: Axes) -> None:
        axes.scatter(depth, width, s=12, color=SERIES[0], alpha=0.6, linewidths=0)
        axes.set_xlim(0, float(depth.max()) + 1)
        axes.set_ylim(0, 1.08 * float(width.max()) + 1)
        whole_numbers(axes.xaxis)
        whole_numbers(axes.yaxis)
        axes.set_xlabel("depth [stages]")
        axes.set_ylabel("width [tasks of a level]")

    def draw_work(axes: Axes) -> None:
        axes.scatter(critical[known], work[known], s=12, color=SERIES[0], alpha=0.6, linewidths=0)
        ends = [float(critical[known].min()), float(critical[known].max())]
        axes.plot(ends, ends, ":", color=INK, linewidth=0.8)
        axes.set_xscale("log")
        axes.set_yscale("log")
        log_ticks(axes.yaxis)
        axes.set_xlabel("critical path")
        time_ticks(axes)
        axes.set_ylabel("work [s]")

    panels = [Panel("Depth and width of workflows", draw_shape)]
    return [*panels, Panel("Work and critical path", draw_work)] if known.any() else panels


def _normal(z: float) -> float:
    """The standard normal distribution function."""
    from math import erf, sqrt

    return 0.5 * (1.0 + erf(z / sqrt(2.0)))
