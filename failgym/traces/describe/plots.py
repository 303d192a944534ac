"""One page of small pictures of a trace: whichever its columns allow."""

from __future__ import annotations

import importlib.util
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from failgym.files import replacing
from failgym.traces.describe.facts import Facts
from failgym.traces.describe.marks import INK, Axes, Panel
from failgym.traces.describe.panels import panels
from failgym.traces.describe.panels_of_machines import panels_of_machines
from failgym.traces.describe.panels_of_usage import panels_of_usage
from failgym.traces.schema import TraceError
from failgym.traces.trace import Trace

__all__ = ["check", "plot"]

NAME = "trace"
"""Name of the files of pictures, before their endings."""
FORMATS = ("png", "svg")
WIDTH, HEIGHT, DPI = 4.3, 3.1, 130
"""Width and height of a picture [inch], and its pixels per inch."""
LONGEST_SOURCE = 80
"""So many characters of the source are in the page's title."""

STYLE: dict[str, Any] = {
    "font.size": 8.0,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#8a949e",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e9ec",
    "grid.linewidth": 0.6,
    "xtick.color": "#5c6670",
    "ytick.color": "#5c6670",
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "legend.handlelength": 1.2,
    "legend.columnspacing": 1.0,
    "legend.borderaxespad": 0.3,
    "svg.hashsalt": "failgym",  # the same trace, the same file
}


def check(folder: str | Path) -> None:
    """Refuse, before any work is done, what `plot` could not do.

    Raises TraceError, in one line: matplotlib is missing, or the name is not one of a folder.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise TraceError("drawing needs matplotlib: pip install failgym[plots]")
    folder = Path(folder)
    there = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    of = "" if there == folder else f"{there} "
    if not there.is_dir():
        raise TraceError(f"{folder}: {of}is not a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise TraceError(f"{folder}: {of}cannot be written to")


def plot(trace: Trace, folder: str | Path) -> list[Path]:
    """Draw what the trace allows into `folder`, which is made: `trace.png` and `trace.svg`.

    Each file appears whole or not at all; one of the same name is replaced. Returns their paths.
    Raises TraceError in one line as `check` does, and OSError if they cannot be written.
    """
    check(folder)
    import matplotlib as mpl

    folder = Path(folder)
    facts = Facts(trace)
    drawn = [*panels(facts), *panels_of_usage(facts), *panels_of_machines(facts)]
    folder.mkdir(parents=True, exist_ok=True)
    library: Any = mpl
    with library.rc_context(STYLE):
        figure = _page(trace, drawn)
        return [_save(figure, folder, ending) for ending in FORMATS]


def _page(trace: Trace, drawn: Sequence[Panel]) -> Any:
    import matplotlib.figure

    columns = _columns(len(drawn))
    rows = max(-(-len(drawn) // columns), 1)
    figure: Any = matplotlib.figure.Figure(
        figsize=(WIDTH * columns, HEIGHT * rows + 0.4), dpi=DPI, layout="constrained"
    )
    # A source may be of several lines, and hold what mathtext would try to read.
    source = textwrap.shorten(trace.meta.source, LONGEST_SOURCE, placeholder=" ...")
    source = source.replace("$", r"\$")
    counts = ", ".join(
        f"{trace.rows(name):,} {name}"
        for name in ("jobs", "tasks", "attempts", "machines", "outages")
        if trace.rows(name)
    )
    figure.suptitle(f"{source}: {counts or 'nothing'}", color=INK, fontsize=11.0, x=0.01, ha="left")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    for number, panel in enumerate(drawn):
        axes: Axes = figure.add_subplot(rows, columns, number + 1)
        panel.draw(axes)
        axes.set_title(panel.title, pad=18.0 if _legend_above(axes) else 6.0)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # the layout is done: once for all formats
    return figure


def _columns(pictures: int) -> int:
    """Of the page: those that leave the fewest places empty."""
    few = 1 if pictures < 2 else 2
    choices = (4, 5) if pictures > 9 else (3, 4) if pictures > 4 else (few,)
    return min(choices, key=lambda columns: -pictures % columns)


def _legend_above(axes: Axes) -> bool:
    """Does the legend lie between the picture and its title?"""
    legend = axes.get_legend()
    return legend is not None and legend.get_bbox_to_anchor() is not axes.bbox


def _save(figure: Any, folder: Path, ending: str) -> Path:
    path = folder / f"{NAME}.{ending}"
    stamp: dict[str, Any] = {"Date": None} if ending == "svg" else {}
    with replacing(path) as partial:
        figure.savefig(partial, format=ending, dpi=DPI, metadata=stamp)
    return path
