"""Who does the steps, and the one function that has them done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

__all__ = ["ALONE", "GOES_ON", "LOOK", "MARK", "MOST_PROCESSES", "Workers", "each"]

LOOK = 0.5
"""How often is looked what is done [s]."""
MOST_PROCESSES = 1_024
"""More processes than any machine has use for."""
GOES_ON = "the same command goes on"
"""What is said where workers were lost."""
MARK = ".seen-by-all-*"
"""What the name of the file looks like by which machines see that they share a folder; a command
that was killed leaves it there."""
RAY = "ray"
AUTO = "auto"

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Workers:
    """Who does the steps: this process, processes of this machine, or a Ray cluster.

    Raises:
        ValueError: by the name of the option, for a number that is none; for a cluster, if Ray is
            not installed.
    """

    processes: int = 1
    """of this machine; 1: this process"""
    address: str | None = None
    """of a Ray cluster: "auto", "HOST:PORT" or "ray://HOST:PORT"; None: no cluster"""

    def __post_init__(self) -> None:
        number: object = self.processes
        if type(number) is not int or not 1 <= number <= MOST_PROCESSES:
            raise ValueError(
                f"--workers: expected a number, 1 to {MOST_PROCESSES}, or {RAY}, got {number!r}"
            )
        if self.address is not None and find_spec("ray") is None:
            raise ValueError(
                f"--workers {RAY}: Ray is not installed: pip install 'failgym[distributed]'"
            )

    @classmethod
    def read(cls, text: str, address: str | None = None) -> Workers:
        """The workers that the options `--workers` and `--ray-address` name.

        Args:
            text: a number of processes, or "ray".
            address: of the cluster; None: "auto".

        Raises:
            ValueError: for anything else, and as the class.
        """
        if text == RAY:
            return cls(address=_checked(address or AUTO))
        if address is not None:
            raise ValueError(f"--ray-address {address}: expected --workers {RAY} beside it")
        if not (text.isascii() and text.isdigit()):
            raise ValueError(
                f"--workers: expected a number, 1 to {MOST_PROCESSES}, or {RAY}, got {text!r}"
            )
        return cls(int(text))

    @property
    def several(self) -> bool:
        """May two steps be done at the same time?"""
        return self.processes > 1 or self.remote

    @property
    def remote(self) -> bool:
        """May steps be done on another machine?"""
        return self.address is not None

    def __str__(self) -> str:
        """The option that names them."""
        return f"--workers {RAY if self.remote else self.processes}"


ALONE = Workers()
"""This process does everything."""


def _checked(address: str) -> str:
    """An address, if it is one of a cluster. Raises ValueError."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if address == AUTO or (host and colon and port.isascii() and port.isdigit()):
        return address
    raise ValueError(
        f"--ray-address: expected {AUTO}, HOST:PORT or ray://HOST:PORT, got {address!r}"
    )


def _nothing() -> None:
    """Look at nothing."""


def _silent(done: int) -> None:
    """Say nothing about progress."""


def _ignored(item: object, result: object) -> None:
    """Nobody asks what came out."""


def each(
    work: Callable[[T], R],
    items: Sequence[T],
    workers: Workers = ALONE,
    *,
    look: Callable[[], None] = _nothing,
    done: Callable[[int], None] = _silent,
    ended: Callable[[T, R], None] = _ignored,
    named: Callable[[T], str] = str,
    folder: Path | None = None,
    shared: Sequence[Path] = (),
) -> list[R]:
    """Call ``work`` on every item and return the results in their order.

    Args:
        work: a method of an object, or a function of a module; other processes get a copy of the
            object each, once. What it does may be done twice, if a machine fails.
        items: what it is called on.
        workers: who does it.
        look: called every now and then, and whenever an item is done.
        done: called with the number of items done since the last call.
        ended: called with each item that is done, and its result.
        named: what an item is called where its worker is lost again and again.
        folder: where ``work`` keeps what it does; every machine of a cluster must see it.
        shared: files that it reads; every machine of a cluster must see the same.

    Raises:
        ValueError: if a worker was killed, of a cluster if it happened to the same item again and
            again; if a machine of a cluster has another failgym, other packages, or sees other
            files; what ``work`` raises. What has been done by then stays.
    """
    if not items:
        return []
    if workers.address is not None:
        from failgym.workers import ray_cluster

        return ray_cluster.each(
            work,
            items,
            workers.address,
            look=look,
            done=done,
            ended=ended,
            named=named,
            folder=folder,
            shared=shared,
        )
    if workers.processes > 1:
        from failgym.workers import processes

        return processes.each(work, items, workers.processes, look=look, done=done, ended=ended)
    results: list[R] = []
    for item in items:
        results.append(work(item))
        ended(item, results[-1])
        done(1)
        look()
    return results
