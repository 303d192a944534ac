"""`run_policy`: a policy on many slices of a world, a fixed number of them at a time.

Episodes are served in lanes: a lane whose episode ends is given the next slice, so that the policy
is asked once per step for as many episodes as there are lanes, however unequal the episodes are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from failgym.evaluation.arguments import check_count, check_threads
from failgym.evaluation.caller import Caller, Predicts, playing_by, policy_name
from failgym.evaluation.ledger import Ledger, Run
from failgym.evaluation.progress import Advance, silent
from failgym.sim.shared.batch import EpisodeBatch
from failgym.sim.shared.records import Output
from failgym.sim.shared.rules import Order, Rules
from failgym.worlds.batches import lanes_that_fit, make_batch
from failgym.worlds.world import World

__all__ = ["LANES", "Answers", "run_policy", "served"]

LANES = 1024
"""Episodes served together by default: enough to hide the cost of a call in Python, few enough for
their state to stay in the caches."""
IDLE_SHARE = 16
"""Ended lanes wait until one in so many is idle: to start a few costs as much as to start many."""

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Answers(Protocol):
    """What answers the open decisions of all lanes."""

    def begin(self, lanes: Bools) -> None:
        """Say which lanes [lanes] have begun an episode."""
        ...

    def act(self, out: Output, live: Bools) -> Ints:
        """Actions of all lanes, int64 [lanes]; those of lanes that are not live mean nothing."""
        ...


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
    patience: int | None = None,
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
        patience: answers that it may give in all, about; from then on CONTINUE is answered, for a
            policy that refuses every machine is asked again and again. None: all.
        progress: called with the number of slices that ended.

    Raises:
        ValueError: for no slices, a slice that does not exist, lanes, threads or patience that are
            no whole numbers or too small; and, naming the policy, if it was made for another
            environment, and for what its `predict` raises or returns.
    """
    policy = playing_by(policy, rules, name)
    check_threads(threads)
    if patience is not None:
        check_count("patience", patience, 0)
    name = name or policy_name(policy)
    callers: list[Caller] = []

    def caller(lanes: int) -> Caller:
        callers.append(Caller(policy, lanes, deterministic, name, patience))
        return callers[-1]

    found = served(
        *(world, rules, caller, name, slices),
        order=order,
        lanes=lanes,
        threads=threads,
        progress=progress,
    )
    return replace(found, overruled=any(one.overruled for one in callers))


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
        raise ValueError(f"slices: expected at least one number from 0 to {count - 1}")
    begun = time.perf_counter()
    lanes = lanes_that_fit(world, rules, min(lanes, len(chosen)), order)
    batch = make_batch(world, rules, lanes, order, threads)
    ledger = Ledger(world, batch, chosen)
    _serve(batch, caller(lanes), ledger, progress)
    return ledger.run(name, time.perf_counter() - begun)


def _serve(batch: EpisodeBatch, caller: Answers, ledger: Ledger, progress: Advance) -> None:
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
