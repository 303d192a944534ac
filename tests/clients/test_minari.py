"""Minari: a data set that its collector records, infos and all, and that is read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.clients.installed import client
from tests.clients.transitions import IDS, legal_actions, make, same_infos, stream

minari = client("minari")
client("h5py")
client("jax")  # asked for by the extra minari[create]

pytestmark = pytest.mark.filterwarnings("default")

CLIENT = "minari"
EPISODES, SEED = 4, 7


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
