"""Parts of an assessment that do not depend on each other, which workers do beforehand.

`assess` puts an assessment together in one process, and finds done what lies in its work folder and
in the cache of compiled worlds. Here workers fill both. What they could not do it does itself, and
says what is wrong: so a report is the same whoever works.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from failgym.assessment.course import Course
from failgym.assessment.makers import forget
from failgym.assessment.measures import Measure, together
from failgym.assessment.playing import get_ready, play
from failgym.assessment.room import room_of
from failgym.assessment.work_folder import WorkFolder
from failgym.policy import Policy
from failgym.traces import Trace
from failgym.traces.store import META_FILE
from failgym.workers import Workers, each
from failgym.worlds.settings.splitting import FOLDS

if TYPE_CHECKING:
    from failgym.assessment.assess import Candidate

__all__ = ["Beforehand"]


@dataclass(frozen=True)
class Part:
    """A step: a measure under a kind of forecast, and what is done there."""

    measure: Measure
    forecast: str
    """"none" or "trained" """
    policy: str = ""
    """name of the candidate; "": all that are not made for a fold, and if there is no fold, only
    replay and the room"""
    fold: int = 0
    """1 to 5: only what was before this fold; before the first that is judged, of those that are
    not made for one; 0: play all"""

    def __str__(self) -> str:
        """What messages call it."""
        before = f"before fold {self.fold}" if self.policy else "before the folds"
        fold = f", {before}" if self.fold else ""
        who = f": {self.policy}" if self.policy else ""
        return f"{self.measure.name}, forecast {self.forecast}{who}{fold}"


class Beforehand:
    """The parts of an assessment; other processes get a copy each.

    Args:
        source: what scenarios are played on: the folder of the record, or the trace itself.
        task_value: what a task is worth that finishes, as a multiple of its machine-time.
        work: where what is played is kept.
        candidates: policies that may be advised, by name. Those of which nothing is kept are left
            to who puts the assessment together.
    """

    def __init__(
        self,
        source: str | Trace,
        task_value: float,
        work: WorkFolder,
        candidates: Mapping[str, Candidate],
    ) -> None:
        self.source, self.task_value, self.work = source, task_value, work
        self.candidates = {name: one for name, one in candidates.items() if one.key is not None}
        self._last: tuple[tuple[str, str], Course] | None = None

    def do(self, part: Part) -> bool:
        """Do a part, and keep what came out; False if there is nothing that could be done."""
        if not part.fold:
            forget()  # pasts were looked at before
        try:
            course = self._course(part)
            if not part.policy and not part.fold:
                if part.forecast == "none":
                    room_of(course, self.work)
                return True
            players = self._players(part, course)
            folds = [one.fold for one in course.scenarios]
            of_fold = [n for n, fold in enumerate(folds) if part.fold in (0, fold)]
            numbers = of_fold if part.policy or not part.fold else [0]
            ready = [get_ready(course, players, self.work, number) for number in numbers]
            if not part.fold:
                for name, one in players.items():
                    of_each = [of_fold[name] for of_fold in ready]
                    play(course, name, one.key, self.work, of_each)
        except (ImportError, ValueError):
            return False  # who puts it together meets the same, and says so
        return True

    def _players(self, part: Part, course: Course) -> dict[str, Candidate]:
        """Whom a part is about, as far as they can do anything there."""
        return {
            name: one
            for name, one in self.candidates.items()
            if (name == part.policy if part.policy else isinstance(one.who, Policy))
            and one.plays_in(course, name)
        }

    def _course(self, part: Part) -> Course:
        """The last one stays: parts of a course come one after the other. Raises ValueError."""
        asked = part.measure.name, part.forecast
        if self._last is None or self._last[0] != asked:
            self._last = None  # first, since both would take the room of two
            found = Course.of(part.measure, self.source, part.forecast, self.task_value)
            self._last = asked, found
        return self._last[1]

    def all_done(
        self,
        measures: Sequence[Measure],
        forecasts: Sequence[str],
        workers: Workers,
        step: Callable[[str], None],
    ) -> None:
        """Have all parts done.

        Args:
            measures: that may be judged.
            forecasts: that rules are shown.
            workers: who does them.
            step: called with what is being worked on, and how long it will take.

        Raises:
            ValueError: as `failgym.workers.each`.
        """
        kinds = dict.fromkeys(["none", *forecasts])
        parts = [Part(one, kind) for one in _with_all(measures) for kind in kinds]
        found = self._each(parts, workers, "replay and the room", step)
        able = [one for one in measures if Part(one, "none") in found]
        shown = [Part(one, kind) for one in _with_all(able) for kind in forecasts]
        shown = [one for one in shown if one in found or one not in parts]
        before = [part for one in shown for part in self._before(one)]
        self._each(before, workers, "before the folds", step)
        playing = [replace(one, policy=name) for one in shown for name in self.candidates]
        self._each(playing, workers, "policies", step)

    def _before(self, shown: Part) -> list[Part]:
        """What has to do with the pasts of the folds, one past after the other."""
        made = [name for name, one in self.candidates.items() if not isinstance(one.who, Policy)]
        folds = range(1, FOLDS + 1)
        of_made = [replace(shown, fold=fold, policy=name) for fold in folds for name in made]
        return of_made if len(made) == len(self.candidates) else [replace(shown, fold=1), *of_made]

    def _each(
        self, parts: Sequence[Part], workers: Workers, label: str, step: Callable[[str], None]
    ) -> list[Part]:
        """Have some done; those of which something came."""
        if not parts:
            return []
        told = _Told(label, len(parts), step)
        folder = self.work.folder
        assert folder is not None, "what workers do is kept"
        folder.mkdir(parents=True, exist_ok=True)
        record = [] if isinstance(self.source, Trace) else [Path(self.source) / META_FILE]
        done = each(
            self.do, parts, workers, done=told.advance, named=str, folder=folder, shared=record
        )
        return [part for part, came in zip(parts, done, strict=True) if came]


def _with_all(measures: Sequence[Measure]) -> list[Measure]:
    """Measures, and all of them at once if there are several, which takes longest: first."""
    return [together(measures), *measures] if len(measures) > 1 else list(measures)


class _Told:
    """Tells how many parts are done, and how long the others will take."""

    def __init__(self, label: str, total: int, step: Callable[[str], None]) -> None:
        self.label, self.total, self.step = label, total, step
        self.done, self.begun = 0, time.monotonic()
        self.advance(0)

    def advance(self, done: int) -> None:
        """So many more are done."""
        self.done += done
        text = f"{self.label}: {self.done} of {self.total}"
        if self.done:
            left = (time.monotonic() - self.begun) / self.done * (self.total - self.done)
            text += f", about {left:.0f} s left"
        self.step(text)
