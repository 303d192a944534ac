"""What the module of an experiment does when it is run: options, a table, JSON, a picture."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from experiments.reproduction import Experiment, Measured, Options
from experiments.reproduction.catalogue import content_of_traces
from experiments.reproduction.rows import Row, digits
from failgym.cli.output import JsonFile, interactive, print_table
from failgym.traces import TraceError

__all__ = ["run_command"]


def run_command(experiment: Experiment) -> None:
    """Run an experiment as the command line asks for it.

    The exit status is 2, with one line that says why, if an option or a stored trace is wrong.
    """

    def main(
        seeds: Annotated[
            int, typer.Option(min=0, help="Of traces and draws, where anything is drawn.")
        ] = experiment.seeds,
        quick: Annotated[bool, typer.Option("--quick", help="Two seeds, fewer tasks.")] = False,
        traces: Annotated[Path | None, typer.Option(help="Folder of real traces.")] = None,
        json_file: Annotated[Path | None, typer.Option("--json", help="Write it.")] = None,
        picture: Annotated[Path | None, typer.Option(help="Draw it, as PNG.")] = None,
    ) -> None:
        with refusing(ValueError):
            file = JsonFile.at(json_file)
            options = asked(experiment, seeds, quick, traces)
            check_picture(experiment, picture)
        with refusing(TraceError):
            measured, seconds = experiment.run(options, interactive())
        show(experiment, measured)
        file.write(experiment.result(measured, options, seconds))
        if picture is not None:
            experiment.picture(measured, picture)

    main.__doc__ = f"{experiment.paper}, {experiment.item}: {experiment.title}"
    typer.run(main)


@contextmanager
def refusing(kind: type[Exception]) -> Generator[None]:
    """Say in one line what is wrong, and end with status 2."""
    try:
        yield
    except kind as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None


def asked(experiment: Experiment, seeds: int, quick: bool, traces: Path | None) -> Options:
    """The options as the experiment takes them.

    Raises:
        ValueError: for no seeds where something is drawn, or a folder without traces.
    """
    if experiment.seeds and seeds < 1:
        raise ValueError(f"--seeds {seeds}: expected at least 1")
    content_of_traces(traces)
    seeds = min(seeds, 2) if quick else seeds
    return Options(seeds if experiment.seeds else 0, quick, traces)


def check_picture(experiment: Experiment, picture: Path | None) -> None:
    """Raises ValueError if there is none to draw, or it cannot be written."""
    if picture is not None and experiment.draw is None:
        raise ValueError(f"--picture {picture}: {experiment.item} has none")
    JsonFile.at(picture, "--picture")


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
