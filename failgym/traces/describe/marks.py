"""The few kinds of marks that the pictures are made of, and their colours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from failgym.vocabulary import DAY, HOUR, MINUTE, SECOND, Outcome

Axes: TypeAlias = Any
"""matplotlib's `Axes` (it publishes no annotations of what may be given by keyword)."""
INK, PALE = "#2f3e4e", "#b8c0c8"
COLOURS = {
    Outcome.FINISH: "#4c8c6b",
    Outcome.FAIL: "#bf4b3f",
    Outcome.KILL: "#dd9f40",
    Outcome.EVICT: "#5579ac",
    Outcome.LOST: "#8a6aa0",
    Outcome.CENSORED: "#a9b0b7",
}
"""The same outcome has the same colour everywhere."""
SERIES = ("#2f6690", "#d0743c", "#6a994e", "#8a6aa0", "#5c6670")
"""Colours of curves that are not of an outcome."""

DRAWN = (1e-50, 1e50)
"""What lies outside is drawn at the limit: a logarithmic axis bears no more."""
POINTS = 400
"""Most points of a curve: a picture shows no more."""

TICKS = (
    (1, "1 ms"),
    (10, "10 ms"),
    (100, "0.1 s"),
    (SECOND, "1 s"),
    (10 * SECOND, "10 s"),
    (MINUTE, "1 min"),
    (10 * MINUTE, "10 min"),
    (HOUR, "1 h"),
    (6 * HOUR, "6 h"),
    (DAY, "1 d"),
    (7 * DAY, "7 d"),
    (30 * DAY, "30 d"),
    (365 * DAY, "1 y"),
)
"""Of a logarithmic axis of time, which is in seconds: at these times [ms]."""


@dataclass(frozen=True)
class Panel:
    """One picture: its title, and what draws it."""

    title: str
    draw: Callable[[Axes], None]


def cdf(
    axes: Axes,
    values: npt.NDArray[Any],
    label: str,
    colour: str,
) -> None:
    """The share of the values that are at most x."""
    values = np.sort(np.asarray(values, dtype=np.float64))
    if not len(values):
        return
    share = np.linspace(0.0, 1.0, min(POINTS, len(values) + 1))
    x = np.quantile(values, share, method="inverted_cdf")
    axes.plot(x, share, color=colour, label=label, linewidth=1.4, drawstyle="steps-post")


def cdf_axes(
    axes: Axes, series: Iterable[npt.NDArray[Any]], unit: str = "", *, time: bool = False
) -> None:
    """A logarithmic x of the unit, and shares up y; `time` is in seconds and has named ticks.

    The x axis begins at the smallest of the series' first percentiles, and not below a thousandth
    of their median: a few values near 0 would take half of a logarithmic axis.
    """
    shown = [np.asarray(values) for values in series if len(values)]
    first = min(float(np.quantile(values, 0.01)) for values in shown)
    low = max(first, float(np.median(np.concatenate(shown))) / 1000)
    high = max(float(values.max()) for values in shown)
    axes.set_xscale("log")
    axes.set_xlim(0.8 * low, 1.25 * high)
    axes.set_ylim(-0.02, 1.02)
    percent(axes)
    axes.set_xlabel(unit)
    if time:
        time_ticks(axes)
    else:
        log_ticks(axes.xaxis)


def log_ticks(axis: Any) -> None:
    """Ticks of a logarithmic axis: plain numbers on a short one, powers of ten on a long one."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    low, high = sorted(float(end) for end in axis.get_view_interval())
    decades = float(np.log10(high / low)) if low > 0 else 0.0
    if decades < 3:
        plain = MaxNLocator(5) if decades < 0.8 else LogLocator(subs=(1.0, 2.0, 5.0))
        axis.set_major_locator(plain if decades < 1.8 else LogLocator(subs=(1.0, 3.0)))
        axis.set_major_formatter(FuncFormatter(_plain))
    axis.set_minor_locator(NullLocator())


def whole_numbers(axis: Any) -> None:
    """Ticks at whole numbers, with commas between thousands."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(6, integer=True))
    axis.set_major_formatter(FuncFormatter(_plain))


def _percent(x: float, _: int | None = None) -> str:
    return f"{100 * x:.3g}%"


def _plain(x: float, _: int | None = None) -> str:
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.4g}"


def short(value: float) -> str:
    """A number over a bar: whole from 10 on, else two digits."""
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.2g}"


def legend(axes: Axes, **options: Any) -> None:
    """A legend, of what has a label."""
    if axes.get_legend_handles_labels()[1]:
        # Where it is not said where it goes, matplotlib warns on slow machines.
        axes.legend(**{"loc": "best", **options})


def legend_above(axes: Axes) -> None:
    """All the labels in one line between the picture and its title."""
    entries = len(axes.get_legend_handles_labels()[1])
    legend(
        axes,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=max(entries, 1),
        handlelength=0.8,
        handletextpad=0.5,
        columnspacing=1.1,
        borderpad=0.0,
    )


