"""Environments whose records are continued: fitted on the train split, played bit for bit alike."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import failgym
from failgym.baselines import Replay
from failgym.continued import fit
from failgym.envs import resolve
from failgym.sim.pinned.simulator import PinnedSimulator
from failgym.sim.reference import ReferenceSimulator
from failgym.traces import Outcome, Trace
from failgym.worlds.build import build_world
from failgym.worlds.context import context_of, with_system
from failgym.worlds.forecast import forecast_of
from failgym.worlds.source import whole_trace
from failgym.worlds.split import split_trace
from tests.continued.records import Job, trace_of
from tests.envs.worlds import legal, play

PINNED = ("failgym/Cloning-v1", "failgym/GracePeriod-v1", "failgym/Checkpoint-v1")
CONTINUED: dict[str, Any] = {"beyond_record": "continued", "restarts": "record", "jobs": 400}


@pytest.mark.parametrize("env_id", PINNED)
def test_an_episode_is_the_same_again(env_id: str) -> None:
    first, again = (play(gym.make(env_id, **CONTINUED), 3, 400) for _ in range(2))
    assert first == again


@pytest.mark.parametrize("env_id", PINNED)
def test_the_world_is_that_of_the_reference(env_id: str) -> None:
    """On the test split, with laws of the train split, from the trace to the last account."""
    scenario = resolve(env_id).override(**CONTINUED | {"split": "test", "max_extra": 3})
    part = split_trace(whole_trace(scenario), scenario, "test")
    train = split_trace(whole_trace(scenario), scenario, "train")
    known, forecast = train.trace, forecast_of(scenario, part, train)
    context = with_system(context_of(known, forecast, scenario.window), part.whole)
    laws = fit(known).of(part.trace, part.tasks)
    given: dict[str, Any] = {"seed": scenario.seed, "continuation": laws}
    slow = ReferenceSimulator(part.trace, scenario, context, **given)
    fast = PinnedSimulator(part.trace, scenario, context, **given)
    both = (slow, fast)
    rng = np.random.default_rng(0)
    tasks = rng.choice(part.trace.rows("tasks"), 40, replace=False).tolist()
    for sim in both:
        sim.start(tasks)
    while slow.decision is not None:
        assert slow.decision == fast.decision
        assert slow.mask == fast.mask
        action = int(legal(np.array(slow.mask), rng)[0])
        for sim in both:
            sim.step(action)
    assert fast.decision is None
    assert slow.accounts() == fast.accounts()
    assert [tuple(entry) for entry in slow.log] == [tuple(entry) for entry in fast.log]
    assert any(entry.detail for entry in slow.log if entry.kind == 9) or env_id != PINNED[0]


def test_what_was_recorded_is_played_as_ever() -> None:
    """CONTINUE alone: continued or not, every task ends as it did."""
    plain: Any = gym.make(PINNED[0], jobs=400).unwrapped
    continued: Any = gym.make(PINNED[0], **CONTINUED).unwrapped
    for env in (plain, continued):
        env.reset(options={"slice": 0})
        while not env.step(0)[2]:
            pass
    mine, theirs = plain.outcomes(), continued.outcomes()
    for name in ("end", "outcome", "useful", "lost", "redundant", "attempts"):
        assert mine[name].tolist() == theirs[name].tolist()


def test_a_world_that_goes_on_is_scored() -> None:
    result = failgym.evaluate(Replay(), PINNED[1], **CONTINUED)
    assert result.score == 0.0
    assert result.room > 0.0


def batch(submits: list[int]) -> Trace:
    """Jobs that begin at once: six tasks finish after 100 s, one fails after 300 s, for good."""
    jobs: list[Job] = []
    for at in submits:
        finish, fail = (at, at + 100_000, "finish"), (at, at + 300_000, "fail")
        jobs.append(Job([*([finish] for _ in range(6)), [fail]], submit=at))
    return trace_of(jobs, end=max(submits) + 2_000_000)


@pytest.mark.parametrize("world", [{}, {"world": "scheduled", "order": "time", "machines": 200}])
def test_laws_of_a_whole_trace_are_counted_from_all_of_it(world: dict[str, Any]) -> None:
    """All jobs come at once: of what was known at the boundary nothing had run yet."""
    fields = {"trace": batch([1] * 10), "split": "all", "forecast": "none", **world}
    tasks: Any = build_world(resolve("Cloning-v1", fields)).tables.tasks  # pyright: ignore
    assert (tasks["forfeit_work"] > 0).all()
    lost = tasks["record_outcome"] == Outcome.FAIL
    assert lost.sum() == 10
    assert set(tasks["forfeit_work"][lost].tolist()) <= {100_000, 300_000}, (
        "as long as one that ran"
    )
