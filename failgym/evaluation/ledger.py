"""What a policy did on slices of a world, and the ledger that it is written down in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.ranges import joined_ranges
from failgym.sim.shared.batch import EpisodeBatch
from failgym.vocabulary import TERMS
from failgym.worlds.world import World

__all__ = ["Ledger", "Run"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_BEYOND = "ghosts"
"""What the state of a task counts its attempts beyond the record by."""


@dataclass(frozen=True)
class Run:
    """What a policy did on some slices of a world."""

    policy: str
    slices: Ints
    """[slices] the slices, in the order of the rows below"""
    costs: npt.NDArray[np.float64]
    """[slices, 5] cost by term"""
    outcomes: dict[str, npt.NDArray[Any]]
    """an array per field of `TaskOutcome`, with a row per task, slice after slice"""
    forfeits: Ints
    """[slices] tasks that forfeited something: what the record finishes and the policy did not, or,
    with ``task_value``, what has a value and did not finish"""
    spent_on_others: npt.NDArray[np.float64]
    """[slices, 2] what tasks that are not asked about have taken, where they are charged for: their
    machine-time, at the price of wasted work, and their completion time; in units of cost"""
    work_of_others: Ints
    """[slices, 2] what they have wasted, and the time of their checkpoints and restores, likewise
    [machine-ms]"""
    time_of_others: Ints
    """[slices] their completion time, likewise [ms]"""
    drawn: Bools | None
    """[tasks] did an attempt beyond the record start, or queue? None if the world does not tell"""
    drawn_in: Bools | None
    """[slices] one of any task that the episode holds, of those not asked about too?"""
    decisions_in: Ints
    """[slices] how often it was asked; all offers of machines to an attempt in a pass are one"""
    illegal_in: Ints
    """[slices] actions that the mask forbade; each counted as CONTINUE"""
    seconds: float
    """wall-clock time of the run [s]"""
    overruled: bool = False
    """was CONTINUE answered for it, since it was asked more often than it had patience for?"""

    @property
    def forfeited(self) -> int:
        """Tasks of all slices that forfeited something."""
        return int(self.forfeits.sum())

    @property
    def decisions(self) -> int:
        """Decisions of all slices."""
        return int(self.decisions_in.sum())

    @property
    def illegal(self) -> int:
        """Illegal actions of all slices."""
        return int(self.illegal_in.sum())

    @property
    def decisions_per_second(self) -> float:
        """Speed [1/s]."""
        return self.decisions / max(self.seconds, 1e-9)

    @property
    def tasks_per_second(self) -> float:
        """Speed [1/s]."""
        return len(self.outcomes["task"]) / max(self.seconds, 1e-9)


class Ledger:
    """What ended episodes leave behind, by position in the list of slices."""

    def __init__(self, world: World, batch: EpisodeBatch, slices: Ints) -> None:
        sizes = world.own_sizes[slices]
        self.world, self.slices = world, slices
        self.first = np.concatenate([[0], np.cumsum(sizes)])
        self.costs = np.zeros((len(slices), len(TERMS)))
        self.states: npt.NDArray[Any] = np.zeros(int(self.first[-1]), batch.array("tasks", 0).dtype)
        self.spent_on_others = np.zeros((len(slices), 2))
        self.work_of_others = np.zeros((len(slices), 2), dtype=np.int64)
        self.time_of_others = np.zeros(len(slices), dtype=np.int64)
        self.tells_drawn = _BEYOND in (self.states.dtype.names or ())
        self.drawn_in = np.zeros(len(slices), dtype=np.bool_)
        self.forfeits = np.zeros(len(slices), dtype=np.int64)
        self.decisions = np.zeros(len(slices), dtype=np.int64)
        self.illegal = np.zeros(len(slices), dtype=np.int64)

    def enter(self, batch: EpisodeBatch, lanes: Ints, positions: Ints) -> None:
        """Write down the episodes of lanes that ended on the slices at these positions, if any."""
        if not len(lanes):
            return
        episodes = batch.state.episodes[lanes]
        self.costs[positions] = episodes["cost"]
        self.forfeits[positions] = episodes["forfeited"]
        self.decisions[positions] = episodes["decisions"]
        self.illegal[positions] = episodes["illegal"]
        first, sizes = self.first[positions], self.first[positions + 1] - self.first[positions]
        states = batch.states_of(lanes)
        self.states[joined_ranges(first, sizes)] = states
        if batch.holds_others:
            self._enter_others(batch, lanes, positions)
        elif self.tells_drawn:
            self.drawn_in[np.repeat(positions, sizes)[states[_BEYOND] > 0]] = True

    def _enter_others(self, batch: EpisodeBatch, lanes: Ints, positions: Ints) -> None:
        for lane, position in zip(lanes.tolist(), positions.tolist(), strict=True):
            self.spent_on_others[position] = batch.spent_on_others(lane)
            self.work_of_others[position] = batch.work_of_others(lane)
            self.time_of_others[position] = batch.time_of_others(lane)
            if self.tells_drawn:
                self.drawn_in[position] = (batch.states(lane)[_BEYOND] > 0).any()

    def run(self, policy: str, seconds: float) -> Run:
        """What is written down, once all slices have ended.

        Args:
            policy: who played.
            seconds: how long it took [s].
        """
        return Run(
            policy=policy,
            slices=self.slices,
            costs=self.costs,
            outcomes=self.world.outcomes(self.states),
            forfeits=self.forfeits,
            spent_on_others=self.spent_on_others,
            work_of_others=self.work_of_others,
            time_of_others=self.time_of_others,
            drawn=self.states[_BEYOND] > 0 if self.tells_drawn else None,
            drawn_in=self.drawn_in if self.tells_drawn else None,
            decisions_in=self.decisions,
            illegal_in=self.illegal,
            seconds=seconds,
        )
