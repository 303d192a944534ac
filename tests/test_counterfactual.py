"""`failgym.counterfactual`: what branching says an action costs is what playing it costs."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest

from failgym.baselines import REGISTRY
from failgym.counterfactual import branch, follow
from failgym.sim.shared.batch import EpisodeBatch
from failgym.vocabulary import ACTIONS, TERMS
from tests.envs.worlds import IDS, legal, make, small

EPISODES = 3


def batched(env_id: str, **fields: Any) -> Any:
    """A small batched environment that has played a few random decisions."""
    env = gym.make_vec(env_id, num_envs=EPISODES, **{**small(env_id), **fields})
    unwrapped: Any = env.unwrapped
    unwrapped.reset(seed=5)
    rng = np.random.default_rng(1)
    for _ in range(4):
        unwrapped.step(legal(unwrapped.batch.output.mask, rng))
    return env


def played(batch: EpisodeBatch, episode: int, action: int, policy: Any) -> npt.NDArray[Any]:
    """The final cost of a run of one episode: deep-copied, and stepped with all the others."""
    twin = copy.deepcopy(batch)
    actions = np.zeros(len(batch), dtype=np.int64)
    actions[episode] = action
    while not twin.state.episodes["done"][episode]:
        twin.step(actions)
        out = twin.output
        if policy is None:
            actions[:] = 0
        else:
            actions = np.asarray(policy.predict(out.obs, action_masks=out.mask.astype(bool))[0])
    return twin.state.episodes["cost"][episode].copy()


CONTINUED = {"beyond_record": "continued", "restarts": "record"}
AS_RECORDED = {"beyond_record": "ghost", "restarts": "limit", "task_value": None}
ELSEWHERE: list[tuple[str, dict[str, Any]]] = [
    ("failgym/Mitigation-v1", AS_RECORDED),
    ("failgym/Workflow-v1", CONTINUED),
    ("failgym/Lineage-v1", CONTINUED),
]
"""Scheduled worlds whose records go on, or not, unlike those of the environments."""


@pytest.mark.parametrize(("env_id", "fields"), [*((env_id, {}) for env_id in IDS), *ELSEWHERE])
@pytest.mark.parametrize("informed", [False, True])
def test_costs_are_those_of_a_run(env_id: str, fields: dict[str, Any], informed: bool) -> None:
    env = batched(env_id, **fields)
    batch: EpisodeBatch = env.unwrapped.batch
    policy = None
    if informed:
        rules = [rule for rule in REGISTRY.values() if rule.name not in ("replay", "clairvoyant")]
        policy = next(r() for r in rules[::-1] if r.compatible(env.unwrapped.scenario))
    before = copy.deepcopy(batch)
    costs = branch(env, policy).costs
    running = np.flatnonzero(~batch.state.episodes["done"])
    assert len(running)
    for episode in running.tolist():
        for action in range(ACTIONS):
            if not batch.output.mask[episode, action]:
                assert np.isnan(costs[episode, action]).all()
                continue
            expected = played(batch, episode, action, policy)
            assert costs[episode, action].tobytes() == expected.tobytes()
    # what was branched from goes on as if nothing had happened
    nothing = np.zeros(EPISODES, dtype=np.int64)
    assert batch.step(nothing).obs.tobytes() == before.step(nothing).obs.tobytes()
    assert (batch.state.episodes == before.state.episodes).all()


@pytest.mark.parametrize("env_id", IDS)
def test_a_policy_that_is_followed_costs_what_its_answer_costs(env_id: str) -> None:
    env = batched(env_id)
    batch: EpisodeBatch = env.unwrapped.batch
    rules = [rule() for rule in REGISTRY.values() if rule.compatible(env.unwrapped.scenario)]
    before, costs = copy.deepcopy(batch), follow(env, rules)
    for number, rule in enumerate(rules):
        answers = np.asarray(rule.predict(batch.output.obs)[0])
        tried = branch(env, rule).costs[np.arange(EPISODES), answers]
        assert costs[:, number].tobytes() == tried.tobytes()
    assert (batch.state.episodes == before.state.episodes).all()


@pytest.mark.parametrize("fields", [{"order": "time"}, {"slice_tasks": 1}])
@pytest.mark.parametrize("env_id", ["failgym/Cloning-v1", "failgym/Checkpoint-v1"])
def test_compiled_branches_are_those_of_copies(env_id: str, fields: dict[str, Any]) -> None:
    batch: EpisodeBatch = batched(env_id, **fields).unwrapped.batch
    assert batch.branched().tobytes() == EpisodeBatch.branched(batch).tobytes()


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("failgym.sim.shared.batch.SMALLEST_CHUNK", 1)
    one, two = (batched("failgym/Cloning-v1", threads=n).unwrapped.batch for n in (1, 2))
    assert len(two._spans()) == 2  # pyright: ignore[reportPrivateUsage]
    assert one.branched().tobytes() == two.branched().tobytes()


def test_parts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = batched("failgym/Mitigation-v1").unwrapped.batch
    whole = batch.branched()
    monkeypatch.setattr("failgym.sim.shared.batch.COPIES", 2)
    assert batch.branched().tobytes() == whole.tobytes()


def test_gains_are_beside_continue() -> None:
    tried = branch(batched("failgym/GracePeriod-v1", slice_tasks=1))
    total = tried.costs.sum(axis=2)
    assert (tried.gains[:, 0] == 0.0).all()
    known = ~np.isnan(tried.gains)
    assert (tried.gains[known] == (total[:, :1] - total)[known]).all()


def test_joined_episodes_go_on_as_the_originals() -> None:
    batches: list[Any] = [batched("failgym/Cloning-v1").unwrapped.batch for _ in range(2)]
    batches[1].step(np.zeros(EPISODES, dtype=np.int64))
    joined = batches[0].joined(batches[1:])
    nothing = np.zeros(EPISODES, dtype=np.int64)
    for _ in range(5):
        out = joined.step(np.concatenate([nothing, nothing]))
        parts = [batch.step(nothing).obs for batch in batches]
        assert out.obs.tobytes() == np.concatenate(parts).tobytes()


def test_taken_episodes_go_on_as_the_originals() -> None:
    for env_id in ("failgym/Cloning-v1", "failgym/Mitigation-v1"):
        batch: EpisodeBatch = batched(env_id).unwrapped.batch
        twin = batch.taken(np.array([2, 0, 2]))
        nothing = np.zeros(EPISODES, dtype=np.int64)
        for _ in range(5):
            out, copied = batch.step(nothing), twin.step(nothing)
            assert copied.obs.tobytes() == out.obs[[2, 0, 2]].tobytes()
            assert copied.reward.tobytes() == out.reward[[2, 0, 2]].tobytes()


@pytest.mark.parametrize("episodes", [[], [3], [-1]])
def test_episodes_that_are_not_there_are_refused(episodes: list[int]) -> None:
    batch = batched("failgym/Cloning-v1").unwrapped.batch
    with pytest.raises(ValueError, match="episodes: expected some from 0 to 2"):
        batch.taken(np.array(episodes, dtype=np.int64))


def test_simulate_is_what_comes_of_it() -> None:
    env: Any = make("failgym/Cloning-v1").unwrapped
    env.reset(seed=3)
    expected = env.simulate(0)
    again = env.simulate(0)
    assert expected.tobytes() == again.tobytes()
    total, ended = np.zeros(len(TERMS)), False
    while not ended:
        _, _, ended, _, info = env.step(0)
        total -= info["reward_terms"]
    assert total == pytest.approx(expected)
    assert env.batch.state.episodes["cost"][0].tobytes() == expected.tobytes()
    with pytest.raises(RuntimeError, match="expected a running episode"):
        env.simulate(0)


def test_simulate_refuses_what_is_no_answer() -> None:
    env: Any = make("failgym/GracePeriod-v1").unwrapped
    with pytest.raises(RuntimeError, match="call reset first"):
        env.simulate(0)
    env.reset(seed=3)
    with pytest.raises(ValueError, match="action: expected 0 to 4, got 9"):
        env.simulate(9)
    with pytest.raises(ValueError, match="action: CLONE is illegal"):
        env.simulate(1)


def test_an_episode_that_is_over_has_no_branches() -> None:
    env: Any = make("failgym/GracePeriod-v1", slice_tasks=1).unwrapped
    env.reset(seed=3)
    ended = False
    while not ended:
        ended = env.step(0)[2]
    assert np.isnan(branch(env).costs).all()


def test_other_environments_are_refused() -> None:
    with pytest.raises(ValueError, match="expected an environment of failgym, got"):
        branch(gym.make("CartPole-v1"))


def test_policies_for_other_rules_are_refused() -> None:
    class Picky:
        name = "picky"

        def check_environment(self, rules: Any) -> None:
            raise ValueError("made for another environment")

        def predict(self, observation: Any, **_: Any) -> Any:
            return np.zeros(len(observation), dtype=np.int64), None

    with pytest.raises(ValueError, match="policy 'picky': made for another environment"):
        branch(batched("failgym/Cloning-v1"), Picky())


def test_policies_that_carry_a_state_are_refused() -> None:
    class Recurrent:
        name = "recurrent"

        def predict(self, observation: Any, state: Any = None, **_: Any) -> Any:
            steps = 0 if state is None else state
            return np.zeros(len(observation), dtype=np.int64), steps + 1

    with pytest.raises(ValueError, match="policy 'recurrent': expected one without a state"):
        branch(batched("failgym/Cloning-v1"), Recurrent())
