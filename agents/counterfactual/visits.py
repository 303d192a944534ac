"""Decisions that policies come to, and what each legal answer to them would have saved.

An agent that learns by trial is told what came of the one answer that it gave. Here the engine is
asked for all of them (`failgym.counterfactual`): on the same fate, with the same policy behind. So
a gain is not an estimate. What is left to learn is which decisions look alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from failgym.counterfactual import branch
from failgym.evaluation.caller import Caller, Predicts, playing_by, policy_name
from failgym.evaluation.progress import Advance, silent
from failgym.sim.shared.batch import EpisodeBatch
from failgym.vocabulary import ACTIONS
from failgym.worlds.batches import batch_of
from failgym.worlds.build import build_world
from failgym.worlds.scenario import Scenario
from failgym.worlds.source import whole_trace

__all__ = ["Visits", "visited"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

LANES = 1_024
"""Episodes that run at once."""
LEAVE = -2
"""In place of a slice: the episode goes on as it is."""


@dataclass(frozen=True)
class Visits:
    """Decisions, one a row."""

    observations: Floats
    """[rows, columns]"""
    gains: npt.NDArray[np.float64]
    """[rows, ACTIONS] what an answer saves beside CONTINUE; NaN for what is illegal"""
    jobs: Ints
    """[rows] number of the job that the decision is about, other ones for other traces"""
    tasks: Ints
    """[rows] number of the task, likewise"""

    def __len__(self) -> int:
        return len(self.jobs)

    @classmethod
    def joined(cls, several: Sequence[Self]) -> Self:
        """Several together, whose jobs and tasks are others."""
        numbers: dict[str, Ints] = {}
        for name in ("jobs", "tasks"):
            parts: list[Ints] = [getattr(one, name) for one in several]
            firsts = np.cumsum([0] + [int(part.max(initial=-1)) + 1 for part in parts])
            shifted = [part + first for part, first in zip(parts, firsts[:-1], strict=True)]
            numbers[name] = np.concatenate(shifted)
        return cls(
            observations=np.concatenate([one.observations for one in several]),
            gains=np.concatenate([one.gains for one in several]),
            **numbers,
        )


def visited(
    scenario: Scenario,
    policies: Sequence[Predicts],
    *,
    behind: Predicts | None = None,
    columns: npt.NDArray[np.intp] | None = None,
    tasks: int | None = None,
    share: float = 1.0,
    at_random: float = 0.0,
    seed: int = 0,
    threads: int = 1,
    progress: Advance = silent,
) -> Visits:
    """Play tasks of the pinned world, each by one of some policies, and try all answers on the way.

    Args:
        scenario: of the pinned world; its slices are cut anew, one task each.
        policies: one of them, drawn, plays each task. They carry no state from step to step.
        behind: answers what comes after the tried answer; CONTINUE, if None.
        columns: of the observation that are kept; all, if None.
        tasks: how many are played, drawn without replacement; all of the split by default.
        share: of the decisions that are looked into, drawn.
        at_random: share of the decisions in which a legal action is drawn instead.
        seed: of all that is drawn.
        threads: of the engine.
        progress: called with the number of tasks that are done.

    Raises:
        ValueError: for a scenario of another world, or, naming the policy, for one that was made
            for other rules or carries a state.
    """
    if not scenario.kind.independent:
        raise ValueError(f"scenario: expected the pinned world, got {scenario.name}")
    scenario = scenario.override(slice_tasks=1)
    world = build_world(scenario)
    rng = np.random.default_rng(seed)
    waiting = rng.permutation(world.slices)[:tasks]
    batch = batch_of(scenario, world, min(LANES, len(waiting)), threads)
    players = _Players(policies, scenario, len(batch), at_random, rng)
    job = whole_trace(scenario).column("tasks", "job")
    found: list[tuple[Floats, npt.NDArray[np.float64], Ints]] = []
    batch.seed(rng.integers(1, 2**63 - 1, size=len(batch)).astype(np.uint64))
    batch.reset(np.asarray(waiting[: len(batch)], dtype=np.int64))
    waiting = waiting[len(batch) :]
    live = np.ones(len(batch), dtype=np.bool_)
    while live.any():
        looked = np.flatnonzero(live & (rng.random(len(batch)) < share))
        if len(looked):
            found.append(_tried(batch, looked, behind, columns))
        batch.step(players.actions(batch, live))
        over = np.flatnonzero(live & batch.state.episodes["done"])
        progress(len(over))
        begun, live[over] = over[: len(waiting)], False
        if len(begun):
            chosen = np.full(len(batch), LEAVE, dtype=np.int64)
            chosen[begun], waiting = waiting[: len(begun)], waiting[len(begun) :]
            batch.reset(chosen)
            players.begin(begun)
            live[begun] = True
    observations, gains, rows = (np.concatenate(part) for part in zip(*found, strict=True))
    return Visits(observations, gains, job[rows].astype(np.int64), rows)


def _tried(
    batch: EpisodeBatch,
    lanes: Ints,
    behind: Predicts | None,
    columns: npt.NDArray[np.intp] | None,
) -> tuple[Floats, npt.NDArray[np.float64], Ints]:
    """Observations, gains and tasks of the open decisions of some episodes."""
    some = batch.taken(lanes)
    out = some.output
    shown = out.obs if columns is None else out.obs.take(columns, axis=1)
    return shown.copy(), branch(some, behind).gains, out.task.astype(np.int64)


class _Players:
    """Who plays which episode."""

    def __init__(
        self,
        policies: Sequence[Predicts],
        scenario: Scenario,
        lanes: int,
        at_random: float,
        rng: np.random.Generator,
    ) -> None:
        self.names = [policy_name(policy) for policy in policies]
        self.callers = [
            Caller(playing_by(policy, scenario), lanes, True, name)
            for policy, name in zip(policies, self.names, strict=True)
        ]
        self.at_random, self.rng = at_random, rng
        self.who = rng.integers(len(policies), size=lanes)

    def begin(self, lanes: Ints) -> None:
        """Draw who plays the episodes that begin."""
        self.who[lanes] = self.rng.integers(len(self.callers), size=len(lanes))

    def actions(self, batch: EpisodeBatch, live: Bools) -> Ints:
        """What is answered to each open decision, [lanes]."""
        out = batch.output
        chosen = np.zeros(len(live), dtype=np.int64)
        for number, (caller, name) in enumerate(zip(self.callers, self.names, strict=True)):
            own = live & (self.who == number)
            if own.any():
                answers = caller.act(out, own)
                if caller.carries_state:
                    raise ValueError(f"policy {name!r}: expected one without a state")
                chosen[own] = answers[own]
        drawn = live & (self.rng.random(len(live)) < self.at_random)
        if drawn.any():
            odds = self.rng.random((len(live), ACTIONS)) * (out.mask > 0)
            chosen[drawn] = odds.argmax(axis=1)[drawn]
        return chosen
