"""`ScheduledBatch`: many episodes of a scheduled world, stepped together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.batch import EpisodeBatch
from failgym.sim.records import Output
from failgym.sim.scheduled import engine
from failgym.sim.scheduled.outcomes import outcome_table
from failgym.sim.scheduled.records import World
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.scheduled.state import grown, make_state
from failgym.sim.scheduled.units import unit_table

__all__ = ["ScheduledBatch"]


class ScheduledBatch(EpisodeBatch):
    """N episodes of one scheduled world.

    Attempts, events and the log take as much room as there are at once: where one of them has
    become too small it is doubled, for all episodes, and the engine goes on where it stopped.

    Args:
        world: a compiled world with at least one slice.
        rules: the rules that it was compiled for.
        episodes: N.
        threads: threads per step; 0 for as many as there are processors, at most 8.
        log: keep an event log, and one of the queries about machines? It grows until it is
            emptied (``state.episodes["logged"] = 0``).
    """

    def __init__(
        self,
        world: World,
        rules: ScheduledRules,
        episodes: int,
        threads: int = 1,
        *,
        log: bool = False,
    ) -> None:
        state = make_state(world, episodes, log)
        by_job = bool(world.parameters["by_job"][0])
        units = (state.jobs if by_job else state.tasks).shape[1]
        super().__init__(world, state, len(world.member_at) - 1, threads, units)
        self.rules = rules

    def _begin(self, chosen: npt.NDArray[np.int64], out: Output) -> None:
        self._enter_with_room(engine.RESET, chosen, False, out)

    def _answer(self, actions: npt.NDArray[np.int64], again: bool, out: Output) -> None:
        self._enter_with_room(engine.STEP, actions, again, out)

    def _enter_with_room(
        self, what: int, given: npt.NDArray[np.int64], again: bool, out: Output
    ) -> None:
        """Enter the engine, again and again with more room where there is too little."""
        while self._enter(engine.run, what, given, again, out):
            self.state, what = grown(self.state), engine.RESUME

    def own_states(self, episode: int) -> npt.NDArray[Any]:
        """States of the tasks that an episode asks about."""
        states = super().own_states(episode)
        return states[states["own"]]

    def drained_log(self, episode: int) -> npt.NDArray[Any]:
        """The event log of an episode since it was drained last, that of queries emptied too."""
        self.state.episodes["queries"][episode] = 0
        return super().drained_log(episode)

    def outcomes(self, episode: int) -> dict[str, npt.NDArray[Any]]:
        """Outcome table of an episode: the fields of `ScheduledOutcome`, an array each."""
        tasks = int(self.state.episodes["tasks"][episode])
        return outcome_table(self.world, self.state.tasks[episode, :tasks])

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
