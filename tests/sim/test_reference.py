from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest

from failgym.sim.reference import ReferenceSimulator
from failgym.sim.shared.context import Context
from failgym.sim.shared.continuation import Continuation
from failgym.sim.shared.fields import HIGH, LOW
from failgym.sim.shared.rules import Rules, Weights
from failgym.traces import Outcome, Trace
from failgym.vocabulary import Action, Event, LogEntry, SimOutcome, TaskOutcome
from tests.sim.golden import examples
from tests.sim.random_worlds import (
    random_context,
    random_continuation,
    random_policy,
    random_rules,
    random_trace,
    random_weights,
)

GHOSTS, SEEDS = 100, range(130)
"""Worlds; those behind the first so many continue their records."""


def every(step: int, seeds: range = SEEDS) -> list[Any]:
    """Some of the worlds; the others are a campaign."""
    marks = pytest.mark.campaign
    return [
        seed if n % step == 0 else pytest.param(seed, marks=marks) for n, seed in enumerate(seeds)
    ]


Order = Literal["task", "time"]


class World(NamedTuple):
    trace: Trace
    rules: Rules
    context: Context
    weights: Weights
    continuation: Continuation | None

    def simulator(self, **rules: object) -> ReferenceSimulator:
        changed = replace(self.rules, **rules)
        return ReferenceSimulator(
            self.trace, changed, self.context, self.weights, 5, self.continuation
        )

    def tasks(self) -> range:
        return range(self.trace.rows("tasks"))


class Played(NamedTuple):
    sim: ReferenceSimulator
    rewards: list[float]
    observations: list[np.ndarray]


def random_world(seed: int) -> World:
    rng = np.random.default_rng(seed)
    trace, rules = random_trace(rng), random_rules(rng)
    context, weights = random_context(rng, trace, rules), random_weights(rng)
    if seed < GHOSTS:
        return World(trace, rules, context, weights, None)
    rules = replace(
        rules,
        beyond_record="continued",
        restarts=rng.choice(["limit", "record"]).item(),
        spare_attempts=int(rng.choice([0, 1, 8])),
    )
    return World(trace, rules, context, weights, random_continuation(rng, trace))


def order_of(seed: int) -> Order:
    return "time" if seed % 3 == 0 else "task"


def play(world: World, seed: int, sim: ReferenceSimulator | None = None) -> Played:
    """One episode under a random policy."""
    sim = world.simulator() if sim is None else sim
    policy = random_policy(np.random.default_rng(10_000 + seed))
    sim.start(world.tasks(), order_of(seed))
    episode = Played(sim, [], [])
    while sim.decision is not None:
        episode.observations.append(sim.observation())
        episode.rewards.append(sim.step(policy(sim.mask)))
    return episode


@cache
def played(seed: int) -> Played:
    """The episode of a seed, for all tests that only look at it."""
    return play(random_world(seed), seed)


def replay(world: World, sim: ReferenceSimulator, order: Order = "task") -> ReferenceSimulator:
    """One episode of CONTINUE."""
    sim.start(world.tasks(), order)
    while sim.decision is not None:
        sim.step(Action.CONTINUE)
    return sim


def by_task(log: list[LogEntry]) -> dict[int, list[LogEntry]]:
    entries: dict[int, list[LogEntry]] = defaultdict(list)
    for entry in log:
        entries[entry.task].append(entry)
    return entries


def kinds(log: list[LogEntry], kind: Event) -> list[LogEntry]:
    return [entry for entry in log if entry.kind == kind]


@pytest.mark.parametrize("seed", every(3))
def test_accounts_sum_to_busy_after_every_event(seed: int) -> None:
    world = random_world(seed)
    sim = world.simulator()
    checks = 0

    def check() -> None:
        nonlocal checks
        checks += 1
        accounts = sim.accounts()
        assert sum(accounts) == sim.busy()
        assert min(accounts) >= 0

    sim.on_event = check
    rewards = play(world, seed, sim).rewards
    assert checks >= len(rewards)
    outcomes, accounts = sim.outcomes(), sim.accounts()
    for account in ("useful", "lost", "redundant", "ghost", "checkpoint", "restore"):
        assert sum(getattr(o, account) for o in outcomes) == getattr(accounts, account)


