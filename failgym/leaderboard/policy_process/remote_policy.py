"""`RemotePolicy`: a policy in a process of its own, that may crash, hang or talk nonsense."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import failgym
from failgym.leaderboard.policy_process.kept_process import KeptProcess
from failgym.leaderboard.policy_process.limits import USUAL, Confinement
from failgym.leaderboard.policy_process.wire_format import (
    HEADER,
    Frame,
    Questions,
    header,
    parse_header,
)
from failgym.leaderboard.submission.tables import CRASHED, NONSENSE, TIMEOUT
from failgym.leaderboard.suite.episodes import MOST_REASON, Bools, Failure, Ints
from failgym.sim.shared.records import Output
from failgym.vocabulary import ACTIONS

__all__ = ["RemotePolicy"]

LOADING = 120.0
"""How long making a policy may take, if the time limit is not longer [s]."""
_FAILED = {int(Frame.CRASHED): CRASHED, int(Frame.NONSENSE): NONSENSE}


class RemotePolicy:
    """Asks a policy in another process, which is started when needed and ended when it fails.

    Args:
        command: what starts the process; the SPEC is appended. It is asked through its standard
            input (`failgym.leaderboard.policy_process.policy_server.serve`).
        spec: the policy.
        time_limit: for all of its answers in a cell [s].
        confinement: other limits, that hold for all that it starts.
    """

    def __init__(
        self,
        command: Sequence[str],
        spec: str,
        time_limit: float,
        confinement: Confinement = USUAL,
    ) -> None:
        self.spec = spec
        self.told = b""
        """what it is told of where it plays (`wire_format.told`); nothing, if empty"""
        self._command, self._time_limit = command, time_limit
        self._confinement = confinement
        self._process: KeptProcess | None = None
        self._number = 0
        self._left = time_limit

    def made_for(self) -> list[bool]:
        """For which of `failgym.ENVIRONMENTS` the policy says that it was made. Raises Failure."""
        self._left = max(self._time_limit, LOADING)
        answer = self._ask(Frame.MADE_FOR, 0, b"", len(failgym.ENVIRONMENTS))
        return [bool(flag) for flag in answer]

    def readable(self, paths: Sequence[Path]) -> list[Path]:
        """Which of these files and folders can be read there. Raises Failure."""
        self._left = LOADING
        names = "\n".join(map(str, paths)).encode()
        answer = self._ask(Frame.READABLE, len(names), names, len(paths))
        return [path for path, flag in zip(paths, answer, strict=True) if flag]

    def begin(self, lanes: int) -> None:
        """Make the policy, anew, for episodes in so many lanes. Raises Failure."""
        self._left = max(self._time_limit, LOADING)
        if self.told:
            self._ask(Frame.PLAYS_IN, len(self.told), self.told, 0)
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
        """End the process, and all that it has started. Raises ValueError if that fails."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def _ask(self, kind: Frame, count: int, payload: bytes, expected: int) -> bytes:
        """Ask one question; return the answer's bytes, as many as expected."""
        if self._process is None:
            self._process = KeptProcess([*self._command, self.spec], self._confinement)
        to, answers = self._process.requests, self._process.answers
        self._number = (self._number + 1) % 2**32
        deadline = time.monotonic() + self._left
        self._send(to, header(kind, self._number, count) + payload, deadline)
        try:
            found = parse_header(self._receive(answers, HEADER.size, deadline))
        except ValueError as error:
            raise self._failed(NONSENSE, f"wrote to the pipe of its answers: {error}") from error
        if found.kind in _FAILED and found.length <= MOST_REASON:
            text = self._receive(answers, found.length, deadline).decode("utf-8", "replace")
            raise self._failed(_FAILED[found.kind], text)
        if found != (Frame.ANSWER, self._number, expected):
            raise self._failed(NONSENSE, "wrote to the pipe of its answers")
        answer = self._receive(answers, expected, deadline)
        self._left = deadline - time.monotonic()
        return answer

    def _send(self, to: int, content: bytes, deadline: float) -> None:
        view = memoryview(content)
        while view:
            try:
                view = view[os.write(to, view) :]
            except BlockingIOError:
                self._wait(to, select.POLLOUT, deadline)
            except BrokenPipeError as error:
                raise self._ended() from error

    def _receive(self, answers: int, size: int, deadline: float) -> bytes:
        parts: list[bytes] = []
        while size:
            self._wait(answers, select.POLLIN, deadline)
            part = os.read(answers, size)
            if not part:
                raise self._ended()
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _wait(self, descriptor: int, event: int, deadline: float) -> None:
        """Wait for a pipe; whoever fills that of standard error meanwhile is not held up."""
        process = self._process
        assert process is not None
        ready = select.poll()
        ready.register(descriptor, event)
        ready.register(process.errors, select.POLLIN)
        found: dict[int, int] = {}
        while descriptor not in found:
            left = deadline - time.monotonic()
            found = dict(ready.poll(left * 1000)) if left > 0 else {}
            if not found:
                raise self._failed(TIMEOUT, "did not answer within the time limit")
            if process.errors in found and not process.listen():
                ready.unregister(process.errors)

    def _ended(self) -> Failure:
        """The failure of a process that is there no more."""
        said = "" if self._process is None else self._process.end()
        return self._failed(CRASHED, said)

    def _failed(self, status: str, reason: str) -> Failure:
        """A failure; the process is ended, and the next cell begins with another."""
        self.close()
        shown = "".join(sign if sign.isprintable() else " " for sign in reason)
        return Failure(status, " ".join(shown.split())[:MOST_REASON])
