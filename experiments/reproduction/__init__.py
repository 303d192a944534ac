"""What an experiment is that reproduces a table or figure of a paper, and the command of each.

A module named ``<author><year>_<table or figure>`` says in its docstring what is claimed, where,
and what is assumed; it holds an `Experiment` named ``EXPERIMENT``, and ends with::

    if __name__ == "__main__":
        EXPERIMENT.command()

which gives it the options ``--seeds``, ``--quick``, ``--traces``, ``--json`` and ``--picture``.
`experiments.run_all` finds all of them by that name.

A `Row` holds one figure of the paper and ours. It is *within* if ours lies in the band, *outside*
if it does not, and then says why; without a band it is printed and not judged. A figure that a
parameter was fitted to is marked, and counts as no evidence.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from failgym.cli.output import JsonFile, interactive, print_table
from failgym.evaluation.progress import Advance, progress_bar
from failgym.files import replacing
from failgym.traces import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["BEYOND", "Experiment", "Kind", "Measured", "Options", "Row", "relative", "within"]

BEYOND = "Beyond the papers"
"""The `Experiment.paper` of what none of them did."""
CONFIDENCE = 0.95
"""Of the intervals over seeds."""


class Kind(StrEnum):
    """How far a figure can be reproduced."""

    EXACT = "exact"
    """a closed form or a worked example"""
    APPROXIMATE = "approximate"
    """on generated or real traces, within a band"""
    ORIGINAL = "original data"
    """needs data that nobody else has: printed, not judged"""
    NEW = "new"
    """what the papers did not do: printed, not judged"""


@dataclass(frozen=True)
class Row:
    """One figure of a paper, and ours."""

    name: str
    """row and column as the paper names them"""
    paper: float | None
    """None where the paper gives none"""
    ours: float
    low: float | None = None
    """95 % interval of ours over the seeds"""
    high: float | None = None
    band: tuple[float, float] | None = None
    """where ours should lie; None: not judged"""
    fitted: bool = False
    """a parameter was chosen so that it fits"""
    note: str = ""
    """why it is outside, or what else has to be known"""

    @property
    def verdict(self) -> str:
        """One of "within", "outside" and "fitted"; empty if it is not judged."""
        if self.band is None:
            return ""
        if not self.band[0] <= self.ours <= self.band[1]:
            return "outside"
        return "fitted" if self.fitted else "within"

    def because(self, note: str) -> Row:
        """The same row; if it is outside its band, with the reason."""
        return replace(self, note=note) if self.verdict == "outside" else self

    @classmethod
    def over(
        cls,
        name: str,
        values: Sequence[float],
        paper: float | None = None,
        band: tuple[float, float] | None = None,
        fitted: bool = False,
        note: str = "",
    ) -> Row:
        """The mean over seeds, with Student's interval; not a number where a seed gives none."""
        mean = float(np.mean(values))
        if len(values) < 2:
            return cls(name, paper, mean, None, None, band, fitted, note)
        spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
        half = student(len(values) - 1) * spread
        return cls(name, paper, mean, mean - half, mean + half, band, fitted, note)


def student(freedom: int) -> float:
    """The quantile of Student's distribution that a two-sided interval needs."""
    from scipy.special import stdtrit

    quantile: Any = stdtrit(freedom, 0.5 + CONFIDENCE / 2)
    return float(quantile)


def within(value: float, by: float) -> tuple[float, float]:
    """The band of a value, so much to both sides."""
    return value - by, value + by


def relative(value: float, share: float) -> tuple[float, float]:
    """The band of a value, a share of it to both sides."""
    return within(value, abs(value) * share)


@dataclass(frozen=True)
class Options:
    """How much is to be done, and on what."""

    seeds: int = 10
    quick: bool = False
    """fewer tasks as well: to see that it runs, not to judge by"""
    traces: Path | None = None
    """folder of stored real traces, by name: ``google-2011``, ``lanl-2``"""

    def trace(self, name: str) -> Trace | None:
        """A real trace, if it is there. Raises TraceError if it cannot be read."""
        if self.traces is None or not (self.traces / name).is_dir():
            return None
        return Trace.load(self.traces / name)


