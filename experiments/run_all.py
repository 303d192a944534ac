"""Run all experiments, and say how close each figure of the papers came.

    python -m experiments.run_all [--quick] [--traces DIR] [--workers N|ray] [--ray-address ADDRESS]
                                  [--only NAME ...] [--out DIR] [--limit 60]

What is finished is stored in the folder ``--out`` and not run again, unless its code, its options
or the code of failgym changed; so the same command goes on after a kill. An experiment that fails,
or takes longer than ``--limit`` minutes, does not stop the others. Then come ``DIR/report.html``,
which opens without a network, and, unless it was only a part or quick, the table in
``experiments/README.md``.

An experiment is a step of `failgym.workers`: in N processes of this machine, by default one for
each processor, or on a Ray cluster, whose machines must see the same folders.

The exit status is 1 if one failed, or a row lies outside its band and does not say why.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from experiments.markdown import replaced
from experiments.reproduction.catalogue import Catalogue, content_of_traces
from experiments.reproduction.processes import NO_LIMIT, Apart, Event
from experiments.reproduction.report_entries import Entry, entries_of, time_text
from experiments.reproduction.report_page import write_page
from experiments.reproduction.report_table import markdown
from experiments.reproduction.run_progress import RunProgress
from experiments.reproduction.stored_results import Store, Task
from failgym.cli.options import RayAddress, WorkersOption, read_workers
from failgym.cli.output import interactive, print_line
from failgym.files import replacing
from failgym.workers import ALONE, Workers, each

__all__ = ["run_all", "write_table"]

HERE = Path(__file__).parent
RESULTS = HERE / "results"
REPORT = "report.html"
PROCESSES = str(os.cpu_count() or 1)
"""By default one for each processor."""


def run_all(
    task: Task,
    names: Sequence[str],
    workers: Workers = ALONE,
    show: bool = False,
    limit: float = NO_LIMIT,
) -> list[Entry]:
    """Run what is not stored yet, and return what there is to say of each.

    Args:
        task: runs one.
        names: the experiments.
        workers: who runs them.
        show: draw a bar as well as print lines.
        limit: how long an experiment may take [s].

    Raises:
        ValueError: as `failgym.workers.each`; what is finished stays.
    """
    left = [name for name in names if not task.store.fresh(name, task.keys[name])]
    errors: dict[str, str] = {}
    jobs = workers.processes
    with RunProgress(task.store, left, len(names), jobs, show) as progress:
        tell = None if workers.several else progress.update
        apart, waiting = Apart(task, task.store.folder, limit, tell), set(left)

        def look() -> None:
            for name in waiting if workers.several else ():
                if (share := apart.share(name)) is not None:
                    progress.update(Event(name, share))

        def ended(name: str, error: str) -> None:
            waiting.discard(name)
            if error:
                errors[name] = f"failed: {error}"
            if workers.several:
                progress.update(Event(name, 1.0, True, error))

        each(
            apart.do,
            progress.order,
            workers,
            look=look,
            ended=ended,
            folder=task.store.folder,
            shared=task.files(left),
        )
    for name in left:  # what an earlier run left behind is no result of this one
        if name not in errors and not task.store.fresh(name, task.keys[name]):
            errors[name] = "failed: it ended without a result"
    return entries_of(task.catalogue, task.store, names, errors)


def write_table(entries: Sequence[Entry], file: Path) -> None:
    """Replace what a page says between ``<!-- results -->`` and ``<!-- /results -->``.

    Raises:
        ValueError: if the two are not there, once.
    """
    text = replaced(file.read_text("utf-8"), "results", markdown(entries))
    with replacing(file) as partial:
        partial.write_text(text, "utf-8")


def complaints(entries: Sequence[Entry], quick: bool) -> list[str]:
    """What is wrong: an experiment that failed, a row outside its band without an explanation.

    A quick run is not judged.
    """
    failed = [f"{entry.name}: {entry.error}" for entry in entries if entry.error]
    if quick:
        return failed
    return failed + [
        f"{entry.name}: {row!r} is outside its band, and does not say why"
        for entry in entries
        for row in entry.unexplained
    ]


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Two seeds, fewer tasks.")] = False,
    workers: WorkersOption = PROCESSES,
    ray_address: RayAddress = None,
    traces: Annotated[Path | None, typer.Option(help="Folder of real traces.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Names that begin so; again for more.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of results.")] = None,
    limit: Annotated[float, typer.Option(min=0.1, help="Longest time of one [min].")] = 60.0,
) -> None:
    """Run all experiments, and say how close each figure of the papers came."""
    catalogue = Catalogue()
    store = Store(out or (RESULTS / "quick" if quick else RESULTS))
    try:
        crew = read_workers(workers, ray_address)
        names = catalogue.chosen(only or [])
        asked = json.dumps({"quick": quick, "traces": content_of_traces(traces)})
        keys = {name: catalogue.key(name, asked) for name in names}
        task = Task(catalogue, store, keys, quick, traces and traces.resolve())
        with store.locked():
            entries = run_all(task, names, crew, interactive(), 60.0 * limit)
            write_page(entries, store.folder / REPORT, quick)
    except (ValueError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    if not quick and not only:
        write_table(entries, HERE / "README.md")
    _tell(entries, store.folder / REPORT)
    wrong = complaints(entries, quick)
    for line in wrong:
        typer.echo(line, err=True)
    raise typer.Exit(1 if wrong else 0)


def _tell(entries: Sequence[Entry], report: Path) -> None:
    """A line for each experiment, and where to read on."""
    for entry in entries:
        counts = ", ".join(
            f"{number} {verdict or 'printed'}" for verdict, number in sorted(entry.counts.items())
        )
        print_line(f"{entry.name}: {entry.error or f'{counts}; {time_text(entry.seconds)}'}")
    print_line(f"written to {report}")


if __name__ == "__main__":
    typer.run(main)
