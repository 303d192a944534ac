"""Compiled worlds, kept on disk: what took seconds and gigabytes to build is mapped into memory.

A world is kept under a key of all that decides it (`key`), in one file of plain arrays (`file`),
where only this user could have written it (`folder`). Processes that read the same one share its
pages; while one of them builds it the others wait (`builder`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from failgym.world_cache.builder import only_builder
from failgym.world_cache.file import read_world, world_bytes, write_world
from failgym.world_cache.folder import cache_folder, file_name, make_room, size_limit
from failgym.world_cache.key import key_of

__all__ = ["LEAST_SECONDS", "kept_or_built"]

LEAST_SECONDS = 0.25
"""What building a world takes at least for it to be kept [s]. Below, little is saved: to work out
the key and read a small world takes some .02 s (``python -m experiments.world_cache_speed``)."""

_World = TypeVar("_World", bound=tuple[Any, ...])


def kept_or_built(
    scenario: Any,
    code: tuple[object, ...],
    kind: type[_World],
    build: Callable[[], _World],
    part: str = "",
) -> _World:
    """The world of a scenario: the one that is kept if there is one, else built, and then kept.

    Args:
        scenario: a dataclass; all its fields but ``name`` decide the world.
        code: what else decides it: functions and classes that are called by a name in a field.
        kind: the named tuple of arrays, and of named tuples of them, that the world is.
        build: builds it.
        part: which part of the world it is, in letters and figures; "" for the whole.

    Raises:
        ValueError: as ``build``, and for a size of the cache that is none.
    """
    place = cache_folder() if size_limit() else None
    whole = None if place is None else key_of(scenario, code)
    if place is None or whole is None:
        return build()
    key = whole + part
    file = place / file_name(key)
    world = read_world(file, key, kind)
    if world is not None:
        return world
    with only_builder(file) as waited:
        world = read_world(file, key, kind) if waited else None
        if world is not None:
            return world
        begun = time.perf_counter()
        world = build()
        # The trace, or the sources, may have been changed meanwhile.
        if (
            time.perf_counter() - begun >= LEAST_SECONDS
            and key_of(scenario, code, anew=True) == whole
        ):
            _keep(file, key, world, scenario)
    return world


def _keep(file: Path, key: str, world: tuple[Any, ...], scenario: Any) -> None:
    """Write a world, if there is room for it, and remove others if it needs theirs."""
    size, most = world_bytes(world), size_limit()
    if size > most:
        return
    with contextlib.suppress(OSError):  # the disk is full, or cannot be written
        make_room(file.parent, most - size)
        write_world(file, key, world, scenario)
