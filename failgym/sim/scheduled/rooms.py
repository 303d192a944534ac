"""Room for the arrays of each episode, as long as its slice and what happens in it need.

Slices differ a hundredfold in size. Python holds an array of each kind for every episode; the
engine is told where they are and how long (`Rooms.places`). Where one is too short the engine stops
and is entered again with a longer one. What a new array holds is not defined: the engine writes
every record before it reads it, so that memory is taken only as far as an episode gets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.memory import SMALL, check_room
from failgym.sim.records import EVENT
from failgym.sim.scheduled.dags import DAG_STAGE, DAG_TASK, HELD
from failgym.sim.scheduled.estimates import LIVE
from failgym.sim.scheduled.records import (
    JOB_STATE,
    MOST,
    PLACEMENT,
    QUERY,
    RUN,
    SPARE,
    TASK_STATE,
    WRITE,
    Part,
    Short,
)
from failgym.vocabulary import LOG

__all__ = ["Rooms"]

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
    Part.RANKED: _INT,
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
GROWING = {
    Short.RUNS: (Part.RUNS, Part.PLACEMENTS, Part.WRITES, Part.RANKED, Part.PICKED, Part.LIVE),
    Short.EVENTS: (Part.HEAP,),
    Short.LOG: (Part.LOG,),
    Short.QUERIES: (Part.QUERIES,),
}
"""What grows together within an episode."""


class Rooms:
    """The arrays of N episodes.

    Args:
        episodes: N.
        needs: [slices, parts] lengths of the arrays that an episode on a slice begins with.
    """

    def __init__(self, episodes: int, needs: Ints) -> None:
        self.needs = needs
        self.places = np.zeros((episodes, len(Part), 2), dtype=np.int64)
        """address and length of each array; the engine reads them"""
        self.arrays = [[np.empty(0, DTYPES[part]) for part in Part] for _ in range(episodes)]
        self._taken = 0  # bytes, since it was last asked whether there are as many

    @property
    def nbytes(self) -> int:
        """Memory of all arrays [bytes]."""
        return int((self.places[:, :, 1] @ SIZES).sum())

    @property
    def mean_bytes(self) -> int:
        """Memory of the arrays that an episode begins with, on average over slices [bytes]."""
        return int((self.needs @ SIZES).mean())

    def array(self, part: Part, episode: int) -> npt.NDArray[Any]:
        """The array of an episode."""
        return self.arrays[episode][part]

    def fit(self, episode: int, chosen: int) -> None:
        """Arrays to begin a slice with; what they hold is not kept.

        Raises:
            MemoryError: in one line, if there is no room for them.
        """
        lengths, there = self.needs[chosen].tolist(), self.places[episode, :, 1].tolist()
        anew = [p for p in Part if lengths[p] > there[p] or there[p] > MOST * lengths[p] + SPARE]
        self._check(sum(lengths[part] * int(SIZES[part]) for part in anew), "slices")
        for part in anew:
            self.arrays[episode][part] = np.empty(0, DTYPES[part])  # gives back what was there
            self._put(episode, part, np.empty(lengths[part], DTYPES[part]))

    def grow(self, episode: int, short: Short) -> None:
        """Twice the room for what an episode has too little for.

        Raises:
            MemoryError: in one line, if there is no room for that.
        """
        old: dict[Part, npt.NDArray[Any]]
        old = {part: self.arrays[episode][part] for part in GROWING[short]}
        self._check(sum(2 * array.nbytes for array in old.values()), f"more {short.name.lower()}")
        for part, array in old.items():
            longer: npt.NDArray[Any] = np.empty(2 * len(array), array.dtype)
            longer[: len(array)] = array
            self._put(episode, part, longer)

    def copied(self) -> Rooms:
        """The same arrays once more."""
        twin = Rooms(0, self.needs)
        twin.arrays = [[array.copy() for array in arrays] for arrays in self.arrays]
        twin.places = self.places.copy()
        twin.locate()
        return twin

    def locate(self) -> None:
        """Write down where all arrays are."""
        for episode, arrays in enumerate(self.arrays):
            for part in Part:
                self._put(episode, part, arrays[part])

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
