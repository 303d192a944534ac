"""`RecordedActions`: the actions of a submission, in place of its policy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.leaderboard.submission.tables import NONSENSE
from failgym.leaderboard.suite.episodes import Bools, Failure, Ints
from failgym.sim.shared.records import Output
from failgym.vocabulary import ACTIONS

__all__ = ["RecordedActions"]


class RecordedActions:
    """Answers with recorded actions, slice by slice.

    Where they end before the episode does, the answer is CONTINUE: `missing` says where, `surplus`
    where some are left.

    Args:
        actions: of all slices, slice after slice.
        offset: [slices + 1] where those of a slice begin.

    Raises:
        Failure: if one is no action.
    """

    def __init__(self, actions: npt.NDArray[np.uint8], offset: Ints) -> None:
        wrong = np.flatnonzero(actions >= ACTIONS)
        if len(wrong):
            raise Failure(NONSENSE, f"{actions[wrong[0]]} is no action")
        self._actions = np.append(actions, np.uint8(0)).astype(np.int64)
        self._next, self._end = offset[:-1].copy(), offset[1:]
        self.missing = np.zeros(len(self._next), dtype=np.bool_)

    @property
    def surplus(self) -> Bools:
        """[slices] are actions left that were never asked for?"""
        return self._next < self._end

    def begin(self, lanes: int) -> None:
        """There is nothing to make ready."""

    def act(self, out: Output, live: Bools, fresh: Bools, at: Ints) -> Ints:
        """The next action of every lane."""
        actions = np.zeros(len(at), dtype=np.int64)
        asked = at[live]
        there = self._next[asked] < self._end[asked]
        self.missing[asked[~there]] = True
        actions[live] = np.where(there, self._actions[self._next[asked]], 0)
        self._next[asked] += there
        return actions
