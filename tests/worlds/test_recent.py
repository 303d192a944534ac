"""`Recent`: worlds at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from failgym.envs import resolve
from failgym.worlds.build import RECENT, build_world
from failgym.worlds.recent import Recent, bytes_of


class Sized:
    """A world that takes so many bytes."""

    def __init__(self, size: int) -> None:
        self.tables = (np.zeros(size // 2, dtype=np.uint8), (np.zeros(size - size // 2, "u1"),))


def at_hand(most: int, room: int = 1_000) -> Recent[Any]:
    return Recent(lambda world: bytes_of(world.tables), most, room)


def filled(recent: Recent[Any], *sizes: int) -> list[bool]:
    """Keep worlds of so many bytes; which are still at hand?"""
    worlds: list[Any] = [Sized(size) for size in sizes]
    for key, world in enumerate(worlds):
        assert recent.keep(key, world) is world
    return [recent.get(key) is world for key, world in enumerate(worlds)]


@pytest.mark.parametrize(
    ("sizes", "stay"),
    [
        ((10, 10, 10), [True, True, True]),
        ((50, 40, 10, 1), [False, True, True, True]),
        ((10, 200), [False, True]),  # the last one stays, however large
        ((200, 10), [False, True]),
        ((1, 1, 1, 1, 1), [False, True, True, True, True]),
    ],
)
def test_worlds_that_were_used_last_stay(sizes: tuple[int, ...], stay: list[bool]) -> None:
    assert filled(at_hand(most=4, room=100), *sizes) == stay


def test_who_is_asked_for_was_used() -> None:
    recent = at_hand(most=2)
    first, second, third = (Sized(1) for _ in range(3))
    kept: Any = recent.keep
    kept("first", first)
    kept("second", second)
    assert recent.get("first") is first
    kept("third", third)
    assert recent.get("second") is None
    assert recent.get("first") is first


def test_a_world_is_built_once() -> None:
    scenario = resolve("failgym/Cloning-v1").override(jobs=300)
    RECENT.cache_clear()
    assert build_world(scenario) is build_world(scenario)
    assert build_world(scenario) is not build_world(scenario.override(trace_seed=1))
