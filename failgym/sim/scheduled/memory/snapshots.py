"""How episodes on a slice stand at their first decision: kept once, and shared until it changes.

All episodes on a slice begin alike, and thousands of tasks may have arrived by the first decision.
The arrays of the first one that gets there are written to a file in memory. Those that follow map
it: the system gives an episode a page of its own when it writes to it, and not before.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.memory.rooms import Rooms, laid_out, parts_of
from failgym.sim.scheduled.records import Part, State

__all__ = ["Snapshots"]

LARGE, MANY = 1 << 20, 1 << 32
"""Bytes of an episode that are worth a mapping of their own: less is written anew as fast; and of
all episodes, on average: less is not shared, for memory of one's own is faster to reach."""
MOST_BYTES = 1 << 29
"""What all files of a batch may take [bytes]."""
_NOT_THE_SLICES = ("key", "count", "full", "short")
"""What an episode keeps of its own when it begins."""


class _Snapshot(NamedTuple):
    file: int
    size: int
    offsets: npt.NDArray[np.int64]
    """of the parts [bytes]"""
    lengths: npt.NDArray[np.int64]
    """of the parts [records]"""
    rows: list[npt.NDArray[Any]]
    """what the other arrays of the state hold for the episode"""


def _other_arrays(state: State) -> list[npt.NDArray[Any]]:
    """The arrays of a state with a row for each episode."""
    return [
        *(state.episodes, state.machines, state.tree, state.queues, state.levels),
        *(state.counters, state.dags, state.finish, *state.history),
    ]


class Snapshots:
    """The first decisions of slices, as far as episodes have come to them.

    Args:
        sizes: [slices] what an episode begins with [bytes].
        episodes: how many there are at once.
    """

    def __init__(self, sizes: npt.NDArray[np.int64], episodes: int) -> None:
        many = hasattr(os, "memfd_create") and sizes.mean() * episodes >= MANY
        self.wanted = (sizes >= LARGE) & many
        """[slices] is the first decision of a slice to be shared?"""
        self._kept: dict[int, _Snapshot] = {}
        self._taken = 0

    def __contains__(self, chosen: int) -> bool:
        return chosen in self._kept

    def __getstate__(self) -> dict[str, Any]:
        return {"wanted": self.wanted, "_kept": {}, "_taken": 0}

    def __del__(self) -> None:
        for snapshot in self._kept.values():
            os.close(snapshot.file)

    def take(self, rooms: Rooms, state: State, episode: int) -> None:
        """Keep how an episode stands that has come to its first decision; it goes on from there."""
        chosen = int(state.episodes["slice"][episode])
        lengths = rooms.places[episode, :, 1].copy()
        offsets, size = laid_out(lengths)
        if self._taken + size > MOST_BYTES:
            self.wanted[chosen] = False
            return
        self._taken += size
        file = os.memfd_create("failgym")
        os.truncate(file, size)
        used = {Part.RUNS: int(state.episodes["runs"][episode])}
        for part in Part:
            content = rooms.array(part, episode)[: used.get(part)]
            os.pwrite(file, content.tobytes(), int(offsets[part]))
        rows = [array[episode].copy() for array in _other_arrays(state)]
        self._kept[chosen] = _Snapshot(file, size, offsets, lengths, rows)
        rooms.place(episode, self._mapped(self._kept[chosen]))

    def give(self, rooms: Rooms, state: State, episode: int) -> None:
        """Put an episode, which has chosen its slice, at the first decision."""
        snapshot = self._kept[int(state.episodes["slice"][episode])]
        rooms.place(episode, self._mapped(snapshot))
        own = {name: state.episodes[name][episode] for name in _NOT_THE_SLICES}
        for array, row in zip(_other_arrays(state), snapshot.rows, strict=True):
            array[episode] = row
        for name, value in own.items():
            state.episodes[name][episode] = value

    def _mapped(self, snapshot: _Snapshot) -> list[npt.NDArray[Any]]:
        """The arrays of an episode, shared until they are written to."""
        block = _map(snapshot.file, snapshot.size)
        return parts_of(block, snapshot.offsets, snapshot.lengths)


def _map(file: int, size: int) -> Any:
    """Map a file so that what is written is seen by nobody else; unmapped when nobody holds it.

    `mmap.mmap` holds a file descriptor for every mapping, of which there are few.
    """
    libc: Any = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    access = mmap.PROT_READ | mmap.PROT_WRITE
    address = libc.mmap(None, size, access, mmap.MAP_PRIVATE, file, 0)
    if address == ctypes.c_void_p(-1).value:
        raise MemoryError(f"no room to map {size:,} bytes: {os.strerror(ctypes.get_errno())}")
    memory = (ctypes.c_char * size).from_address(address)
    unmapped = weakref.finalize(memory, libc.munmap, address, size)
    unmapped.atexit = False  # arrays may outlive the others then
    return memory
