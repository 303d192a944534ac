"""Steps in processes of this machine, in any order."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from failgym.workers.engine import GOES_ON, LOOK
from failgym.workers.environment import one_thread
from failgym.workers.outcome import Outcome

__all__ = ["each"]

T = TypeVar("T")
R = TypeVar("R")


def each(
    work: Callable[[T], R],
    items: Sequence[T],
    processes: int,
    *,
    look: Callable[[], None],
    done: Callable[[int], None],
    ended: Callable[[T, R], None],
) -> list[R]:
    """As `failgym.workers.each`, in so many processes, which end with this one.

    Raises:
        ValueError: if a process was killed; what ``work`` raises.
    """
    with _pool(processes, work) as pool:
        futures: dict[Future[Outcome], T] = {pool.submit(_work, item): item for item in items}
        try:
            left = set(futures)
            while left:
                over, left = wait(left, LOOK, FIRST_COMPLETED)
                for future in over:
                    ended(futures[future], future.result().get())
                done(len(over))
                look()
            return [future.result().result for future in futures]
        except BrokenProcessPool as error:
            raise ValueError(
                f"a process was killed, perhaps for want of memory; {GOES_ON}, with fewer --workers"
                " if need be"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _pool(processes: int, work: Callable[[Any], Any]) -> Generator[ProcessPoolExecutor]:
    """Processes of their own: nothing is forked, since this one may have threads."""
    context = multiprocessing.get_context("spawn")
    before = dict(os.environ)
    os.environ.update(one_thread())  # what is read when libraries are first imported
    try:
        with ProcessPoolExecutor(processes, context, _begin, (work,)) as pool:
            yield pool
    finally:
        os.environ.clear()
        os.environ.update(before)


_OF_THIS_PROCESS: list[Callable[[Any], Any]] = []
"""What a process of the pool does; empty in any other."""


def _work(item: Any) -> Outcome:
    return Outcome.of(_OF_THIS_PROCESS[0], item)


def _begin(work: Callable[[Any], Any]) -> None:
    """End with the parent, and keep what is to be done."""
    parent = multiprocessing.parent_process()

    def end_with() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=end_with, daemon=True).start()
    sys.stdout = sys.stderr  # the table is the run's
    _OF_THIS_PROCESS[:] = [work]
