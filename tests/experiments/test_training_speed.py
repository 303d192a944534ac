"""The measurement of training runs, and its yardstick is CartPole; the figures are for people."""

from __future__ import annotations

import itertools
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason="needs the agents extra")

from experiments.cartpole import BatchedCartPole
from experiments.training_speed import ALGORITHMS, CARTPOLE, QUICK, SUBJECTS, measure, verdicts
from experiments.training_subjects import padded


def test_quick_run() -> None:
    rows = measure(QUICK)
    named = [(row["algorithm"], row["env"]) for row in rows]
    assert named == list(
        itertools.product(ALGORITHMS, (*SUBJECTS, CARTPOLE, *map(padded, SUBJECTS)))
    )
    assert all(row["steps_per_second"] > 0 for row in rows)
    assert all(0 < row["environment"] < 1 for row in rows)
    assert {row["of_cartpole"] for row in rows if row["env"] == CARTPOLE} == {1.0}
    assert len(verdicts(rows)) == 2
    widths = {row["env"]: row["fields"] for row in rows}
    assert all(widths[env] == widths[padded(env)] > widths[CARTPOLE] for env in SUBJECTS)
    assert all((row["of_padded_processor"] is None) != (row["env"] in SUBJECTS) for row in rows)


@pytest.mark.parametrize(("width", "actions"), [(4, 2), (9, 5)])
def test_the_yardstick_is_gymnasiums_cartpole(width: int, actions: int) -> None:
    n, rng = 8, np.random.default_rng(0)
    ours = BatchedCartPole(n, width, actions)
    theirs: Any = gym.make_vec("CartPole-v1", num_envs=n, vectorization_mode="vector_entry_point")
    obs, _ = ours.reset(seed=1)
    expected, _ = theirs.reset(seed=1)
    assert obs.shape == (n, width)
    assert ours.action_masks().shape == (n, actions)
    ended, info = np.zeros(n, dtype=np.bool_), dict[str, Any]()
    push = rng.integers(0, actions, n)
    while not ended.any():
        assert np.array_equal(obs[:, :4], expected)
        assert not obs[:, 4:].any()
        push = rng.integers(0, actions, n)
        obs, rewards, terminated, _, info = ours.step(push)
        expected, their_rewards, ended, _, _ = theirs.step(push % 2)
        assert np.array_equal(terminated, ended)
        assert np.array_equal(rewards, their_rewards)
    for i in np.flatnonzero(ended):
        assert np.array_equal(info["final_obs"][i][:4], expected[i])
        assert np.abs(obs[i]).max() <= 0.05
    assert not ours.step(push)[2][ended].any()