@dataclass(frozen=True)
class Measured:
    """What an experiment found."""

    rows: tuple[Row, ...]
    series: dict[str, Any] = field(default_factory=dict[str, Any])
    """what the picture shows: numbers, strings, lists and dicts of these"""


@dataclass(frozen=True)
class Experiment:
    """A table or figure, and how to reproduce it."""

    paper: str
    """as in "El-Sayed et al. 2017" """
    item: str
    """as in "Table V" """
    title: str
    kind: Kind
    measure: Callable[[Options, Advance], Measured]
    """calls the second argument with 1 after each of `steps` pieces of work"""
    draw: Callable[[Measured, Figure], None] | None = None
    """where the paper has a picture"""
    seeds: int = 10
    """0: nothing is drawn at random"""
    steps: Callable[[Options], int] = lambda options: max(1, options.seeds)

    @cached_property
    def module(self) -> str:
        """Where it stands, as in "elsayed2017_table5"."""
        return Path(self.measure.__code__.co_filename).stem

    def options(self, quick: bool = False, traces: Path | None = None) -> Options:
        """All of it, or just enough to see that it runs."""
        return Options(min(self.seeds, 2) if quick else self.seeds, quick, traces)

    def result(self, measured: Measured, options: Options, seconds: float) -> dict[str, Any]:
        """What `--json` writes; but for the last entry the same at every run."""
        rows = [{**asdict(row), "verdict": row.verdict} for row in measured.rows]
        return {
            "experiment": self.module,
            "paper": self.paper,
            "item": self.item,
            "title": self.title,
            "kind": self.kind.value,
            "seeds": options.seeds,
            "quick": options.quick,
            "rows": rows,
            "series": measured.series,
            "seconds": seconds,
        }

    def run(self, options: Options, show: bool = False) -> tuple[Measured, float]:
        """Measure, with a bar if it is to be shown: what came out, and after how long [s]."""
        started = time.perf_counter()
        with progress_bar(f"{self.paper}, {self.item}", self.steps(options), show) as advance:
            measured = self.measure(options, advance)
        return measured, time.perf_counter() - started

    def picture(self, measured: Measured, path: Path) -> None:
        """Draw into a file; nothing if the experiment has no picture."""
        if self.draw is None:
            return
        from matplotlib.figure import Figure

        figure: Any = Figure(figsize=(7, 4.5), layout="constrained")
        self.draw(measured, figure)
        with replacing(path) as partial:
            figure.savefig(partial, format="png", dpi=110, metadata={"Software": None})

    def command(self) -> None:
        """What the module does when it is run."""

        def main(
            seeds: Annotated[int, typer.Option(min=0, help="Of traces and draws.")] = self.seeds,
            quick: Annotated[bool, typer.Option("--quick", help="Two seeds, fewer tasks.")] = False,
            traces: Annotated[Path | None, typer.Option(help="Folder of real traces.")] = None,
            json_file: Annotated[Path | None, typer.Option("--json", help="Write it.")] = None,
            picture: Annotated[Path | None, typer.Option(help="Draw it, as PNG.")] = None,
        ) -> None:
            file = JsonFile.at(json_file)
            options = Options(min(seeds, 2) if quick else seeds, quick, traces)
            measured, seconds = self.run(options, interactive())
            show(self, measured)
            file.write(self.result(measured, options, seconds))
            if picture is not None:
                self.picture(measured, picture)

        main.__doc__ = f"{self.paper}, {self.item}: {self.title}"
        typer.run(main)


def show(experiment: Experiment, measured: Measured) -> None:
    """Print the table."""
    columns = ("", "paper", "ours", "95 % interval", "band", "", "note")
    title = f"{experiment.paper}, {experiment.item}: {experiment.title}"
    print_table(title, columns, [cells(row) for row in measured.rows])


def cells(row: Row) -> tuple[str, ...]:
    """A row as text."""
    interval = (
        "" if row.low is None or row.high is None else f"{digits(row.low)} to {digits(row.high)}"
    )
    band = "" if row.band is None else f"{digits(row.band[0])} to {digits(row.band[1])}"
    paper = "" if row.paper is None else digits(row.paper)
    return row.name, paper, digits(row.ours), interval, band, row.verdict, row.note


def digits(value: float) -> str:
    """A figure with four digits that count."""
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
