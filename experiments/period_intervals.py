"""How often do the intervals of all weeks of a record hold the truth at once?

    python -m experiments.period_intervals [--trials 1000] [--json FILE]

`failgym assess` gives what a rule saves in each week, between what and what, for all weeks at once
(`failgym.evaluation.statistics.groups`). Here what a block of jobs saves follows a law (`LAWS`)
whose mean is known. A record has 10 or 50 weeks, of 1 to 8, 2 to 20 or 20 to 200 blocks; where
weeks are *unlike*, the blocks of each are so many times as large (lognormal, sigma .5, chosen). The
truth of a week is the mean of as many blocks like its own. A record counts as held if no interval
of its weeks misses; one without any interval says nothing, and is not counted. The chance of a miss
is 5 %, or .25 %, as in a report with 20 ways to use a rule.

The brackets are Clopper and Pearson's interval of the share, 95 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from math import exp
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer

from experiments.interval_simulation import bracket
from failgym.cli.output import JsonFile, interactive, print_table
from failgym.evaluation.progress import progress_bar
from failgym.evaluation.statistics.groups import sums_with_intervals

__all__ = ["LAWS", "TITLES", "Design", "Held", "Law", "cells", "share", "simulated", "width"]

Floats = npt.NDArray[np.float64]

ERRORS = (5.0, 0.25)
"""Chance that any interval of a record misses, as asked [%]."""
UNLIKE = 0.5
"""Standard deviation of the log of how large the blocks of a week are, where weeks are unlike."""


@dataclass(frozen=True)
class Law:
    """What a block saves."""

    mean: float
    draw: Callable[[np.random.Generator, int], Floats]


def _both_ways(rng: np.random.Generator, count: int) -> Floats:
    sign = np.where(rng.random(count) < 0.7, 1.0, -1.0)
    return (rng.random(count) < 0.3) * sign * rng.lognormal(0.0, 1.5, count)


LAWS = {
    "normal": Law(1.0, lambda rng, count: rng.normal(1.0, 3.0, count)),
    "lognormal, sigma 1": Law(exp(0.5), lambda rng, count: rng.lognormal(0.0, 1.0, count)),
    "lognormal, sigma 2": Law(exp(2.0), lambda rng, count: rng.lognormal(0.0, 2.0, count)),
    "three in ten, gains and losses": Law(0.3 * 0.4 * exp(1.125), _both_ways),
    "one in twenty": Law(
        0.05 * exp(0.5),
        lambda rng, count: (rng.random(count) < 0.05) * rng.lognormal(0.0, 1.0, count),
    ),
    "Pareto, 1.5": Law(2.0, lambda rng, count: rng.pareto(1.5, count)),
}
"""What a block saves; the last has no variance."""


@dataclass(frozen=True)
class Design:
    """Weeks of a record, and blocks of a week."""

    weeks: int
    fewest: int
    most: int
    unlike: bool
    error: float


DESIGNS = [
    Design(weeks, *blocks, unlike, error)
    for error in ERRORS
    for unlike in (False, True)
    for weeks in (10, 50)
    for blocks in ((1, 8), (2, 20), (20, 200))
]


@dataclass(frozen=True)
class Held:
    """How many records were held, of how many."""

    law: str
    weeks: int
    fewest: int
    most: int
    unlike: bool
    error: float
    records: int
    """that were held"""
    trials: int
    """with intervals"""
    drawn: int
    width: float | None
    """of half an interval, over what the week saves: the median over weeks, then over records; None
    if there are no intervals"""


def simulated(name: str, law: Law, design: Design, trials: int, seed: int = 0) -> Held:
    """Draw records, and count.

    Args:
        name: of the law.
        law: what a block saves.
        design: of a record.
        trials: records.
        seed: draws them.
    """
    rng = np.random.default_rng(seed)
    held, widths = 0, list[float]()
    for _ in range(trials):
        blocks = rng.integers(design.fewest, design.most + 1, design.weeks)
        week = np.repeat(np.arange(design.weeks), blocks)
        size = np.exp(UNLIKE * rng.normal(size=design.weeks)) if design.unlike else 1.0
        scale = np.broadcast_to(size, design.weeks)
        saved = scale[week] * law.draw(rng, len(week))
        unit = np.arange(len(week))
        _, low, high = sums_with_intervals(saved, unit, week, design.weeks, design.error)
        truth = scale * blocks * law.mean
        if np.isnan(low).all():
            continue
        held += not ((truth < low) | (truth > high)).any()  # one that is not there misses nothing
        widths.append(float(np.nanmedian((high - low) / 2.0 / truth)))
    shape = design.weeks, design.fewest, design.most, design.unlike, design.error
    width = float(np.median(widths)) if widths else None
    return Held(name, *shape, held, len(widths), trials, width)


TITLES = (
    *("what a block saves", "weeks", "blocks of a week", "asked"),
    *("held", "half a width, over the truth"),
)


def cells(row: Held) -> list[str]:
    """What a table shows of a row."""
    return [
        *(row.law, f"{row.weeks}" + (", unlike" if row.unlike else "")),
        *(f"{row.fewest} to {row.most}", f"{100.0 - row.error:g}", share(row), width(row)),
    ]


def share(row: Held) -> str:
    """Of how many records in a hundred all intervals hold, and of how few there are any."""
    if not row.trials:
        return "-"
    low, high = bracket(row.records, row.trials)
    few = f" (of {row.trials})" if row.trials < row.drawn else ""
    return f"{100.0 * row.records / row.trials:.1f} [{low:.1f}, {high:.1f}]{few}"


def width(row: Held) -> str:
    """Half a width over the truth."""
    return "-" if row.width is None else f"{row.width:.1f}"


def _cases() -> Iterator[tuple[str, Law, Design]]:
    for design in DESIGNS:
        for name, law in LAWS.items():
            yield name, law, design


def main(
    trials: Annotated[int, typer.Option(min=1, help="Of each row.")] = 1_000,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Count how often all intervals of a record hold the truth."""
    file, rows, cases = JsonFile.at(json_file), list[Held](), list(_cases())
    with progress_bar("simulating", len(cases), interactive()) as advance:
        for name, law, design in cases:
            rows.append(simulated(name, law, design, trials))
            advance(1)
    file.write({"rows": [asdict(row) for row in rows]})
    print_table("Records of which all intervals hold [%]", TITLES, [cells(row) for row in rows])


if __name__ == "__main__":
    typer.run(main)