@pytest.mark.parametrize("seed", every(3))
def test_rewards_sum_to_minus_the_final_cost(seed: int) -> None:
    world = random_world(seed)
    sim, rewards, _ = played(seed)
    if rewards:
        cost = final_cost(sim.outcomes(), world.weights)
        assert sum(rewards) == pytest.approx(-cost, rel=1e-12, abs=1e-9)
        assert max(rewards) <= 0.0


def final_cost(outcomes: list[TaskOutcome], w: Weights) -> float:
    wasted = sum(o.lost + o.redundant + o.ghost for o in outcomes)
    overhead = sum(o.checkpoint + o.restore for o in outcomes)
    completion = sum(o.end - o.submit for o in outcomes)
    given_away = [o for o in outcomes if o.recorded_outcome == 0 and o.outcome != 0]
    work = sum(o.recorded_work for o in given_away)
    time = sum(o.recorded_end - o.submit for o in given_away)
    return (
        w.wasted * wasted / w.work_scale
        + w.overhead * overhead / w.work_scale
        + w.completion * completion / w.time_scale
        + w.forfeited * (work / w.work_scale + time / w.time_scale)
    )


@pytest.mark.parametrize("seed", every(3))
def test_replay_equals_the_record(seed: int) -> None:
    world = random_world(seed)
    sim = replay(world, world.simulator(), order_of(seed))
    start = world.trace.column("attempts", "start")
    end, outcome = world.trace.column("attempts", "end"), world.trace.column("attempts", "outcome")
    first = world.trace.task_first
    log = by_task(sim.log)
    for result in sim.outcomes():
        rows = range(first[result.task], first[result.task + 1])
        ran = [(row - first[result.task], row) for row in rows if start[row] >= 0]
        entries = log[result.task]
        starts = {(e.number, e.time) for e in kinds(entries, Event.START)}
        assert starts == {(number, start[row]) for number, row in ran}
        ends = {(e.number, e.time, e.detail) for e in kinds(entries, Event.END)}
        assert ends >= {(number, end[row], outcome[row]) for number, row in ran}
        assert result.end == result.recorded_end
        assert result.recorded_outcome == world.trace.task_outcome[result.task]
        assert result.outcome == result.recorded_outcome
    width = world.trace.column("tasks", "width")[world.trace.column("attempts", "task")]
    assert sim.busy() == int((width * (end - start))[start >= 0].sum())


@pytest.mark.parametrize("seed", every(3))
def test_caps_hold(seed: int) -> None:
    world = random_world(seed)
    sim = played(seed).sim
    log = by_task(sim.log)
    for outcome in sim.outcomes():
        assert outcome.extra <= world.rules.max_extra
        assert outcome.clones <= world.rules.max_clones
        assert outcome.extra == outcome.clones + outcome.retries
        taken = Counter(e.detail for e in kinds(log[outcome.task], Event.DECISION))
        assert taken[Action.CLONE] == outcome.clones
        assert taken[Action.RETRY] == outcome.retries
        assert outcome.decisions <= taken.total()


@pytest.mark.parametrize("seed", every(3))
def test_settlement(seed: int) -> None:
    world, sim = random_world(seed), played(seed).sim
    log = by_task(sim.log)
    for outcome in sim.outcomes():
        entries = log[outcome.task]
        settled = kinds(entries, Event.SETTLED)
        assert [(e.time, e.detail) for e in settled] == [(outcome.end, outcome.outcome)]
        after = entries[entries.index(settled[0]) + 1 :]
        assert not kinds(after, Event.DECISION)
        if outcome.departed or outcome.killed:
            assert not after
            successes = [e for e in kinds(entries, Event.END) if e.detail == SimOutcome.FINISH]
            assert len(successes) == (outcome.outcome == SimOutcome.FINISH)
        starts = Counter(e.number for e in kinds(entries, Event.START))
        ends = Counter(e.number for e in kinds(entries, Event.END))
        assert not starts or max(starts.values()) == 1
        assert not starts - ends, "every attempt ends, once"
        if world.trace.task_outcome[outcome.task] == Outcome.CENSORED:
            assert not kinds(entries, Event.DECISION)


@pytest.mark.parametrize("seed", every(3))
def test_the_clock_never_runs_backwards(seed: int) -> None:
    sim = played(seed).sim
    for entries in by_task(sim.log).values():
        times = [entry.time for entry in entries]
        assert times == sorted(times)
    if order_of(seed) == "time":
        times = [entry.time for entry in sim.log]
        assert times == sorted(times)


