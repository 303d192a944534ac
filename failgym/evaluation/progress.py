"""A progress bar on standard error, for work that takes longer than a moment."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

__all__ = ["Advance", "progress_bar", "silent", "working"]

Advance = Callable[[int], None]
"""Called with the number of items done since the last call."""


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
def progress_bar(label: str, total: int, shown: bool = True) -> Generator[Advance]:
    """Show a bar over ``total`` items while the block runs; it disappears at the end."""
    if not shown:
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.advance(task, done)
