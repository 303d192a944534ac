"""Steps on a Ray cluster: each is a task of Ray, done anew where its process or machine is lost.

Ray is imported here only, when a cluster is asked for. All steps are handed to Ray at once, up to
`WAITING` of them, so that a cluster that grows with what waits does so. Lost steps are counted and
handed over again here: Ray itself retries without end what its memory monitor kills.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import chdir, contextmanager, redirect_stdout, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from failgym.files import marked
from failgym.workers.at_node import charge_of
from failgym.workers.engine import AUTO, GOES_ON, LOOK, MARK
from failgym.workers.environment import library_folder, settings
from failgym.workers.outcome import Outcome

__all__ = ["connect", "each"]

RETRIES = 5
"""How often a step is done anew whose process or machine was lost. More would be no chance."""
WAITING = 1_000
"""How many steps are with Ray at once."""
REACH = 10.0
"""How long an address is tried [s]."""
MOST_REASON = 500
"""Characters that are shown of what Ray says: of want of memory it tells pages."""
REST = 1.0
"""How long a step waits whose worker was lost for the first time, twice as long every further time:
memory may be free by then [s]."""
IDLE = 30.0
"""After so long without a step done is looked whether the cluster can do any [s]."""
HEADLESS = 30.0
"""After so long without an answer of the head node the command ends [s]; Ray would end the process
after a minute, without a word of failgym."""

FRAME, SETTINGS = 9, 4
"""Bytes of the head of a frame of HTTP/2, and the kind of the first one (RFC 9113, 4.1 and 6.5)."""
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0])
"""What a client of HTTP/2 begins with (RFC 9113, 3.4)."""

T = TypeVar("T")
R = TypeVar("R")


def each(
    work: Callable[[T], R],
    items: Sequence[T],
    address: str,
    *,
    look: Callable[[], None],
    done: Callable[[int], None],
    ended: Callable[[T, R], None],
    named: Callable[[T], str],
    folder: Path | None,
    shared: Sequence[Path],
) -> list[R]:
    """As `failgym.workers.each`, on the cluster at an address.

    Raises:
        ValueError: as it.
    """
    ray: Any = connect(address)
    key = secrets.token_hex(16)
    with _marked(folder, key) as mark:
        seen = {str(path.absolute()): _sha256(path) for path in (*mark, *shared)}
        steps = _Steps(ray, work, items, charge_of(key, seen))
        return steps.done(look, done, ended, named)


@contextmanager
def _marked(folder: Path | None, key: str) -> Generator[list[Path]]:
    """A file in a folder, which no other folder of that name has; none without a folder.

    What commands that were killed have left there is removed.
    """
    if folder is None:
        yield []
        return
    with marked(folder, MARK) as mark:
        mark.write_text(key, "utf-8")
        yield [mark]


class _Steps(Generic[T, R]):
    """The steps of one call, in the hands of Ray."""

    def __init__(
        self, ray: Any, work: Callable[[T], R], items: Sequence[T], charge: dict[str, Any]
    ) -> None:
        self.ray, self.items, self.charge = ray, items, charge
        self.parcel = [ray.put((work, list(items)))]  # in a list, or Ray unpacks it for each step
        self.step = ray.remote(num_cpus=1, max_retries=0)(_step())
        self.waiting = iter(range(len(items)))
        self.running: dict[Any, int] = {}
        self.lost: dict[int, int] = {}
        """step -> how often its worker was lost"""
        self.resting: dict[int, float] = {}
        """step that is to be done anew -> when"""
        self.health = _Health(ray)

    def done(
        self,
        look: Callable[[], None],
        done: Callable[[int], None],
        ended: Callable[[T, R], None],
        named: Callable[[T], str],
    ) -> list[R]:
        """Have all of them done; arguments and errors are those of `failgym.workers.each`."""
        results: dict[int, R] = {}
        try:
            self._hand_over()
            while self.running or self.resting:
                over = 0
                for ref in self._over():
                    number = self.running.pop(ref)
                    item = self.items[number]
                    try:
                        results[number] = self._result(ref, number, partial(named, item))
                    except _LostError:
                        continue
                    ended(item, results[number])
                    over += 1
                self._hand_over()
                done(over)
                look()
                self.health.check(over)
        finally:
            for ref in () if self.health.headless else self.running:
                with suppress(Exception):  # whatever ails the cluster, the first error is told
                    self.ray.cancel(ref, force=True)
        return [results[number] for number in range(len(self.items))]

    def _hand_over(self) -> None:
        """Give Ray steps, as many as it is to have; first those whose rest is over."""
        now = time.monotonic()
        for number in [number for number, until in self.resting.items() if until <= now]:
            del self.resting[number]
            self.running[self.step.remote(self.charge, self.parcel, number)] = number
        for number in islice(self.waiting, max(0, WAITING - len(self.running))):
            self.running[self.step.remote(self.charge, self.parcel, number)] = number

    def _over(self) -> list[Any]:
        """The steps that are over; none, if none is within `LOOK`.

        What Ray says meanwhile of workers that it lost goes to standard error: the table is the
        command's.
        """
        refs = list(self.running)
        if not refs:
            time.sleep(LOOK)
            return []
        with redirect_stdout(sys.stderr):
            first, _ = self.ray.wait(refs, num_returns=1, timeout=LOOK)
        return self.ray.wait(refs, num_returns=len(refs), timeout=0)[0] if first else []

    def _rests(self, number: int) -> bool:
        """Note that a step's worker was lost; is the step to be done anew?"""
        times = self.lost[number] = self.lost.get(number, 0) + 1
        if times <= RETRIES:
            self.resting[number] = time.monotonic() + REST * 2.0 ** (times - 1)
        return times <= RETRIES

    def _result(self, ref: Any, number: int, name: Callable[[], str]) -> R:
        """What came out of a step.

        Raises:
            _LostError: if its worker was lost, and the step is to be done anew.
            ValueError: if its worker was lost once too often; and what the step raised.
        """
        errors = self.ray.exceptions
        try:
            outcome: Outcome = self.ray.get(ref)
        except errors.RayTaskError as error:
            raise _cause(error) from None
        except errors.RayError as error:
            if not isinstance(error, errors.RuntimeEnvSetupError) and self._rests(number):
                raise _LostError from error
            times = self.lost.get(number, 1)
            reason = " ".join(str(error).split())[:MOST_REASON]
            raise ValueError(
                f"--workers ray: {name()}: its worker could not be started, or was lost"
                f" {times} times; {GOES_ON}: {type(error).__name__}: {reason}"
            ) from error
        return outcome.get()


