"""An agent that is asked more often than in training answers as often as there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file
from sb3_contrib import MaskablePPO, RecurrentPPO
from stable_baselines3.common.vec_env import VecNormalize

from failgym.agents.environments.vec_env import make_sb3_env
from failgym.agents.files.decision_interval import Cadence
from failgym.agents.files.policy_file import load_agent
from failgym.agents.files.trained_policy import TrainedPolicy
from failgym.agents.files.writing import save_policy
from failgym.cli.watch import Recorded
from failgym.envs import FIELDS, Scenario, resolve
from failgym.evaluation import Anchors
from failgym.evaluation.caller import playing_by
from failgym.vocabulary import ACTIONS, MINUTE
from tests.agents.runs import FAILING
from tests.envs.worlds import small

torch.set_num_threads(1)

NAMES = [field.name for field in FIELDS]
WINDOW, AGE, FLAGGED = (NAMES.index(name) for name in ("window", "age", "flagged_before"))
FATE = ("outcome", "end", "lost", "checkpoint", "attempts", "clones", "retries", "checkpoints")
ALONE: dict[str, Any] = {"slice_tasks": 1}
PLACES = ("Checkpoint-v1", "Cloning-v1", "GracePeriod-v1", "Mitigation-v1")

SELDOM: tuple[dict[str, int], ...] = ({"every": 4}, {"window": 20 * MINUTE})
FOUR = [(name, SELDOM[n % 2]) for n, name in enumerate(PLACES)]
"""Each environment in one of the two ways; in the other it is a campaign."""
OTHER_FOUR = [
    pytest.param(name, SELDOM[1 - n % 2], marks=pytest.mark.campaign)
    for n, name in enumerate(PLACES)
]

MORE: dict[str, dict[str, Any]] = {
    "Cloning-v1": {"trace": FAILING},
    "Mitigation-v1": {"jobs": 150},  # else thousands
}


def few(name: str) -> dict[str, Any]:
    """Fields of a small environment of some hundred tasks."""
    return {**small(name), **MORE.get(name, {}), **ALONE}


def agent_of(scenario: Scenario, folder: Path, normalised: bool = False) -> TrainedPolicy:
    """An agent that interferes from the seventh minute of an attempt on, as if trained there."""
    env: Any = make_sb3_env(scenario, 2)
    age = env.fields.index("age")
    if normalised:
        env = VecNormalize(env)
        env.obs_rms.mean[age] = 1.5
    model = MaskablePPO("MlpPolicy", env, device="cpu", policy_kwargs={"net_arch": []})
    with torch.no_grad():
        for weights in model.policy.parameters():
            weights.zero_()
        policy: Any = model.policy
        policy.action_net.weight[1:, age] = 1.0
        policy.action_net.bias[1:] = -3.0
    path = folder / "agent.safetensors"
    save_policy(model, path, env=scenario, command="")
    return load_agent(path)


def shown(ages: Sequence[float], window: bool = True) -> Any:
    """Observations of decisions at such ages [ms]."""
    rows = np.zeros((len(ages), len(FIELDS)), dtype=np.float32)
    rows[:, WINDOW], rows[:, -ACTIONS:] = window, True
    rows[:, AGE] = np.log2(1.0 + np.array(ages) / MINUTE)
    return rows


def is_due(cadence: Cadence, observations: Any) -> Any:
    """Which decisions an agent answers."""
    return cadence.due(observations[:, WINDOW], observations[:, AGE])


class Always:
    """An agent that answers whenever it is asked."""

    def __init__(self, agent: TrainedPolicy) -> None:
        self.predict = replace(agent, cadence=None).predict


class Looker:
    """Leaves all as it is, and keeps what it is shown when it is due, but for `flagged_before`."""

    def __init__(self, cadence: Cadence | None) -> None:
        self.cadence = cadence
        self.seen: list[bytes] = []

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: Any = 0
    ) -> tuple[Any, None]:
        due = slice(None) if self.cadence is None else is_due(self.cadence, observation)
        self.seen += [row.tobytes() for row in np.delete(observation[due], FLAGGED, axis=1)]
        return np.zeros(len(observation), dtype=np.int64), None


def fates(policy: Any, scenario: Scenario) -> dict[int, tuple[int, ...]]:
    """What became of each task."""
    found = Anchors.of(scenario, split="test").run(policy).outcomes
    columns = [found[name].tolist() for name in ("task", *FATE)]
    return {row[0]: row[1:] for row in zip(*columns, strict=True)}


@pytest.mark.parametrize(("name", "seldom"), [*FOUR, *OTHER_FOUR], ids=str)
def test_it_plays_as_if_it_were_asked_as_often_as_in_training(
    name: str, seldom: dict[str, int], tmp_path: Path
) -> None:
    often = resolve(name, {**few(name), "decide": "every", "window": 5 * MINUTE})
    agent = agent_of(often.override(**seldom), tmp_path)
    there, here = (fates(agent, scenario) for scenario in (often.override(**seldom), often))
    always = fates(Always(agent), often)
    assert there == {task: here[task] for task in there}  # others are over before they are asked
    assert there != {task: always[task] for task in there}


@pytest.mark.parametrize("name", PLACES)
def test_what_it_is_shown_is_what_it_was_shown_but_for_one_field(name: str) -> None:
    often = resolve(name, {**few(name), "decide": "every"})
    seldom = often.override(every=4)
    here, there = Looker(Cadence.of(seldom, often)), Looker(None)
    for looker, scenario in ((here, often), (there, seldom)):
        Anchors.of(scenario, split="test").run(looker)
    assert there.seen
    assert sorted(here.seen) == sorted(there.seen)


def test_normalised_observations(tmp_path: Path) -> None:
    often = resolve("Checkpoint-v1", {**small("Checkpoint-v1"), **ALONE})
    agent = agent_of(often.override(every=4), tmp_path, normalised=True)
    there, here = (fates(agent, scenario) for scenario in (often.override(every=4), often))
    assert there == {task: here[task] for task in there}


def test_an_agent_of_an_environment_that_is_not_registered(tmp_path: Path) -> None:
    often = replace(resolve("Checkpoint-v1", {**small("Checkpoint-v1"), **ALONE}), name="Mine")
    agent = agent_of(often.override(every=4), tmp_path)
    there, here = (fates(agent, scenario) for scenario in (often.override(every=4), often))
    assert there == {task: here[task] for task in there}


def test_where_it_has_played_before_does_not_matter(tmp_path: Path) -> None:
    often = resolve("Checkpoint-v1", {**small("Checkpoint-v1"), **ALONE})
    agent = agent_of(often.override(every=4), tmp_path)
    between = shown([9 * MINUTE])
    assert agent.predict(between)[0] == 0
    fates(agent, often.override(every=4))
    agent.playing_by(often.override(every=4))
    assert agent.predict(between)[0] == 0
    assert Always(agent).predict(between)[0] != 0


def test_an_episode_by_hand(tmp_path: Path) -> None:
    """In an environment as registered it needs no telling how often it is asked."""
    often = resolve("Checkpoint-v1", small("Checkpoint-v1"))
    agent = agent_of(often.override(every=5), tmp_path)
    env: Any = gym.make("failgym/Checkpoint-v1", **small("Checkpoint-v1"))
    observation, info = env.reset(seed=1)
    ages: set[int] = set()
    for _ in range(300):
        action, _ = agent.predict(observation, action_masks=info["action_mask"])
        if action:
            ages.add(round(2.0 ** float(observation[AGE]) - 1.0))
        observation, _, over, _, info = env.step(action)
        if over:
            observation, info = env.reset()
    assert ages
    assert all(age % 5 == 0 for age in ages)


def test_what_it_answers_is_recorded_as_it_plays(tmp_path: Path) -> None:
    seldom = resolve("Checkpoint-v1", {**small("Checkpoint-v1"), "every": 4})
    recorded = Recorded(agent_of(seldom, tmp_path))
    minutes = shown([8 * MINUTE, 10 * MINUTE, 12 * MINUTE])
    playing_by(recorded, seldom.override(every=2)).predict(minutes)
    assert [action != 0 for action in recorded.actions] == [True, False, True]


def test_it_answers_whenever_it_is_asked_less_often(tmp_path: Path) -> None:
    seldom = resolve("Checkpoint-v1", {**small("Checkpoint-v1"), "every": 7})
    agent = agent_of(seldom.override(every=2), tmp_path)
    assert fates(agent, seldom) == fates(Always(agent), seldom)


@given(own=st.integers(1, 40), asked=st.integers(1, 40), windows=st.integers(0, 10_000))
def test_it_is_due_once_in_each_of_its_intervals(own: int, asked: int, windows: int) -> None:
    """Asked at multiples of one time, it answers the first at or after each multiple of its own."""
    ages = [asked * MINUTE * n for n in range(windows, windows + 50)]
    due = is_due(Cadence(own * MINUTE, asked * MINUTE), shown(ages))
    for age, answered in zip(ages, due.tolist(), strict=True):
        multiples = range(-(-max(age - asked * MINUTE + 1, 0) // MINUTE), age // MINUTE + 1)
        assert answered == any(minute % own == 0 for minute in multiples)


def test_other_decisions_are_always_answered() -> None:
    ages = [1.0 * MINUTE, 2.5 * MINUTE]
    cadence = Cadence(5 * MINUTE, MINUTE)
    assert not is_due(cadence, shown(ages)).any()
    assert is_due(cadence, shown(ages, window=False)).all()


def test_a_memory_is_as_if_it_had_not_been_asked_between(tmp_path: Path) -> None:
    scenario = resolve("Checkpoint-v1", {**small("Checkpoint-v1"), "every": 5})
    model = RecurrentPPO("MlpLstmPolicy", make_sb3_env(scenario, 2), device="cpu", seed=1)
    save_policy(model, tmp_path / "agent.safetensors", env=scenario, command="")
    agent = load_agent(tmp_path / "agent.safetensors")
    start, going = np.array([True, True]), np.array([False, False])
    _, begun = agent.predict(shown([5.0 * MINUTE, 0.0]), None, start)
    _, skipped = agent.predict(shown([6.0 * MINUTE, 1.0 * MINUTE]), begun, going)
    for before, after in zip(begun, skipped, strict=True):
        np.testing.assert_array_equal(before, after)
    _, one = agent.predict(shown([10.0 * MINUTE, 2.0 * MINUTE]), skipped, going)
    for before, after in zip(skipped, one, strict=True):
        assert (before[:, 0] != after[:, 0]).any()
        np.testing.assert_array_equal(before[:, 1], after[:, 1])
    _, anew = agent.predict(shown([1.0 * MINUTE, 1.0 * MINUTE]), one, start)
    for memory in anew:
        assert not memory.any()
    actions, first = agent.predict(shown([1.0 * MINUTE])[0], None, np.array(True))
    assert actions == 0
    assert not any(memory.any() for memory in first)


def test_an_agent_without_memory_passes_its_state_on(tmp_path: Path) -> None:
    agent = agent_of(resolve("Checkpoint-v1", {**small("Checkpoint-v1"), "every": 5}), tmp_path)
    state = object()
    assert agent.predict(shown([6.0 * MINUTE]), state)[1] is state


def test_an_agent_asked_at_uneven_distances_answers_whenever_it_is_asked(tmp_path: Path) -> None:
    uneven = resolve("Checkpoint-v1", {**small("Checkpoint-v1"), "decide": "geometric"})
    agent = agent_of(uneven.override(decide="every", every=30), tmp_path)
    assert fates(agent, uneven) == fates(Always(agent), uneven)
    assert agent_of(uneven, tmp_path).cadence is None


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"every": 0}, "every: expected 1 to"),
        ({"every": "often"}, "every: expected int, got"),
        ({"decide": "never"}, "decide: expected"),
        ({"window": 1e9}, "window: expected"),
    ],
)
def test_a_file_that_says_nonsense_of_it_is_refused(
    fields: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    agent_of(resolve("Checkpoint-v1", small("Checkpoint-v1")), tmp_path)
    path = tmp_path / "agent.safetensors"
    opened: Any = safe_open
    with opened(path, framework="np") as content:
        arrays = {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118
        manifest = json.loads(content.metadata()["failgym"])
    manifest["environment"]["fields"] |= fields
    save_file(arrays, path, {"failgym": json.dumps(manifest)})
    with pytest.raises(
        ValueError, match=f"agent.safetensors: manifest: environment.fields: {complaint}"
    ):
        load_agent(path)
