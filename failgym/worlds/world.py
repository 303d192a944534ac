"""`World`: what every kind of world offers to those who play in it, score and show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.batch import EpisodeBatch
from failgym.sim.shared.rules import Order, Rules

__all__ = ["Ahead", "Bound", "Down", "LeastCosts", "OpenAttempt", "Scene", "World"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bound = Callable[[Any, Rules, Ints], Floats]
"""(tables, rules, tasks) -> the least possible cost of each task, by term, float64 [tasks, 5]."""


class LeastCosts(NamedTuple):
    """What no policy can pay less than."""

    costs: Floats
    """[slices, 5] by term"""
    unproven: int
    """tasks of which only the least cost found is known: the search was cut short"""
    of_tasks: Floats | None = None
    """[tasks of the slices, 5] by term; None where tasks do not cost apart from each other"""
    plans: Sequence[Mapping[int, int]] | None = None
    """[tasks of the slices] who pays that: the action by the number of the decision within its
    task, counted from 0, but for CONTINUE; None where no plan is known"""
    proven: npt.NDArray[np.bool_] | None = None
    """[tasks of the slices] is it known that nobody can pay less? None where it is not told of
    single tasks"""
    lowest: Floats | None = None
    """[tasks of the slices] what it is known that nobody can pay less than, all terms together: the
    cost of the task where that is proven, else less; None where ``proven`` is"""


class Scene(NamedTuple):
    """What a picture of episodes has to know of their world."""

    one_by_one: bool
    """Are tasks served one after the other, each by a clock of its own?"""
    machines: int
    """of the cluster, 0 where there is none"""
    restore_cost: int
    """time that resuming from a checkpoint takes [ms]"""
    transfers: bool
    """do attempts read the outputs of others before they begin?"""


class OpenAttempt(NamedTuple):
    """What the open decision of an episode is about."""

    number: int
    """of the attempt"""
    length: int
    """undisturbed length of the attempt [ms]"""
    machine: int
    """that is offered, else -1"""


class Ahead(NamedTuple):
    """What lies ahead of the attempt of an open decision, if it is left alone; nobody can know.

    Of one that waits for a machine which is offered: if it starts there now.
    """

    ends: int
    """when it ends by itself, or by something that the record says [ms]; `NEVER`"""
    finishes: bool
    """does it finish then?"""
    struck: int
    """when its machine goes down next [ms]; `NEVER`"""
    unsaved: int
    """its work since its last checkpoint [ms]"""


class Down(NamedTuple):
    """A machine that is down when an episode begins."""

    machine: int
    since: int
    """[ms]"""


class World(Protocol):
    """A compiled world with slices, of which episodes are made. It never changes."""

    @property
    def tables(self) -> Any:
        """What its kernels read: for those who know the kind of world."""
        ...

    @property
    def tasks(self) -> Any:
        """Records of the tasks of the trace, with ``submit``, ``width`` and ``record_end``."""
        ...

    @property
    def slices(self) -> int:
        """How many slices there are."""
        ...

    @property
    def own_sizes(self) -> Ints:
        """Tasks of each slice that are asked about and charged, [slices]."""
        ...

    @property
    def own_tasks(self) -> Ints:
        """Trace rows of the tasks that slices ask about, slice after slice."""
        ...

    @property
    def work_price(self) -> float:
        """Cost of one machine-ms of wasted work."""
        ...

    @property
    def inputs(self) -> frozenset[str]:
        """What it gives policies to go by (`failgym.worlds.inputs.INPUTS`)."""
        ...

    def batch(
        self,
        rules: Rules,
        episodes: int,
        order: Order = "task",
        threads: int = 1,
        *,
        log: bool = False,
    ) -> EpisodeBatch:
        """N episodes.

        Args:
            rules: the rules that the world was compiled for.
            episodes: N.
            order: serve the decisions of a slice task by task, or merged by time.
            threads: threads per step; 0 for as many as there are processors, at most 8.
            log: keep an event log, with room for all that may happen between two decisions?
        """
        ...

    def outcomes(self, states: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        """Outcome table of states of tasks (`EpisodeBatch.own_states`), an array per field."""
        ...

    def task_costs(self, outcomes: dict[str, npt.NDArray[Any]]) -> Floats | None:
        """What each task of a table of outcomes has cost, by term, [tasks, 5].

        None where tasks do not cost apart from each other.
        """
        ...

    def least_costs(self, rules: Rules, slices: Ints, bound: Bound | None = None) -> LeastCosts:
        """The least possible costs of slices.

        Raises:
            ValueError: for a bound of tasks, where tasks are not independent of each other.
        """
        ...

    def scene(self, order: Order) -> Scene:
        """What a picture of episodes has to know."""
        ...

    def down(self, states: npt.NDArray[Any]) -> Sequence[Down]:
        """Machines that are down when an episode with these states of tasks begins."""
        ...

    def open_attempt(self, batch: EpisodeBatch, episode: int) -> OpenAttempt:
        """What the open decision of an episode is about."""
        ...

    def ahead(self, batch: EpisodeBatch, episode: int) -> Ahead:
        """What lies ahead of the attempt of the open decision of an episode, left alone."""
        ...