class _LostError(Exception):
    """A step's worker was lost, and the step is to be done anew."""


class _Health:
    """Looks whether a cluster can do steps at all, and whether its head node lives."""

    def __init__(self, ray: Any) -> None:
        self.ray, self.headless = ray, False
        self.head = None if ray.util.client.ray.is_connected() else _head(ray)
        self.last = self.asked = time.monotonic()
        self.told = False
        self.silent: float | None = None
        """when the head node first did not answer, if it has not since"""

    def check(self, over: int) -> None:
        """Look, every now and then.

        Args:
            over: steps that were done since the last call.

        Raises:
            ValueError: if the head node is lost.
        """
        now = time.monotonic()
        if over:
            self.last = now
        elif not self.told and now - self.last > IDLE:
            self.last = now
            self._say_idle()
        if self.head is not None and now - self.asked > LOOK * 10:
            self._ask_head()

    def _say_idle(self) -> None:
        """Say so if no node has a processor for a step: one may join, so it is no error."""
        nodes = [node for node in self.ray.nodes() if node["Alive"]]
        if not any(node["Resources"].get("CPU", 0.0) >= 1.0 for node in nodes):
            self.told = True
            print(
                f"failgym: --workers ray: none of the cluster's {len(nodes)} nodes has a processor"
                " for steps: they wait until a node joins that has",
                file=sys.stderr,
            )

    def _ask_head(self) -> None:
        try:
            _speak(*self.head or ("", 0), wait=LOOK * 10)
            self.silent = None
        except OSError:
            now = time.monotonic()
            self.silent = now if self.silent is None else self.silent
            self.headless = now - self.silent > HEADLESS
        self.asked = time.monotonic()
        if self.headless:
            raise ValueError(
                f"--workers ray: the cluster's head node is lost; {GOES_ON}, on a cluster that is"
                " begun anew"
            )


