"""`failgym trace`: fetch and import a trace, generate one, make a twin, look at one, compare,
forecast.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from failgym.cli import reading as readers
from failgym.cli.compare import compare
from failgym.cli.fetch import fetch
from failgym.cli.folders import check_name, check_out, holds_trace
from failgym.cli.forecast import forecast
from failgym.cli.options import Json, RayAddress, Seed, WorkersOption, read_workers
from failgym.cli.output import JsonFile, interactive, print_line, print_table

if TYPE_CHECKING:
    from failgym.traces.describe import DescriptionTable

__all__ = ["trace"]

trace = typer.Typer(help="Fetch, import, generate, describe, compare and forecast traces.")

SUMMARY = (
    *("rows_read", "dropped", "noted", "rows", "task_outcomes", "attempt_outcomes", "gpu_requests"),
)
"""Tables that say what an import or a generator made."""
TOLD = ("no ", "clusters taken for one", "columns not read")
"""How remarks begin, besides those of a join, that are printed after an import: what is not known,
or was decided."""
OUTCOMES = """\
FINISH: succeeded; FAIL: ended by itself without success; KILL: ended by its user or at a limit;
EVICT: ended by the cluster, for other tasks or with its machine; LOST: its end was not recorded;
CENSORED: cut off by the end of the data; machine-time: run time times slots, of all that ran"""
"""What the words of the tables mean."""
LARGE = 5_000_000
"""A trace with a table of more rows is not loaded only to say what is in it."""

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")]


class _Import(TyperCommand):
    """A command whose help names the formats."""

    def get_help(self, ctx: Any) -> str:
        from failgym.traces.formats import formats

        for parameter in self.params:
            if parameter.name == "form":
                parameter.help = ", ".join(formats())  # type: ignore[attr-defined]
        return super().get_help(ctx)


@trace.command("import", cls=_Import)
def import_trace(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help="The format of the log.")],
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE", help="The files of the log, or a folder."),
    ],
    out: Out,
    outages: readers.Outages = None,
    align: readers.Align = None,
    system: readers.System = None,
    nodes: readers.Nodes = None,
    since: readers.Since = None,
    until: readers.Until = None,
    topology: readers.Topology = None,
    infer_attempts: readers.InferAttempts = False,
    timezone: readers.Timezone = None,
    columns: readers.Columns = None,
    outcomes: readers.Outcomes = None,
    unit: readers.Unit = None,
    merge_clusters: readers.MergeClusters = False,
    unit_ms: readers.UnitMs = None,
    workers: WorkersOption = "1",
    ray_address: RayAddress = None,
) -> None:
    """Read a log and store it as a trace.

    It says how many rows were read, which were dropped or repaired, and why.
    """
    from failgym.cli.imports import Reading

    reading = Reading.of(
        form,
        sources,
        outages,
        align,
        system=system,
        nodes=nodes,
        since=since,
        until=until,
        topology=topology,
        infer_attempts=infer_attempts or None,
        timezone=timezone,
        columns=columns,
        outcomes=outcomes,
        unit=unit,
        merge_clusters=merge_clusters or None,
        unit_ms=unit_ms,
    )
    asked = read_workers(workers, ray_address)
    reading.check_workers(asked)
    check_out(out)
    begun = time.perf_counter()
    reading.save(out, asked, progress=interactive())
    _report(out, begun)


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
    profile: Annotated[str, typer.Argument(metavar="PROFILE", help="The profile of statistics.")],
    out: Out,
    jobs: Annotated[
        int | None, typer.Option(help="Number of jobs; the profile has a default.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Generate a synthetic trace after published statistics, and store it."""
    from failgym.known_names import unknown
    from failgym.traces.synthetic import PROFILES, generate

    if profile not in PROFILES:
        raise unknown("profile", profile, PROFILES)
    check_out(out)
    begun = time.perf_counter()
    generate(profile, jobs=jobs, seed=seed).save(out)
    _report(out, begun)


