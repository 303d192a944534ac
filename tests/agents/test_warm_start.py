"""Warm start: a pupil that knows its teacher before it learns by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import failgym
from failgym.agents.credit.rollout_buffers import MaskableTaskRolloutBuffer
from failgym.agents.environments.rewards import TrainingReward
from failgym.agents.environments.vec_env import BatchedVecEnv, make_sb3_env
from failgym.agents.imitation.demonstrations import Notes, demonstrate
from failgym.agents.imitation.fitting import explained_variance
from failgym.agents.imitation.warm_start import PUPILS, WarmStartSettings, warm_start
from failgym.baselines import Algorithm1, Replay, RetryCap
from failgym.envs import FIELDS, FieldBox, MitigationEnv, SelectFields, resolve
from failgym.sim.shared.fields import INDEX
from tests.agents.runs import (
    FAILING,
    SHORT,
    STEPS,
    Crash,
    assert_resumes,
    assert_same_state,
    checkpoint,
    crash_after,
    short_run,
)
from tests.envs.worlds import small

torch.set_num_threads(1)

MODELS: dict[str, Any] = {"ppo": PPO, "a2c": A2C, "maskable_ppo": MaskablePPO}
SCENARIO = resolve("failgym/Cloning-v1", {"trace": FAILING, "jobs": 300, "slice_tasks": 1})
AGREEMENT = 0.95
"""Of a pupil with its teacher, on decisions that it did not learn from."""


def environment(n_envs: int = 64, fields: Any = "varying") -> BatchedVecEnv:
    return make_sb3_env(SCENARIO, n_envs, fields=fields)


def pupil(algorithm: str = "maskable_ppo", env: Any = None, **options: Any) -> Any:
    return MODELS[algorithm](
        "MlpPolicy", env or environment(), device="cpu", seed=0, gamma=1.0, **options
    )


def weights(model: Any) -> list[Any]:
    return [value.numpy().copy() for value in model.policy.state_dict().values()]


class Continuing:
    """Never intervenes, in an environment of rewards that are all the same."""

    def predict(self, observation: Any, state: Any = None, **_: Any) -> Any:
        return np.zeros(len(observation), dtype=np.int64), state


def test_every_algorithm_is_tested() -> None:
    assert set(MODELS) == set(PUPILS)


@pytest.mark.parametrize("algorithm", PUPILS)
def test_the_pupil_does_what_its_teacher_does(algorithm: str) -> None:
    model = pupil(algorithm)
    before = failgym.evaluate(model, SCENARIO, episodes=200).cost
    result = warm_start(
        model, "algorithm_1", settings=WarmStartSettings(steps=20_000, learning_rate=3e-3)
    )
    assert result.decisions >= 20_000
    assert result.agreement > AGREEMENT
    assert result.interventions > AGREEMENT
    assert result.explained_variance > 0.0
    after = failgym.evaluate(model, SCENARIO, episodes=200).cost
    teacher = failgym.evaluate(Algorithm1(), SCENARIO, episodes=200).cost
    assert abs(after - teacher) < 0.5 * abs(before - teacher)


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_same_seed_gives_the_same_weights(rounds: int) -> None:
    first, second, other = (pupil() for _ in range(3))
    for model, seed in ((first, 3), (second, 3), (other, 4)):
        torch.manual_seed(int(torch.randint(1 << 20, ())))  # whatever else has been drawn
        warm_start(
            model,
            RetryCap(),
            settings=WarmStartSettings(steps=1_000, rounds=rounds, epochs=1),
            seed=seed,
        )
    for a, b in zip(weights(first), weights(second), strict=True):
        np.testing.assert_array_equal(a, b)
    assert any((a != b).any() for a, b in zip(weights(first), weights(other), strict=True))


def test_dagger_shows_the_teacher_what_the_pupil_comes_to() -> None:
    """A pupil that never clones comes to failures that its teacher avoids."""
    env, teacher = environment(fields="all"), Algorithm1()
    cloned = demonstrate(teacher, env, 2_000, seed=1)
    left = demonstrate(teacher, env, 2_000, seed=1, pupil=Continuing(), mixture=0.0)
    clones = [field.name for field in FIELDS].index("clones")
    assert cloned.observations[:, clones].any()
    assert not left.observations[:, clones].any()
    expected, _ = teacher.predict(left.observations)
    np.testing.assert_array_equal(left.actions, expected)
    assert left.actions.any()


@pytest.mark.parametrize("gamma", [1.0, 0.5])
def test_whole_episodes_are_collected_in_the_order_in_which_they_begin(gamma: float) -> None:
    env, teacher = environment(4, "all"), cast(Any, Algorithm1())
    shown = demonstrate(teacher, env, 400, gamma=gamma, seed=2)
    env.seed(2)
    observation: Any = env.reset()
    begun = [(0, i) for i in range(4)]  # (step, slot) of each episode
    running = list(range(4))
    rewards: list[list[float]] = [[] for _ in range(4)]
    for step in range(1_000):
        observation, reward, ended, _ = env.step(teacher.predict(observation)[0])
        for i in range(4):
            rewards[running[i]].append(float(reward[i]))
            if ended[i]:
                running[i] = len(begun)
                begun.append((step + 1, i))
                rewards.append([])
    assert begun == sorted(begun)
    enough = int(np.searchsorted(np.cumsum([len(one) for one in rewards]), 400))
    assert enough < min(running)
    expected: list[float] = []
    for one in rewards[: enough + 1]:
        expected += [sum(r * gamma**k for k, r in enumerate(one[i:])) for i in range(len(one))]
    np.testing.assert_allclose(shown.returns, expected, rtol=1e-9, atol=1e-12)
    assert len(np.unique(shown.episodes)) == enough + 1


@pytest.mark.parametrize(("slots", "steps"), [(1, 1), (1, 7), (5, 1), (5, 60), (8, 500)])
def test_collected_are_the_first_episodes_that_have_enough(slots: int, steps: int) -> None:
    rng, notes = np.random.default_rng(slots), Notes(slots, steps)
    running, lengths, over = list(range(slots)), [0] * slots, set[int]()
    done, last = False, 0
    while not done:
        last = int(np.searchsorted(np.cumsum(lengths), steps))
        done = over >= set(range(last + 1))
        assert notes.complete == done
        assert notes.needed.tolist() == [i for i in range(slots) if running[i] <= last]
        ended, rows = rng.random(slots) < 0.3, np.zeros((len(notes.needed), 1), dtype=np.float32)
        few = rows[:, 0]
        notes.add(rows, rows > 0, few.astype(np.int64), few, ended)
        for i in range(slots):
            lengths[running[i]] += 1
            if ended[i]:
                over.add(running[i])
                running[i] = len(lengths)
                lengths.append(0)
    assert steps <= len(notes.demonstrations(1.0)) == sum(lengths[: last + 1])


def test_episodes_are_tested_whole() -> None:
    shown = demonstrate(Algorithm1(), environment(8), 2_000, seed=0)
    learned, tested = shown.parted(0.25, np.random.default_rng(0))
    assert len(learned) + len(tested) == len(shown)
    assert not set(learned.episodes) & set(tested.episodes)
    numbers = len(np.unique(shown.episodes))
    assert len(np.unique(tested.episodes)) == round(0.25 * numbers)


def test_the_critic_is_left_alone_if_wanted() -> None:
    model = pupil()
    before = model.policy.value_net.weight.detach().clone()
    warm_start(model, "retry_cap", settings=WarmStartSettings(steps=500, epochs=1, critic=False))
    assert torch.equal(model.policy.value_net.weight, before)


def test_returns_that_do_not_differ_do_no_harm() -> None:
    """Relative to replay, replay earns nothing."""
    env = TrainingReward(environment(), reference=Replay())
    model = pupil(env=env)
    result = warm_start(model, Continuing(), settings=WarmStartSettings(steps=500, epochs=2))
    assert all(np.isfinite(value).all() for value in weights(model))
    assert result.agreement == 1.0
    assert result.to_json()["interventions"] is None


def test_training_goes_on_from_a_warm_start() -> None:
    model = pupil(n_steps=8, batch_size=64)
    warm_start(model, "algorithm_1", settings=WarmStartSettings(steps=2_000, epochs=2))
    assert model.num_timesteps == 0
    model.learn(1_024)
    assert model.num_timesteps == 1_024


def test_normalised_observations_are_not_shown_to_the_teacher() -> None:
    env = VecNormalize(environment(), norm_reward=False)
    shown = demonstrate(Algorithm1(), env, 1_000, seed=1)
    plain = demonstrate(Algorithm1(), environment(), 1_000, seed=1)
    np.testing.assert_array_equal(shown.actions, plain.actions)
    np.testing.assert_array_equal(shown.masks, plain.masks)
    assert (shown.observations != plain.observations).any()


def test_explained_variance() -> None:
    returns = np.array([1.0, 2.0, 3.0])
    assert explained_variance(returns + 5.0, returns) == 1.0
    assert explained_variance(np.zeros(3), returns) == 0.0
    assert np.isnan(explained_variance(returns, np.ones(3)))


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "unknown teacher": ({"teacher": "algoritm_1"}, "unknown policy 'algoritm_1', did you mean"),
    "no steps": ({"steps": 0}, "steps: expected a whole number, at least 1"),
    "no rounds": ({"rounds": 0}, "rounds: expected"),
    "half an epoch": ({"epochs": 0.5}, "epochs: expected"),
    "no batch": ({"batch_size": 0}, "batch_size: expected"),
    "mixture": ({"mixture": 1.5}, r"mixture: expected a share from 0 to 1, got 1\.5"),
    "all held out": ({"held_out": 1.0}, "held_out: expected"),
    "learning rate": ({"learning_rate": 0.0}, "learning_rate: expected a positive number"),
    "seed": ({"seed": -1}, "seed: expected"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused(case: str) -> None:
    changed, message = WRONG[case]
    others = {name: changed[name] for name in changed.keys() & {"teacher", "seed"}}
    how = {name: value for name, value in changed.items() if name not in others}
    arguments: dict[str, Any] = {"teacher": "retry_cap", **others}
    with pytest.raises(ValueError, match=message):
        warm_start(pupil(), **arguments, settings=WarmStartSettings(**how))


def test_the_critic_learns_no_returns_of_episodes_under_credit_per_task() -> None:
    env = make_sb3_env("failgym/Mitigation-v1", 2, **small("failgym/Mitigation-v1"))
    kwargs: dict[str, Any] = {"env": env}
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=8,
        batch_size=8,
        rollout_buffer_class=MaskableTaskRolloutBuffer,
        rollout_buffer_kwargs=kwargs,
    )
    with pytest.raises(ValueError, match="critic: expected False with credit per task"):
        warm_start(model, "retry_cap", settings=WarmStartSettings(steps=64))


@pytest.mark.parametrize(("kind", "policy"), [(DQN, "MlpPolicy"), (RecurrentPPO, "MlpLstmPolicy")])
def test_other_algorithms_are_refused(kind: Any, policy: str) -> None:
    model = kind(policy, environment(2), device="cpu")
    with pytest.raises(ValueError, match="expected ppo, a2c, maskable_ppo for a warm start, got"):
        warm_start(model, "retry_cap")


PLAIN: dict[str, Any] = {"env": None, "without": None, "reward": None}
"""All fields, and the environment's own trace and rewards."""
WARM: dict[str, Any] = {"teacher": "algorithm_1", "steps": 2_000, "batch_size": 64}


