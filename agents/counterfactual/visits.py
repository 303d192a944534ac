"""Decisions that policies come to, and what each legal answer to them would have saved.

An agent that learns by trial is told what came of the one answer that it gave. Here the engine is
asked for all of them (`failgym.counterfactual`): on the same fate, with the same policy behind. So
a gain is not an estimate. What is left to learn is which decisions look alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from failgym.agents.ensembles.advice import advised
from failgym.agents.ensembles.inputs import Inputs
from failgym.baselines.base import Heuristic
from failgym.counterfactual import branch, follow
from failgym.evaluation.caller import Caller, Predicts, playing_by, policy_name
from failgym.evaluation.progress import Advance, silent
from failgym.sim.pinned.batch import Batch
from failgym.sim.shared.batch import EpisodeBatch
from failgym.sim.shared.records import Output
from failgym.vocabulary import ACTIONS, Action
from failgym.worlds.batches import batch_of
from failgym.worlds.build import build_world, split_of
from failgym.worlds.scenario import Scenario

__all__ = ["NothingToLearn", "Visits", "visited"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

LANES, FEW_LANES = 1_024, 16
"""Episodes that run at once: in the pinned world, and in the scheduled one, where they are long."""
CONTINUE = int(Action.CONTINUE)
WAITING, HELD_BYTES = 4_096, 1 << 27
"""Open decisions of the pinned world that are tried together, and the memory that they take."""
LEAVE = -2
"""In place of a slice: the episode goes on as it is."""


class NothingToLearn(ValueError):
    """No decision was looked into."""


@dataclass(frozen=True)
class Visits:
    """Decisions, one a row."""

    observations: Floats
    """[rows, columns]"""
    gains: npt.NDArray[np.float64]
    """[rows, ACTIONS] what an answer saves beside CONTINUE, NaN for what is illegal; or [rows,
    rules] what each rule of the advice saves beside the first"""
    units: Ints
    """[rows] number of what is resampled whole: the job that a decision is about; in the scheduled
    world the slice, whose jobs wait for each other; other ones for other traces"""
    tasks: Ints
    """[rows] number of the task, likewise"""
    traces: Ints
    """[rows] number of the trace"""
    weights: npt.NDArray[np.float64]
    """[rows] how many decisions each stands for"""
    environments: Ints | None = None
    """[rows] number of the environment; None: all are of the same"""
    played: int = 0
    """tasks of the episodes that were played"""

    def __len__(self) -> int:
        return len(self.units)

    @classmethod
    def joined(cls, several: Sequence[Self]) -> Self:
        """Several of the same environment together, whose units, tasks and traces are others."""
        numbers: dict[str, Ints] = {}
        for name in ("units", "tasks", "traces"):
            parts: list[Ints] = [getattr(one, name) for one in several]
            firsts = np.cumsum([0] + [int(part.max(initial=-1)) + 1 for part in parts])
            shifted = [part + first for part, first in zip(parts, firsts[:-1], strict=True)]
            numbers[name] = np.concatenate(shifted)
        return cls(
            observations=np.concatenate([one.observations for one in several]),
            gains=np.concatenate([one.gains for one in several]),
            weights=np.concatenate([one.weights for one in several]),
            played=sum(one.played for one in several),
            **numbers,
        )

    @classmethod
    def pooled(cls, of_each: Sequence[Self], rooms: Sequence[float]) -> Self:
        """Those of several environments together, on one scale: that of their scores.

        A gain is divided by the room of its environment, what can be saved there on a task in the
        mean. And the decisions of each environment stand for equally many tasks. So in all of them
        a unit means the same share of what can be saved, whatever costs are counted in there, and
        however many episodes are played.

        Args:
            of_each: visits of each environment.
            rooms: what the bound saves over replay on a task in the mean, in units of the
                environment's costs.
        """
        joined = cls.joined(of_each)
        number = np.repeat(np.arange(len(of_each)), [len(one) for one in of_each])
        tasks = np.array([one.played for one in of_each], dtype=np.float64)
        return replace(
            joined,
            gains=joined.gains / np.asarray(rooms)[number][:, np.newaxis],
            weights=joined.weights * (tasks.mean() / tasks)[number],
            environments=number.astype(np.int64),
        )


def visited(
    scenario: Scenario,
    policies: Sequence[Predicts],
    *,
    behind: Predicts | None = None,
    columns: npt.NDArray[np.intp] | None = None,
    advice: Sequence[Heuristic] = (),
    inputs: Inputs | None = None,
    followed: bool = False,
    episodes: int | None = None,
    share: float = 1.0,
    acting: float | None = None,
    at_random: float = 0.0,
    seed: int = 0,
    threads: int = 1,
    progress: Advance = silent,
) -> Visits:
    """Play episodes, each by one of some policies, and try all answers on the way.

    Args:
        scenario: of either world; slices of the pinned one are cut anew, one task each.
        policies: one of them, drawn, plays each episode. They carry no state from step to step.
        behind: answers what comes after the tried answer; CONTINUE, if None.
        columns: of the observation that are kept; all, if None.
        advice: rules whose answers are kept behind them.
        inputs: what else is kept, and which of these rules are asked; all, if None.
        followed: try which of these rules to follow from then on, in place of answers.
        episodes: how many are played, drawn without replacement; all of the split by default.
        share: of the decisions that are looked into, drawn.
        acting: the same where the policy that plays does something; the same share by default. What
            nobody would ever do is seldom worth a look.
        at_random: share of the decisions in which a legal action is drawn instead.
        seed: of all that is drawn.
        threads: of the engine.
        progress: called with the number of episodes that are done.

    Raises:
        ValueError: naming the policy, for one that was made for other rules or carries a state;
            for no policies, a share out of range, or if no decision was looked into.
    """
    if not policies:
        raise ValueError("policies: expected one at least")
    chances = _chances(share, share if acting is None else acting)
    alone = scenario.kind.independent
    scenario = scenario.override(slice_tasks=1) if alone else scenario
    world = build_world(scenario)
    rng = np.random.default_rng(seed)
    waiting = rng.permutation(world.slices)[:episodes]
    lanes = min(LANES if alone else FEW_LANES, len(waiting))
    batch = batch_of(scenario, world, lanes, threads)
    players = _Players(policies, scenario, lanes, at_random, rng)
    kept = _Kept(columns, advice, inputs)
    trials = _Trials(behind, kept, advice if followed else None, WAITING if alone else 1)
    played = int(world.own_sizes[waiting].sum())
    batch.seed(rng.integers(1, 2**63 - 1, size=len(batch)).astype(np.uint64))
    batch.reset(np.asarray(waiting[: len(batch)], dtype=np.int64))
    waiting = waiting[len(batch) :]
    live = np.ones(len(batch), dtype=np.bool_)
    while live.any():
        actions = players.actions(batch, live)
        chance = chances[(actions != CONTINUE).astype(np.int64)]
        looked = np.flatnonzero(live & (rng.random(len(batch)) < chance))
        if len(looked):
            trials.add(batch.taken(looked), 1.0 / chance[looked])
        batch.step(actions)
        over = np.flatnonzero(live & batch.state.episodes["done"])
        progress(len(over))
        begun, live[over] = over[: len(waiting)], False
        if len(begun):
            chosen = np.full(len(batch), LEAVE, dtype=np.int64)
            chosen[begun], waiting = waiting[: len(begun)], waiting[len(begun) :]
            batch.reset(chosen)
            players.begin(begun)
            live[begun] = True
    return _visits(scenario, trials.done(), played)


def _visits(scenario: Scenario, found: Sequence[_Tried], played: int) -> Visits:
    """What was tried in a scenario. Raises ValueError if it is nothing."""
    if not found:
        raise NothingToLearn("decisions: expected a greater share: none was looked into")
    tried = _Tried(*(np.concatenate(part) for part in zip(*found, strict=True)))
    unit = tried.slices
    if scenario.kind.independent:
        trace = split_of(scenario, scenario.split)
        unit = trace.column("tasks", "job")[tried.tasks].astype(np.int64)
    return Visits(
        observations=tried.observations,
        gains=tried.gains,
        units=unit,
        tasks=tried.tasks,
        traces=np.zeros_like(unit),
        weights=tried.weights,
        played=played,
    )


def _chances(share: float, acting: float) -> npt.NDArray[np.float64]:
    """Of a look where the policy does nothing, and where it acts. Raises ValueError."""
    for name, value in (("share", share), ("acting", acting)):
        if not 0.0 < value <= 1.0:
            raise ValueError(f"{name}: expected a share above 0, got {value}")
    return np.array([share, acting])


class _Tried(NamedTuple):
    """Some open decisions, one a row."""

    observations: Floats
    gains: npt.NDArray[np.float64]
    tasks: Ints
    slices: Ints
    weights: npt.NDArray[np.float64]


class _Kept(NamedTuple):
    """What is kept of the moment of a decision."""

    columns: npt.NDArray[np.intp] | None
    advice: Sequence[Heuristic]
    inputs: Inputs | None

    def of(self, out: Output) -> Floats:
        """All columns, [rows, columns]."""
        legal = out.mask > 0
        shown = out.obs.copy() if self.columns is None else out.obs.take(self.columns, axis=1)
        if self.inputs is None:
            return advised(shown, out.obs, legal, self.advice)
        return self.inputs.shown(shown, out.obs, legal, self.advice)


class _Trials:
    """Open decisions whose answers are to be tried, many at a time: a step has its price."""

    def __init__(
        self,
        behind: Predicts | None,
        kept: _Kept,
        followed: Sequence[Heuristic] | None,
        together: int,
    ) -> None:
        self.behind, self.kept, self.followed = behind, kept, followed
        self.together = together
        self.waiting: list[tuple[EpisodeBatch, npt.NDArray[np.float64]]] = []
        self.found: list[_Tried] = []

    def add(self, some: EpisodeBatch, weights: npt.NDArray[np.float64]) -> None:
        """Copies of episodes, and how many decisions each stands for."""
        self.waiting.append((some, weights))
        held = sum(len(one) for one, _ in self.waiting)
        if held >= min(self.together, max(1, HELD_BYTES // some.bytes_each)):
            self._try()

    def done(self) -> list[_Tried]:
        """All that was tried."""
        if self.waiting:
            self._try()
        return self.found

    def _try(self) -> None:
        batches, weights = zip(*self.waiting, strict=True)
        self.waiting = []
        some: EpisodeBatch = batches[0]
        if len(batches) > 1:
            assert isinstance(some, Batch)
            some = some.joined(batches[1:])
        out = some.output
        shown = self.kept.of(out)
        if self.followed is not None:
            costs = follow(some, self.followed).sum(axis=2)
            gains = costs[:, :1] - costs
        else:
            gains = branch(some, self.behind).gains
        task, number = out.task.astype(np.int64), out.slice.astype(np.int64)
        self.found.append(_Tried(shown, gains, task, number, np.concatenate(weights)))


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