@trace.command()
def twin(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the record.")],
    out: Out,
    jobs: Annotated[
        int | None,
        typer.Option(help="Number of jobs. By default as many as were learned from."),
    ] = None,
    days: Annotated[
        float | None,
        typer.Option(help="Length in days, of a record that has outages and no jobs."),
    ] = None,
    seed: Seed = 0,
    whole: Annotated[
        bool,
        typer.Option("--whole", help="Learn from all of the record."),
    ] = False,
    private: Annotated[
        int,
        typer.Option(
            metavar="K",
            help="Mix an application that has fewer than K jobs with others, until they have K.",
        ),
    ] = 1,
) -> None:
    """Generate a twin: a synthetic trace that behaves like a record. Store it.

    It is learned from the train split of the record.
    """
    from failgym.traces import Trace
    from failgym.traces import twin as make

    check_name("DIR", folder)
    check_out(out)
    if out.exists() and folder.exists() and out.samefile(folder):
        raise ValueError(f"--out {out}: is the record itself: not written")
    begun = time.perf_counter()
    record = Trace.load(folder)
    part = "all" if whole else "train"
    make(record, jobs, seed, days=days, part=part, private=private).save(out)
    _report(out, begun)


trace.command()(compare)
trace.command()(fetch)


class _Forecast(TyperCommand):
    """A command whose help names the predictors."""

    def get_help(self, ctx: Any) -> str:
        from failgym.worlds.forecast import PREDICTORS

        for parameter in self.params:
            if parameter.name == "predictor":
                told = (
                    f"name[:field=value,...] or the file of a stored one: {', '.join(PREDICTORS)}"
                )
                parameter.help = told  # type: ignore[attr-defined]
        return super().get_help(ctx)


trace.command("forecast", cls=_Forecast)(forecast)


@trace.command()
def info(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a trace.")],
    json: Json = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="DIR", help="Also draw pictures, in a folder."),
    ] = None,
) -> None:
    """Describe a trace: how tasks end, what was wasted, machines, outages, workflows.

    Tables that the columns of the trace do not allow are named, with the reason.
    """
    from failgym.traces import Trace
    from failgym.traces.describe import describe, plots

    check_name("DIR", folder)
    file = JsonFile.at(json)
    if plot is not None:
        check_name("--plot", plot)
        if any(holds_trace(above) for above in (plot, *plot.absolute().parents)):
            raise ValueError(f"--plot {plot}: lies in the folder of a saved trace: not written")
        try:
            plots.check(plot)
        except ValueError as error:
            raise ValueError(f"--plot {error}") from error
    made = Trace.load(folder)
    description = describe(made)
    source = " ".join(description.source.split())
    print_line(f"{source}, content {description.content_hash}")
    not_made, remarks = description.table("not_made"), description.table("remarks")
    listed = (not_made, remarks)
    _print_description([t for t in description.tables if t.rows and t not in listed])
    print_line(OUTCOMES)
    if remarks.rows:
        print_line(f"{remarks.title}:")
    for name, remark in remarks.rows:
        print_line(f"- {name}: {remark}")
    if not_made.rows:
        print_line(f"{not_made.title}:")
    for _, shows, needs in not_made.rows:
        print_line(f"- {shows}: needs {needs}")
    file.write(description.to_json())
    if plot is not None:
        for path in plots.plot(made, plot):
            print_line(f"written to {path}")


def _report(out: Path, begun: float) -> None:
    """Say what is in the trace that was saved."""
    from failgym.traces import Trace
    from failgym.traces.combine import JOINED
    from failgym.traces.describe import describe
    from failgym.traces.store import overview

    saved = overview(out)
    if max(saved.rows.values()) > LARGE:
        for title, counts in (
            ("Rows of the trace", saved.rows),
            ("Rows read", saved.meta.rows_read),
            ("Rows dropped, by reason", saved.meta.dropped),
            ("Kept, and worth knowing", saved.meta.noted),
        ):
            print_table(title, ("what", "count"), list(counts.items()))
    else:
        tables = describe(Trace.load(out)).tables
        _print_description([t for t in tables if t.name in SUMMARY and t.rows])
    for name, remark in saved.meta.remarks.items():
        if name.startswith((JOINED, *TOLD)):
            print_line(f"{name}: {remark}")
    print_line(f"written to {out} in {time.perf_counter() - begun:.1f} s")
    print_line(f"content {saved.content_hash}")


def _print_description(tables: Sequence[DescriptionTable]) -> None:
    for table in tables:
        shares = frozenset(c for c in table.columns if c.startswith(("share", "P(")))
        print_table(table.title, table.columns, table.rows, shares)
