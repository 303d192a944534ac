"""A progress bar on standard error, for work that takes longer than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

__all__ = ["Advance", "progress_bar", "silent", "working"]

Advance = Callable[[int], None]
"""Called with the number of items done since the last call."""


LINE_EVERY = 5.0
"""Seconds between two lines of progress where there is no terminal."""
REMEMBERED = 3_600.0
"""Seconds whose speed says how long the rest will take: some items take many minutes."""


def silent(done: int) -> None:
    """Say nothing about progress."""


@contextmanager
def working(label: str, shown: bool = True) -> Generator[None]:
    """Show that something is being worked on while the block runs."""
    if not shown:
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(label):
        yield


@contextmanager
def progress_bar(
    label: str, total: int, shown: bool = True, lines: bool = False
) -> Generator[Advance]:
    """Show a bar over ``total`` items while the block runs; it disappears at the end.

    Args:
        label: what is being done.
        total: number of items.
        shown: is there a terminal to show a bar in?
        lines: if there is none, write a line to standard error every `LINE_EVERY` seconds.
    """
    if not shown:
        yield _in_lines(label, total) if lines else silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), Remaining())
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, speed_estimate_period=REMEMBERED
    ) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.advance(task, done)


def _in_lines(label: str, total: int) -> Advance:
    """Tell of progress in a line now and then, so that whoever reads a log knows it goes on."""
    begun = said = time.monotonic()
    finished = 0

    def advance(done: int) -> None:
        nonlocal said, finished
        finished += done
        now = time.monotonic()
        if now - said >= LINE_EVERY:
            said = now
            spent, left = now - begun, total - finished
            more = f", about {spent / finished * left:.0f} s left" if left > 0 < finished else ""
            line = f"{label}: {finished:,} of {total:,}, {spent:.0f} s{more}"
            print(line, file=sys.stderr, flush=True)

    return advance
