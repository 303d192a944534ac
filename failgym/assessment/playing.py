"""Policies play the folds of a record, and what they did is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from failgym.assessment.course import Course, fields_of, figures_of, terms_of
from failgym.assessment.makers import Maker
from failgym.assessment.work_folder import Played, WorkFolder
from failgym.baselines import REGISTRY
from failgym.policy import Policy
from failgym.worlds.source import whole_trace

__all__ = ["NOTHING", "make", "play"]

NOTHING = "replay"
"""What plays where nobody else can, or nobody should."""


def play(course: Course, name: str, who: Policy | Maker, key: Any, work: WorkFolder) -> Played:
    """Play a policy on the folds and on the past of each, unless that is done.

    Args:
        course: where.
        name: what it is called.
        who: plays; a maker makes one for each fold.
        key: what tells who plays from others; JSON. None: nobody can tell, and nothing is kept.
        work: what is done stays there.

    Raises:
        ValueError: if a policy fails, or can be made for no fold.
    """
    about = _about(course, key)

    def found() -> Played:
        with work.making(about) as folder:
            return _played(course, name, who, folder)

    return found() if key is None else work.played(about, found)


def make(course: Course, who: Maker, key: Any, work: WorkFolder, fold: int) -> None:
    """Make who plays a fold, so that `play` finds it made, unless all was played.

    Args:
        course: where; without the fold if nothing is decided in it.
        who: makes one for each fold.
        key: as for `play`; not None.
        work: what is done stays there.
        fold: 1 to 5.

    Raises:
        ValueError: if nothing can be made of its past.
    """
    about = _about(course, key)
    wanted = [scenario for scenario in course.scenarios if scenario.fold == fold]
    if wanted and not work.holds(about):
        with work.making(about) as folder:
            who.make(wanted[0], _folder_of(folder, fold))


def _folder_of(folder: Path, fold: int) -> Path:
    """Where a maker keeps what it does for a fold."""
    return folder / f"fold-{fold}"


def _about(course: Course, key: Any) -> dict[str, Any]:
    """All that decides what a policy does, but the code."""
    return {
        "policy": key,
        "scenarios": [fields_of(each) for each in course.scenarios],
        "trace": whole_trace(course.scenarios[0]).content_hash,
    }


def _played(course: Course, name: str, who: Policy | Maker, folder: Path) -> Played:
    policies, notes = _of_folds(course, who, folder)
    pairs = zip(course.places, policies, strict=True)
    runs = [place.run(policy, name=name) for place, policy in pairs]
    past = np.full(len(runs), np.nan)
    if isinstance(who, Policy):  # what was made from the past is no stranger there
        past = np.array([np.nan if one is None else one.saved(who, name) for one in course.pasts])
    figures = [figures_of(place, run) for place, run in zip(course.places, runs, strict=True)]
    return Played(terms_of(course.places, runs), past, np.array(figures), np.array(notes, np.str_))


def _of_folds(course: Course, who: Policy | Maker, folder: Path) -> tuple[list[Policy], list[str]]:
    """Who plays each fold, and where replay does, since nothing can be made of its past."""
    if isinstance(who, Policy):
        return [who] * len(course.scenarios), []
    found: list[Policy] = []
    notes: list[str] = []
    for scenario in course.scenarios:
        try:
            found.append(who.make(scenario, _folder_of(folder, scenario.fold)))
        except ValueError as error:
            notes.append(f"fold {scenario.fold}: {error}")
            found.append(REGISTRY[NOTHING]())
    if len(notes) == len(found):
        raise ValueError(notes[0])
    return found, notes
