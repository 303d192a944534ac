"""`failgym trace`: import a trace, generate one, look at one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from failgym.cli.folders import check_name, check_out
from failgym.cli.options import Json, Seed
from failgym.cli.output import JsonFile, interactive, print_line, print_table

if TYPE_CHECKING:
    from failgym.traces import Trace
    from failgym.traces.describe import DescriptionTable

__all__ = ["trace"]

trace = typer.Typer(help="Import, generate and describe traces.")

FORMATS = ("google-2011",)
"""Formats that can be imported."""
SUMMARY = ("rows_read", "dropped", "noted", "rows", "task_outcomes", "attempt_outcomes")
"""Tables that say what an import or a generator made."""

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")]


@trace.command("import")
def import_trace(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help=", ".join(FORMATS))],
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The published files.")],
    out: Out,
) -> None:
    """Read a published trace and store it."""
    from failgym.cli.values import unknown
    from failgym.traces import read_google_2011

    if form not in FORMATS:
        raise unknown("format", form, FORMATS)
    check_name("SOURCE", source)
    check_out(out)
    begun = time.perf_counter()
    made = read_google_2011(source, progress=interactive())
    _store(made, out, begun)


class _Synth(TyperCommand):
    """A command whose help names the profiles, which are imported only when it is asked for."""

    def get_help(self, ctx: Any) -> str:
        from failgym.traces.synthetic import PROFILES

        for parameter in self.params:
            if parameter.name == "profile":
                parameter.help = ", ".join(PROFILES)  # type: ignore[attr-defined]
        return super().get_help(ctx)


@trace.command(cls=_Synth)
def synth(
    profile: Annotated[str, typer.Argument(metavar="PROFILE", help="The statistics to follow.")],
    out: Out,
    jobs: Annotated[int | None, typer.Option(help="Jobs; the profile's default.")] = None,
    seed: Seed = 0,
) -> None:
    """Generate a trace after a profile and store it."""
    from failgym.cli.values import unknown
    from failgym.traces.synthetic import PROFILES, generate

    if profile not in PROFILES:
        raise unknown("profile", profile, PROFILES)
    check_out(out)
    begun = time.perf_counter()
    _store(generate(profile, jobs=jobs, seed=seed), out, begun)


@trace.command()
def info(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a trace.")],
    json: Json = None,
) -> None:
    """Describe a stored trace: outcomes, run times, success by past failures, and more."""
    from failgym.traces import Trace
    from failgym.traces.describe import describe

    check_name("DIR", folder)
    file = JsonFile.at(json)
    description = describe(Trace.load(folder))
    print_line(f"{description.source}, content {description.content_hash}")
    _print_description(description.tables)
    file.write(description.to_json())


def _store(made: Trace, out: Path, begun: float) -> None:
    """Save a trace and say what is in it."""
    from failgym.traces.describe import describe

    made.save(out)
    description = describe(made)
    _print_description([t for t in description.tables if t.name in SUMMARY and t.rows])
    print_line(f"written to {out} in {time.perf_counter() - begun:.1f} s")
    print_line(f"content {description.content_hash}")


def _print_description(tables: Sequence[DescriptionTable]) -> None:
    for table in tables:
        shares = frozenset(c for c in table.columns if c.startswith(("share", "P(")))
        print_table(table.title, table.columns, table.rows, shares)