def warm(out: Path, algo: str = "maskable_ppo", epochs: int = 3, **options: Any) -> Any:
    taught = {**WARM, "epochs": epochs}
    hyper = {**SHORT[algo], "policy.net_arch": [8], **PLAIN, "warm_start": taught}
    given: dict[str, Any] = {"hyper": hyper, **options}
    return short_run(out, algo, **given)


@pytest.mark.parametrize(
    "algorithm",
    [
        "maskable_ppo",  # what is taught does not depend on it, and all are taught above
        *(pytest.param(x, marks=pytest.mark.campaign) for x in PUPILS if x != "maskable_ppo"),
    ],
)
def test_a_run_begins_with_it(algorithm: str, tmp_path: Path) -> None:
    result = warm(tmp_path / "run", algorithm, epochs=30)
    told = json.loads((tmp_path / "run" / "result.json").read_text())["warm_start"]
    assert told == result.warm_start
    assert told["decisions"] >= 2_000
    assert told["agreement"] > 0.8
    assert result.steps == STEPS
    assert result.validations[0].steps == 0  # what was taught may be the best there will be
    assert 0.0 < result.warm_start_seconds < result.seconds
    assert short_run(tmp_path / "cold", algorithm).warm_start is None


def test_a_run_that_is_resumed_has_it_once(tmp_path: Path, monkeypatch: Any) -> None:
    def counted(*arguments: Any, **options: Any) -> Any:
        calls.append(options["seed"])
        return warm_start(*arguments, **options)

    calls: list[int] = []
    monkeypatch.setattr("failgym.agents.training.session.warm_start", counted)
    assert_resumes(tmp_path, warm)
    assert calls == [0, 0]  # in the whole run, and in that of three parts


