"""Infos are the same at every reset and step: keys, shapes, types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from failgym.envs import TERMS, TOTALS
from failgym.envs.spaces import totals
from tests.envs.vectors import MODES, batched
from tests.envs.worlds import IDS, legal, make

Structure = dict[str, tuple[Any, tuple[int, ...]]]


def structure(info: dict[str, Any]) -> Structure:
    """Type and shape by key; everything is numpy's."""
    assert all(isinstance(value, np.ndarray | np.generic) for value in info.values())
    return {name: (value.dtype, value.shape) for name, value in info.items()}


def played(env: Any, episodes: int) -> list[tuple[dict[str, Any], bool]]:
    """Infos of a few whole episodes of random legal actions, and whether they are of the end."""
    rng, infos = np.random.default_rng(0), list[tuple[dict[str, Any], bool]]()
    for seed in range(episodes):
        ended, info = False, env.reset(seed=seed)[1]
        infos.append((info, False))
        while not ended:
            _, _, ended, _, info = env.step(int(legal(info["action_mask"], rng)[0]))
            infos.append((info, ended))
    return infos


@pytest.mark.parametrize("env_id", IDS)
def test_a_single_environment_always_says_the_same_things(env_id: str) -> None:
    infos = played(make(env_id), 3)
    first = structure(infos[0][0])
    assert all(structure(info) == first for info, _ in infos)
    assert first["reward_terms"] == (np.dtype(np.float64), (len(TERMS),))
    assert first["totals"] == (np.dtype(np.int64), (len(TOTALS),))


@pytest.mark.parametrize("env_id", IDS)
def test_totals_are_zero_until_the_end(env_id: str) -> None:
    for info, ended in played(make(env_id), 3):
        decisions, tasks = (info["totals"][TOTALS.index(name)] for name in ("decisions", "tasks"))
        assert (decisions > 0, tasks > 0) == (ended, ended)
        if "unit_costs" in info:
            assert (info["unit_costs"].sum() > 0) == ended
        if not ended:
            assert not info["totals"].any()


@pytest.mark.parametrize("align", [True, False])
def test_totals_are_read_from_records_of_any_form(align: bool) -> None:
    """Worlds of other packages lay their records out as they like: packed, of small numbers."""
    written = [name for name in TOTALS if name not in ("transfer", "background")]
    numbers = [(name, np.int64 if i % 2 else np.int16) for i, name in enumerate(written)]
    record = np.dtype([("ended", np.bool_), *numbers, ("own", np.int32)], align=align)
    rng, episodes = np.random.default_rng(0), np.zeros(5, dtype=record)
    for name in record.fields or ():
        episodes[name] = rng.integers(0, 100, len(episodes))
    at = np.array([3, 1])
    for row, episode in zip(totals(episodes, at), episodes[at], strict=True):
        expected = {name: int(episode[name]) for name in written} | {"transfer": 0}
        expected["tasks"] = int(episode["own"])
        expected["background"] = int(episode["tasks"]) - int(episode["own"])
        assert dict(zip(TOTALS, row.tolist(), strict=True)) == expected


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("env_id", IDS)
def test_batched_infos_are_the_single_ones_with_masks(env_id: str, mode: AutoresetMode) -> None:
    n = 3
    single = structure(make(env_id).reset(seed=0)[1])
    expected = {name: (dtype, (n, *shape)) for name, (dtype, shape) in single.items()}
    expected |= {f"_{name}": (np.dtype(np.bool_), (n,)) for name in single}
    env, rng, ended = batched(env_id, n, mode), np.random.default_rng(1), False
    _, info = env.reset(seed=1)
    assert structure(info) == expected
    while not ended:
        _, _, over, _, info = env.step(legal(env.action_masks(), rng))
        ended = bool(over.any())
        if mode is AutoresetMode.SAME_STEP and ended:
            assert structure(info.pop("final_info")) == expected
            info = {name: value for name, value in info.items() if "final" not in name}
        assert structure(info) == expected
        if mode is AutoresetMode.DISABLED and ended:
            assert structure(env.reset(options={"reset_mask": over})[1]) == expected


@pytest.mark.parametrize("env_id", IDS)
def test_what_is_masked_out_is_zero(env_id: str) -> None:
    env, rng = batched(env_id, 4, AutoresetMode.SAME_STEP), np.random.default_rng(2)
    env.reset(seed=2)
    said: list[dict[str, Any]] = []
    while len(said) < 2:
        info = env.step(legal(env.action_masks(), rng))[4]
        if "final_info" in info and not info["_final_info"].all():
            said.append(info["final_info"])
    said.append(env.reset(options={"reset_mask": np.array([True, False, False, True])})[1])
    for info in said:
        for name in [name for name in info if not name.startswith("_")]:
            assert not info[name][~info[f"_{name}"]].any(), name
