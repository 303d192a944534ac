"""Gymnasium's wrappers of a single environment: what passes through them is kept as it was."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces, wrappers
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import iterate

from failgym.envs import FIELDS
from tests.clients.installed import client
from tests.clients.transitions import IDS, Transitions, drawn, make, rows, stream

# Wrappers warn of what they were asked for: a video for every episode, bounds that are infinite.
pytestmark = pytest.mark.filterwarnings("default")

STEPS, SEED = 80, 3
ROW = ("obs", "action", "reward", "terminated", "truncated", "successor")
Wrap = Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]]


def half(values: Any) -> Any:
    """What the tests transform with."""
    return values / 2


def halved(env: Any) -> Any:
    """The observations halved, and the box with them."""
    box = env.observation_space
    return wrappers.TransformObservation(
        env, half, spaces.Box(box.low / 2, box.high / 2, dtype=np.float32)
    )


def as_dict(env: Any) -> Any:
    """Observations in a dict, for the wrapper that takes some of its entries."""
    space = spaces.Dict({"all": env.observation_space, "rest": spaces.Box(0, 1, (1,))})
    rest = np.zeros(1, dtype=np.float32)
    env = wrappers.TransformObservation(env, lambda obs: {"all": obs, "rest": rest}, space)
    return wrappers.FilterObservation(env, ["all"])


def to_torch(env: Any) -> Any:
    client("array_api_compat")
    client("torch")
    return wrappers.NumpyToTorch(env)


def array_conversion(env: Any) -> Any:
    client("array_api_compat")
    return wrappers.ArrayConversion(env, env_xp=np, target_xp=client("torch"))


def repeated(env: Any) -> Any:
    if not hasattr(wrappers, "RepeatAction"):
        pytest.skip("this gymnasium has no RepeatAction")
    return wrappers.RepeatAction(env, 2)


def rescaled(env: Any) -> Any:
    return wrappers.RescaleObservation(env, np.float32(0), np.float32(1))


PLAIN: dict[str, Wrap] = {
    "OrderEnforcing": wrappers.OrderEnforcing,
    "PassiveEnvChecker": wrappers.PassiveEnvChecker,
    "RecordEpisodeStatistics": wrappers.RecordEpisodeStatistics,
    "TimeLimit": lambda env: wrappers.TimeLimit(env, 10_000),
    "TransformAction": lambda env: wrappers.TransformAction(env, int, env.action_space),
    "NumpyToTorch": to_torch,
    "ArrayConversion": array_conversion,
}
"""Wrappers that hand transitions on as they are."""
CHANGING: dict[str, Wrap] = {
    "ClipReward": lambda env: wrappers.ClipReward(env, -0.01, 0.0),
    "DelayObservation": lambda env: wrappers.DelayObservation(env, 2),
    "DiscretizeObservation": lambda env: wrappers.DiscretizeObservation(
        halved(env), 4, multidiscrete=True
    ),
    "DtypeObservation": lambda env: wrappers.DtypeObservation(env, np.float64),
    "FilterObservation": as_dict,
    "FlattenObservation": wrappers.FlattenObservation,
    "FrameStackObservation": lambda env: wrappers.FrameStackObservation(env, 3),
    "MaxAndSkipObservation": lambda env: wrappers.MaxAndSkipObservation(env, 2),
    "NormalizeObservation": wrappers.NormalizeObservation,
    "NormalizeReward": wrappers.NormalizeReward,
    "RepeatAction": repeated,
    "RescaleObservation": rescaled,
    "ReshapeObservation": lambda env: wrappers.ReshapeObservation(env, (1, len(FIELDS))),
    "StickyAction": lambda env: wrappers.StickyAction(env, 0.3),
    "TimeAwareObservation": lambda env: wrappers.TimeAwareObservation(
        wrappers.TimeLimit(env, 10_000)
    ),
    "TransformObservation": halved,
    "TransformReward": lambda env: wrappers.TransformReward(env, half),
}
"""Wrappers that change what passes."""
SHOWING = ("AddRenderObservation", "AddWhiteNoise", "ObstructView", "RenderCollection")
ELSEWHERE = (*SHOWING, "Autoreset", "HumanRendering", "RecordVideo")
"""Wrappers with a test of their own."""
UNFIT = {
    "AtariPreprocessing": "for Atari's emulator",
    "GrayscaleObservation": "for observations that are pictures",
    "ResizeObservation": "for observations that are pictures",
    "ClipAction": "for continuous actions",
    "DiscretizeAction": "for continuous actions",
    "RescaleAction": "for continuous actions",
    "JaxToNumpy": "for environments written in JAX",
    "JaxToTorch": "for environments written in JAX",
}
"""Wrappers that do not apply, and why."""


def columns(env: Any, rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    """Rows (obs, action, reward, terminated, truncated, successor) as arrays by name."""
    found = dict(zip(ROW, zip(*rows, strict=True), strict=True))
    for name in ("obs", "successor"):
        found[name] = tuple(spaces.flatten(env.observation_space, obs) for obs in found[name])
    return {name: np.stack([np.asarray(value) for value in found[name]]) for name in ROW}


def kept(env: Any, actions: Any) -> dict[str, Any]:
    """What a loop keeps that copies nothing."""
    rows: list[tuple[Any, ...]] = []
    obs, _ = env.reset(seed=SEED)
    for action in actions:
        after, reward, terminated, truncated, _ = env.step(int(action))
        rows.append((obs, action, reward, terminated, truncated, after))
        obs = env.reset()[0] if terminated or truncated else after
    return columns(env, rows)


def first(envs: Any, obs: Any) -> Any:
    """A copy of the first environment's observation."""
    return copy.deepcopy(next(iter(iterate(envs.observation_space, obs))))


