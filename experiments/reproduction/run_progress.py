"""How far a run of all experiments is, and how long it will still take."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from statistics import fmean
from types import TracebackType
from typing import Any, Self

from experiments.reproduction.processes import Event
from experiments.reproduction.report_entries import time_text
from experiments.reproduction.stored_results import Store

__all__ = ["RunProgress"]

UNKNOWN = 60.0
"""What an experiment is taken to need of which nothing is known [s]."""


class RunProgress:
    """A line on standard error for each experiment that ends, and a bar if somebody looks.

    What an experiment took when it was last run here, whatever it was run with, says how long it
    will take; one that never ran, the mean of the others. The time left follows from that and from
    how much faster or slower this run has been so far.

    Args:
        store: of the results.
        names: experiments that are to be run.
        total: experiments, those that are stored already included.
        jobs: experiments at the same time, as far as that is known.
        bar: draw the bar.
    """

    def __init__(
        self, store: Store, names: Sequence[str], total: int, jobs: int, bar: bool
    ) -> None:
        known = {name: found["seconds"] for name in names if (found := store.load(name))}
        mean = fmean(known.values()) if known else UNKNOWN
        self._seconds = {name: max(known.get(name, mean), 0.1) for name in names}
        self._share = dict.fromkeys(names, 0.0)
        self._running: list[str] = []
        self._jobs, self._total, self._done = jobs, total, total - len(names)
        self._begun = time.perf_counter()
        self._console, self._bar, self._task = _bar(bar, sum(self._seconds.values()))

    @property
    def order(self) -> list[str]:
        """The experiments, the longest first, so that no core waits at the end."""
        return sorted(self._seconds, key=lambda name: -self._seconds[name])

    @property
    def left(self) -> float:
        """Time that the rest will take [s]."""
        spent = time.perf_counter() - self._begun
        done, whole = self._work(), sum(self._seconds.values())
        expected = (whole - done) / self._jobs
        return expected * max(spent * self._jobs / done, 0.1) if done > 0.0 else expected

    def update(self, event: Event) -> None:
        """Take note of what became known."""
        self._share[event.name] = event.share
        if event.ended:
            if event.name in self._running:
                self._running.remove(event.name)
            self._done += 1
            said = f"failed: {event.error}" if event.error else "done"
            left = f"; about {time_text(self.left)} left" if self._done < self._total else ""
            self._say(f"[{self._done}/{self._total}] {event.name}: {said}{left}")
        elif event.name not in self._running:
            self._running.append(event.name)
            self._jobs = max(self._jobs, len(self._running))  # a cluster has as many as it has
        if self._bar is not None:
            label = f"{', '.join(self._running)}; about {time_text(self.left)} left"
            self._bar.update(self._task, completed=self._work(), description=label)

    def _work(self) -> float:
        """What is done, in expected seconds."""
        return sum(self._seconds[name] * share for name, share in self._share.items())

    def _say(self, line: str) -> None:
        if self._console is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self._console.print(line, markup=False, highlight=False)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar(shown: bool, total: float) -> tuple[Any, Any, Any]:
    """Console, bar and its task; nothing if it is not shown."""
    if not shown:
        return None, None, None
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    console = Console(stderr=True)
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"))
    bar = Progress(*columns, console=console, transient=True)
    return console, bar, bar.add_task("", total=total)
