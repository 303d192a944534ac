"""What an experiment is that reproduces a table or figure of a paper, and the command of each.

A module named ``<author><year>_<table or figure>`` says in its docstring what is claimed, where,
and what is assumed; it holds an `Experiment` named ``EXPERIMENT``, and ends with::

    if __name__ == "__main__":
        EXPERIMENT.command()

which gives it the options ``--seeds``, ``--quick``, ``--traces``, ``--json`` and ``--picture``.
`experiments.run_all` finds every module that sets ``EXPERIMENT``.

A `Row` holds one figure of the paper and ours. It is *within* if ours lies in the band, *outside*
if it does not, and then says why; without a band it is printed and not judged. A figure that a
parameter was fitted to, of the experiment or of the profile whose traces it takes, is marked, and
counts as no evidence; so is one that the profile was given as it is. What is drawn at random is
shown as the mean over seeds with Student's interval of it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.reproduction.rows import Row, digits, relative, within
from failgym.evaluation.progress import Advance, progress_bar
from failgym.files import replacing
from failgym.traces import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "BEYOND",
    "Experiment",
    "Kind",
    "Measured",
    "Options",
    "Row",
    "digits",
    "relative",
    "within",
]

BEYOND = "Beyond the papers"
"""The `Experiment.paper` of what none of them did."""


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

    @property
    def judged(self) -> bool:
        """May rows have bands?"""
        return self in (Kind.EXACT, Kind.APPROXIMATE)


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
    """A table or figure, and how to reproduce it.

    Raises:
        ValueError: if it is new and said to be of a paper, or of none and not new.
    """

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
    per: str = "seeds"
    """what these are, and intervals are over: "jobs" if each makes one, "stretches" of a log"""
    steps: Callable[[Options], int] = lambda options: max(1, options.seeds)

    def __post_init__(self) -> None:
        if (self.paper == BEYOND) != (self.kind is Kind.NEW):
            raise ValueError(f"{self.item}: {self.kind.value!r} of {self.paper!r}")

    @cached_property
    def module(self) -> str:
        """Where it stands, as in "elsayed2017_table5"."""
        return Path(self.measure.__code__.co_filename).stem

    def options(self, quick: bool = False, traces: Path | None = None) -> Options:
        """All of it, or just enough to see that it runs."""
        return Options(min(self.seeds, 2) if quick else self.seeds, quick, traces)

    def result(self, measured: Measured, options: Options, seconds: float) -> dict[str, Any]:
        """What `--json` writes; but for the last entry the same at every run.

        Raises:
            ValueError: if rows share a name, or are judged in an experiment that is not to be.
        """
        self._check(measured)
        rows = [{**asdict(row), "verdict": row.verdict} for row in measured.rows]
        return {
            "experiment": self.module,
            "paper": self.paper,
            "item": self.item,
            "title": self.title,
            "kind": self.kind.value,
            "seeds": options.seeds,
            "per": self.per,
            "quick": options.quick,
            "rows": rows,
            "series": measured.series,
            "seconds": seconds,
        }

    def _check(self, measured: Measured) -> None:
        counts = Counter(row.name for row in measured.rows)
        if several := [name for name, count in counts.items() if count > 1]:
            raise ValueError(f"rows that share a name: {several}")
        judged = [row.name for row in measured.rows if row.band is not None]
        if judged and not self.kind.judged:
            raise ValueError(f"{self.kind.value!r} is not judged, but these have bands: {judged}")

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
        from experiments.reproduction.command import run_command

        run_command(self)
