"""Minari: a data set that its collector records, infos and all, and that is read back."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import failgym
from failgym.baselines import Algorithm1, Replay, RetryCap
from failgym.contrib.minari import CHANCES, decisions_of, exact_value, record
from failgym.contrib.off_policy import corrected, importance_sampling, per_decision
from failgym.traces.synthetic import generate
from tests.clients.installed import client
from tests.clients.transitions import IDS, legal_actions, make, same_infos, small_fields, stream

minari = client("minari")
client("h5py")
client("jax")  # asked for by the extra minari[create]

pytestmark = pytest.mark.filterwarnings("default")

CLIENT = "minari"
EPISODES, SEED = 4, 7


TARGETS = {"retry_cap": RetryCap(), "replay": Replay()}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where data sets are kept."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


def collected(env_id: str, infos: list[list[dict[str, Any]]]) -> Any:
    """A data set of a few episodes of legal actions; their infos go to the list."""
    env = minari.DataCollector(make(env_id), record_infos=True)
    choose = legal_actions(SEED)
    for episode in range(EPISODES):
        obs, info = env.reset(seed=SEED + episode)
        infos.append([info])
        ended = False
        while not ended:
            obs, _, ended, _, info = env.step(choose(obs[None])[0])
            infos[-1].append(info)
    return env.create_dataset(dataset_id="failgym/test-v0", description="legal play")


@pytest.mark.parametrize("env_id", IDS)
def test_data_set(env_id: str, compare: Any) -> None:
    infos: list[list[dict[str, Any]]] = []
    collected(env_id, infos)
    kept = list(minari.load_dataset("failgym/test-v0").iterate_episodes())
    assert len(kept) == EPISODES
    for number, episode in enumerate(kept):
        stored = {
            "obs": episode.observations[:-1],
            "successor": episode.observations[1:],
            "action": episode.actions,
            "reward": episode.rewards,
            "terminated": episode.terminations,
            "truncated": episode.truncations,
            "mask": episode.infos["action_mask"][:-1],
        }
        compare(stored, stream(env_id, episode.actions, seed=SEED + number))
        same_infos(episode.infos, stacked(infos[number]))


def stacked(infos: list[dict[str, Any]]) -> dict[str, Any]:
    """Infos of the steps of an episode as arrays [steps, ...]."""
    return {
        name: stacked([info[name] for info in infos])
        if isinstance(value, dict)
        else np.stack([info[name] for info in infos])
        for name, value in infos[0].items()
    }


def test_environment_is_made_anew_from_the_data_set(compare: Any) -> None:
    collected(IDS[0], [])
    data = minari.load_dataset("failgym/test-v0")
    env, episode = data.recover_environment(), next(data.iterate_episodes())
    env.reset(seed=SEED)
    steps = [env.step(action) for action in episode.actions]
    found = {
        "successor": np.stack([step[0] for step in steps]),
        "reward": np.array([step[1] for step in steps]),
    }
    compare(found, stream(IDS[0], episode.actions, seed=SEED))


def test_seeds_of_its_own_are_recorded() -> None:
    env = minari.DataCollector(make(IDS[0]))
    env.reset()
    while not env.step(0)[2]:
        pass
    episode = next(env.create_dataset(dataset_id="failgym/test-v0").iterate_episodes())
    seed = int(episode.seed) if hasattr(episode, "seed") else None
    assert len(episode.rewards)
    assert seed is None or make(IDS[0]).reset(seed=seed)[0].tobytes() == (
        episode.observations[0].tobytes()
    )


def test_seeds_are_not_made_up_where_none_are_wanted() -> None:
    env = minari.DataCollector(make(IDS[0]))
    found, _ = env.reset(seed=SEED, options={"minari_autoseed": False})
    assert found.tobytes() == make(IDS[0]).reset(seed=SEED)[0].tobytes()


def recorded(otherwise: float = 0.3, policy: Any = None, **more: Any) -> Any:
    """A small data set of `record`, of tasks of Cloning-v1."""
    given: dict[str, Any] = {**small_fields(IDS[0]), "slice_tasks": 1, **more}
    return record(
        *("failgym/recorded-v0", policy or Algorithm1(), IDS[0]),
        episodes=40,
        otherwise=otherwise,
        targets=TARGETS,
        seed=SEED,
        **given,
    )


def test_recorded_episodes_are_those_of_their_seeds(compare: Any) -> None:
    """They are what a single environment returns, begun with the seed that the data set keeps."""
    recorded(slice_tasks=3)
    data = minari.load_dataset("failgym/recorded-v0")
    told = list(data.storage.get_episode_metadata(data.episode_indices))
    assert [episode["seed"] for episode in told] == list(range(SEED, SEED + 40))
    for kept, episode in zip(told[:8], data.iterate_episodes(), strict=False):
        stored = {
            "obs": episode.observations[:-1],
            "successor": episode.observations[1:],
            "action": episode.actions,
            "reward": episode.rewards,
            "terminated": episode.terminations,
            "truncated": episode.truncations,
            "mask": episode.infos["action_mask"][:-1],
        }
        compare(stored, stream(IDS[0], episode.actions, seed=kept["seed"]))


def test_recorded_environment_is_made_anew() -> None:
    recorded()
    data = minari.load_dataset("failgym/recorded-v0")
    env, episode = data.recover_environment(), next(data.iterate_episodes())
    observation, _ = env.reset(seed=SEED)
    assert observation.tobytes() == episode.observations[0].tobytes()
    assert env.spec.kwargs["slice_tasks"] == 1


def test_chances_are_those_that_actions_were_drawn_by() -> None:
    for episode in recorded().iterate_episodes():
        count, chances = len(episode.rewards), episode.infos[CHANCES]
        legal = episode.infos["action_mask"] == 1
        assert chances.sum(axis=1) == pytest.approx(1.0)
        assert (chances[~legal] == 0.0).all()
        drawn = 0.3 / legal[:count].sum(axis=1)
        assert chances[:count].max(axis=1) == pytest.approx(0.7 + drawn)
        assert (chances[np.arange(count), episode.actions] > 0.0).all()


def test_exact_returns_are_those_of_playing_on() -> None:
    """Of every action that was taken last before a target would have gone on, by playing it."""
    env = make(IDS[0], slice_tasks=1)
    for number, episode in enumerate(recorded().iterate_episodes()):
        returns = episode.infos["targets"]["retry_cap"]["returns"]
        for step in range(len(episode.rewards)):
            legal = episode.infos["action_mask"][step] == 1
            assert np.isnan(returns[step]).tolist() == (~legal).tolist()
            action = int(np.flatnonzero(legal)[-1])
            env.reset(seed=SEED + number)
            for before in episode.actions[:step]:
                env.step(before)
            obs, reward, ended, _, _ = env.step(action)
            found = float(reward)
            while not ended:
                obs, reward, ended, _, _ = env.step(RetryCap().predict(obs)[0])
                found += float(reward)
            assert returns[step, action] == pytest.approx(found, abs=1e-9)
        assert np.isnan(returns[-1]).all()


@pytest.mark.parametrize("target", TARGETS)
def test_estimates_are_exact_where_q_is(target: str) -> None:
    """With the exact Q what is weighted is zero, whatever the weights are."""
    d = decisions_of(recorded(), target)
    assert d.last.sum() == 40
    done, wanted = (d.returns[np.arange(len(d)), which] for which in (d.actions, d.target))
    assert corrected(d, done, wanted) == pytest.approx(d.truth)
    assert np.isfinite([importance_sampling(d), per_decision(d)]).all()


def test_a_policy_that_is_followed_is_worth_what_it_got() -> None:
    d = decisions_of(recorded(otherwise=0.0, policy=RetryCap()), "retry_cap")
    assert (d.weights == 1.0).all()
    got = d.rewards.sum() / 40
    assert [d.truth, importance_sampling(d), per_decision(d)] == pytest.approx([got] * 3)


def test_exact_value_is_that_of_evaluate() -> None:
    fields: dict[str, Any] = {**small_fields(IDS[0]), "slice_tasks": 1}
    found = exact_value(RetryCap(), IDS[0], split="test", **fields)
    result = failgym.evaluate(RetryCap(), IDS[0], bound=None, **fields)
    assert found == pytest.approx(-result.cost / result.episodes)


def test_what_cannot_be_recorded_is_said_in_a_line() -> None:
    recorded()
    with pytest.raises(ValueError, match=r"^failgym/recorded-v0: there is such a data set"):
        recorded()
    with pytest.raises(ValueError, match=r"^otherwise: expected a chance from 0 to 1, got 2"):
        recorded(otherwise=2)
    trace = generate("google-2011-applications-failing", jobs=200, seed=1)
    with pytest.raises(ValueError, match=r"^overrides: expected plain values"):
        record("failgym/other-v0", Replay(), IDS[0], episodes=1, trace=trace)
    for no_id in ("no id-v0-", "failgym/other", "../other-v0"):
        with pytest.raises(ValueError, match=rf"^dataset_id: expected name-v0, .* got '{no_id}'$"):
            record(no_id, Replay(), IDS[0], episodes=1, **small_fields(IDS[0]))
    data = minari.load_dataset("failgym/recorded-v0")
    with pytest.raises(ValueError, match=r"target 'young': the data set has replay, retry_cap"):
        decisions_of(data, "young")
    assert list(minari.list_local_datasets()) == ["failgym/recorded-v0"]


KILLED = """
import os, signal
import minari
from failgym.baselines import Replay
from failgym.contrib.minari import record
written = minari.create_dataset_from_buffers
def killed(*given, **more):
    written(*given, **more)
    os.kill(os.getpid(), signal.SIGKILL)
minari.create_dataset_from_buffers = killed
record("failgym/recorded-v0", Replay(), "failgym/Cloning-v1", episodes=2, jobs=600)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_what_a_killed_recording_left_goes_with_the_next(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED]).returncode == -signal.SIGKILL
    assert list(minari.list_local_datasets()) == []
    assert list(tmp_path.glob(".failgym-*"))
    recorded()
    assert list(minari.list_local_datasets()) == ["failgym/recorded-v0"]
    assert [path.name for path in tmp_path.iterdir()] == ["failgym"]


def test_a_data_set_that_somebody_makes_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = minari.create_dataset_from_buffers

    def meanwhile(*given: Any, **more: Any) -> Any:
        (tmp_path / "failgym" / "recorded-v0" / "data").mkdir(parents=True)
        return written(*given, **more)

    monkeypatch.setattr(minari, "create_dataset_from_buffers", meanwhile)
    with pytest.raises(ValueError, match=r"^failgym/recorded-v0: was made by somebody else"):
        recorded()
    assert [path.name for path in tmp_path.iterdir()] == ["failgym"]
