"""The events to come, in their total order."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from itertools import count

from failgym.sim.reference.decisions import Question
from failgym.vocabulary import Action, Event

__all__ = ["Calendar", "Coming", "Questions"]

Questions = Generator[Question, Action, None]
"""What is played: it hands out questions and is sent the answers."""


@dataclass(frozen=True)
class Coming:
    """Something to come."""

    time: int
    happen: Callable[[], Questions]
    is_due: Callable[[], bool]
    """Can it still happen? What cannot is no event: it does not even move the clock."""


@dataclass
class Calendar:
    """Events by (time, kind, a, b): task and attempt number, or machine."""

    _heap: list[tuple[int, Event, int, int, int, Coming]] = field(
        default_factory=list[tuple[int, Event, int, int, int, Coming]]
    )
    _pushed: count[int] = field(default_factory=count)

    def ask(
        self,
        time: int,
        kind: Event,
        key: tuple[int, int],
        happen: Callable[[], Questions],
        is_due: Callable[[], bool] = lambda: True,
    ) -> None:
        """Add an event in which something may be asked."""
        event = Coming(time, happen, is_due)
        heapq.heappush(self._heap, (time, kind, *key, next(self._pushed), event))

    def add(
        self,
        time: int,
        kind: Event,
        key: tuple[int, int],
        do: Callable[[], None],
        is_due: Callable[[], bool] = lambda: True,
    ) -> None:
        """Add an event in which nothing is asked."""

        def happen() -> Questions:
            do()
            yield from ()

        self.ask(time, kind, key, happen, is_due)

    def next(self) -> Coming | None:
        """Take out the next event; None if there is none."""
        return None if self.is_empty else heapq.heappop(self._heap)[-1]

    @property
    def is_empty(self) -> bool:
        """Can nothing happen any more?"""
        while self._heap and not self._heap[0][-1].is_due():
            heapq.heappop(self._heap)
        return not self._heap
