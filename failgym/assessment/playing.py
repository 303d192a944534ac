"""Policies play the folds of a record, and what they did is kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.assessment.course import Course, fields_of, figures_of, terms_of
from failgym.assessment.makers import Maker
from failgym.assessment.work_folder import Played, WorkFolder
from failgym.baselines import REGISTRY
from failgym.envs import Scenario
from failgym.policy import Policy
from failgym.worlds.source import whole_trace

__all__ = ["NOTHING", "made", "make", "play"]

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

    def found() -> Played:
        return _played(course, name, who, key, work)

    return found() if key is None else work.played(_about(course, key), found)


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
    wanted = [scenario for scenario in course.scenarios if scenario.fold == fold]
    if wanted and not work.holds(_about(course, key)):
        made(who, key, wanted[0], work)


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
    return {
        "policy": key,
        "scenarios": [fields_of(each) for each in course.scenarios],
        "trace": _content(course.scenarios[0]),
    }


def _content(scenario: Scenario) -> str:
    """The record, whatever it is called."""
    return whole_trace(scenario).content_hash


def _played(course: Course, name: str, who: Policy | Maker, key: Any, work: WorkFolder) -> Played:
    policies, notes = _of_folds(course, who, key, work)
    pairs = zip(course.places, policies, strict=True)
    runs = [place.run(policy, name=name) for place, policy in pairs]
    past = np.full(len(runs), np.nan)
    if isinstance(who, Policy):  # what was made from the past is no stranger there
        past = np.array([np.nan if one is None else one.saved(who, name) for one in course.pasts])
    figures = [figures_of(place, run) for place, run in zip(course.places, runs, strict=True)]
    return Played(terms_of(course.places, runs), past, np.array(figures), np.array(notes, np.str_))


def _of_folds(
    course: Course, who: Policy | Maker, key: Any, work: WorkFolder
) -> tuple[list[Policy], list[str]]:
    """Who plays each fold, and where replay does, since nothing can be made of its past."""
    found: list[Policy] = []
    notes: list[str] = []
    for scenario in course.scenarios:
        try:
            found.append(made(who, key, scenario, work))
        except ValueError as error:
            notes.append(f"fold {scenario.fold}: {error}")
            found.append(REGISTRY[NOTHING]())
    if len(notes) == len(found):
        raise ValueError(notes[0])
    return found, notes
