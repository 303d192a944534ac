"""`ScheduledWorld`: a compiled scheduled world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.batch import ScheduledBatch
from failgym.sim.scheduled.bounds import least_costs
from failgym.sim.scheduled.outcomes import outcome_table
from failgym.sim.scheduled.records import World as Tables
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.shared.batch import EpisodeBatch
from failgym.sim.shared.records import Records
from failgym.sim.shared.rules import Order, Rules
from failgym.vocabulary import NEVER, Decision, Ending
from failgym.worlds.inputs import inputs_of
from failgym.worlds.world import Ahead, Bound, Down, LeastCosts, OpenAttempt, Scene

__all__ = ["ScheduledWorld"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ScheduledWorld:
    """A scheduled world (`failgym.worlds.world.World`)."""

    tables: Tables

    def __deepcopy__(self, memo: dict[int, Any]) -> ScheduledWorld:
        """Itself: it never changes."""
        return self

    @property
    def tasks(self) -> Records:
        """TASK [tasks of the trace]."""
        return self.tables.tasks

    @property
    def slices(self) -> int:
        """How many slices there are."""
        return len(self.tables.member_at) - 1

    @property
    def own_sizes(self) -> Ints:
        """Tasks of each slice that are asked about and charged, [slices]."""
        counted = np.concatenate([[0], np.cumsum(self.tables.member_own)])
        return np.diff(counted[self.tables.member_at]).astype(np.int64)

    @property
    def own_tasks(self) -> Ints:
        """Trace rows of the tasks that slices ask about, slice after slice."""
        return self.tables.members[self.tables.member_own]

    @property
    def work_price(self) -> float:
        """Cost of one machine-ms of wasted work."""
        return float(self.tables.parameters[0]["wasted"])

    @property
    def inputs(self) -> frozenset[str]:
        """What it gives policies to go by."""
        tables = self.tables
        there = {
            "node_forecast": len(tables.node_time),
            "outages": len(tables.outages),
            "outputs": len(tables.dags.parent),
        }
        return inputs_of(tables) | {name for name, count in there.items() if count}

    def batch(
        self,
        rules: Rules,
        episodes: int,
        order: Order = "time",
        threads: int = 1,
        *,
        log: bool = False,
    ) -> ScheduledBatch:
        """N episodes, as `World.batch` says; decisions come by time, whatever the order."""
        if not isinstance(rules, ScheduledRules):
            raise TypeError("rules: expected ScheduledRules for a scheduled world")
        return ScheduledBatch(self.tables, rules, episodes, threads, log=log)

    def outcomes(self, states: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        """The fields of `failgym.sim.scheduled.outcomes.ScheduledOutcome`, an array each."""
        return outcome_table(self.tables, states)

    def task_costs(self, outcomes: dict[str, npt.NDArray[Any]]) -> None:
        """None: tasks share machines, and the bound is one of slices."""

    def least_costs(self, rules: Rules, slices: Ints, bound: Bound | None = None) -> LeastCosts:
        """What `failgym.sim.scheduled.bounds` proves."""
        if bound is not None:
            raise ValueError("bound: expected none for a scheduled world")
        return LeastCosts(least_costs(self.tables)[slices], 0)

    def scene(self, order: Order) -> Scene:
        """Machines are shown, by a clock that all share."""
        p = self.tables.parameters[0]
        transfers = bool(p["transfers"] and p["stages"])
        return Scene(False, len(self.tables.machines), int(p["restore_cost"]), transfers)

    def down(self, states: npt.NDArray[Any]) -> Sequence[Down]:
        """Machines that are down when the first task of an episode arrives."""
        arrive = self.tasks["submit"][states["task"]][states["remaining"] < 0]
        beginning = int(arrive.min()) if len(arrive) else 0
        outages = self.tables.outages
        now = outages[(outages["down"] < beginning) & (outages["up"] > beginning)]
        return [Down(machine, since) for since, _, machine in now.tolist()]

    def open_attempt(self, batch: EpisodeBatch, episode: int) -> OpenAttempt:
        """What the open decision of an episode is about."""
        ep = batch.state.episodes[episode]
        run = batch.array("runs", episode)[int(ep["run"])]
        machine = int(ep["offered"]) if ep["decision"] == Decision.DISPATCH else -1
        return OpenAttempt(int(run["number"]), int(run["length"]), machine)

    def ahead(self, batch: EpisodeBatch, episode: int) -> Ahead:
        """What lies ahead of the attempt of the open decision of an episode, left alone."""
        ep = batch.state.episodes[episode]
        now = int(ep["now"])
        if ep["decision"] == Decision.DISPATCH:
            offered = int(ep["offered"])
            ends = int(batch.state.finish[episode, offered])
            return Ahead(ends, True, self._struck(offered, now), 0)
        run = batch.array("runs", episode)[int(ep["run"])]
        gained = now - int(run["restored"]) - int(run["paused"]) - int(run["checkpoint_work"])
        return Ahead(
            ends=min(int(run["own"]), int(run["wall"])),
            finishes=self._finishes(batch.array("tasks", episode)[int(ep["local"])], run),
            struck=self._struck(int(run["machine"]), now),
            unsaved=max(gained, 0),
        )

    def _finishes(self, task: Any, run: Any) -> bool:
        """Does a run finish by itself, if it is left alone?"""
        if run["wall"] < run["own"]:
            return False
        if run["recomputes"] or task["remaining"] >= 0:
            return True
        ending = int(self.tables.rows["ending"][run["row"]])
        by_itself = ending in (Ending.FINISH, Ending.INTRINSIC)
        if self.tables.parameters[0]["continued"] and (run["ghost"] or by_itself):
            ending = int(run["inner"])
        if ending in (Ending.EXTERNAL, Ending.USER):
            return bool(run["fin"] < run["ext"])
        return ending == Ending.FINISH

    def _struck(self, machine: int, now: int) -> int:
        """When a machine goes down next [ms]; NEVER, also of no machine."""
        if machine < 0:
            return NEVER
        here = self.tables.machines[machine]
        first, count = int(here["outage_at"]), int(here["outages"])
        down = self.tables.outages["down"][first : first + count]
        at = int(np.searchsorted(down, now, side="right"))
        return int(down[at]) if at < count else NEVER