@pytest.mark.parametrize("seed", SEEDS[::5])
def test_same_seed_same_world(seed: int) -> None:
    first, second = played(seed), play(random_world(seed), seed)
    assert first.sim.log == second.sim.log
    assert first.rewards == second.rewards
    assert np.array_equal(np.array(first.observations), np.array(second.observations))


@pytest.mark.parametrize("seed", SEEDS[::5])
def test_tasks_do_not_touch_each_other(seed: int) -> None:
    """Merged by time or one after the other, alone or together: each task has the same log."""
    world = random_world(seed)
    together = by_task(replay(world, world.simulator(), "time").log)
    assert together == by_task(replay(world, world.simulator(), "task").log)
    for task in world.tasks():
        alone = world.simulator()
        alone.start([task])
        while alone.decision is not None:
            alone.step(Action.CONTINUE)
        assert alone.log == together[task]


@pytest.mark.parametrize("seed", SEEDS[::5])
def test_a_checkpoint_never_taken_changes_nothing(seed: int) -> None:
    world = random_world(seed)

    def events(sim: ReferenceSimulator) -> list[LogEntry]:
        return [e for e in replay(world, sim).log if e.kind != Event.DECISION]

    with_it = events(world.simulator(checkpoint=True, checkpoint_cost=40))
    assert with_it == events(world.simulator(checkpoint=False, checkpoint_cost=0))


@pytest.mark.parametrize("seed", every(3))
def test_observations_lie_in_their_bounds(seed: int) -> None:
    for observation in played(seed).observations:
        assert observation.dtype == np.float32
        assert np.isfinite(observation).all()
        assert (observation >= LOW).all()
        assert (observation <= HIGH).all()


@pytest.mark.parametrize("seed", every(3, SEEDS[:GHOSTS:6]))
def test_free_and_frequent_checkpoints_lose_no_external_work(seed: int) -> None:
    """Saved every millisecond, a task that finishes loses at most 1 ms an attempt."""
    world = random_world(seed)
    rules: dict[str, object] = {
        "checkpoint": True,
        "clone": False,
        "kill": False,
        "give_up": False,
        "retry": False,
        "checkpoint_cost": 0,
        "restore_cost": 0,
        "window": 1,
        "decide": "every",
        "every": 1,
    }
    sim = world.simulator(**rules)
    sim.start([task for task in world.tasks() if alone(world.trace, task)])
    while sim.decision is not None:
        sim.step(Action.CHECKPOINT if sim.mask[Action.CHECKPOINT] else Action.CONTINUE)
    for outcome in sim.outcomes():
        if outcome.outcome == SimOutcome.FINISH:
            slots = int(world.trace.column("tasks", "width")[outcome.task])
            assert outcome.lost + outcome.ghost <= outcome.attempts * slots


def alone(trace: Trace, task: int) -> bool:
    """Do the task's attempts run one after the other?"""
    rows = slice(trace.task_first[task], trace.task_first[task + 1])
    start, end = trace.column("attempts", "start")[rows], trace.column("attempts", "end")[rows]
    ran = start >= 0
    return bool((start[ran][1:] >= end[ran][:-1]).all())


def test_illegal_actions_are_counted_and_continue() -> None:
    counted = 0
    for seed in SEEDS[::3]:
        world = random_world(seed)
        sim = world.simulator()
        sim.start(world.tasks())
        while sim.decision is not None:
            sim.step(Action.RETRY if not sim.mask[Action.RETRY] else Action.CONTINUE)
            counted += 1
            assert sim.log[-1].kind != Event.DECISION or sim.log[-1].detail == Action.CONTINUE
        assert sim.illegal <= counted
        untouched = replay(world, world.simulator())
        assert sim.log == untouched.log
    assert counted


def test_no_step_after_the_end_and_no_unknown_action() -> None:
    sim = next(example for example in examples() if example.name == "burst").simulator(
        ReferenceSimulator
    )
    with pytest.raises(ValueError, match="the episode has ended"):
        sim.step(Action.CONTINUE)
    assert sim.mask == (False,) * 5
    assert not sim.observation().any()
    sim.start([0])
    with pytest.raises(ValueError, match="7"):
        sim.step(7)