def span_unit(days: float) -> tuple[float, str]:
    """Units in a day, and their name: that in which so many days are best counted."""
    for units, name in ((1.0, "days"), (24.0, "hours"), (1440.0, "minutes")):
        if days * units > 2.0:
            return units, name
    return DAY / SECOND, "seconds"


def duration_name(time: float) -> str:
    """A length of time [ms] in the unit that suits it."""
    for unit, name in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        if time >= 2 * unit:
            return f"{time / unit:.2g} {name}"
    return f"{time / SECOND:.2g} s"


def time_ticks(axes: Axes) -> None:
    """Named ticks of a logarithmic x of seconds, as many as fit."""
    low, high = axes.get_xlim()
    shown = [(at / SECOND, name) for at, name in TICKS if low <= at / SECOND <= high]
    step = -(-len(shown) // 6)
    if len(shown) < 2:
        log_ticks(axes.xaxis)
        axes.set_xlabel(f"{axes.get_xlabel()} [s]".strip())
    else:
        shown = shown[::step]
        axes.set_xticks([at for at, _ in shown], [name for _, name in shown])
        axes.set_xticks([], minor=True)


def percent(axes: Axes, which: str = "y") -> None:
    """Ticks of shares, in per cent."""
    from matplotlib.ticker import FuncFormatter

    axis = axes.yaxis if which == "y" else axes.xaxis
    axis.set_major_formatter(FuncFormatter(_percent))


def stacked(
    axes: Axes,
    bars: Mapping[str, Sequence[float]],
    names: Sequence[str],
    colours: Sequence[str],
) -> None:
    """Horizontal bars of shares, the first on top; `names` and `colours` are of the parts."""
    labels = [label for label in bars if sum(bars[label])][::-1]
    totals = np.array([sum(bars[label]) for label in labels])
    left = np.zeros(len(labels))
    for part, (name, colour) in enumerate(zip(names, colours, strict=True)):
        width = np.array([bars[label][part] for label in labels]) / totals
        if width.any():
            axes.barh(labels, width, left=left, color=colour, label=name, height=0.68)
            for row in np.flatnonzero(width >= 0.09).tolist():
                x = float(left[row] + width[row] / 2)
                axes.text(x, row, f"{width[row]:.0%}", ha="center", va="center", color="white")
        left = left + width
    axes.set_xlim(0.0, 1.0)
    percent(axes, "x")
    axes.grid(visible=False, axis="y")
    legend_above(axes)


def intervals(
    axes: Axes,
    rows: Mapping[str, Mapping[Outcome, npt.NDArray[Any]]],
) -> None:
    """Quantiles of each row's values by outcome: 10 to 90 % thin, 25 to 75 % thick, the median."""
    shown = {
        label: {
            outcome: np.clip(found[np.isfinite(found) & (found > 0)], *DRAWN)
            for outcome, found in values.items()
        }
        for label, values in rows.items()
    }
    places = [o for o in COLOURS if any(len(values.get(o, ())) for values in shown.values())]
    seen: set[Outcome] = set()
    for y, values in enumerate(list(shown.values())[::-1]):
        for outcome, found in values.items():
            if not len(found):
                continue
            at = y + 0.25 * ((len(places) - 1) / 2 - places.index(outcome))
            p10, p25, p50, p75, p90 = np.percentile(found, (10, 25, 50, 75, 90)).tolist()
            colour, label = COLOURS[outcome], None if outcome in seen else outcome.name
            axes.plot([p10, p90], [at, at], color=colour, linewidth=1.0)
            axes.plot([p25, p75], [at, at], color=colour, linewidth=4.0, solid_capstyle="butt")
            axes.plot([p50], [at], "o", color="white", markeredgecolor=colour, markersize=4.5)
            if label:
                axes.plot([], [], color=colour, linewidth=4.0, label=label)
            seen.add(outcome)
    axes.set_yticks(range(len(rows)), list(rows)[::-1])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xscale("log")
    axes.grid(visible=False, axis="y")
    log_ticks(axes.xaxis)
    legend_above(axes)


def grouped_bars(
    axes: Axes, groups: Sequence[str], bars: Mapping[str, Sequence[float]], colours: Sequence[str]
) -> None:
    """Vertical bars side by side: a bar of each name in each group."""
    named = zip(bars.items(), colours, strict=False)
    shown = [(name, heights, colour) for (name, heights), colour in named if any(heights)]
    width = 0.8 / max(len(shown), 1)
    for k, (name, heights, colour) in enumerate(shown):
        x = np.arange(len(groups)) + width * (k - (len(shown) - 1) / 2)
        axes.bar(x, np.nan_to_num(heights), width * 0.92, color=colour, label=name)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(visible=False, axis="x")
    if len(shown) > 1:
        legend(axes)
