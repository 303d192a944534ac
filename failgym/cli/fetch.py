"""`failgym trace fetch`: public traces, from where they are published."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from failgym.cli.folders import check_name, holds_trace
from failgym.cli.output import interactive, print_line, print_table

if TYPE_CHECKING:
    from failgym.traces.published import Fetched, PublishedTrace

__all__ = ["fetch"]

CHECKS = {
    "sha256": "SHA-256 as in failgym's table",
    "server": "hash as the server states it",
    "size": "length as the server states it; nobody states a hash",
    "nothing": "not checked: the server states neither hash nor length",
    None: "was there, and is whole",
}
"""What is said of a file that was fetched."""
MEGA = 1e6


def fetch(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A trace of --list.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder to write; NAME by default.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Only files whose path matches this pattern, with * and ?. Repeatable.",
        ),
    ] = None,
    listed: Annotated[
        bool,
        typer.Option("--list", help="Print what can be fetched, or the files of NAME, and exit."),
    ] = False,
) -> None:
    """Fetch a public trace. The same command goes on after an interruption.

    It uses one connection, and waits if the server asks it to. Each file is checked, by a hash
    where one is known, before it is there.
    """
    from failgym.known_names import unknown
    from failgym.traces.published import PUBLISHED
    from failgym.traces.published import fetch as fetch_trace

    if name is not None and name not in PUBLISHED:
        raise unknown("published trace", name, PUBLISHED)
    if name is None:
        if not listed:
            raise ValueError("expected the NAME of a published trace, or --list")
        _print_list(PUBLISHED)
        return
    trace, patterns = PUBLISHED[name], only or []
    trace.check(patterns)
    if listed:
        _print_files(trace, patterns)
        return
    folder = Path(name) if out is None else out
    _check_folder(folder)
    _check_space(trace, patterns, folder)
    with _progress(trace, patterns) as (advance, fetched):
        found = fetch_trace(trace, folder, only=patterns, advance=advance, fetched=fetched)
    print_line(f"{len(found):,} files, {_megabytes(sum(one.size for one in found))}: in {folder}")
    _print_terms(trace)


def _check_folder(folder: Path) -> None:
    """Refuse what is no folder, or that of a saved trace. Raises ValueError."""
    check_name("--out", folder)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out {folder}: expected a folder")
    if any(holds_trace(above) for above in (folder.absolute(), *folder.absolute().parents)):
        raise ValueError(f"--out {folder}: lies in the folder of a saved trace: not written")


def _check_space(trace: PublishedTrace, only: list[str], folder: Path) -> None:
    """Refuse what is known not to fit on the disk. Raises ValueError."""
    from failgym.traces.published.records import fits

    files = [file for file in trace.files if fits(file.path, only)]
    missing = [file.size for file in files if file.size and not (folder / file.path).exists()]
    above = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    free = shutil.disk_usage(above).free
    if sum(missing) > free:
        needed = _megabytes(sum(missing))
        raise ValueError(
            f"--out {folder}: the files need {needed}, and {_megabytes(free)} are free"
        )


@contextmanager
def _progress(
    trace: PublishedTrace, only: list[str]
) -> Generator[tuple[Callable[[int], None], Callable[[Fetched], None]]]:
    """A bar of bytes where somebody looks, and a line for each file."""

    def said(one: Fetched) -> None:
        print_line(f"{one.path}: {_megabytes(one.size)}, {CHECKS[one.checked]}")

    if not interactive():
        yield (lambda _: None), said
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining
    from rich.progress import TransferSpeedColumn as Speed

    columns = (TextColumn(trace.name), BarColumn(), DownloadColumn(), Speed(), Remaining())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(trace.name, total=None if only else trace.known_size)
        yield (lambda done: bar.advance(task, done)), said


def _print_list(traces: dict[str, PublishedTrace]) -> None:
    rows = [
        (
            trace.name,
            trace.form,
            f"{len(trace.files):,}" if not trace.shards else "not known",
            _megabytes(trace.known_size),
            _hashes(trace),
            trace.licence,
            trace.about,
        )
        for trace in traces.values()
    ]
    columns = ("name", "format", "files", "size", "hashes known", "licence", "what")
    texts = frozenset(("format", "licence", "what"))
    print_table("Published traces", columns, rows, texts=texts)
    print_line("a trace's addresses, hashes and citation: failgym trace fetch NAME --list")


def _hashes(trace: PublishedTrace) -> str:
    known = sum(file.sha256 is not None for file in trace.files)
    return f"{known:,} of {len(trace.files):,}" if trace.files else "none"


def _print_files(trace: PublishedTrace, only: list[str]) -> None:
    from failgym.traces.published.records import fits

    files = [file for file in trace.files if fits(file.path, only)]
    print_line(f"{trace.name}: {trace.about}")
    for file in files:
        known = f"SHA-256 {file.sha256}" if file.sha256 else "no hash known"
        size = "size not known" if file.size is None else f"{file.size:,} bytes"
        print_line(f"{file.url}\n  {file.path}: {size}, {known}")
    for shards in trace.shards:
        print_line(f"{shards.url.format(0)} and on, until the server has no more; no hash known")
    _print_terms(trace)


def _print_terms(trace: PublishedTrace) -> None:
    """Whose it is, and how it is read."""
    print_line(f"published at: {trace.page}")
    print_line(f"licence: {trace.licence}")
    print_line(f"cite: {trace.citation}")
    if trace.remark:
        print_line(f"note: {trace.remark}")
    print_line(f"format, for failgym trace import: {trace.form}")


def _megabytes(size: int | None) -> str:
    if size is None:
        return "not known"
    return f"{size / MEGA:,.1f} MB" if size < 1e10 else f"{size / 1e9:,.0f} GB"
