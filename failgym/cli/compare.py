"""`failgym trace compare`: does one trace behave like another?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from failgym.cli.folders import check_name
from failgym.cli.options import Json, Seed
from failgym.cli.output import JsonFile, interactive, print_line, print_table

if TYPE_CHECKING:
    from failgym.comparison import Comparison, Measured

__all__ = ["compare"]

LEGEND = """\
[]: 95 % interval; jobs are resampled in 20 blocks of time, and so are outages, or slices for scores
told apart: area under the curve of boosted trees that tell rows of the first trace from rows of the
other: .5 if they cannot, 1 if they always can; below .5 the two are more alike than chance would
make them, as where one is a copy"""
OF_JOBS = """\
correlations: of a number of each job with that of the job before it; end of a task: area under the
curve of predicting that it finishes, in the later 30 % of a trace"""
OF_OUTAGES = """\
outages: those that began in as many days of each trace, from its first job on (without jobs, from
its first outage on); burst: outages of several machines, each within 5 minutes of the one before;
gap: from the beginning of an outage to that of the next"""
"""What the words of the table mean."""


def compare(
    reference: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="The reference: the trace that the others are compared with."
        ),
    ],
    others: Annotated[list[Path], typer.Argument(metavar="DIR", help="The traces to compare.")],
    predictors: Annotated[
        list[str] | None,
        typer.Option(
            "--predictors",
            metavar="NAME",
            help="Also fit this predictor to the past of each trace, and score it on the future."
            " Repeatable.",
        ),
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policies",
            metavar="ID",
            help="Also rank all baselines in this environment on each trace. Repeatable.",
        ),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(help="Number of slices of each trace for --policies. By default all."),
    ] = None,
    seed: Seed = 0,
    json: Json = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Also draw it: .png, .svg or .pdf."),
    ] = None,
) -> None:
    """Compare traces: recurring jobs, how well ends can be predicted, outages, what differs."""
    from failgym.comparison import compare as measure
    from failgym.comparison import pictures
    from failgym.traces import Trace

    for folder in (reference, *others):
        check_name("DIR", folder)
    file = JsonFile.at(json)
    if plot is not None:
        pictures.check(plot)
        if file.path is not None and file.path == plot.resolve():
            raise ValueError(f"--plot {plot}: is also the file of --json, expected another one")
    first, *rest = [Trace.load(folder) for folder in (reference, *others)]

    def advance(done: str) -> None:
        if interactive():
            print_line(done)

    made = measure(
        first,
        *rest,
        predictors=predictors or (),
        environments=policies or (),
        episodes=episodes,
        seed=seed,
        advance=advance,
    )
    _print(made)
    file.write(made.to_json())
    if plot is not None:
        pictures.draw(made, plot)
        print_line(f"written to {plot}")


def _print(made: Comparison) -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    named = [letters[at % 26] for at in range(len(made.names))]
    for letter, name in zip(named, made.names, strict=True):
        print_line(f"{letter}: {name}")
    rows = [(row.what, *(_cell(one) for one in (row.reference, *row.others))) for row in made.rows]
    amounts = (f"{made.jobs:,} jobs" * bool(made.jobs), f"{made.days:,.1f} days of outages")
    title = " and ".join(amount for amount in amounts[: 1 + bool(made.days)] if amount)
    print_table(f"{title} of each", ("", *named), rows)
    print_line(LEGEND)
    for there, legend in ((made.jobs, OF_JOBS), (made.days, OF_OUTAGES)):
        if there:
            print_line(legend)
    for why in made.left_out:
        print_line(f"left out: {why}")


def _cell(measured: Measured) -> str:
    if np.isnan(measured.value):
        return ""
    wide = abs(measured.value) >= 10.0
    value, *ends = (f"{number:.1f}" if wide else f"{number:.2f}" for number in measured)
    return value if np.isnan(measured.low) else f"{value} [{', '.join(ends)}]"
