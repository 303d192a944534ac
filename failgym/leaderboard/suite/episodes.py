"""Play a batch of slices, whoever answers, and keep every action.

A cell is always played in the same batches of lanes, whatever was played before and on however many
processes: what a policy answers may depend, in the last bits, on how many it is asked at once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from failgym.evaluation.ledger import Ledger
from failgym.evaluation.savings import Replayed
from failgym.leaderboard.suite.account import account_of
from failgym.leaderboard.suite.cost_blocks import BLOCKS, CostBlocks
from failgym.sim.shared.batch import EpisodeBatch
from failgym.sim.shared.records import Output
from failgym.worlds.batches import lanes_that_fit, make_batch
from failgym.worlds.scenario import Scenario
from failgym.worlds.world import World

__all__ = ["MOST_REASON", "Answers", "Bools", "Failure", "Ints", "Played", "play"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

STATE_BYTES = 1 << 29
"""Memory that the state of all lanes may take [bytes]; of larger episodes fewer are played at
once."""


MOST_REASON = 300
"""Longest reason why a policy failed [bytes]."""


class Failure(Exception):
    """A policy failed; what it has done in the cell does not count."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Answers(Protocol):
    """Whoever answers: a policy, in this process or another, or a record of actions."""

    def begin(self, lanes: int) -> None:
        """Be ready for episodes in so many lanes. Raises Failure."""
        ...

    def act(self, out: Output, live: Bools, fresh: Bools, at: Ints) -> Ints:
        """Answer the open decisions.

        Args:
            out: of the batch, an entry per lane.
            live: [lanes] has the lane an open decision?
            fresh: [lanes] has it begun an episode since it was last asked?
            at: [lanes] position of its slice in the list of slices.

        Returns:
            An action per lane, int64 [lanes]; those of lanes that are not live mean nothing.

        Raises:
            Failure: if there is no answer to be had.
        """
        ...


@dataclass(frozen=True)
class Played:
    """Costs and counts of each slice, or of all together; actions, and where the time went."""

    costs: Floats
    """[slices or 1, 5] by term"""
    blocks: Floats
    """[slices or 1, blocks] sum of the terms, by what is resampled"""
    account: Floats
    """[slices or 1, `ACCOUNT`] (`failgym.leaderboard.suite.account`)"""
    decisions: Ints
    """[slices or 1]"""
    illegal: Ints
    """[slices or 1]"""
    actions: npt.NDArray[np.uint8]
    """the actions of all slices, slice after slice, in the order of decisions"""
    offset: Ints
    """[slices + 1] where those of a slice begin"""
    engine_seconds: float
    """processor time of the engine: other work on the machine does not count [s]"""
    policy_seconds: float
    """wall time that was waited for answers [s]"""
    seconds: float
    """wall time of all [s]"""

    def together(self, weights: Floats) -> Played:
        """All slices in one row, where each costs as many as it stands for [slices]."""
        return replace(
            self,
            costs=weights[None] @ self.costs,
            blocks=weights[None] @ self.blocks,
            account=weights[None] @ self.account,
            decisions=self.decisions.sum(keepdims=True),
            illegal=self.illegal.sum(keepdims=True),
        )


def play(
    world: World,
    scenario: Scenario,
    slices: Ints,
    answers: Answers,
    replayed: Replayed,
    blocks: int = BLOCKS,
) -> Played:
    """Play slices, each once.

    Args:
        world: the world of the scenario.
        scenario: its rules.
        slices: which ones.
        answers: whoever answers.
        replayed: replay on the same slices.
        blocks: what costs are shared out among, at most (`failgym.leaderboard.suite.cost_blocks`).

    Raises:
        Failure: if the policy fails.
    """
    lanes = lanes_that_fit(world, scenario, len(slices), scenario.order)
    answers.begin(lanes)
    begun, worked = time.perf_counter(), time.process_time()
    game = _Game(world, make_batch(world, scenario, lanes, scenario.order), slices)
    game.serve(answers)
    seconds, spent = time.perf_counter() - begun, time.process_time() - worked
    run, (actions, offset) = game.ledger.run("", seconds), game.actions()
    return Played(
        costs=run.costs,
        blocks=CostBlocks.of(scenario, world, run, blocks).costs(run),
        account=account_of(world, replayed, run),
        decisions=run.decisions_in,
        illegal=run.illegal_in,
        actions=actions,
        offset=offset,
        engine_seconds=max(spent - game.worked, 0.0),
        policy_seconds=game.waited,
        seconds=seconds,
    )


class _Game:
    """Lanes, what is played in each, and what has been written down."""

    def __init__(self, world: World, batch: EpisodeBatch, slices: Ints) -> None:
        self.batch, self.slices = batch, slices
        self.ledger = Ledger(world, batch, slices)
        lanes = len(batch)
        self.at = np.full(lanes, -1, dtype=np.int64)  # position in the list of slices, -1: idle
        self.fresh = np.zeros(lanes, dtype=np.bool_)
        self.begun = 0
        self.waited = self.worked = 0.0  # for answers [s]: wall time, and processor time of ours
        self.asked: list[Ints] = []
        self.answered: list[npt.NDArray[np.uint8]] = []

    def serve(self, answers: Answers) -> None:
        """Play all slices."""
        nothing = np.zeros(len(self.at), dtype=np.int64)
        while self._fill():
            live = (self.at >= 0) & ~self.batch.state.episodes["done"]
            actions = nothing
            if live.any():
                actions = self._ask(answers, live)
                self.fresh[live] = False
                self.asked.append(self.at[live])
                self.answered.append(actions[live].astype(np.uint8))
            # What episodes cost in which nothing is asked is charged by the first step.
            self.batch.step(actions)
            ended = np.flatnonzero((self.at >= 0) & self.batch.state.episodes["done"])
            self.ledger.enter(self.batch, ended, self.at[ended])
            self.at[ended] = -1

    def _ask(self, answers: Answers, live: Bools) -> Ints:
        """Ask for answers; the time that this takes is not the engine's."""
        begun, worked = time.perf_counter(), time.process_time()
        actions = answers.act(self.batch.output, live, self.fresh, self.at)
        self.waited += time.perf_counter() - begun
        self.worked += time.process_time() - worked
        return actions

    def _fill(self) -> bool:
        """Begin the next slices in idle lanes; is anything left to play?"""
        idle = np.flatnonzero(self.at < 0)[: len(self.slices) - self.begun]
        if len(idle):
            self.at[idle] = np.arange(self.begun, self.begun + len(idle))
            self.begun += len(idle)
            wanted = np.full(len(self.at), -2, dtype=np.int64)
            wanted[idle] = self.slices[self.at[idle]]
            self.batch.reset(wanted)
            self.fresh[idle] = True
        return bool((self.at >= 0).any())

    def actions(self) -> tuple[npt.NDArray[np.uint8], Ints]:
        """All actions, slice after slice, and where those of each begin [slices + 1]."""
        of = np.concatenate([np.zeros(0, dtype=np.int64), *self.asked])
        actions = np.concatenate([np.zeros(0, dtype=np.uint8), *self.answered])
        counts = np.bincount(of, minlength=len(self.slices))
        offset = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return actions[np.argsort(of, kind="stable")], offset
