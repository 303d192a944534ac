"""`EpisodeBatch`: many episodes of a world, of whichever kind, stepped together."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from failgym.memory import check_room
from failgym.sim.shared.fields import FIELDS
from failgym.sim.shared.records import Output
from failgym.sim.shared.way_in import way_in
from failgym.vocabulary import ACTIONS, TERMS

__all__ = [
    "SMALLEST_CHUNK",
    "EpisodeBatch",
    "stacked",
]

COPIES, COPIED_BYTES = 4_096, 1 << 28
"""Copies that are played together at most, and the memory that they take."""
SMALLEST_CHUNK = 256
"""Episodes that are worth a thread: below, handing them over costs more than stepping them."""


def _output(episodes: int, record: np.dtype[np.void], units: int) -> Output:
    return Output(
        obs=np.zeros((episodes, len(FIELDS)), dtype=np.float32),
        mask=np.zeros((episodes, ACTIONS), dtype=np.int8),
        reward=np.zeros(episodes),
        terms=np.zeros((episodes, len(TERMS))),
        terminated=np.zeros(episodes, dtype=np.bool_),
        elapsed=np.zeros(episodes, dtype=np.int64),
        task=np.full(episodes, -1, dtype=np.int64),
        slice=np.zeros(episodes, dtype=np.int64),
        illegal=np.zeros(episodes, dtype=np.int64),
        unit=np.full(episodes, -1, dtype=np.int64),
        unit_cost=np.zeros(episodes),
        final=np.zeros(episodes, dtype=record),
        final_terms=np.zeros((episodes, len(TERMS))),
        final_elapsed=np.zeros(episodes, dtype=np.int64),
        final_unit_costs=np.zeros((episodes, units)),
    )


def _copied(arrays: Any) -> Any:
    """A copy of a tuple of arrays, or of tuples of them."""
    if hasattr(arrays, "dtype"):
        return arrays.copy("K")  # laid out as it is: the engine's code is made for that
    return arrays._make(_copied(array) for array in arrays)


def _rows(arrays: Any, episodes: npt.NDArray[np.int64]) -> Any:
    """Copies of rows of an array, or of each in a tuple of arrays and tuples."""
    if hasattr(arrays, "dtype"):
        return arrays[episodes]
    return arrays._make(_rows(array, episodes) for array in arrays)


def stacked(parts: Sequence[Any]) -> Any:
    """Arrays under each other: of each place in tuples of arrays, or of tuples of them."""
    if hasattr(parts[0], "dtype"):
        return np.concatenate(parts)
    return parts[0]._make(stacked(arrays) for arrays in zip(*parts, strict=True))


def _bytes(arrays: Any) -> int:
    """Memory of a tuple of arrays, or of tuples of them."""
    return arrays.nbytes if hasattr(arrays, "dtype") else sum(map(_bytes, arrays))


def _row_bytes(arrays: Any) -> int:
    """Bytes for one more row of an array, or of each in a tuple of arrays and tuples."""
    if hasattr(arrays, "dtype"):
        return math.prod(arrays.shape[1:]) * arrays.dtype.itemsize
    return sum(map(_row_bytes, arrays))


class _Engine(NamedTuple):
    """Code of an engine, and the arrays that it was looked up for: it must be given no others."""

    run: Any
    world: Any
    state: Any
    code: Any


class EpisodeBatch(ABC):
    """N episodes of one world, of whichever kind.

    Results are written to two sets of arrays in turn: what a step returned stays as it is until the
    step after the next (stable-baselines3 reads the last observation after the next step). Threads
    are plain Python threads over kernels that release the lock, so that forked processes and other
    threads are safe.

    Args:
        world: the tables that the engine reads; they are never replaced by others.
        state: of N episodes.
        slices: how many there are to choose from.
        threads: threads per step; 0 for as many as there are processors, at most 8.
        units: units of the largest episode whose costs are told at its end.
    """

    holds_others: ClassVar[bool] = False
    """may an episode hold tasks that it does not ask about?"""

    def __init__(self, world: Any, state: Any, slices: int, threads: int, units: int = 0) -> None:
        if slices < 1:
            raise ValueError("world: expected at least one slice, got none")
        self.world, self.state, self.slices, self.units = world, state, slices, units
        self.threads = threads or min(os.cpu_count() or 1, 8)
        episodes = state.episodes
        self.outputs = tuple(_output(len(episodes), episodes.dtype, units) for _ in range(2))
        self.turn = 0
        self._pool: tuple[int, ThreadPoolExecutor] | None = None
        self._engine: _Engine | None = None

    def __len__(self) -> int:
        return len(self.state.episodes)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None, "_engine": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy that continues as the original; the world, which never changes, is shared.

        Raises MemoryError, in one line, if there is no room for it.
        """
        check_room(self.nbytes, f"copy of {len(self)} episodes")
        twin: Any = object.__new__(type(self))
        twin.__dict__.update(self.__getstate__())
        twin.state = twin._copied_state()
        twin.outputs = tuple(_copied(out) for out in self.outputs)
        if self._engine is not None and self._engine.state is self.state:
            twin._engine = self._engine._replace(state=twin.state)  # a copy is of the same type
        memo[id(self)] = twin
        return twin

    def _copied_state(self) -> Any:
        return _copied(self.state)

    def taken(self, episodes: npt.NDArray[np.int64]) -> Self:
        """Copies of some episodes, as a batch of their own; each goes on as the original does.

        Args:
            episodes: [n] which, in any order, each as often as wanted; at least one.

        Raises:
            ValueError: for none, or one that does not exist.
            MemoryError: in one line, if there is no room for them.
        """
        chosen = np.asarray(episodes, dtype=np.int64)
        if not len(chosen) or chosen.min() < 0 or chosen.max() >= len(self):
            raise ValueError(f"episodes: expected some from 0 to {len(self) - 1}")
        check_room(self.bytes_each * len(chosen), f"copies of {len(chosen)} episodes")
        twin: Any = object.__new__(type(self))
        twin.__dict__.update(self.__getstate__())
        twin.state = twin._taken_state(chosen)
        twin.outputs = tuple(_rows(out, chosen) for out in self.outputs)
        return twin

    def _taken_state(self, episodes: npt.NDArray[np.int64]) -> Any:
        return _rows(self.state, episodes)

    def branched(self, wanted: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.float64]:
        """What episodes cost in the end, by the answer to their open decision.

        Every answer is tried on a copy, which then goes on with CONTINUE; the episodes themselves
        stay as they are.

        Args:
            wanted: [N, ACTIONS] which answers to try; illegal ones are not. All, if None.

        Returns:
            float64 [N, ACTIONS, 5], by term; NaN for what was not tried, and after the end.

        Raises:
            ValueError: if ``wanted`` has another shape.
        """
        found = np.full((len(self), ACTIONS, len(TERMS)), np.nan)
        episode, action = np.nonzero(self._answers(wanted))
        for part in self.parts(len(episode)):
            twin = self.taken(episode[part])
            twin.step(action[part].astype(np.int64))
            nothing = np.zeros(len(twin), dtype=np.int64)
            while not twin.state.episodes["done"].all():
                twin.step(nothing)
            found[episode[part], action[part]] = twin.state.episodes["cost"]
        return found

    def parts(self, copies: int) -> list[slice]:
        """A number of copies of episodes in parts that may be played together."""
        most = max(1, min(COPIES, COPIED_BYTES // self.bytes_each))
        return [slice(first, first + most) for first in range(0, copies, most)]

    def _answers(self, wanted: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.bool_]:
        """Which answers to open decisions are to be tried, [N, ACTIONS]."""
        legal = (self.output.mask > 0) & ~self.state.episodes["done"][:, np.newaxis]
        if wanted is None:
            return legal
        if wanted.shape != legal.shape:
            raise ValueError(f"wanted: expected shape {legal.shape}, got {wanted.shape}")
        return legal & wanted

    @property
    def nbytes(self) -> int:
        """Memory that is taken [bytes]."""
        return sum(map(_bytes, (self.state, *self.outputs)))

    @property
    def bytes_each(self) -> int:
        """Memory that one more episode takes [bytes]."""
        return sum(map(_row_bytes, (self.state, *self.outputs)))

    @property
    def output(self) -> Output:
        """What the last reset or step wrote."""
        return self.outputs[self.turn]

    def seed(self, keys: npt.NDArray[np.uint64]) -> None:
        """Key the draws of slices of every episode; draw number 0 comes next."""
        self.state.episodes["key"] = keys
        self.state.episodes["count"] = 0

    def reset(self, slices: npt.NDArray[np.int64] | None = None) -> Output:
        """Begin episodes on slices [N]; -1 draws one, -2 leaves the episode as it is.

        Raises:
            ValueError: if a slice does not exist.
        """
        chosen = np.full(len(self), -1, dtype=np.int64) if slices is None else slices
        if chosen.shape != (len(self),):
            raise ValueError(f"slices: expected shape ({len(self)},), got {chosen.shape}")
        wrong = chosen[(chosen >= self.slices) | (chosen < -2)]
        if len(wrong):
            raise ValueError(f"slice: expected 0 to {self.slices - 1}, got {wrong[0]}")
        self.turn ^= 1
        self._begin(chosen, self.output)
        return self.output

    def step(self, actions: npt.NDArray[np.int64], again: bool = False) -> Output:
        """Answer the open decision of every episode; one that ends begins anew where ``again``.

        In place of an action -1 begins the episode anew, on a drawn slice.

        Raises:
            ValueError: for actions of another shape than [N].
        """
        if actions.shape != (len(self),):
            raise ValueError(f"actions: expected shape ({len(self)},), got {actions.shape}")
        self.turn ^= 1
        self._answer(actions, again, self.output)
        return self.output

    def array(self, name: str, episode: int) -> npt.NDArray[Any]:
        """An array of an episode, such as "tasks" or "runs", with all the room that there is."""
        return getattr(self.state, name)[episode]

    def states(self, episode: int) -> npt.NDArray[Any]:
        """States of all tasks of an episode."""
        return self.array("tasks", episode)[: int(self.state.episodes["tasks"][episode])]

    def runs(self, episode: int) -> npt.NDArray[Any]:
        """The attempts of an episode that are in memory."""
        return self.array("runs", episode)[: int(self.state.episodes["runs"][episode])]

    def own_states(self, episode: int) -> npt.NDArray[Any]:
        """States of the tasks that an episode asks about."""
        return self.states(episode)

    def states_of(self, episodes: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """`own_states` of several episodes, one after another."""
        return np.concatenate([self.own_states(episode) for episode in episodes.tolist()])

    def spent_on_others(self, episode: int) -> tuple[float, float]:
        """What tasks that an episode does not ask about have taken, if it is charged for them.

        Returns:
            In units of cost, up to now: their machine-time whose fate is known, at the price of
            wasted work; and their completion time.
        """
        return 0.0, 0.0

    def work_of_others(self, episode: int) -> tuple[int, int]:
        """What tasks that an episode does not ask about have cost it, if it is charged for them.

        Returns:
            Up to now: their wasted work, and the time of their checkpoints and restores
            [machine-ms].
        """
        return 0, 0

    def time_of_others(self, episode: int) -> int:
        """Completion time of tasks that are not asked about but charged for, up to now [ms]."""
        return 0

    def drained_log(self, episode: int) -> npt.NDArray[Any]:
        """The event log of an episode since it was drained last; a kept one is overwritten."""
        count = int(self.state.episodes["logged"][episode])
        self.state.episodes["logged"][episode] = 0
        return self.array("log", episode)[:count]

    @abstractmethod
    def outcomes(self, episode: int) -> dict[str, npt.NDArray[Any]]:
        """Outcome table of an episode: an array for each field."""

    @abstractmethod
    def _begin(self, chosen: npt.NDArray[np.int64], out: Output) -> None:
        """Begin episodes on slices [N]."""

    @abstractmethod
    def _answer(self, actions: npt.NDArray[np.int64], again: bool, out: Output) -> None:
        """Answer the open decisions [N]."""

    def _enter(self, run: Any, what: int, given: Any, again: bool, out: Output) -> int:
        """Let the engine work on all episodes, in chunks by threads if there are enough of them.

        Args:
            run: of the engine: (world, state, output, begin, end, what, given, again).

        Returns:
            How many episodes stopped for want of room.
        """
        if not (given.flags.carray and given.dtype == np.int64):
            given = np.require(given, np.int64, ["C", "A", "W"])
        again = bool(again)
        code, n = self._code(run, out, given), len(self.state.episodes)
        if self.threads == 1 or n < 2 * SMALLEST_CHUNK:
            return code(self.world, self.state, out, 0, n, what, given, again)

        def work(place: int, begin: int, end: int) -> int:
            return code(self.world, self.state, out, begin, end, what, given, again)

        return self._in_threads(work, self._spans())

    def _spans(self) -> list[tuple[int, int]]:
        """The episodes that each thread is given: from one number to before another."""
        n = len(self.state.episodes)
        chunks = max(1, min(self.threads, n // SMALLEST_CHUNK))
        return list(pairwise(n * i // chunks for i in range(chunks + 1)))

    def _in_threads(
        self, work: Callable[[int, int, int], int], spans: Sequence[tuple[int, int]]
    ) -> int:
        """Sum of what ``work(number of the span, begin, end)`` returns, a thread for each span."""
        numbered = [(place, *span) for place, span in enumerate(spans)]
        futures = [self._workers().submit(work, *span) for span in numbered[1:]]
        return work(*numbered[0]) + sum(future.result() for future in futures)

    def _code(self, run: Any, out: Output, given: Any) -> Any:
        """The engine's code for this batch's arrays, looked up when one of them is another."""
        known, world, state = self._engine, self.world, self.state
        if known and known.run is run and known.world is world and known.state is state:
            return known.code
        code = way_in(run, world, state, out, 0, 0, 0, given, False)
        self._engine = _Engine(run, world, state, code)
        return code

    def _workers(self) -> ThreadPoolExecutor:
        """The threads of this process: a forked child inherits none."""
        if self._pool is None or self._pool[0] != os.getpid():
            self._pool = (os.getpid(), ThreadPoolExecutor(self.threads - 1, "failgym"))
        return self._pool[1]
