"""Gymnasium's wrappers of vector environments: around the batched one as around its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium import wrappers as single
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as wrappers

from tests.clients.installed import client
from tests.clients.transitions import (
    IDS,
    batched,
    drawn,
    make,
    recorded,
    rows,
    same_infos,
    sync,
)

# Wrappers warn of bounds that are infinite.
pytestmark = pytest.mark.filterwarnings("default")

STEPS, SEED, COUNT = 40, 3, 3
MODES = list(AutoresetMode)[:2]
Wrap = Callable[[Any], Any]


def half(values: Any) -> Any:
    """What the tests transform with."""
    return values / 2


def half_box(envs: Any, shape: Any = None) -> Any:
    """The box of halved observations, of one environment or of all."""
    box = envs.observation_space if shape else envs.single_observation_space
    return spaces.Box(box.low / 2, box.high / 2, dtype=np.float32)


def transformed(envs: Any) -> Any:
    return wrappers.TransformObservation(
        envs, half, half_box(envs, "all"), single_observation_space=half_box(envs)
    )


def vectorized(envs: Any) -> Any:
    return wrappers.VectorizeTransformObservation(
        envs, single.TransformObservation, func=half, observation_space=half_box(envs)
    )


def with_rest(obs: Any) -> dict[str, Any]:
    """An observation and something beside it."""
    return {"all": obs, "rest": np.zeros(1, dtype=np.float32)}


def as_dict(envs: Any) -> Any:
    """Observations in a dict, for the wrapper that takes some of its entries."""
    box = envs.single_observation_space
    space = spaces.Dict({"all": box, "rest": spaces.Box(0, 1, (1,))})
    envs = wrappers.VectorizeTransformObservation(
        envs,
        single.TransformObservation,
        func=with_rest,
        observation_space=space,
    )
    return wrappers.FilterObservation(envs, ["all"])


def to_torch(envs: Any) -> Any:
    client("array_api_compat")
    client("torch")
    return wrappers.NumpyToTorch(envs)


def array_conversion(envs: Any) -> Any:
    client("array_api_compat")
    return wrappers.ArrayConversion(envs, env_xp=np, target_xp=client("torch"))


WRAPPERS: dict[str, Wrap] = {
    "ArrayConversion": array_conversion,
    "ClipReward": lambda envs: wrappers.ClipReward(envs, -0.01, 0.0),
    "DictInfoToList": wrappers.DictInfoToList,
    "DtypeObservation": lambda envs: wrappers.DtypeObservation(envs, np.float64),
    "FilterObservation": as_dict,
    "FlattenObservation": wrappers.FlattenObservation,
    "NormalizeObservation": wrappers.NormalizeObservation,
    "NormalizeReward": wrappers.NormalizeReward,
    "NumpyToTorch": to_torch,
    "RecordEpisodeStatistics": wrappers.RecordEpisodeStatistics,
    "RescaleObservation": lambda envs: wrappers.RescaleObservation(envs, 0, 1),
    "ReshapeObservation": lambda envs: wrappers.ReshapeObservation(
        envs, (1, *envs.single_observation_space.shape)
    ),
    "TransformAction": lambda envs: wrappers.TransformAction(envs, lambda actions: actions),
    "TransformObservation": transformed,
    "TransformReward": lambda envs: wrappers.TransformReward(envs, half),
    "VectorizeTransformAction": lambda envs: wrappers.VectorizeTransformAction(
        envs, single.TransformAction, func=int, action_space=envs.single_action_space
    ),
    "VectorizeTransformObservation": vectorized,
    "VectorizeTransformReward": lambda envs: wrappers.VectorizeTransformReward(
        envs, single.TransformReward, func=half
    ),
}
PLAIN = (
    "ArrayConversion",
    "NumpyToTorch",
    "RecordEpisodeStatistics",
    "TransformAction",
    "VectorizeTransformAction",
)
"""Wrappers that hand transitions on as they are."""
CONVERTING = PLAIN[:2]
"""Wrappers that hand on arrays of another library, and take actions of it."""
TIMES = frozenset({"t", "_t"})
"""What `RecordEpisodeStatistics` measures with a clock."""
ELSEWHERE = ("HumanRendering", "RecordVideo")
"""Wrappers with a test of their own."""
UNFIT = {
    "GrayscaleObservation": "for observations that are pictures",
    "ResizeObservation": "for observations that are pictures",
    "ClipAction": "for continuous actions",
    "RescaleAction": "for continuous actions",
    "JaxToNumpy": "for environments written in JAX",
    "JaxToTorch": "for environments written in JAX",
}
"""Wrappers that do not apply, and why."""


def wrapped(name: str, envs: Any) -> Any:
    """The wrapped environments, or what the wrapper says against them."""
    try:
        return WRAPPERS[name](envs)
    except (AssertionError, ValueError) as refusal:  # gymnasium 1.2 asserts
        return str(refusal)


def converts(name: str, mode: AutoresetMode) -> None:
    """Skip what Gymnasium cannot do around its own vector environment either."""
    if name in CONVERTING and mode is AutoresetMode.SAME_STEP:
        pytest.skip("Gymnasium converts no arrays of objects, as last observations come in")


def flat(envs: Any, obs: Any) -> Any:
    """Observations [E, fields] as an array of their own."""
    parts = obs.values() if isinstance(obs, dict) else [obs]
    return np.concatenate([np.array(part).reshape(COUNT, -1) for part in parts], axis=1)


def test_every_wrapper_is_tried() -> None:
    assert set(wrappers.__all__) <= {*WRAPPERS, *ELSEWHERE, *UNFIT}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("name", PLAIN)
def test_transitions_pass(name: str, env_id: str, mode: AutoresetMode, compare: Any) -> None:
    converts(name, mode)
    actions = drawn(env_id, COUNT, mode, STEPS, SEED)
    envs = WRAPPERS[name](batched(env_id, COUNT, mode))
    steps = [envs.reset(seed=SEED), *map(envs.step, actions)]
    stored = {
        "obs": [np.asarray(step[0]) for step in steps[:-1]],
        "next_obs": [np.asarray(step[0]) for step in steps[1:]],
        "reward": [np.asarray(step[1]) for step in steps[1:]],
        "terminated": [np.asarray(step[2]) for step in steps[1:]],
        "truncated": [np.asarray(step[3]) for step in steps[1:]],
        "next_mask": [np.asarray(step[-1]["action_mask"]) for step in steps[1:]],
    }
    compare(stored, rows(env_id, actions, seed=SEED, mode=mode))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", WRAPPERS)
def test_same_as_around_sync_vector_env(
    name: str, mode: AutoresetMode, record_property: Any
) -> None:
    converts(name, mode)
    actions, env_id = drawn(IDS[0], COUNT, mode, STEPS, SEED), IDS[0]
    ours, theirs = (
        wrapped(name, batched(env_id, COUNT, mode)),
        wrapped(name, sync(env_id, COUNT, mode)),
    )
    if isinstance(theirs, str):
        assert ours == theirs
        pytest.skip(f"Gymnasium's own refuses: {theirs}")
    assert ours.observation_space == theirs.observation_space
    assert ours.single_observation_space == theirs.single_observation_space
    found, wanted = ours.reset(seed=SEED), theirs.reset(seed=SEED)
    kept = [(found, *wanted)]
    for chosen in actions:
        given = client("torch").as_tensor(chosen) if name in CONVERTING else chosen
        found, wanted = ours.step(given), theirs.step(given)
        for k in range(1, 4):
            assert np.array_equal(np.asarray(found[k]), np.asarray(wanted[k]))
        kept.append((found, flat(theirs, wanted[0]), wanted[4]))
    for step, obs, info in kept:
        assert np.array_equal(flat(ours, step[0]), flat(theirs, obs))
        same_infos(step[-1], info, but=TIMES)
    record_property("transitions", actions.size)


def test_statistics_of_episodes() -> None:
    mode = AutoresetMode.NEXT_STEP  # in SAME_STEP gymnasium 1.2 is wrong around its own ones too
    actions = drawn(IDS[0], COUNT, mode, STEPS, SEED)
    wanted = rows(IDS[0], actions, seed=SEED, mode=mode)
    envs = wrappers.RecordEpisodeStatistics(batched(IDS[0], COUNT, mode))
    envs.reset(seed=SEED)
    running, found = np.zeros(COUNT), 0
    for k, chosen in enumerate(actions):
        info = envs.step(chosen)[4]
        running += wanted.reward[k]
        for i in np.flatnonzero(wanted.terminated[k]):
            assert info["episode"]["r"][i] == pytest.approx(running[i])
            running[i], found = 0.0, found + 1
    assert found


def test_rewards_are_transformed(compare: Any) -> None:
    mode = AutoresetMode.NEXT_STEP
    actions = drawn(IDS[0], COUNT, mode, STEPS, SEED)
    envs = wrappers.TransformReward(batched(IDS[0], COUNT, mode), half)
    found = vars(recorded(envs, actions, SEED))
    compare({**found, "reward": found["reward"] * 2}, rows(IDS[0], actions, seed=SEED, mode=mode))
    assert make(IDS[0]).observation_space == envs.single_observation_space
