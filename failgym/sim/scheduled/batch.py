"""`ScheduledBatch`: many episodes of a scheduled world, stepped together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled import engine
from failgym.sim.scheduled.memory.rooms import Rooms
from failgym.sim.scheduled.memory.snapshots import Snapshots
from failgym.sim.scheduled.memory.state import make_state, needs_of, taken_state
from failgym.sim.scheduled.outcomes import outcome_table
from failgym.sim.scheduled.records import Part, Short, World
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.scheduled.units import unit_table
from failgym.sim.shared.batch import EpisodeBatch
from failgym.sim.shared.outcomes import accounts_of
from failgym.sim.shared.records import Output

__all__ = ["ScheduledBatch"]


class ScheduledBatch(EpisodeBatch):
    """N episodes of one scheduled world.

    An episode takes as much memory as its slice, its attempts at once, its events and its log need.
    Where that has become too little the engine stops, and goes on there with more (`Rooms`).

    Args:
        world: a compiled world with at least one slice.
        rules: the rules that it was compiled for.
        episodes: N.
        threads: threads per step; 0 for as many as there are processors, at most 8.
        log: keep an event log, and one of the queries about machines? It grows until it is
            emptied (``state.episodes["logged"] = 0``).
    """

    holds_others = True

    def __init__(
        self,
        world: World,
        rules: ScheduledRules,
        episodes: int,
        threads: int = 1,
        *,
        log: bool = False,
    ) -> None:
        self.rooms = Rooms(episodes, needs_of(world, log))
        unit = Part.JOBS if world.parameters["by_job"][0] else Part.TASKS
        units = int(self.rooms.needs[:, unit].max(initial=0))
        self.snapshots = Snapshots(self.rooms.bytes_of_slices, 0 if log else episodes)
        self._first: dict[int, int] = {}  # episodes that begin a slice which nobody has begun yet
        state = make_state(world, episodes, self.rooms, self.snapshots)
        super().__init__(world, state, len(world.member_at) - 1, threads, units)
        self.rules = rules

    def _begin(self, chosen: npt.NDArray[np.int64], out: Output) -> None:
        self._enter_with_room(engine.RESET, chosen, False, out)

    def _answer(self, actions: npt.NDArray[np.int64], again: bool, out: Output) -> None:
        self._enter_with_room(engine.STEP, actions, again, out)

    def _enter_with_room(
        self, what: int, given: npt.NDArray[np.int64], again: bool, out: Output
    ) -> None:
        """Enter the engine, again and again with more room where there is too little.

        Raises MemoryError, in one line, if there is no more.
        """
        self._first.clear()
        while self._enter(engine.run, what, given, again, out):
            what, episodes = engine.RESUME, self.state.episodes
            full = np.flatnonzero(episodes["full"])
            begins = episodes["short"][full] == Short.SLICE
            for e in full[~begins].tolist():
                self.rooms.grow(e, Short(episodes["short"][e]))
            self._begin_slices(full[begins])
        self._keep_first_decisions()

    def _begin_slices(self, begun: npt.NDArray[np.int64]) -> None:
        """Arrays for episodes that have chosen a slice; or its first decision, where it is kept."""
        self._keep_first_decisions()
        episodes, fitted = self.state.episodes, list[tuple[int, int]]()
        for e, chosen in zip(begun.tolist(), episodes["slice"][begun].tolist(), strict=True):
            if chosen in self.snapshots:
                self.snapshots.give(self.rooms, self.state, e)
                episodes["full"][e] = engine.BEGUN
            elif chosen not in self._first:  # the others wait for the first one on the slice
                fitted.append((e, chosen))
                episodes["full"][e] = engine.FITTED
                if self.state.shared[chosen]:
                    self._first[chosen] = e
        self.rooms.fit(fitted)

    def _keep_first_decisions(self) -> None:
        """Keep the first decisions of slices that episodes have just come to."""
        for chosen, e in list(self._first.items()):
            if self.state.episodes["full"][e] == 0:
                self.snapshots.take(self.rooms, self.state, e)
                del self._first[chosen]

    @property
    def nbytes(self) -> int:
        """Memory that is taken [bytes]."""
        return super().nbytes + self.rooms.nbytes

    @property
    def bytes_each(self) -> int:
        """Memory that one more episode begins with, on a slice of mean size [bytes]."""
        return super().bytes_each + int(self.rooms.bytes_of_slices.mean())

    def _copied_state(self) -> Any:
        self.rooms = self.rooms.copied()
        return super()._copied_state()._replace(places=self.rooms.places, shared=self.state.shared)

    def _taken_state(self, episodes: npt.NDArray[np.int64]) -> Any:
        self.rooms = self.rooms.taken(episodes.tolist())
        return taken_state(self.state, episodes, self.rooms)

    def array(self, name: str, episode: int) -> npt.NDArray[Any]:
        """An array of an episode, such as "tasks" or "runs", with all the room that there is."""
        return self.rooms.array(Part[name.upper()], episode)

    def states(self, episode: int) -> npt.NDArray[Any]:
        """States of all tasks of an episode."""
        if self.state.episodes["prepared"][episode] < self.state.episodes["tasks"][episode]:
            given = np.full(len(self), -1, dtype=np.int64)
            given[episode] = 0
            self._enter(engine.run, engine.PREPARE, given, False, self.output)
        return super().states(episode)

    def own_states(self, episode: int) -> npt.NDArray[Any]:
        """States of the tasks that an episode asks about."""
        states = self.states(episode)
        return states[states["own"]]

    def spent_on_others(self, episode: int) -> tuple[float, float]:
        """As `EpisodeBatch.spent_on_others` says: there are such with ``charge="episode"``."""
        prices = self.world.parameters[0]
        if not prices["others"]:
            return 0.0, 0.0
        states = self.states(episode)
        work = sum(accounts_of(states[~states["own"]], 0)._replace(in_flight=0))
        time = self.time_of_others(episode)
        return float(prices["wasted"] * work), float(prices["completion"] * time)

    def work_of_others(self, episode: int) -> tuple[int, int]:
        """As `EpisodeBatch.work_of_others` says: there are such with ``charge="episode"``."""
        if not self.world.parameters[0]["others"]:
            return 0, 0
        ep = self.state.episodes[episode]
        return int(ep["others_wasted"]), int(ep["others_overhead"])

    def time_of_others(self, episode: int) -> int:
        """As `EpisodeBatch.time_of_others` says: it passes with ``charge="episode"``."""
        ep = self.state.episodes[episode]
        waits = int(ep["others_waiting"]) * int(ep["now"]) - int(ep["others_waiting_submit"])
        return int(ep["others_completed"]) + waits

    def drained_log(self, episode: int) -> npt.NDArray[Any]:
        """The event log of an episode since it was drained last, that of queries emptied too."""
        self.state.episodes["queries"][episode] = 0
        return super().drained_log(episode)

    def outcomes(self, episode: int) -> dict[str, npt.NDArray[Any]]:
        """Outcome table of an episode: the fields of `ScheduledOutcome`, an array each."""
        return outcome_table(self.world, self.states(episode))

    def unit_costs(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Costs up to now of the units of all episodes, and which of them have settled.

        Units are told apart by their numbers within the episode (`failgym.sim.scheduled.units`).

        Returns:
            float64 and bool, both [N, units of the largest episode]; 0 and True beyond.
        """
        costs = np.zeros_like(self.output.final_unit_costs)
        settled = np.ones(costs.shape, dtype=np.bool_)
        unit_table(self.world, self.state, costs, settled)
        return costs, settled
