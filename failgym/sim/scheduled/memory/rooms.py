"""Room for the arrays of each episode, as long as its slice and what happens in it need.

Slices differ a hundredfold in size. Python holds an array of each kind for every episode; the
engine is told where they are and how long (`Rooms.places`). Where one is too short the engine stops
and is entered again with a longer one. What a new array holds is not defined: the engine writes
every record before it reads it, so that memory is taken only as far as an episode gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.memory import SMALL, check_room
from failgym.sim.scheduled.queue.estimates import LIVE
from failgym.sim.scheduled.records import (
    JOB_STATE,
    PLACEMENT,
    QUERY,
    RUN,
    TASK_STATE,
    WRITE,
    Part,
    Short,
)
from failgym.sim.scheduled.workflow.dags import DAG_STAGE, DAG_TASK, HELD
from failgym.sim.shared.records import EVENT
from failgym.vocabulary import LOG

__all__ = ["Rooms", "laid_out", "parts_of"]

Ints = npt.NDArray[np.int64]

_INT, _LONG = np.dtype(np.int32), np.dtype(np.int64)
DTYPES: dict[Part, np.dtype[Any]] = {
    Part.TASKS: TASK_STATE,
    Part.RUNS: RUN,
    Part.HEAP: EVENT,
    Part.LOG: LOG,
    Part.PLACEMENTS: PLACEMENT,
    Part.JOBS: JOB_STATE,
    Part.WRITES: WRITE,
    Part.DURATIONS: _LONG,
    Part.QUERIES: QUERY,
    Part.RANKED: _LONG,
    Part.PICKED: _INT,
    Part.LIVE: LIVE,
    Part.DAG_TASKS: DAG_TASK,
    Part.STAGES: DAG_STAGE,
    Part.HELD: HELD,
    Part.LOCAL_OF: _INT,
    Part.LISTED: _INT,
    Part.WRITTEN: _LONG,
}
SIZES = np.array([DTYPES[part].itemsize for part in Part])
"""Bytes of a record of each part."""
MOST, SPARE = 4, 1_024
"""An array of tasks may be so many times as long as it need be, and as this many tasks need."""
PLENTY = 1 << 30
"""Where no more bytes than these can be needed at once nothing is given back."""
BLOCK = 1 << 26
"""Bytes that are taken at once for several episodes."""
ENDLESS = 1 << 60
ALIGNED = 64
"""Bytes at whose multiples the parts of an episode begin."""
GROWING = {
    Short.RUNS: (Part.RUNS, Part.PLACEMENTS, Part.WRITES, Part.RANKED, Part.PICKED, Part.LIVE),
    Short.EVENTS: (Part.HEAP,),
    Short.LOG: (Part.LOG,),
    Short.QUERIES: (Part.QUERIES,),
}
"""What grows together within an episode."""


def laid_out(lengths: Ints) -> tuple[Ints, int]:
    """Where in a block of memory the parts of an episode lie, and its size [bytes]."""
    ends = np.cumsum(-(-lengths * SIZES // ALIGNED) * ALIGNED)
    return np.concatenate([[0], ends[:-1]]), int(ends[-1])


def parts_of(block: Any, offsets: Ints, lengths: Ints) -> list[npt.NDArray[Any]]:
    """The parts of an episode that lie in a block of memory."""
    return [
        np.frombuffer(block, DTYPES[part], length, offset)
        for part, length, offset in zip(Part, lengths.tolist(), offsets.tolist(), strict=True)
    ]


class Rooms:
    """The arrays of N episodes.

    Args:
        episodes: N.
        needs: [slices, parts] lengths of the arrays that an episode on a slice begins with.
    """

    def __init__(self, episodes: int, needs: Ints) -> None:
        self.needs = needs
        frugal = episodes * int(self.bytes_of_slices.max(initial=0)) > PLENTY
        self.most = MOST * np.maximum(needs[:, Part.TASKS], SPARE if frugal else ENDLESS)
        """[slices] longer arrays of tasks are given back before an episode begins on a slice"""
        self.places = np.zeros((episodes, len(Part), 2), dtype=np.int64)
        """address and length of each array; the engine reads them"""
        self.arrays = [[np.empty(0, DTYPES[part]) for part in Part] for _ in range(episodes)]
        self._taken = 0  # bytes, since it was last asked whether there are as many

    @property
    def nbytes(self) -> int:
        """Memory of all arrays [bytes]."""
        return int((self.places[:, :, 1] @ SIZES).sum())

    @property
    def bytes_of_slices(self) -> Ints:
        """Memory of the arrays that an episode on each slice begins with, [slices] [bytes]."""
        return self.needs @ SIZES

    def array(self, part: Part, episode: int) -> npt.NDArray[Any]:
        """The array of an episode."""
        return self.arrays[episode][part]

    def fit(self, begun: Sequence[tuple[int, int]]) -> None:
        """Arrays to begin slices with; what they hold is not kept.

        Args:
            begun: the episodes, and the slice of each.

        Raises:
            MemoryError: in one line, if there is no room for them.
        """
        unfit = [(e, chosen) for e, chosen in begun if not self._is_fit(e, chosen)]
        for e, _ in unfit:  # gives back what was
            self.place(e, [np.empty(0, DTYPES[part]) for part in Part])
        at = 0
        while at < len(unfit):
            sizes = [laid_out(self.needs[chosen])[1] for _, chosen in unfit[at:]]
            count = max(1, int(np.searchsorted(np.cumsum(sizes), BLOCK, "right")))
            self._check(sum(sizes[:count]), "slices")
            self._place_together(unfit[at : at + count])
            at += count

    def _is_fit(self, episode: int, chosen: int) -> bool:
        there = self.places[episode, :, 1]
        enough = bool((there >= self.needs[chosen]).all())
        return enough and bool(there[Part.TASKS] <= self.most[chosen])

    def _place_together(self, begun: Sequence[tuple[int, int]]) -> None:
        """Put the arrays of episodes into one block of memory, which has large pages."""
        layouts = [laid_out(self.needs[chosen]) for _, chosen in begun]
        block: npt.NDArray[Any] = np.empty(sum(size for _, size in layouts), np.uint8)
        at = 0
        for (e, chosen), (offsets, size) in zip(begun, layouts, strict=True):
            self.place(e, parts_of(block, at + offsets, self.needs[chosen]))
            at += size

    def grow(self, episode: int, short: Short) -> None:
        """Twice the room for what an episode has too little for.

        Raises:
            MemoryError: in one line, if there is no room for that.
        """
        old: dict[Part, npt.NDArray[Any]]
        old = {part: self.arrays[episode][part] for part in GROWING[short]}
        self._check(sum(2 * array.nbytes for array in old.values()), f"more {short.name.lower()}")
        for part, array in old.items():
            longer: npt.NDArray[Any] = np.empty(2 * len(array), DTYPES[part])
            longer[: len(array)] = array
            self._put(episode, part, longer)

    def place(self, episode: int, arrays: list[npt.NDArray[Any]]) -> None:
        """Take over the arrays of an episode."""
        for part in Part:
            self._put(episode, part, arrays[part])

    def copied(self) -> Rooms:
        """The same arrays once more."""
        return self.taken(range(len(self.arrays)))

    def taken(self, episodes: Iterable[int]) -> Rooms:
        """Copies of the arrays of some episodes, for a batch of their own."""
        twin = Rooms(0, self.needs)
        twin.most = self.most
        twin.arrays = [[array.copy() for array in self.arrays[episode]] for episode in episodes]
        twin.places = np.zeros((len(twin.arrays), len(Part), 2), dtype=np.int64)
        twin.locate()
        return twin

    def locate(self) -> None:
        """Write down where all arrays are."""
        for episode, arrays in enumerate(self.arrays):
            self.place(episode, arrays)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.locate()  # what was pickled lay elsewhere

    def _put(self, episode: int, part: Part, array: npt.NDArray[Any]) -> None:
        """Hold an array, and write down where it is."""
        self.arrays[episode][part] = array
        self.places[episode, part] = array.__array_interface__["data"][0], len(array)

    def _check(self, needed: int, what: str) -> None:
        """Ask whether there is room, now and then: each answer takes a while."""
        self._taken += needed
        if self._taken > SMALL:
            check_room(self._taken, f"{what} of {len(self.arrays):,} episodes at once (num_envs)")
            self._taken = 0
