"""An experiment in a process of its own, which tells how far it is.

A process that fails, or is killed, takes no other with it; one that takes too long is ended. It
ends with the one that started it.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from failgym.evaluation.progress import Advance

__all__ = ["NO_LIMIT", "SHARE", "Apart", "Event", "Work"]

Work = Callable[[str, Callable[[int], None], Advance], None]
"""Does one of the items, by name. Calls the second argument with the number of its steps, and the
third with 1 after each. A function of a module, or a partial one: another process imports it."""
NO_LIMIT = 1e9
"""So long that it is none [s]."""
POLL = 60.0
"""How long nothing is looked at, at most [s]."""
SHARE = ".*.share"
"""Names of files that tell how far an item is."""
LEAST = 0.01
"""Share of an item after which it is told anew how far it is."""
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


@dataclass(frozen=True)
class Apart:
    """Does items, each in a process of its own; a worker (`failgym.workers`) may be given it."""

    work: Work
    folder: Path
    """for what they print, ``<name>.log``, kept only of those that fail; and how far they are"""
    limit: float = NO_LIMIT
    """how long one may take [s]"""
    tell: Callable[[Event], None] | None = None
    """called with what becomes known; None: it is told in the folder, for `share` to read"""

    def do(self, name: str) -> str:
        """Do an item. Why it failed; empty if it did not."""
        told = -1.0
        try:
            for event in self._events(name):
                if self.tell is not None:
                    self.tell(event)
                elif event.share >= told + LEAST:
                    told = event.share
                    self._file(name).write_text(str(told), "utf-8")
                if event.ended:
                    return event.error
        finally:
            self._file(name).unlink(missing_ok=True)
        raise AssertionError("an item ends")

    def share(self, name: str) -> float | None:
        """How much of an item is done that another process does; None of one that none does."""
        try:
            return float(self._file(name).read_text("utf-8"))
        except (OSError, ValueError):  # it is just being written
            return None

    def _file(self, name: str) -> Path:
        return self.folder / SHARE.replace("*", name)

    def _events(self, name: str) -> Iterator[Event]:
        """Have an item done, and tell what happens."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        given = (name, self.work, self.folder / f"{name}.log", theirs)
        process = context.Process(target=_child, args=given)
        with _one_thread():
            process.start()
        theirs.close()
        running = _Running(name, process)
        yield Event(name, 0.0)
        try:
            ended = False
            while not ended:
                left = running.begun + self.limit - time.monotonic()
                if wait([ours], min(max(left, 0.0), POLL)):
                    event = running.hear(ours)
                    ended = event.ended
                    yield event
                running.end_after(self.limit)
        finally:
            process.terminate()


@contextmanager
def _one_thread() -> Generator[None]:
    """What is started in the block computes on one thread."""
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
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
    log.unlink(missing_ok=True)  # where a step is done anew, both write to it


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
