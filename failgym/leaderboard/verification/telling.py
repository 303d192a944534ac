"""What a verification says while it works: a line for each environment, and now and then within."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from failgym.evaluation.progress import Advance, silent
from failgym.leaderboard.verification.findings import Findings, Place

__all__ = ["Telling"]

EVERY = 60.0
"""How often at least something is said, if anything was done [s]."""


def _nothing(line: str) -> None:
    """Nobody listens."""


@dataclass
class Telling:
    """Says what has been verified."""

    say: Callable[[str], None] = _nothing
    """called with lines"""
    progress: Advance = silent
    """called with the number of places done"""
    _all: Counter[str] = field(default_factory=Counter[str])
    """places of each environment"""
    _done: Counter[str] = field(default_factory=Counter[str])
    _problems: Counter[str] = field(default_factory=Counter[str])
    _last: float = field(default_factory=time.monotonic)

    def begin(self, places: Sequence[Place]) -> None:
        """Say of these what is done, until others are begun."""
        self._all = Counter(env for env, _ in places)
        self._done, self._problems = Counter(), Counter()

    def ended(self, place: Place, found: Findings) -> None:
        """A place was examined: say it, if it was the last of its environment, or it is time."""
        env, seed = place
        self._done[env] += 1
        self._problems[env] += len(found.problems)
        self.progress(1)
        done, count, wrong = self._done[env], self._all[env], self._problems[env]
        if done < count and time.monotonic() - self._last < EVERY:
            return
        self._last = time.monotonic()
        what = f"{done:,} of {count:,} traces played again"
        if seed is None:
            what = "its predictors were trained anew"
        self.say(f"{env}: {what}: {wrong or 'no'} problem{'' if wrong == 1 else 's'}")
