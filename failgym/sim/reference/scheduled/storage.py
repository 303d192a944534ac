"""Stable storage, whose bandwidth concurrent writes share (rules 13 and 14 of the package)."""

from __future__ import annotations

from typing import NamedTuple

from failgym.sim.reference.scheduled.attempts import Attempt

__all__ = ["Storage"]

UNIT = 1024
"""Service is counted in 1/1024 ms of writing at full speed."""


class _Write(NamedTuple):
    """A write under way; the order is that in which writes end."""

    target: int
    """Service at which it is done."""
    task: int
    number: int
    attempt: Attempt


class Storage:
    """Writes under way, each served as fast as the others (processor sharing).

    Args:
        streams: writes that are served at full speed at once; more share that. 0: no limit.
    """

    def __init__(self, streams: int) -> None:
        self._streams = streams
        self._served = 0
        """Service that a write has got which was always there [1/1024 ms]."""
        self._since = 0
        self._writes: list[_Write] = []

    def begin(self, attempt: Attempt, cost: int, now: int) -> None:
        """A write begins that takes ``cost`` ms at full speed."""
        self._serve(now)
        target = self._served + UNIT * cost
        self._writes.append(_Write(target, attempt.task.record.task, attempt.number, attempt))

    def remove(self, attempt: Attempt, now: int) -> None:
        """The attempt's write, if it has one, has ended or is lost."""
        if self.is_writing(attempt):
            self._serve(now)
            self._writes = [write for write in self._writes if write.attempt is not attempt]

    def is_writing(self, attempt: Attempt) -> bool:
        """Is a write of the attempt under way?"""
        return any(write.attempt is attempt for write in self._writes)

    def next_end(self) -> tuple[int, Attempt] | None:
        """When the next write ends if nothing changes until then, and whose it is."""
        if not self._writes:
            return None
        first = min(self._writes, key=lambda write: write[:3])
        left = max(first.target - self._served, 0)
        if self._crowded:
            left *= len(self._writes)
            speed = UNIT * self._streams
        else:
            speed = UNIT
        return self._since - (-left // speed), first.attempt

    @property
    def _crowded(self) -> bool:
        return self._streams > 0 and len(self._writes) > self._streams

    def _serve(self, now: int) -> None:
        """Count the service since the last change."""
        service = UNIT * (now - self._since)
        if self._crowded:
            service = service * self._streams // len(self._writes)
        self._served += service
        self._since = now