def test_a_kill_in_the_midst_begins_it_anew(tmp_path: Path, monkeypatch: Any) -> None:
    def killed(*arguments: Any, **options: Any) -> Any:
        warm_start(*arguments, **options)
        raise Crash

    whole = warm(tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr("failgym.agents.training.session.warm_start", killed)
        with pytest.raises(Crash):
            warm(tmp_path / "parts")
    assert not (tmp_path / "parts" / "checkpoint.pt").exists()
    resumed = warm(tmp_path / "parts", resume=True)
    assert resumed.validations == whole.validations
    assert resumed.warm_start == whole.warm_start
    assert_same_state(checkpoint(tmp_path / "whole"), checkpoint(tmp_path / "parts"))


def test_a_run_of_another_teacher_is_not_gone_on_with(tmp_path: Path) -> None:
    with pytest.raises(Crash):
        warm(tmp_path / "run", progress=crash_after(8))
    hyper = {**SHORT["maskable_ppo"], "policy.net_arch": [8], **PLAIN}
    hyper["warm_start"] = {**WARM, "teacher": "retry_cap"}
    with pytest.raises(ValueError, match=r'with settings\.warm_start\.teacher="algorithm_1"'):
        warm(tmp_path / "run", hyper=hyper, resume=True)


def test_a_teacher_is_shown_what_is_hidden_from_its_pupil() -> None:
    """It asks the same of the same episodes, whatever the pupil is shown of them."""
    all_, some = (
        demonstrate(Algorithm1(), environment(8, fields), 1_000, seed=1)
        for fields in ("all", ["age", "mtbf"])
    )
    np.testing.assert_array_equal(some.actions, all_.actions)
    at = [INDEX["age"], INDEX["mtbf"]]
    np.testing.assert_array_equal(some.observations, all_.observations[:, at])


class OfTwoFields:
    """A model that gives up young attempts, of two fields that it names."""

    observation_space = FieldBox(["risk", "age"])

    def predict(self, observation: Any, state: Any = None, **_: Any) -> Any:
        assert observation.shape[1] == 2
        return np.where(observation[:, 1] < 1.0, 3, 0), state


def test_a_teacher_that_is_a_model_is_shown_its_own_fields() -> None:
    shown = demonstrate(OfTwoFields(), environment(8, "all"), 500, seed=1)
    expected = np.where(shown.observations[:, INDEX["age"]] < 1.0, 3, 0)
    np.testing.assert_array_equal(shown.actions, expected)
    assert len(np.unique(expected)) == 2


def test_a_teacher_needs_whole_observations() -> None:
    env = DummyVecEnv([lambda: SelectFields(MitigationEnv(SCENARIO))])
    with pytest.raises(ValueError, match=r"^env: expected whole observations, or an environment"):
        demonstrate(Algorithm1(), env, 10)


def test_with_credit_per_task_the_critic_is_left_alone(tmp_path: Path) -> None:
    hyper = {**SHORT["maskable_ppo"], "policy.net_arch": [8], "credit": {"scale": 5.0}}
    hyper["warm_start"] = {"teacher": "retry_cap", "steps": 200, "epochs": 1, "batch_size": 64}
    result = warm(tmp_path / "run", env="failgym/Mitigation-v1", episodes=2, hyper=hyper)
    assert result.warm_start["decisions"] >= 200
