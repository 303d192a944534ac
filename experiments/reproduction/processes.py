"""Experiments side by side, each in a process of its own, which tells how far it is.

A process that fails, or is killed, takes no other with it; one that takes too long is ended. All
end with the one that started them.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from failgym.evaluation.progress import Advance

__all__ = ["NO_LIMIT", "Event", "Work", "side_by_side"]

Work = Callable[[str, Callable[[int], None], Advance], None]
"""Does one of the items, by name. Calls the second argument with the number of its steps, and the
third with 1 after each. A function of a module, or a partial one: another process imports it."""
NO_LIMIT = 1e9
"""So long that it is none [s]."""
POLL = 60.0
"""How long nothing is looked at, at most [s]."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Variables that hold libraries to one thread, since there is a process for every core."""


@dataclass(frozen=True)
class Event:
    """What became known of an item."""

    name: str
    share: float
    """how much of it is done, 0 to 1"""
    ended: bool = False
    error: str = ""
    """why it failed; empty if it did not"""


def side_by_side(
    names: Sequence[str], processes: int, work: Work, logs: Path, limit: float = NO_LIMIT
) -> Iterator[Event]:
    """Do the work on every item, so many at a time, in this order, and tell what happens.

    Args:
        names: the items.
        processes: at most so many at a time.
        work: does one.
        logs: folder for what they print, ``<name>.log``; kept only of those that fail.
        limit: how long one may take [s].
    """
    waiting = deque(names)
    running: dict[Connection, _Running] = {}
    context = multiprocessing.get_context("spawn")
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                name = waiting.popleft()
                ours, theirs = context.Pipe(duplex=False)
                given = (name, work, logs / f"{name}.log", theirs)
                process = context.Process(target=_child, args=given)
                process.start()
                theirs.close()
                running[ours] = _Running(name, process)
                yield Event(name, 0.0)
            left = min(each.begun + limit for each in running.values()) - time.monotonic()
            for ready in wait(list(running), min(max(left, 0.0), POLL)):
                assert isinstance(ready, Connection)
                event = running[ready].hear(ready)
                if event.ended:
                    del running[ready]
                yield event
            for each in running.values():
                each.end_after(limit)
    finally:
        for each in running.values():
            each.process.terminate()
        os.environ.clear()
        os.environ.update(before)


@dataclass
class _Running:
    """A process at work."""

    name: str
    process: SpawnProcess
    steps: int = 1
    done: int = 0
    error: str = ""
    begun: float = field(default_factory=time.monotonic)

    def end_after(self, limit: float) -> None:
        """End it if it takes longer [s]."""
        if time.monotonic() - self.begun > limit and self.process.is_alive():
            self.error = self.error or f"took longer than {limit / 60.0:g} min"
            self.process.kill()

    def hear(self, pipe: Connection) -> Event:
        """Take the next message of the process, or see that it has ended."""
        try:
            kind, value = pipe.recv()
        except (EOFError, OSError):  # ended, perhaps in the middle of a message
            pipe.close()
            return self._ended()
        if kind == "steps":
            self.steps = max(1, value)
        elif kind == "done":
            self.done += value
        else:
            self.error = value
        return Event(self.name, min(1.0, self.done / self.steps))

    def _ended(self) -> Event:
        self.process.join()
        code = self.process.exitcode
        error = self.error
        if code and not error:
            error = f"ended with status {code}"
            if code < 0:
                error = f"was killed by signal {-code}, perhaps for want of memory"
        return Event(self.name, 1.0, True, error)


def _child(name: str, work: Work, log: Path, pipe: Connection) -> None:
    """Do one item; what goes wrong is told, and the whole of it stands in the log."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with log.open("w", encoding="utf-8") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
        try:
            work(name, _teller(pipe, "steps"), _teller(pipe, "done"))
        except Exception as error:  # whatever it is, the others go on, and the table says it
            traceback.print_exc()
            sys.stderr.flush()
            _teller(pipe, "error")(f"{type(error).__name__}: {error}")
            return
    log.unlink()


def _teller(pipe: Connection, kind: str) -> Callable[[Any], None]:
    def tell(value: Any) -> None:
        with suppress(BrokenPipeError):  # nobody listens any more: we are about to be ended
            pipe.send((kind, value))

    return tell


def _end_with_parent() -> None:
    """Do not go on when there is nobody to work for."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
