"""Who answers for a policy: the policy itself in this process, or a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from failgym.evaluation.caller import Caller
from failgym.leaderboard.policy_process.limits import (
    TIME_LIMIT,
    USUAL,
    Confinement,
    check_time_limit,
)
from failgym.leaderboard.policy_process.remote_policy import RemotePolicy
from failgym.leaderboard.policy_process.wire_format import told
from failgym.leaderboard.submission.records import Kind
from failgym.leaderboard.submission.tables import CRASHED
from failgym.leaderboard.suite.episodes import MOST_REASON, Answers, Bools, Failure, Ints
from failgym.policy import Policy
from failgym.sim.shared.records import Output
from failgym.worlds.scenario import Scenario

__all__ = ["OwnPolicy", "Players"]


class OwnPolicy:
    """A baseline, which is failgym's own code and is asked in this process.

    It is fed the same arrays as any other policy, and it has no memory: a process of its own would
    make it no safer.
    """

    def __init__(self, load: Callable[[str], Policy], spec: str) -> None:
        self._policy: Any = load(spec)
        self._spec = spec
        self._caller: Caller | None = None

    def begin(self, lanes: int) -> None:
        """Be ready for episodes in so many lanes."""
        self._caller = Caller(self._policy, lanes, True, self._spec)

    def act(self, out: Output, live: Bools, fresh: Bools, at: Ints) -> Ints:
        """Ask for the actions of the open decisions. Raises Failure."""
        assert self._caller is not None
        self._caller.begin(np.asarray(fresh & live))
        try:
            return self._caller.act(out, live)
        except ValueError as error:
            raise Failure(CRASHED, " ".join(str(error).split())[:MOST_REASON]) from error


KEPT = 3
"""Processes of agents that are kept at once. One with torch takes .45 GB, and 3 s to start."""


@dataclass
class Players:
    """Makes whoever answers for a policy, and keeps the processes of a few agents.

    `verify` asks the agents of an environment in turns, trace by trace. Where there are more than
    `KEPT`, the last of those that are kept makes room: each of the others comes back before it
    does. Those of another environment do not, and are ended.

    Code gets a process of its own for every cell: the slices of an environment are played with each
    kind of forecast, and whoever remembers the first time knows the future the second time. It is
    alone meanwhile, as is any policy that a host's command starts: processes of one user could end
    each other.

    Args:
        load: makes a baseline of its SPEC; a function of a module.
        command: starts the process of any other.
        time_limit: for all answers of a policy in a cell [s].
        confinement: limits of the process, and what it must not read.

    Raises:
        ValueError: for a time limit that is none.
    """

    load: Callable[[str], Policy]
    command: Sequence[str]
    time_limit: float = TIME_LIMIT
    confinement: Confinement = USUAL
    _agents: dict[str, RemotePolicy] = field(default_factory=dict[str, RemotePolicy], init=False)
    """by SPEC, in the order in which they were begun"""
    _place: str | None = field(default=None, init=False)
    """the environment in which they play"""
    _alone: RemotePolicy | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        check_time_limit(self.time_limit)

    def player(self, kind: Kind, spec: str, scenario: Scenario | None = None) -> Answers:
        """Who answers for a policy.

        Args:
            kind: of the policy.
            spec: the policy.
            scenario: where it plays. A trained agent is told the environment, and what is charged
                there; code is told nothing.
        """
        if kind == "baseline":
            return OwnPolicy(self.load, spec)
        remote = self._remote(spec)
        if kind == "agent" and not self.confinement.hosted:
            remote = self._agent(remote, None if scenario is None else scenario.name)
        elif self._alone is None or self._alone.spec != remote.spec or kind == "code":
            self.close()
            self._alone = remote
        else:
            remote = self._alone
        remote.told = told(scenario) if kind == "agent" and scenario is not None else b""
        return remote

    def _agent(self, remote: RemotePolicy, place: str | None) -> RemotePolicy:
        """The agent that is kept for an environment, or this one from now on."""
        if self._alone is not None or place != self._place:
            self.close()
        self._place = place
        known = self._agents.get(remote.spec)
        if known is not None:
            return known
        if len(self._agents) == KEPT:
            self._agents.popitem()[1].close()
        self._agents[remote.spec] = remote
        return remote

    def made_for(self, spec: str) -> list[bool]:
        """For which of `failgym.ENVIRONMENTS` a policy says that it was made. Raises Failure."""
        with closing(self._remote(spec)) as remote:
            return remote.made_for()

    def readable(self, paths: Sequence[Path]) -> list[Path]:
        """Which files and folders a process that the command starts can read. Raises ValueError."""
        try:
            with closing(self._remote("")) as remote:
                return remote.readable(paths)
        except Failure as failure:
            raise ValueError(f"--policy-command: {failure}") from failure

    def _remote(self, spec: str) -> RemotePolicy:
        """Asks a policy; no process is started yet."""
        if self.confinement.hosted and Path(spec).is_file():
            spec = str(Path(spec).absolute())  # it begins in another folder
        return RemotePolicy(self.command, spec, self.time_limit, self.confinement)

    def close(self) -> None:
        """End all processes. Raises ValueError if that cannot be done."""
        with ExitStack() as stack:  # one that cannot be ended keeps no other alive
            for remote in filter(None, (self._alone, *self._agents.values())):
                stack.callback(remote.close)
            self._alone = None
            self._agents.clear()
