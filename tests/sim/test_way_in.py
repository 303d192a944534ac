"""The engine's code is looked up once for the arrays of a batch, and never used for others."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from failgym.envs import resolve
from failgym.sim.shared import batch as batches
from failgym.sim.shared.way_in import type_of
from failgym.worlds.batches import batch_of
from failgym.worlds.build import build_world

NAMES = ("Cloning-v1", "Workflow-v1")


def begun(name: str, episodes: int = 3) -> Any:
    """A batch of which the first decisions are open."""
    scenario = resolve(name, {"jobs": 200})
    batch = batch_of(scenario, build_world(scenario), episodes)
    batch.seed(np.arange(1, episodes + 1, dtype=np.uint64))
    batch.reset()
    return batch


def played(batch: Any, steps: int = 20) -> list[bytes]:
    """What comes of going on, by random actions."""
    rng, found = np.random.default_rng(0), list[bytes]()
    for _ in range(steps):
        out = batch.step(rng.integers(0, 5, len(batch)), again=True)
        found.append(out.obs.tobytes() + out.reward.tobytes())
    return found


def never(*_: Any) -> Any:
    raise AssertionError("types were asked for")


@pytest.mark.parametrize("name", NAMES)
def test_neither_a_step_nor_a_copy_asks_for_types(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = begun(name)
    monkeypatch.setattr(batches, "way_in", never)
    twin = copy.deepcopy(batch)
    assert played(twin) == played(batch)


@pytest.mark.parametrize("name", NAMES)
def test_other_arrays_are_looked_at(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = begun(name)
    again = pickle.loads(pickle.dumps(batch))
    some = "heap" if name == "Cloning-v1" else "machines"
    other = {some: np.asfortranarray(getattr(batch.state, some))}
    batch.state = batch.state._replace(**other)
    with monkeypatch.context() as patch:
        patch.setattr(batches, "way_in", never)
        for other in (batch, again):
            with pytest.raises(AssertionError, match="types were asked for"):
                other.step(np.zeros(len(other), dtype=np.int64))


class Pair(NamedTuple):
    """As the arrays of a world."""

    first: Any
    second: Any


def test_types_are_those_that_numba_names() -> None:
    """Also of arrays that differ in nothing but their layout, and are asked about in turn."""
    fields = [("a", "i1"), ("b", "f8")]
    plain, padded = np.zeros(4, np.dtype(fields)), np.zeros(4, np.dtype(fields, align=True))
    frozen = plain.copy()
    frozen.flags.writeable = False
    table = np.zeros((3, 2))
    shifted = np.zeros(33, np.uint8)[1:].view(np.float64)
    same: list[Any] = [plain, padded, frozen, plain[::2], plain["b"]]
    same += [table, table.T, table[:, :1], table.astype("f4"), shifted, shifted.copy(), table[0]]
    same += [1, 1.0, True, None, (1, 2.0), (table, 3)]
    for _ in range(2):
        for one in same:
            given = Pair(table, (one, Pair(plain, one)))
            assert type_of(given) == numba.typeof(given)
            assert type_of(one) == numba.typeof(one)


@pytest.mark.parametrize("name", NAMES)
def test_another_way_into_the_engine_is_looked_up(name: str) -> None:
    batch = begun(name)
    calls: list[int] = []

    def other(*given: Any) -> int:
        calls.append(given[5])
        return 0

    entry = SimpleNamespace(compile=lambda _: None, get_overload=lambda _: other)  # pyright: ignore[reportUnknownLambdaType]
    batch._enter(entry, 77, np.zeros(len(batch), dtype=np.int64), False, batch.output)
    assert calls == [77]


@pytest.mark.parametrize("name", NAMES)
def test_actions_of_any_kind_are_the_same_actions(name: str) -> None:
    plain = np.array([0, 1, 0])
    kinds: list[Any] = [
        plain.astype(">i8"),
        plain.astype(np.int8),
        np.repeat(plain, 2)[::2],
    ]
    frozen = plain.copy()
    frozen.flags.writeable = False
    expected = begun(name).step(plain).obs.tobytes()
    for actions in (*kinds, frozen):
        assert begun(name).step(actions).obs.tobytes() == expected
