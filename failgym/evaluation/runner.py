"""`run_policy`: a policy on many slices of a world, a fixed number of them at a time.

Episodes are served in lanes: a lane whose episode ends is given the next slice, so that the policy
is asked once per step for as many episodes as there are lanes, however unequal the episodes are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from failgym.evaluation.arguments import check_count, check_threads
from failgym.evaluation.caller import Caller, Predicts, playing_by, policy_name
from failgym.evaluation.progress import Advance, silent
from failgym.sim.shared.batch import EpisodeBatch
from failgym.sim.shared.records import Output
from failgym.sim.shared.rules import Order, Rules
from failgym.vocabulary import TERMS
from failgym.worlds.batches import lanes_that_fit, make_batch
from failgym.worlds.world import World

__all__ = ["LANES", "Answers", "Run", "run_policy", "served"]

LANES = 1024
"""Episodes served together by default: enough to hide the cost of a call in Python, few enough for
their state to stay in the caches."""
IDLE_SHARE = 16
"""Ended lanes wait until one in so many is idle: to start a few costs as much as to start many."""

Ints = npt.NDArray[np.int64]


class Answers(Protocol):
    """What answers the open decisions of all lanes."""

    def begin(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Say which lanes [lanes] have begun an episode."""
        ...

    def act(self, out: Output, live: npt.NDArray[np.bool_]) -> Ints:
        """Actions of all lanes, int64 [lanes]; those of lanes that are not live mean nothing."""
        ...


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
    forfeited: int
    """tasks that forfeited something: what the record finishes and the policy did not, or, with
    ``task_value``, what has a value and did not finish"""
    spent_on_others: npt.NDArray[np.float64]
    """[slices, 2] what tasks that are not asked about have taken, where they are charged for: their
    machine-time, at the price of wasted work, and their completion time; in units of cost"""
    work_of_others: Ints
    """[slices, 2] what they have wasted, and the time of their checkpoints and restores, likewise
    [machine-ms]"""
    decisions: int
    illegal: int
    """actions that the mask forbade; each counted as CONTINUE"""
    seconds: float
    """wall-clock time of the run [s]"""

    @property
    def decisions_per_second(self) -> float:
        """Speed [1/s]."""
        return self.decisions / max(self.seconds, 1e-9)

    @property
    def tasks_per_second(self) -> float:
        """Speed [1/s]."""
        return len(self.outcomes["task"]) / max(self.seconds, 1e-9)


def run_policy(
    world: World,
    rules: Rules,
    policy: Predicts,
    slices: Ints | None = None,
    *,
    order: Order = "task",
    lanes: int = LANES,
    threads: int = 0,
    deterministic: bool = True,
    name: str | None = None,
    progress: Advance = silent,
) -> Run:
    """Run a policy on slices of a world, each once.

    Args:
        world: a compiled world with slices.
        rules: the rules that it was compiled for.
        policy: decides; asked once per step for all lanes.
        slices: [n] which slices; all by default.
        order: serve the decisions of a slice task by task, or merged by time.
        lanes: episodes served together, fewer where there are fewer slices or memory is short.
        threads: threads of the engine; 0 for as many as there are processors, at most 8.
        deterministic: False lets a stochastic policy sample.
        name: what to call the policy.
        progress: called with the number of slices that ended.

    Raises:
        ValueError: for no slices, a slice that does not exist, lanes or threads that are no whole
            numbers or too small; and, naming the policy, if it was made for another environment,
            and for what its `predict` raises or returns.
    """
    policy = playing_by(policy, rules, name)
    check_threads(threads)
    name = name or policy_name(policy)

    def caller(lanes: int) -> Caller:
        return Caller(policy, lanes, deterministic, name)

    return served(
        *(world, rules, caller, name, slices),
        order=order,
        lanes=lanes,
        threads=threads,
        progress=progress,
    )


