"""`RemotePolicy`: a policy in a process of its own, that may crash, hang or talk nonsense."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import failgym
from failgym.leaderboard.play import Bools, Failure, Ints
from failgym.leaderboard.schema import CRASHED, NONSENSE, TIMEOUT
from failgym.leaderboard.wire import HEADER, MOST_REASON, Frame, Questions, header, parse_header
from failgym.sim.records import ACTIONS, Output

__all__ = ["RemotePolicy", "one_thread"]

ENDING = 5.0
"""How long a process that has closed its pipe may take to end [s]."""
LOADING = 120.0
"""How long making a policy may take, if the time limit is not longer [s]."""
_FAILED = {int(Frame.CRASHED): CRASHED, int(Frame.NONSENSE): NONSENSE}


def one_thread() -> dict[str, str]:
    """An environment in which libraries compute on one thread, and find this failgym."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    here = str(Path(failgym.__file__).parents[1])
    path = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    return {**os.environ, **dict.fromkeys(names, "1"), "PYTHONHASHSEED": "0", "PYTHONPATH": path}


class RemotePolicy:
    """Asks a policy in another process, which is started when needed and ended when it fails.

    Args:
        command: what starts the process; three descriptors and the SPEC are appended
            (`failgym.leaderboard.policy_process.serve`).
        spec: the policy.
        time_limit: for all of its answers in a cell [s].
    """

    def __init__(self, command: Sequence[str], spec: str, time_limit: float) -> None:
        self.spec = spec
        self._command, self._time_limit = command, time_limit
        self._process: subprocess.Popen[bytes] | None = None
        self._to = self._from = self._life = -1
        self._number = 0
        self._left = time_limit

    def made_for(self) -> list[bool]:
        """For which of `failgym.ENVIRONMENTS` the policy says that it was made. Raises Failure."""
        self._left = max(self._time_limit, LOADING)
        answer = self._ask(Frame.MADE_FOR, 0, b"", len(failgym.ENVIRONMENTS))
        return [bool(flag) for flag in answer]

    def begin(self, lanes: int) -> None:
        """Make the policy, anew, for episodes in so many lanes. Raises Failure."""
        self._left = max(self._time_limit, LOADING)
        self._ask(Frame.BEGIN, lanes, b"", 0)
        self._left = self._time_limit

    def act(self, out: Output, live: Bools, fresh: Bools, at: Ints) -> Ints:
        """Ask for the actions of the open decisions. Raises Failure."""
        lanes = np.flatnonzero(live)
        asked = Questions(lanes.astype(np.int32), fresh[lanes], out.mask[lanes], out.obs[lanes])
        answer = self._ask(Frame.ASK, len(lanes), asked.pack(), len(lanes))
        chosen = np.frombuffer(answer, dtype=np.uint8)
        if len(chosen) and chosen.max() >= ACTIONS:
            raise self._failed(NONSENSE, f"answered {chosen.max()}, expected 0 to {ACTIONS - 1}")
        actions = np.zeros(len(live), dtype=np.int64)
        actions[lanes] = chosen
        return actions

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        for descriptor in (self._to, self._from, self._life):
            os.close(descriptor)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _start(self) -> None:
        pipes = [os.pipe() for _ in range(3)]
        theirs = (pipes[0][0], pipes[1][1], pipes[2][0])
        self._to, self._from, self._life = pipes[0][1], pipes[1][0], pipes[2][1]
        try:
            self._process = subprocess.Popen(
                [*self._command, *map(str, theirs), self.spec],
                pass_fds=theirs,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=one_thread(),
                start_new_session=True,  # with all that it starts, and away from Ctrl-C
            )
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        for descriptor in (self._to, self._from):
            os.set_blocking(descriptor, False)

    def _ask(self, kind: Frame, count: int, payload: bytes, expected: int) -> bytes:
        """Ask one question; return the answer's bytes, as many as expected."""
        if self._process is None:
            self._start()
        self._number = (self._number + 1) % 2**32
        deadline = time.monotonic() + self._left
        self._send(header(kind, self._number, count) + payload, deadline)
        try:
            found = parse_header(self._receive(HEADER.size, deadline))
        except ValueError as error:
            raise self._failed(NONSENSE, f"wrote to the pipe of its answers: {error}") from error
        if found.kind in _FAILED and found.length <= MOST_REASON:
            text = self._receive(found.length, deadline).decode("utf-8", "replace")
            raise self._failed(_FAILED[found.kind], text)
        if found != (Frame.ANSWER, self._number, expected):
            raise self._failed(NONSENSE, "wrote to the pipe of its answers")
        answer = self._receive(expected, deadline)
        self._left = deadline - time.monotonic()
        return answer

    def _send(self, content: bytes, deadline: float) -> None:
        view = memoryview(content)
        while view:
            try:
                view = view[os.write(self._to, view) :]
            except BlockingIOError:
                self._wait(self._to, select.POLLOUT, deadline)
            except BrokenPipeError as error:
                raise self._ended() from error

    def _receive(self, size: int, deadline: float) -> bytes:
        parts: list[bytes] = []
        while size:
            self._wait(self._from, select.POLLIN, deadline)
            part = os.read(self._from, size)
            if not part:
                raise self._ended()
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _wait(self, descriptor: int, event: int, deadline: float) -> None:
        left = deadline - time.monotonic()
        ready = select.poll()
        ready.register(descriptor, event)
        if left <= 0 or not ready.poll(left * 1000):
            raise self._failed(TIMEOUT, "did not answer within the time limit")

    def _ended(self) -> Failure:
        """The failure of a process that is there no more."""
        process = self._process
        status = None
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(ENDING)
        said = f"status {status}"
        if status is not None and status < 0:
            with contextlib.suppress(ValueError):
                said = signal.Signals(-status).name
        return self._failed(CRASHED, f"its process ended: {said}")

    def _failed(self, status: str, reason: str) -> Failure:
        """A failure; the process is ended, and the next cell begins with another."""
        self.close()
        shown = "".join(sign if sign.isprintable() else " " for sign in reason)
        return Failure(status, " ".join(shown.split())[:MOST_REASON])