def copied(env: Any, actions: Any) -> dict[str, Any]:
    """The same of Gymnasium's vector environment around one such environment."""
    envs = SyncVectorEnv([lambda: env], autoreset_mode=AutoresetMode.SAME_STEP)
    rows: list[tuple[Any, ...]] = []
    obs = first(envs, envs.reset(seed=SEED)[0])
    for action in actions:
        after, reward, terminated, truncated, info = envs.step(np.array([action]))
        after = first(envs, after)
        last = info["final_obs"][0] if terminated[0] or truncated[0] else after
        row = (obs, action, reward[0], terminated[0], truncated[0], last)
        rows.append(copy.deepcopy(row))
        obs = after
    return columns(env, rows)


def single(env_id: str) -> Any:
    """Actions [S] that are legal where the environment is not wrapped."""
    return drawn(env_id, 1, AutoresetMode.SAME_STEP, STEPS, SEED)[:, 0]


def test_every_wrapper_is_tried() -> None:
    known = {*PLAIN, *CHANGING, *ELSEWHERE, *UNFIT}
    assert {name for name in wrappers.__all__ if name != "vector"} <= known


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("name", PLAIN)
def test_transitions_pass(name: str, env_id: str, compare: Any) -> None:
    actions = single(env_id)
    compare(kept(PLAIN[name](make(env_id)), actions), stream(env_id, actions, seed=SEED))


@pytest.mark.parametrize("name", CHANGING)
def test_what_is_kept_stays_as_it_was(name: str, compare: Any) -> None:
    env_id = IDS[0]
    actions = single(env_id)
    found, wanted = (keep(CHANGING[name](make(env_id)), actions) for keep in (kept, copied))
    compare(found, Transitions(**wanted, next_obs=wanted["successor"]))


def test_changes_are_those_of_the_observations(compare: Any) -> None:
    actions = single(IDS[0])
    wanted = stream(IDS[0], actions, seed=SEED)
    found = kept(wrappers.TransformReward(halved(make(IDS[0])), half), actions)
    for name in ("obs", "successor", "reward"):
        found[name] = found[name] * 2
    compare(found, wanted)


def test_statistics_of_episodes() -> None:
    actions = single(IDS[0])
    wanted = stream(IDS[0], actions, seed=SEED)
    env = wrappers.RecordEpisodeStatistics(make(IDS[0]))
    env.reset(seed=SEED)
    found: list[tuple[float, int]] = []
    for action in actions:
        _, _, terminated, _, info = env.step(int(action))
        if terminated:
            found.append((float(info["episode"]["r"]), info["episode"]["l"]))
            env.reset()
    ends = np.flatnonzero(wanted.terminated) + 1
    parts = np.split(wanted.reward, ends)[:-1]
    assert found == [(pytest.approx(float(part.sum())), len(part)) for part in parts]


def test_time_limit_truncates() -> None:
    env = wrappers.TimeLimit(make(IDS[0], slice_tasks=20), 2)
    env.reset(seed=SEED)
    assert env.step(0)[2:4] == (False, False)
    assert env.step(0)[2:4] == (False, True)
    env.reset()


def test_autoreset_is_the_next_step_mode(compare: Any) -> None:
    actions = drawn(IDS[0], 1, AutoresetMode.NEXT_STEP, STEPS, SEED)
    wanted = rows(IDS[0], actions, seed=SEED, mode=AutoresetMode.NEXT_STEP)
    env = wrappers.Autoreset(make(IDS[0]))
    env.reset(seed=SEED)
    steps = [env.step(int(action[0])) for action in actions]
    names = ("next_obs", "reward", "terminated", "truncated")
    columns = zip(*(step[:4] for step in steps), strict=True)
    compare(dict(zip(names, map(np.array, columns), strict=True)), wanted)
