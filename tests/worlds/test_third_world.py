"""A world from another package is played, shown, evaluated and scored like those of failgym."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import failgym
from failgym.baselines import REGISTRY
from failgym.envs import SelectFields, varying_fields
from failgym.evaluation import run_policy, whole_trace_world
from failgym.sim.shared.fields import INDEX
from failgym.traces import generate
from failgym.worlds import kinds, register_world
from failgym.worlds.build import build_world
from tests.worlds.toy import TOY, ToyScenario

ID = "elsewhere/Toy-v0"
SCENARIO: dict[str, Any] = {
    "name": "Toy-v0",
    "trace": "google-2011-failing",
    "jobs": 60,
    "slice_tasks": 3,
    "give_up": True,
}


def scenario_with(**fields: Any) -> ToyScenario:
    """The scenario of the environment, some fields changed."""
    values: dict[str, Any] = {**SCENARIO, **fields}
    return ToyScenario(**values)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy world is there, and its environment."""
    monkeypatch.setattr(kinds, "_KINDS", dict(kinds._KINDS))
    register_world("toy", TOY)
    gym.register(
        id=ID,
        entry_point="failgym.envs:MitigationEnv",
        vector_entry_point="failgym.envs:MitigationVectorEnv",
        kwargs={"scenario": scenario_with()},
    )
    yield
    del gym.registry[ID]


def test_it_is_played_one_by_one() -> None:
    env = gym.make(ID, weight_forfeited=2.0)
    decisions = 0
    for seed in range(5):
        observation, info = env.reset(seed=seed)
        assert env.observation_space.contains(observation)
        total, ended = 0.0, False
        while not ended:
            action = int(np.flatnonzero(info["action_mask"])[-1])
            observation, reward, ended, _, info = env.step(action)
            total, decisions = total + float(reward), decisions + 1
        assert info["totals"][failgym.envs.TOTALS.index("tasks")] in (1, 2, 3)
        assert total < 0.0
    assert decisions > 5


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_batch_goes_the_ways_of_single_ones(mode: str) -> None:
    scenario = scenario_with()
    vector = gym.make_vec(ID, num_envs=4, autoreset_mode=gym.vector.AutoresetMode(mode))
    single = gym.vector.SyncVectorEnv(
        [lambda: gym.make(ID)] * 4, autoreset_mode=gym.vector.AutoresetMode(mode)
    )
    assert scenario.kind is TOY
    rng = np.random.default_rng(1)
    first, second = (env.reset(seed=3) for env in (vector, single))
    assert np.array_equal(first[0], second[0])
    for _ in range(40):
        actions = rng.choice([0, 3], 4)
        first, second = (env.step(actions) for env in (vector, single))
        for one, other in zip(first[:4], second[:4], strict=True):
            assert np.array_equal(one, other)


def test_it_is_evaluated_and_scored() -> None:
    scenario = scenario_with()
    replay = failgym.evaluate(REGISTRY["replay"](), scenario, episodes=8, split="all")
    assert (replay.score, replay.bound) == (0.0, "cheapest")
    given_up = failgym.evaluate(GivesUp(), scenario, episodes=8, split="all")
    assert replay.room > 0.0
    assert given_up.decisions > 0
    assert given_up.cost >= replay.cost - replay.room - 1e-9
    assert not given_up.same_as_replay


class GivesUp:
    """Gives every task up after its first failure."""

    def predict(self, observation: Any, **_: Any) -> tuple[Any, None]:
        return np.full(len(observation), 3), None


def test_the_bound_is_reached_by_who_tries_all_plans() -> None:
    """One task, one decision after the other: the cheapest of all ways to answer is the bound."""
    scenario = scenario_with(slice_tasks=1, split="all")
    world = build_world(scenario)
    least = world.least_costs(scenario, np.arange(world.slices)).costs.sum(axis=1)
    for chosen in range(min(world.slices, 10)):
        batch = world.batch(scenario, 1)
        costs: list[float] = []
        for patience in range(int(world.tasks["rows"].max()) + 1):
            batch.reset(np.array([chosen]))
            asked = 0
            while not batch.state.episodes["done"][0]:
                batch.step(np.array([3 if asked == patience else 0]))
                asked += 1
            costs.append(float(batch.state.episodes["cost"][0].sum()))
        assert min(costs) == pytest.approx(least[chosen], rel=1e-12)


def test_it_says_itself_which_fields_a_learner_is_shown() -> None:
    whole, env = gym.make(ID), SelectFields(gym.make(ID))
    assert env.fields == varying_fields(scenario_with()) == ("failures",)
    seen: list[Any] = []
    for seed in range(60):
        (observation, info), (shown, _) = whole.reset(seed=seed), env.reset(seed=seed)
        ended = False
        while not ended:
            assert shown.tolist() == [observation[INDEX["failures"]]]
            seen += [observation] if info["task"] >= 0 else []  # a slice may ask nothing
            observation, _, ended, _, info = whole.step(0)
            shown = env.step(0)[0]
    varies = np.ptp(np.array(seen), axis=0) > 0.0
    assert [name for name, i in INDEX.items() if varies[i]] == ["failures"]


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_it_is_shown(mode: str) -> None:
    if mode == "rgb_array":
        pytest.importorskip("PIL", reason="needs failgym[render]")
    env = gym.make(ID, render_mode=mode)
    env.reset(seed=1)
    before: Any = env.render()
    env.step(0)
    after: Any = env.render()
    if mode == "ansi":
        assert "FAILED" in before
        assert "machine 0" in after
    assert np.any(np.asarray(before) != np.asarray(after))


def test_a_whole_trace_is_replayed_in_it() -> None:
    trace = generate("google-2011-failing", jobs=60, seed=0)
    scenario = scenario_with()
    world = whole_trace_world(trace, scenario)
    run = run_policy(world, scenario, REGISTRY["replay"]())
    assert set(run.outcomes["task"]) == set(world.own_tasks)
    assert (run.outcomes["outcome"] == run.outcomes["recorded_outcome"])[
        run.outcomes["recorded_outcome"] == 0
    ].all()


def test_it_has_fields_of_its_own() -> None:
    slow, fast = (
        gym.make(ID, speed=speed).unwrapped.world.tables.rows["duration"].sum()  # type: ignore[attr-defined]
        for speed in (1, 4.0)
    )
    assert fast == pytest.approx(slow / 4, rel=1e-3)
    with pytest.raises(TypeError, match=r"'speeed'\. Did you mean 'speed'\?"):
        gym.make(ID, speeed=1.0)


def test_a_scenario_of_it_is_checked_by_it() -> None:
    with pytest.raises(ValueError, match=r"^clone: expected False on one machine"):
        gym.make(ID, clone=True)
    with pytest.raises(ValueError, match=r"^world: .*'toi' \(did you mean toy\?\)"):
        ToyScenario(world="toi")
