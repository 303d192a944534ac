"""What the experiments on El-Sayed, Zhu and Schroeder (ICDCS 2017) share: clusters and cells.

Their three clusters are the profiles google-2011, opencloud and lanl-20, generated at a fraction of
their rate, so that few of the longest jobs are cut off by the end of the data.

Of most tables and figures each figure is a cell of what `failgym.traces.describe` says of a trace;
`cells` makes rows of them, over generated traces and, where it is there, on the real trace of
Google, of which the first half day is enough. Real figures are printed beside those of the paper
and not judged: the paper has the whole month.

Most of the figures are what the profiles were made of, the very numbers or others chosen after
them: that traces have them says that the generator works, and nothing of the paper. They are marked
as fitted. Evidence are those that follow from others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from experiments.reproduction import Options, Row, relative, within
from failgym.evaluation.progress import Advance
from failgym.traces import Trace, generate
from failgym.traces.describe import Description, describe
from failgym.traces.synthetic import Google2011, Lanl20, OpenCloud, Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "CLUSTERS",
    "ONLY",
    "PAPER",
    "STATUS",
    "Cell",
    "Cluster",
    "boxes",
    "cells",
    "described",
    "every",
    "number",
    "percent",
    "real_description",
    "real_trace",
    "spread",
    "traced",
]

PAPER = "El-Sayed et al. 2017"
STATUS = {"FINISH": "completed", "FAIL": "failed", "KILL": "killed"}
"""Our outcome of a job or task, and the paper's."""
BOX = ("p10", "p25", "p50", "p75", "p90")
"""Columns of quantiles behind a box with whiskers."""
ONLY = "the only row"
"""Stands for the row of a table that has one row only."""
REAL = "google-2011"
"""Name of the stored real trace."""


@dataclass(frozen=True)
class Cluster:
    """One of the paper's clusters, as it is generated."""

    profile: Profile
    jobs: int
    quick_jobs: int


CLUSTERS = {
    "Google": Cluster(replace(Google2011(), sampling=0.004), 12_000, 2_000),
    "CMU": Cluster(replace(OpenCloud(), sampling=0.1), 4_000, 600),
    "LANL": Cluster(replace(Lanl20(), sampling=0.005), 30_000, 3_000),
}
"""By their names in the paper."""


@cache
def traced(cluster: str, seed: int, quick: bool = False, usage: bool = False) -> Trace:
    """A trace of a cluster, with or without windows of resource usage."""
    made = CLUSTERS[cluster]
    jobs = made.quick_jobs if quick else made.jobs
    return generate(made.profile, jobs=jobs, seed=seed, usage=usage)


@cache
def described(cluster: str, seed: int, quick: bool = False, usage: bool = False) -> Description:
    """What the paper's tables say of that trace."""
    return describe(traced(cluster, seed, quick, usage))


@cache
def real_trace(options: Options) -> Trace | None:
    """Google's real trace, if it is there."""
    return options.trace(REAL)


@cache
def real_description(options: Options) -> Description | None:
    """What the paper's tables say of the real trace, if it is there."""
    trace = real_trace(options)
    return None if trace is None else describe(trace)


def every(options: Options, cluster: str, usage: bool = False) -> list[Description]:
    """The descriptions of a cluster's traces, by seed."""
    return [described(cluster, seed, options.quick, usage) for seed in range(options.seeds)]


@dataclass(frozen=True)
class Cell:
    """A figure of the paper that a description of a trace has in one of its cells."""

    name: str
    """row and column as the paper names them, after that of the cluster"""
    cluster: str
    table: str
    row: str
    column: str
    paper: float | None
    band: tuple[float, float] | None = None
    scale: float = 1.0
    """of our figures, to the unit of the paper's"""
    real: str = ""
    """the row that says it of the real trace; empty: it cannot"""
    fitted: bool = field(default=True, kw_only=True)
    """the profile was given it, or chosen after it"""
    why: str = field(default="", kw_only=True)
    """what was found where ours is outside the band"""

    def of(self, description: Description, row: str) -> float:
        """Ours in that row; not a number where there is none."""
        return number(description, self.table, row, self.column) * self.scale


def number(description: Description, table: str, row: str, column: str) -> float:
    """A cell of a description, of its only row if that is `ONLY`.

    Not a number if it is empty, or if there is no such table.
    """
    if table not in {made.name for made in description.tables}:
        return float("nan")
    made = description.table(table)
    cell = made.rows[0][made.columns.index(column)] if row == ONLY else made.cell(row, column)
    return float("nan") if cell is None else float(cell)


def cells(
    wanted: Iterable[Cell], options: Options, advance: Advance, usage: bool = False
) -> tuple[Row, ...]:
    """A row of each cell over the seeds, and after it that of the real trace."""
    wanted = list(wanted)
    clusters = {cell.cluster for cell in wanted}
    found: dict[str, list[Description]] = {cluster: [] for cluster in clusters}
    for seed in range(options.seeds):
        for cluster, descriptions in found.items():
            descriptions.append(described(cluster, seed, options.quick, usage))
        advance(1)
    return tuple(row for cell in wanted for row in _rows(cell, found[cell.cluster], options))


def _rows(cell: Cell, descriptions: list[Description], options: Options) -> Iterator[Row]:
    ours = [cell.of(description, cell.row) for description in descriptions]
    name = f"{cell.cluster}: {cell.name}"
    row = Row.over(name, ours, cell.paper, cell.band, cell.fitted and cell.band is not None)
    yield row.because(cell.why)
    real = real_description(options) if cell.real else None
    if real is not None:
        yield Row(f"{cell.cluster}, real trace: {cell.name}", cell.paper, cell.of(real, cell.real))


def percent(published: float) -> tuple[float, float]:
    """The band of a share [%]: a point to both sides, or a fifth of it below five."""
    return within(published, 1.0) if published > 5.0 else relative(published, 0.2)


def spread(descriptions: Iterable[Description], table: str, value: str) -> dict[str, list[float]]:
    """Quantiles (10 to 90 %) of a value by the end of jobs or tasks, means of all traces."""
    made = list(descriptions)
    return {
        status: [
            sum(number(one, table, f"{value}: {outcome}", column) for one in made) / len(made)
            for column in BOX
        ]
        for outcome, status in STATUS.items()
    }


def boxes(
    figure: Figure, series: dict[str, dict[str, list[float]]], label: str, **options: Any
) -> Any:
    """A panel of boxes with whiskers for each entry, on a logarithmic scale; returns the panels.

    Args:
        figure: to draw into.
        series: title of the panel -> name of a box -> its five quantiles.
        label: of the values.
        options: as for `Figure.subplots`.
    """
    panels: Any = figure.subplots(1, len(series), **options)
    names = ("whislo", "q1", "med", "q3", "whishi")
    for panel, (title, quantiles) in zip(panels, series.items(), strict=True):
        stats = [
            {**dict(zip(names, values, strict=True)), "label": box}
            for box, values in quantiles.items()
        ]
        panel.bxp(stats, showfliers=False)
        panel.tick_params(axis="x", rotation=30)
        panel.set_yscale("log")
        panel.set_title(title)
    panels[0].set_ylabel(label)
    return panels
