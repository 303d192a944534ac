"""The process of a policy: it is asked, it answers, and it knows nothing else.

It is given observations and masks: no scenario, no trace, no seed. A trained agent, which is
failgym's own code, is told the name of its environment and what is charged there. It is no sandbox:
code that a stranger wrote can read files and use the network, and belongs under a command of the
host's (docs/hosting.md): in a namespace or a container, or under another user.
"""

from __future__ import annotations

import os
import random
import select
import sys
import threading
from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace
from typing import Any

import numpy as np

from failgym.evaluation.caller import Caller, made_for
from failgym.leaderboard.policy_process.wire_format import (
    HEADER,
    Frame,
    Questions,
    header,
    parse_header,
    scenario_told,
)
from failgym.leaderboard.suite.episodes import MOST_REASON
from failgym.policy import Policy
from failgym.sim.shared.fields import FIELDS
from failgym.vocabulary import ACTIONS

__all__ = ["serve"]

SEED = 0
"""Seed of the global random generators, set whenever a policy is made."""
DETERMINISTIC = True

Answer = tuple[Frame, bytes]


def serve(load: Callable[[], Policy]) -> None:
    """Answer on standard output what is asked on standard input, until that ends.

    Those are what goes through everything that a host may put around this process. A policy finds
    nothing there: what it reads is empty, what it prints goes nowhere.

    Args:
        load: makes the policy; anew for every cell, so that none knows what was played before.
    """
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.close(nothing)
    threading.Thread(target=_end_with, args=(requests,), daemon=True).start()
    asked = _Asked(load)
    while True:
        content = _read(requests, HEADER.size)
        kind, number, count = parse_header(content)
        frame, payload = asked.answer(kind, count, requests)
        _write(answers, header(frame, number, len(payload)) + payload)


class _Asked:
    """A policy and what it has been asked in this cell."""

    def __init__(self, load: Callable[[], Policy]) -> None:
        self._load = load
        self._caller: Caller | None = None
        self._guard: _Guard | None = None
        self._out = SimpleNamespace()
        self._told = b""

    def answer(self, kind: int, count: int, requests: int) -> Answer:
        """The answer to a question whose header has been read."""
        try:
            if kind == Frame.MADE_FOR:
                return Frame.ANSWER, self._made_for()
            if kind == Frame.READABLE:
                names = _read(requests, count).decode().split("\n")
                return Frame.ANSWER, bytes(map(_readable, names))
            if kind == Frame.PLAYS_IN:
                self._told = _read(requests, count)
                return Frame.ANSWER, b""
            if kind == Frame.BEGIN:
                self._begin(count)
                return Frame.ANSWER, b""
            content = _read(requests, Questions.size(count))
            return self._act(Questions.unpack(content, count))
        except (Exception, SystemExit) as error:
            return Frame.CRASHED, _reason(error)

    def _made_for(self) -> bytes:
        from failgym.envs.scenarios import SCENARIOS

        policy = self._load()
        return bytes(made_for(policy, scenario) for scenario in SCENARIOS.values())

    def _begin(self, lanes: int) -> None:
        random.seed(SEED)
        np.random.seed(SEED)  # noqa: NPY002 - what a policy uses that draws from the global one
        policy: Any = self._load()
        if self._told and getattr(policy, "is_told", False):
            policy = policy.playing_by(scenario_told(self._told))
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(SEED)
        self._guard = _Guard(policy)
        self._caller = Caller(self._guard, lanes, DETERMINISTIC, type(policy).__name__)
        self._out = SimpleNamespace(
            obs=np.zeros((lanes, len(FIELDS)), dtype=np.float32),
            mask=np.zeros((lanes, ACTIONS), dtype=np.int8),
        )

    def _act(self, asked: Questions) -> Answer:
        if self._caller is None or self._guard is None:
            raise ValueError("asked before it had begun")
        lanes, out = len(self._out.obs), self._out
        live, fresh = np.zeros(lanes, dtype=np.bool_), np.zeros(lanes, dtype=np.bool_)
        live[asked.lanes] = True
        fresh[asked.lanes] = asked.fresh
        out.obs[asked.lanes], out.mask[asked.lanes] = asked.obs, asked.mask
        self._caller.begin(fresh)
        try:
            view: Any = out
            actions = self._caller.act(view, live)
        except ValueError as error:
            kind = Frame.CRASHED if self._guard.raised else Frame.NONSENSE
            return kind, _reason(self._guard.raised or error)
        return Frame.ANSWER, actions[asked.lanes].astype(np.uint8).tobytes()


class _Guard:
    """A policy that remembers what it raised, to tell a crash from nonsense."""

    def __init__(self, policy: Any) -> None:
        self.raised: BaseException | None = None
        self.observation_space: Any = getattr(policy, "observation_space", None)
        """tells which fields it is to be shown"""
        inner: Callable[..., Any] = policy.predict

        @wraps(inner)
        def predict(*given: Any, **named: Any) -> Any:
            try:
                return inner(*given, **named)
            except (Exception, SystemExit) as error:
                self.raised = error
                raise

        self.predict = predict


def _readable(name: str) -> bool:
    """Can a file, or what is in a folder, be read from here?"""
    try:
        os.listdir(name) if os.path.isdir(name) else open(name, "rb").close()
    except OSError:
        return False
    return True


def _reason(error: BaseException) -> bytes:
    """Type and message of an error, in one line."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text.encode("utf-8", "replace")[:MOST_REASON]


def _read(descriptor: int, size: int) -> bytes:
    """So many bytes; at the end of the questions the process ends."""
    parts: list[bytes] = []
    while size:
        part = os.read(descriptor, size)
        if not part:
            os._exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _end_with(requests: int) -> None:
    """End the process with the run that it belongs to, whatever it is doing."""
    hung_up = select.poll()
    hung_up.register(requests, 0)
    hung_up.poll()
    os._exit(1)