def _head(ray: Any) -> tuple[str, int]:
    """Where the head node listens."""
    host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
    return host.strip("[]"), int(port)


def _step() -> Callable[[Any, list[Any], int], Any]:
    """The function that Ray calls.

    It is made here so that Ray sends all of it: a machine without failgym can say so.
    """

    def step(charge: Any, parcel: list[Any], number: int) -> Any:
        import ray

        node = ray.util.get_node_ip_address()
        try:
            from failgym.workers.at_node import ready
        except ImportError as error:
            raise ValueError(
                f"--workers ray: node {node}: cannot import failgym: {error}: expected failgym"
                f" {charge['version']} on every node"
            ) from error
        work, items = ready(charge, node, lambda: ray.get(parcel[0]))
        from failgym.workers.outcome import Outcome  # an older failgym may have no such module

        return Outcome.of(work, items[number])

    return step


def _cause(error: Any) -> BaseException:
    """What a step raised, as it raised it."""
    cause = error.cause
    return cause if isinstance(cause, Exception) else RuntimeError(str(error))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


_CONNECTED: list[str] = []
"""The address that this process is connected to, if `connect` did it."""


def connect(address: str) -> Any:
    """Ray, connected to the cluster at an address.

    A connection that the caller has made stays and is used, whatever the address.

    Raises:
        ValueError: in one line, if there is no cluster, or none of this Ray and Python.
    """
    import ray

    if ray.is_initialized():
        if not _CONNECTED or [address] == _CONNECTED:
            return ray
        ray.shutdown()
    _CONNECTED.clear()
    _reach(address)
    # Ray has workers import from the current folder: a submission may lie there.
    with chdir(library_folder()):
        try:
            ray.init(
                address,
                runtime_env={"env_vars": _variables()},
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise ValueError(f"--ray-address {address}: {_why(address, error)}") from error
    _CONNECTED.append(address)
    return ray


def _why(address: str, error: Exception) -> str:
    """Why there is no cluster at an address."""
    if address == AUTO and isinstance(error, ConnectionError) and "RAY_ADDRESS" not in os.environ:
        return "no Ray cluster runs on this machine: expected one (`ray start`), or RAY_ADDRESS"
    return f"no cluster to work on: {' '.join(str(error).split())}"


def _variables() -> dict[str, str]:
    """Environment variables of workers: one thread each, and where their caller looks for code."""
    path = os.environ.get("PYTHONPATH")
    return settings() | ({"PYTHONPATH": path} if path else {})


def _reach(address: str) -> None:
    """Does anybody listen at an address? Ray would try for minutes. Raises ValueError."""
    named = address
    if address == AUTO:
        named = os.environ.get("RAY_ADDRESS", "")
    host, colon, port = named.removeprefix("ray://").rpartition(":")
    if not (colon and port.isdigit()):
        return  # Ray looks for the cluster of this machine
    whose = f"--ray-address {address}" + (f" (RAY_ADDRESS={named})" if address == AUTO else "")
    try:
        _speak(host.strip("[]"), int(port), wait=REACH)
    except (OSError, OverflowError) as error:
        raise ValueError(f"{whose}: no cluster to work on: {error}") from error


def _speak(host: str, port: int, *, wait: float) -> None:
    """Is an address one of HTTP/2, which Ray speaks? Both ends begin with their settings.

    Args:
        host: name or address.
        port: of it.
        wait: how long an answer is waited for [s].

    Raises:
        OSError: if nobody listens, or something else does.
    """
    with socket.create_connection((host, port), wait) as line:
        line.settimeout(wait)
        if os.environ.get("RAY_USE_TLS", "0") not in {"", "0"}:
            return  # it would have to be encrypted
        line.sendall(HELLO)
        answer = b""
        while len(answer) < FRAME:
            more = line.recv(FRAME - len(answer))
            if not more:
                break
            answer += more
        if len(answer) < FRAME or answer[3] != SETTINGS:
            raise OSError("the server there is not Ray")
