"""Policies play the folds of a record, and what they did is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from failgym.assessment.course import PAST_TASKS, Course, Past, fields_of, figures_of, terms_of
from failgym.assessment.makers import Maker
from failgym.assessment.work_folder import Played, WorkFolder
from failgym.baselines import REGISTRY
from failgym.envs import Scenario
from failgym.evaluation import Run
from failgym.policy import Policy
from failgym.worlds.source import whole_trace

__all__ = ["NOTHING", "Player", "Ready", "get_ready", "made", "play"]

NOTHING = "replay"
"""What plays where nobody else can, or nobody should."""


class Player(Protocol):
    """Who may play the folds of a course."""

    @property
    def who(self) -> Policy | Maker:
        """Plays, or makes for each fold who does."""
        ...

    @property
    def key(self) -> Any:
        """What tells it from others; JSON. None: nobody can tell, and nothing is kept."""
        ...


@dataclass(frozen=True)
class Ready:
    """A player before a fold."""

    policy: Policy | None = None
    """who plays the fold; None if all was played before, or by an error"""
    saved: float = math.nan
    """before the first fold: what a policy saves there [machine-h]; NaN if it was made of it"""
    note: str = ""
    """why nothing could be made of the past, so that replay plays"""
    error: ImportError | ValueError | None = None
    """why it cannot play at all"""


def get_ready(
    course: Course,
    players: Mapping[str, Player],
    work: WorkFolder,
    number: int,
    say: Callable[[str], None] = lambda name: None,
) -> dict[str, Ready]:
    """All that has to do with what was before a fold: it is looked at once for all players.

    Makers make policies of it. Policies play there if it is the first fold: whoever chooses among
    them before a later one knows what they save in those between. What is done is not done again.

    Args:
        course: where.
        players: by name.
        work: what is done stays there.
        number: of the fold among those of the course, from 0.
        say: called with the name of who gets ready.
    """
    past = _Past(course) if number == 0 else None
    found: dict[str, Ready] = {}
    for name, one in players.items():
        if one.key is not None and work.holds(_about(course, one.key)):
            found[name] = Ready()
            continue
        say(name)
        try:
            found[name] = _ready(course.scenarios[number], past, name, one, work)
        except (ImportError, ValueError) as error:
            found[name] = Ready(error=error)
    return found


class _Past:
    """What was before the first fold, looked at only if somebody asks."""

    def __init__(self, course: Course) -> None:
        self._course = course

    @cached_property
    def _past(self) -> Past | None:
        return self._course.past()

    def saved(self, policy: Policy, name: str) -> float:
        """What a policy saves there [machine-h]. Raises ValueError if it fails."""
        return 0.0 if self._past is None else self._past.saved(policy, name)


def _ready(
    scenario: Scenario, past: _Past | None, name: str, one: Player, work: WorkFolder
) -> Ready:
    who, key = one.who, one.key
    if isinstance(who, Policy):
        if past is None:
            return Ready(who)

        def found() -> dict[str, npt.NDArray[Any]]:
            return {"saved": np.array(past.saved(who, name))}

        about = {"before": key, "scenario": fields_of(scenario), "trace": _content(scenario)}
        about["tasks"] = PAST_TASKS
        kept = found() if key is None else work.arrays(about, found, ("saved",))
        return Ready(who, float(kept["saved"]))
    try:
        return Ready(made(who, key, scenario, work))  # no stranger on the past: not played there
    except ValueError as error:
        return Ready(REGISTRY[NOTHING](), note=f"part {scenario.fold}: {error}")


def play(course: Course, name: str, key: Any, work: WorkFolder, ready: Sequence[Ready]) -> Played:
    """Play somebody on the folds, unless that is done.

    Args:
        course: where.
        name: what it is called.
        key: what tells who plays from others; JSON. None: nobody can tell, and nothing is kept.
        work: what is done stays there.
        ready: of each fold of the course, from `get_ready`.

    Raises:
        ImportError: if a package is missing that it needs.
        ValueError: if a policy fails, or can be made for no fold.
    """

    def found() -> Played:
        return _played(course, name, ready)

    return found() if key is None else work.played(_about(course, key), found)


def made(who: Policy | Maker, key: Any, scenario: Scenario, work: WorkFolder) -> Policy:
    """Who plays a fold.

    Args:
        who: plays, or makes who does of what was before the fold.
        key: as for `play`.
        scenario: the fold.
        work: what a maker does stays there, and is found again.

    Raises:
        ValueError: if nothing can be made of its past.
    """
    if isinstance(who, Policy):
        return who
    about = {"made": key, "scenario": fields_of(scenario), "trace": _content(scenario)}
    with (WorkFolder(None) if key is None else work).making(about) as folder:
        return who.make(scenario, folder / f"fold-{scenario.fold}")


def _about(course: Course, key: Any) -> dict[str, Any]:
    """All that decides what a policy does, but the code."""
    return {"policy": key, **course.about}


def _content(scenario: Scenario) -> str:
    """The record, whatever it is called."""
    return whole_trace(scenario).content_hash


def _played(course: Course, name: str, ready: Sequence[Ready]) -> Played:
    errors = [one.error for one in ready if one.error is not None]
    if errors:
        raise errors[0]
    notes = [one.note for one in ready if one.note]
    if len(notes) == len(ready):
        raise ValueError(notes[0])
    runs: list[Run] = []
    for place, one in zip(course.places, ready, strict=True):
        if one.policy is None:  # what was kept when the past was looked at cannot be read now
            raise ValueError("what was kept of it was damaged meanwhile; the same command mends it")
        runs.append(place.run(one.policy, name=name))
    figures = [figures_of(place, run) for place, run in zip(course.places, runs, strict=True)]
    past = np.array(ready[0].saved)
    return Played(terms_of(course.places, runs), past, np.array(figures), np.array(notes, np.str_))
