"""Room: what somebody who knows all fates would save, on the later half of a record."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.assessment.course import Course
from failgym.assessment.work_folder import WorkFolder
from failgym.envs.spaces import TERMS
from failgym.evaluation import Anchors
from failgym.evaluation.folds import Folds
from failgym.evaluation.oracle import run_of_plans
from failgym.evaluation.room import LEAST_ROOM, LITTLE_ROOM
from failgym.evaluation.stakes import Stakes
from failgym.vocabulary import HOUR

__all__ = ["MeasureRoom", "room_of"]

_FORFEITED = TERMS.index("forfeited")


@dataclass(frozen=True)
class MeasureRoom:
    """What perfect knowledge saves with a measure."""

    measure: str
    title: str
    hours: float
    """net: machine-time, and the value of tasks that finish [machine-h]"""
    machine_hours: float
    """machine-time alone [machine-h]; below 0 where it is spent on tasks that then finish"""
    completion_hours: float
    """completion time of the same, if they play the plans that were found [h]"""
    spent: float
    """machine-time of the tasks that are asked about [machine-h]"""
    share: float
    """net, of that"""
    whole: float
    """machine-time of all tasks of known fate there, whether the measure is about them or not
    [machine-h]"""
    folds: tuple[int, ...]
    """numbers of the folds that were judged, of `FOLDS`: all figures are of these"""
    tasks: int
    unit: str
    """"job" or "slice" """
    units: int
    largest: float
    """share of what can be saved that the job with most of it holds"""
    top: float
    """the same of the top 1 % of jobs"""
    half: int
    """so many jobs hold half of it"""
    unproven: int = 0
    """tasks of which only the cheapest plan that was found is known: the search was cut short"""

    @property
    def of_whole(self) -> float:
        """What can be saved, as a share of the machine-time of all these tasks."""
        return self.hours / self.whole if self.whole > 0.0 else 0.0

    @property
    def says(self) -> str:
        """Is it worth looking for a rule?"""
        if not self.share >= LEAST_ROOM:
            return "nothing to gain"
        return "little to gain" if self.share < LITTLE_ROOM else "worth looking"


def _completion_hours(place: Anchors) -> float:
    """Completion time that the plans save which the bound is the cost of [h]."""
    plans = place.least.plans
    assert plans is not None, "in the pinned world each task has a plan"
    chosen = np.array([i for i, plan in enumerate(plans) if plan], dtype=np.int64)
    if not len(chosen):
        return 0.0
    slices, some = place.replay.slices[chosen], [plan for plan in plans if plan]
    run = run_of_plans(place.scenario, place.world, slices, some, "clairvoyant")
    before = {name: place.replay.outcomes[name][chosen] for name in ("end", "submit")}
    ends = [np.maximum(each["end"], each["submit"]).sum() for each in (before, run.outcomes)]
    return float(ends[0] - ends[1]) / HOUR


def room_of(course: Course, work: WorkFolder) -> MeasureRoom:
    """The room of a measure, unless it was found before.

    Args:
        course: where.
        work: what is found stays there.
    """
    kept = work.text(
        {"room": course.measure.name, **course.about}, lambda: json.dumps(asdict(_room_of(course)))
    )
    found: dict[str, Any] = json.loads(kept)
    found["folds"] = tuple(found["folds"])
    found["title"] = (
        course.measure.title
    )  # several measures at once may be others that are the same
    return MeasureRoom(**found)


def _room_of(course: Course) -> MeasureRoom:
    places = [
        replace(one, least=one.world.least_costs(one.scenario, one.replay.slices))
        for one in course.places
    ]
    evidence = Folds(places).evidence
    stakes = Stakes.of([evidence], [evidence.replay])
    net, spent = float(evidence.possible.sum()), float(evidence.spent.sum())
    lost = sum(
        float((place.replay.costs - place.bound)[:, _FORFEITED].sum()) / place.machine_hour
        for place in places
    )
    held: npt.NDArray[np.float64] = np.cumsum(np.sort(np.maximum(stakes.possible, 0.0))[::-1])
    return MeasureRoom(
        measure=course.measure.name,
        title=course.measure.title,
        hours=net,
        machine_hours=net - lost,
        completion_hours=sum(map(_completion_hours, places)),
        spent=spent,
        share=net / spent if spent > 0.0 else 0.0,
        whole=sum(whole.hours for whole in course.wholes),
        folds=tuple(whole.fold for whole in course.wholes),
        tasks=len(evidence.replay),
        unit=stakes.name,
        units=len(stakes.possible),
        largest=stakes.stake_of_top(1),
        top=stakes.stake_of_top(stakes.top_count),
        half=int((held < held[-1] / 2.0).sum()) + 1 if held[-1] > 0.0 else 0,
        unproven=sum(place.unproven for place in places),
    )
