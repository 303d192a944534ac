"""What an episode plays does not depend on its room: on what was there before, or who shares it."""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from failgym import memory
from failgym.envs import resolve
from failgym.sim.scheduled.batch import ScheduledBatch
from failgym.sim.scheduled.memory import rooms, snapshots
from failgym.worlds.build import build_world

STEPS = 60
ANYWAY = {"LARGE": 0, "MANY": 0}


@lru_cache
def world_of(name: str) -> tuple[Any, Any]:
    """A scenario with slices of unequal size, and its world."""
    settings: dict[str, Any] = {"jobs": 40, "split": "all", "begin": 0, "slice_tasks": 60}
    scenario = resolve(name, settings)
    return scenario, build_world(scenario)


def batch_of(name: str, episodes: int) -> ScheduledBatch:
    scenario, world = world_of(name)
    batch = world.batch(scenario, episodes)
    batch.seed(np.arange(1, 1 + episodes, dtype=np.uint64))
    return batch


def play(batch: ScheduledBatch, slices: list[int], steps: int = STEPS) -> list[bytes]:
    """Begin slices; what random steps show, and then the states of all tasks."""
    rng, shown = np.random.default_rng(0), list[bytes]()
    batch.reset(np.array(slices))
    for _ in range(steps):
        out = batch.output
        shown.append(b"".join(a.tobytes() for a in (out.obs, out.mask, out.reward, out.unit_cost)))
        chances: npt.NDArray[np.float64] = rng.random(out.mask.shape) * out.mask
        batch.step(chances.argmax(axis=1))
    columns = [batch.outcomes(e).values() for e in range(len(batch))]
    return [*shown, *(column.tobytes() for table in columns for column in table)]


def smallest_and_largest(batch: ScheduledBatch) -> tuple[int, int]:
    sizes = np.diff(batch.world.member_at)
    assert sizes.min() < sizes.max()
    return int(sizes.argmin()), int(sizes.argmax())


NAMES = ("Lineage-v1", "Workflow-v1", "Mitigation-v1")


@pytest.mark.parametrize("plenty", [0, 1 << 30])
@pytest.mark.parametrize("name", NAMES)
def test_a_slice_after_another_is_as_in_a_fresh_batch(
    name: str, plenty: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rooms, "PLENTY", plenty)
    monkeypatch.setattr(rooms, "SPARE", 1)
    batch = batch_of(name, 1)
    small, large = smallest_and_largest(batch)
    for slices in ([small], [large], [small], [small], [large]):
        assert play(batch, slices) == play(batch_of(name, 1), slices)


@pytest.mark.parametrize("name", NAMES)
def test_what_lay_in_memory_before_is_not_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [play(batch_of(name, 1), [s]) for s in smallest_and_largest(batch_of(name, 1))]
    empty = np.empty

    def littered(*given: Any, **more: Any) -> Any:
        array = empty(*given, **more)
        array.view(np.uint8)[...] = 0xA5
        return array

    monkeypatch.setattr(rooms.np, "empty", littered)
    found = [play(batch_of(name, 1), [s]) for s in smallest_and_largest(batch_of(name, 1))]
    assert found == expected


@pytest.mark.skipif(not hasattr(snapshots.os, "memfd_create"), reason="no files in memory here")
@pytest.mark.parametrize("name", NAMES)
def test_shared_first_decisions_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = smallest_and_largest(batch_of(name, 1))
    slices = [large, small, large, large, small]
    plain = batch_of(name, 5)
    expected = [play(plain, slices), play(plain, slices[::-1])]
    for what, size in ANYWAY.items():
        monkeypatch.setattr(snapshots, what, size)
    batch = batch_of(name, 5)
    assert batch.state.shared.all()
    assert [play(batch, slices), play(batch, slices[::-1])] == expected
    assert large in batch.snapshots
    twin = copy.deepcopy(batch)
    del batch
    assert play(twin, slices) == expected[0]


def test_a_copy_and_its_original_go_their_own_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    for what, size in ANYWAY.items():
        monkeypatch.setattr(snapshots, what, size)
    batch = batch_of("Lineage-v1", 2)
    small, large = smallest_and_largest(batch)
    batch.reset(np.array([small, large]))
    twin = copy.deepcopy(batch)
    before = twin.array("tasks", 1).copy()
    play(batch, [large, small])
    assert np.array_equal(twin.array("tasks", 1), before)


def test_a_small_slice_takes_little_however_large_another_is() -> None:
    batch = batch_of("Lineage-v1", 1)
    small, large = smallest_and_largest(batch)
    batch.reset(np.array([large]))
    most = batch.rooms.nbytes
    few = batch_of("Lineage-v1", 1)
    few.reset(np.array([small]))
    sizes = np.diff(batch.world.member_at)
    assert few.rooms.nbytes - most < 0
    tasks = few.array("tasks", 0)
    assert len(tasks) == sizes[small]
    assert len(batch.array("tasks", 0)) == sizes[large]


def test_what_there_is_no_room_for_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = batch_of("Lineage-v1", 3)
    monkeypatch.setattr(rooms, "SMALL", 0)
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: 1_000)
    expected = (
        r"^slices of 3 episodes at once \(num_envs\): .* of memory, and 1,000 bytes are free$"
    )
    with pytest.raises(MemoryError, match=expected):
        batch.reset()
