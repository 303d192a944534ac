"""Work on several processes, or on this one, in any order: what is done is seen in the folder."""

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

from failgym.evaluation.progress import Advance, silent
from failgym.leaderboard.policy_process.limits import one_thread

__all__ = ["LOOK", "each"]

LOOK = 0.5
"""How often is looked what is done [s]."""

T = TypeVar("T")
R = TypeVar("R")


def each(
    work: Callable[[T], R],
    items: Sequence[T],
    processes: int,
    *,
    look: Callable[[], None] = lambda: None,
    done: Advance = silent,
    ended: Callable[[T, R], None] = lambda item, result: None,
) -> list[R]:
    """Call ``work`` on every item and return the results in their order.

    Args:
        work: a method of an object; other processes get a copy of the object each, once.
        items: what it is called on.
        processes: on one, everything happens in this process.
        look: called every now and then, and whenever an item is done.
        done: called with the number of items done since the last call.
        ended: called with each item that is done, and its result.

    Raises:
        ValueError: if a process was killed; what ``work`` raises. What has been done by then stays.
    """
    if processes == 1:
        results: list[R] = []
        for item in items:
            results.append(work(item))
            ended(item, results[-1])
            done(1)
            look()
        return results
    with _pool(processes, work) as pool:
        futures: dict[Future[R], T] = {pool.submit(_work, item): item for item in items}
        try:
            left = set(futures)
            while left:
                over, left = wait(left, LOOK, FIRST_COMPLETED)
                for future in over:
                    ended(futures[future], future.result())
                done(len(over))
                look()
            return [future.result() for future in futures]
        except BrokenProcessPool as error:
            raise ValueError(
                "a process was killed, perhaps for want of memory; the same command goes on, with"
                " fewer --processes if need be"
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


def _work(item: Any) -> Any:
    return _OF_THIS_PROCESS[0](item)


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
