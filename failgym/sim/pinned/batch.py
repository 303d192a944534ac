"""`Batch`: many episodes of a world, stepped together into preallocated arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.memory import check_room
from failgym.sim.pinned import engine
from failgym.sim.pinned.branch import branch
from failgym.sim.pinned.compile import with_slices
from failgym.sim.pinned.outcomes import outcome_table
from failgym.sim.pinned.records import World
from failgym.sim.pinned.state import make_state
from failgym.sim.shared.batch import SMALLEST_CHUNK, EpisodeBatch, stacked
from failgym.sim.shared.records import Output
from failgym.sim.shared.rules import Order, Rules
from failgym.sim.shared.way_in import way_in
from failgym.vocabulary import ACTIONS, TERMS

__all__ = ["Batch", "asked_tasks"]


class Batch(EpisodeBatch):
    """N episodes of one pinned world.

    Args:
        world: a compiled world with at least one slice.
        rules: the rules that it was compiled for.
        episodes: N.
        order: serve the decisions of a slice task by task, or merged by time.
        threads: threads per step; 0 for as many as there are processors, at most 8.
        log: keep an event log, of as many events as may lie between two decisions?
    """

    def __init__(
        self,
        world: World,
        rules: Rules,
        episodes: int,
        order: Order = "task",
        threads: int = 1,
        *,
        log: bool = False,
    ) -> None:
        self.order: Order = order
        state = make_state(world, rules, episodes, order, log)
        super().__init__(world, state, len(world.slices) - 1, threads)
        self.rules = rules

    def _begin(self, chosen: npt.NDArray[np.int64], out: Output) -> None:
        self._enter(engine.run, engine.RESET, chosen, False, out)

    def _answer(self, actions: npt.NDArray[np.int64], again: bool, out: Output) -> None:
        self._enter(engine.run, engine.STEP, actions, again, out)

    def branched(self, wanted: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.float64]:
        """As `EpisodeBatch.branched` says, in compiled code and without observations."""
        answers = self._answers(wanted)
        found = np.full((len(self), ACTIONS, len(TERMS)), np.nan)
        spans, silent = self._spans(), _undecided(self.world)
        room = make_state(self.world, self.rules, len(spans), self.order)
        code = way_in(branch, self.world, silent, self.state, room, answers, found, 0, 0, 0)

        def work(place: int, begin: int, end: int) -> int:
            return code(self.world, silent, self.state, room, answers, found, begin, end, place)

        self._in_threads(work, spans)
        return found

    def joined(self, more: Sequence[Batch]) -> Batch:
        """Copies of its episodes and then those of others of the same world, as one batch.

        Raises:
            MemoryError: in one line, if there is no room for them.
        """
        parts = [self, *more]
        episodes = sum(map(len, parts))
        check_room(self.bytes_each * episodes, f"copies of {episodes} episodes")
        twin: Any = object.__new__(type(self))
        twin.__dict__.update(self.__getstate__())
        twin.state = stacked([part.state for part in parts])
        twin.outputs = tuple(stacked([part.output for part in parts]) for _ in range(2))
        twin.turn = 0
        return twin

    def states_of(self, episodes: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """As `EpisodeBatch.states_of` says, at once: where slices are single tasks that counts."""
        sizes = self.state.episodes["tasks"][episodes]
        most = int(sizes.max(initial=0))
        return self.state.tasks[episodes, :most][np.arange(most) < sizes[:, np.newaxis]]

    def outcomes(self, episode: int) -> dict[str, npt.NDArray[Any]]:
        """Outcome table of an episode: the fields of `TaskOutcome`, an array each."""
        return outcome_table(self.world, self.states(episode))


def _undecided(world: World) -> World:
    """The same world, where no action but CONTINUE is ever legal."""
    parameters = world.parameters.copy()
    for name in ("clone", "checkpoint", "kill", "give_up", "retry"):
        parameters[name] = False
    return world._replace(parameters=parameters)


def asked_tasks(world: World, rules: Rules, tasks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Of the given tasks, those of known fate that are asked at least once under CONTINUE."""
    known = tasks[~world.tasks["censored"][tasks] & (world.tasks["rows"][tasks] > 0)]
    if not len(known):
        return known
    singles = with_slices(world, known, 1)
    batch = Batch(singles, rules, min(len(known), SMALLEST_CHUNK))
    asked = np.zeros(len(known), dtype=np.bool_)
    for first in range(0, len(known), len(batch)):
        last = min(first + len(batch), len(known))
        slices = np.full(len(batch), -2, dtype=np.int64)
        slices[: last - first] = np.arange(first, last)
        batch.reset(slices)
        asked[first:last] = ~batch.state.episodes["done"][: last - first]
    return singles.order[asked]