def served(
    world: World,
    rules: Rules,
    caller: Callable[[int], Answers],
    name: str,
    slices: Ints | None = None,
    *,
    order: Order = "task",
    lanes: int = LANES,
    threads: int = 0,
    progress: Advance = silent,
) -> Run:
    """Play slices of a world, each once, with what answers by lane.

    Args:
        world: a compiled world with slices.
        rules: the rules that it was compiled for.
        caller: makes what answers, for so many lanes.
        name: what the run is called.
        slices: the slices; all by default.
        order: of the decisions of a slice, in the pinned world.
        lanes: slices that are played side by side; fewer where memory is short.
        threads: of the engine.
        progress: called with the number of slices that ended.

    Raises:
        ValueError: for no slices, a slice that does not exist, or lanes that are no whole number or
            too small.
    """
    check_count("lanes", lanes, 1)
    count = world.slices
    chosen = np.arange(count) if slices is None else np.asarray(slices, dtype=np.int64)
    if not len(chosen) or chosen.min() < 0 or chosen.max() >= count:
        raise ValueError(f"slices: expected some from 0 to {count - 1}")
    begun = time.perf_counter()
    lanes = lanes_that_fit(world, rules, min(lanes, len(chosen)), order)
    batch = make_batch(world, rules, lanes, order, threads)
    ledger = _Ledger(world, batch, chosen)
    _serve(batch, caller(lanes), ledger, progress)
    return Run(
        policy=name,
        slices=chosen,
        costs=ledger.costs,
        outcomes=world.outcomes(ledger.states),
        forfeited=ledger.forfeited,
        spent_on_others=ledger.spent_on_others,
        work_of_others=ledger.work_of_others,
        decisions=ledger.decisions,
        illegal=ledger.illegal,
        seconds=time.perf_counter() - begun,
    )


class _Ledger:
    """What ended episodes leave behind, by position in the list of slices."""

    def __init__(self, world: World, batch: EpisodeBatch, slices: Ints) -> None:
        sizes = world.own_sizes[slices]
        self.slices = slices
        self.first = np.concatenate([[0], np.cumsum(sizes)])
        self.costs = np.zeros((len(slices), len(TERMS)))
        self.states: npt.NDArray[Any] = np.zeros(int(self.first[-1]), batch.array("tasks", 0).dtype)
        self.spent_on_others = np.zeros((len(slices), 2))
        self.work_of_others = np.zeros((len(slices), 2), dtype=np.int64)
        self.forfeited = 0
        self.decisions = 0
        self.illegal = 0

    def enter(self, batch: EpisodeBatch, lanes: Ints, positions: Ints) -> None:
        """Write down the episodes of lanes that ended on the slices at these positions."""
        episodes = batch.state.episodes[lanes]
        self.costs[positions] = episodes["cost"]
        self.forfeited += int(episodes["forfeited"].sum())
        self.decisions += int(episodes["decisions"].sum())
        self.illegal += int(episodes["illegal"].sum())
        for lane, position in zip(lanes.tolist(), positions.tolist(), strict=True):
            first, last = self.first[position], self.first[position + 1]
            self.states[first:last] = batch.own_states(lane)
            self.spent_on_others[position] = batch.spent_on_others(lane)
            self.work_of_others[position] = batch.work_of_others(lane)


def _serve(batch: EpisodeBatch, caller: Answers, ledger: _Ledger, progress: Advance) -> None:
    """Serve all slices: step the lanes, collect what has ended, hand out what is left."""
    lanes, total = len(batch), len(ledger.slices)
    nothing = np.zeros(lanes, dtype=np.int64)
    at = np.full(lanes, -1, dtype=np.int64)  # position in the list of slices, -1 for an idle lane
    begun = 0
    while True:
        idle = np.flatnonzero(at < 0)
        if begun < total and (len(idle) * IDLE_SHARE >= lanes or len(idle) == lanes):
            idle = idle[: total - begun]
            at[idle] = np.arange(begun, begun + len(idle))
            begun += len(idle)
            fresh = np.full(lanes, -2, dtype=np.int64)
            fresh[idle] = ledger.slices[at[idle]]
            batch.reset(fresh)
            caller.begin(fresh >= 0)
        elif len(idle) == lanes:
            return
        live = (at >= 0) & ~batch.state.episodes["done"]
        # What episodes cost in which nothing is asked is charged by the first step, as in the envs.
        batch.step(caller.act(batch.output, live) if live.any() else nothing)
        ended = np.flatnonzero((at >= 0) & batch.state.episodes["done"])
        if len(ended):
            ledger.enter(batch, ended, at[ended])
            at[ended] = -1
            progress(len(ended))
