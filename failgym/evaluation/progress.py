"""A progress bar on standard error, for work that takes longer than a moment."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["Advance", "done_before", "progress_bar", "silent", "working"]

Advance = Callable[[int], None]
"""Called with the number of items done since the last call."""


LINE_EVERY = 5.0
"""Seconds between two lines of progress where there is no terminal."""
REMEMBERED = 3_600.0
"""Seconds whose speed says how long the rest will take: some items take many minutes."""


def silent(done: int) -> None:
    """Say nothing about progress."""


class _Shown(ABC):
    """Progress that somebody sees, with the time that the rest will take."""

    @abstractmethod
    def __call__(self, done: int) -> None:
        """So many more items are done."""

    @abstractmethod
    def before(self, done: int) -> None:
        """So many were done before this command began: they say nothing of its speed."""


def done_before(progress: Advance, done: int) -> None:
    """Tell of items that an earlier run of the command had done.

    They count as done, and not for the time that the rest will take.

    Args:
        progress: what `progress_bar` gave, or any other function, which is just called.
        done: number of items.
    """
    if done:
        (progress.before if isinstance(progress, _Shown) else progress)(done)


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
        yield _Lines(label, total) if lines else silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), Remaining())
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, speed_estimate_period=REMEMBERED
    ) as bar:
        yield _Bar(bar, bar.add_task(label, total=total))


class _Bar(_Shown):
    """A task of Rich's."""

    def __init__(self, bar: Any, task: Any) -> None:
        self.bar, self.task, self.finished = bar, task, 0

    def __call__(self, done: int) -> None:
        self.finished += done
        self.bar.advance(self.task, done)

    def before(self, done: int) -> None:
        self.finished += done
        self.bar.reset(self.task, completed=self.finished)  # what is known of the speed goes


class _Lines(_Shown):
    """Tells of progress in a line now and then, so that whoever reads a log knows it goes on."""

    def __init__(self, label: str, total: int) -> None:
        self.label, self.total = label, total
        self.begun = self.said = time.monotonic()
        self.finished = self.earlier = 0

    def __call__(self, done: int) -> None:
        self.finished += done
        now = time.monotonic()
        if now - self.said >= LINE_EVERY:
            self.said = now
            spent, left = now - self.begun, self.total - self.finished
            here = self.finished - self.earlier
            more = f", about {spent / here * left:.0f} s left" if left > 0 < here else ""
            line = f"{self.label}: {self.finished:,} of {self.total:,}, {spent:.0f} s{more}"
            print(line, file=sys.stderr, flush=True)

    def before(self, done: int) -> None:
        self.finished += done
        self.earlier += done
