"""Compiled worlds, kept on disk: what took seconds and gigabytes to build is mapped into memory.

A world is kept under a key of all that decides it (`key`), in one file of plain arrays (`file`),
where only this user could have written it (`folder`). Processes that read the same one share its
pages; while one of them builds it the others wait (`builder`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from failgym.world_cache.builder import only_builder
from failgym.world_cache.file import blocks_of, read_world, write_world
from failgym.world_cache.folder import cache_folder, file_name, make_room, size_limit
from failgym.world_cache.key import key_of

__all__ = ["LEAST_SECONDS", "KeptPart", "keeps_worlds", "kept_or_built", "nothing_kept"]

LEAST_SECONDS = 0.25
"""What building a world takes at least for it to be kept [s]. Below, little is saved: to work out
the key and read a small world takes some .02 s (``python -m experiments.world_cache_speed``)."""

_KEEPING = ContextVar("keeping", default=True)


class KeptPart(NamedTuple):
    """A part of a world, or what was found in it, that is kept by itself, however fast it is made.

    The whole may have to be built for it again. It is kept packed: there are many of them.
    """

    name: str
    """what else decides it, in letters and figures"""
    holds: str = "part of a world"
    """what it is, as `failgym cache` says it"""
    current: Callable[[], bool] = lambda: True
    """is what decides it still what it was? Asked before it is kept"""


_World = TypeVar("_World", bound=tuple[Any, ...])


def keeps_worlds() -> bool:
    """Is there a cache? Raises ValueError for a size of it that is none."""
    return _KEEPING.get() and size_limit() > 0 and cache_folder() is not None


def kept_or_built(
    scenario: Any,
    code: tuple[object, ...],
    kind: type[_World],
    build: Callable[[], _World],
    part: KeptPart | None = None,
) -> _World:
    """The world of a scenario: the one that is kept if there is one, else built, and then kept.

    Args:
        scenario: a dataclass; all its fields but ``name`` decide the world.
        code: what else decides it: functions and classes that are called by a name in a field.
        kind: the named tuple of arrays, and of named tuples of them, that the world is.
        build: builds it.
        part: which part of the world it is; None for the whole.

    Raises:
        ValueError: as ``build``, and for a size of the cache that is none.
    """
    place = cache_folder() if size_limit() else None
    whole = None if place is None else key_of(scenario, code)
    if place is None or whole is None:
        return build()
    key = whole if part is None else f"{whole}-{part.name}"
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
        worth_it = part is not None or time.perf_counter() - begun >= LEAST_SECONDS
        # The trace, or the sources, may have been changed meanwhile.
        if (
            worth_it
            and _KEEPING.get()
            and key_of(scenario, code, anew=True) == whole
            and (part is None or part.current())
        ):
            _keep(file, key, world, scenario, part)
            if part is None:  # what is mapped gives its room back when it is needed
                world = read_world(file, key, kind) or world
    return world


@contextlib.contextmanager
def nothing_kept() -> Generator[None]:
    """Within, worlds that are kept are read, and those that are built are not kept.

    For whole worlds of which only a part is wanted: they would take the room of the others.
    """
    token = _KEEPING.set(False)
    try:
        yield
    finally:
        _KEEPING.reset(token)


def _keep(
    file: Path, key: str, world: tuple[Any, ...], scenario: Any, part: KeptPart | None
) -> None:
    """Write a world, if there is room for it, and remove others if it needs theirs."""
    blocks, most = blocks_of(world, packed=part is not None), size_limit()
    if blocks.size > most:
        return
    with contextlib.suppress(OSError):  # the disk is full, or cannot be written
        make_room(file.parent, most - blocks.size)
        write_world(file, key, blocks, scenario, "world" if part is None else part.holds)
