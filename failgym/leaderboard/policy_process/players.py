"""Who answers for a policy: the policy itself in this process, or a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
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


@dataclass
class Players:
    """Makes whoever answers for a policy, and keeps the process of the last agent.

    Code gets a process of its own for every cell: the slices of an environment are played with each
    kind of forecast, and whoever remembers the first time knows the future the second time.

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
    _last: RemotePolicy | None = field(default=None, init=False)

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
        if self._last is None or self._last.spec != remote.spec or kind == "code":
            self.close()
            self._last = remote
        self._last.told = told(scenario) if kind == "agent" and scenario is not None else b""
        return self._last

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
        """End the process of the last policy."""
        if self._last is not None:
            self._last.close()
            self._last = None
