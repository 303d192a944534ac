"""`PinnedWorld`: a compiled pinned world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.pinned.batch import Batch
from failgym.sim.pinned.clairvoyant import Bound as Plans
from failgym.sim.pinned.clairvoyant import clairvoyant
from failgym.sim.pinned.outcomes import outcome_table
from failgym.sim.pinned.part import part_of
from failgym.sim.pinned.records import World as Tables
from failgym.sim.shared.batch import EpisodeBatch
from failgym.sim.shared.records import Records
from failgym.sim.shared.rules import Order, Rules
from failgym.vocabulary import LOG, NEVER, Ending
from failgym.worlds.inputs import inputs_of
from failgym.worlds.pinned.costs import task_costs
from failgym.worlds.world import Ahead, Bound, Down, LeastCosts, OpenAttempt, Scene

__all__ = ["PinnedWorld"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_EVENTS_OF_A_RUN, _EVENTS_OF_A_TASK = 5, 4
"""Entries of the log that one attempt, or one task beside its attempts, can make between two
decisions."""
_NO_CHOICE: dict[int, int] = {}
"""The plan that leaves a task alone."""


@dataclass(frozen=True, eq=False)
class PinnedWorld:
    """A pinned world (`failgym.worlds.world.World`)."""

    tables: Tables
    trace_rows: Ints | None = None
    """[tasks] of a part of a world: rows of its tasks in the trace, ascending; None: of all in
    order"""

    def only(self, slices: Ints) -> PinnedWorld:
        """The world of some of its slices, numbered anew in this order, and no larger than needed.

        The same happens in them, to the last bit, and outcomes name the same rows of the trace.

        Args:
            slices: which ones, each once.
        """
        tables, kept = part_of(self.tables, slices)
        return PinnedWorld(tables, kept if self.trace_rows is None else self.trace_rows[kept])

    def __deepcopy__(self, memo: dict[int, Any]) -> PinnedWorld:
        """Itself: it never changes."""
        return self

    @property
    def tasks(self) -> Records:
        """TASK [tasks of the trace]; of a part of a world those of its slices."""
        return self.tables.tasks

    @property
    def slices(self) -> int:
        """How many slices there are."""
        return len(self.tables.slices) - 1

    @property
    def own_sizes(self) -> Ints:
        """Tasks of each slice, [slices]."""
        return np.diff(self.tables.slices)

    @property
    def own_tasks(self) -> Ints:
        """Trace rows of the tasks of slices, slice after slice."""
        order = self.tables.order
        return order if self.trace_rows is None else self.trace_rows[order]

    @property
    def work_price(self) -> float:
        """Cost of one machine-ms of wasted work."""
        return float(self.tables.parameters[0]["wasted"])

    @property
    def inputs(self) -> frozenset[str]:
        """What it gives policies to go by."""
        return inputs_of(self.tables)

    def batch(
        self,
        rules: Rules,
        episodes: int,
        order: Order = "task",
        threads: int = 1,
        *,
        log: bool = False,
    ) -> Batch:
        """N episodes, as `World.batch` says."""
        batch = Batch(self.tables, rules, episodes, order, threads)
        if log:
            room = np.zeros((episodes, self._most_events(rules)), dtype=LOG)
            batch.state = batch.state._replace(log=room)
        return batch

    def _most_events(self, rules: Rules) -> int:
        """Entries of the log of a whole slice, at most, and one more."""
        runs = self.tasks["rows"][self.tables.order].astype(np.int64)
        runs += rules.most_unrecorded
        events = np.concatenate([[0], np.cumsum(_EVENTS_OF_A_RUN * runs + _EVENTS_OF_A_TASK)])
        return int(np.diff(events[self.tables.slices]).max(initial=0)) + 1

    def outcomes(self, states: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        """The fields of `failgym.sim.pinned.outcomes.TaskOutcome`, an array each."""
        found = outcome_table(self.tables, states)
        if self.trace_rows is not None:
            found["task"] = self.trace_rows[found["task"]].astype(found["task"].dtype)
        return found

    def task_costs(self, outcomes: dict[str, npt.NDArray[Any]]) -> Floats:
        """What each task has cost, by term; those of a slice add up to its cost."""
        task = outcomes["task"]
        if self.trace_rows is not None:
            task = np.searchsorted(self.trace_rows, task)
        return task_costs(self.tables, outcomes, task)

    def least_costs(self, rules: Rules, slices: Ints, bound: Bound | None = None) -> LeastCosts:
        """What the clairvoyant pays, or a bound of tasks says."""
        first, sizes = self.tables.slices[slices], self.own_sizes[slices]
        begin = np.cumsum(sizes) - sizes
        tasks = self.tables.order[np.arange(sizes.sum()) + np.repeat(first - begin, sizes)]
        if bound is not None:
            least, plans, proven, lowest = bound(self.tables, rules, tasks), None, None, None
        else:
            found = clairvoyant(self.tables, rules, tasks)
            least, proven, lowest = found.costs, found.exact.astype(np.bool_), found.lowest
            plans = _plans(found)
        unproven = 0 if proven is None else int((~proven).sum())
        of_slices = np.add.reduceat(least, begin, axis=0)
        return LeastCosts(of_slices, unproven, least, plans, proven, lowest)

    def scene(self, order: Order) -> Scene:
        """There are no machines; tasks are served one after the other, or merged by time."""
        restore_cost = int(self.tables.parameters["restore_cost"][0])
        return Scene(order == "task", 0, restore_cost, transfers=False)

    def down(self, states: npt.NDArray[Any]) -> Sequence[Down]:
        """None: there are no machines."""
        return ()

    def open_attempt(self, batch: EpisodeBatch, episode: int) -> OpenAttempt:
        """What the open decision of an episode is about."""
        run = batch.array("runs", episode)[int(batch.state.episodes["run"][episode])]
        length = int(self.tables.rows["length"][run["row"]])
        return OpenAttempt(int(run["number"]), length, -1)

    def ahead(self, batch: EpisodeBatch, episode: int) -> Ahead:
        """What lies ahead of the attempt of the open decision of an episode, left alone."""
        ep = batch.state.episodes[episode]
        run = batch.array("runs", episode)[int(ep["run"])]
        fin, ext, now = int(run["fin"]), int(run["ext"]), int(ep["now"])
        inner = int(run["inner"])
        by_itself = fin < ext or (fin == ext and inner == Ending.INTRINSIC)
        gained = now - int(run["restored"]) - int(run["paused"]) - int(run["checkpoint_work"])
        return Ahead(
            ends=min(fin, ext),
            finishes=by_itself and inner == Ending.FINISH,
            struck=NEVER,
            unsaved=max(gained, 0),
        )


def _plans(found: Plans) -> list[dict[int, int]]:
    """Actions of each plan by the number of the decision, but for CONTINUE."""
    plans = [_NO_CHOICE] * len(found.choices)
    for i in np.flatnonzero(found.choices).tolist():
        choices = found.plans[i, : found.choices[i]]
        plans[i] = dict(zip(choices["at"].tolist(), choices["action"].tolist(), strict=True))
    return plans
