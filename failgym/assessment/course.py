"""A measure on the folds of a record: what replay does there, and what the past tells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym import metrics
from failgym.assessment.happened import known_hours
from failgym.assessment.measures import Measure, mtbf_of, together
from failgym.envs import Scenario
from failgym.envs.spaces import TERMS
from failgym.evaluation import Anchors, Run, run_policy
from failgym.evaluation.anchors import drawn_slices, machine_hour_of
from failgym.evaluation.caller import check_playable, made_for
from failgym.evaluation.continuing import CONTINUING
from failgym.evaluation.evidence import Evidence
from failgym.evaluation.folds import Folds
from failgym.evaluation.savings import completion_hours_saved, hours_saved, moved
from failgym.policy import Policy
from failgym.traces import Trace
from failgym.vocabulary import Outcome
from failgym.worlds.build import build_world, split_of
from failgym.worlds.settings.splitting import FOLDS
from failgym.worlds.source import whole_trace
from failgym.worlds.split import tasks_run
from failgym.worlds.world import World

__all__ = [
    "PAST_TASKS",
    "Course",
    "Ground",
    "fields_of",
    "figures_of",
    "reason",
    "scenario_of",
    "terms_of",
    "with_mtbf",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PAST_TASKS = 50_000
"""Tasks of the past of the first fold that rules are chosen on, at most: of a longer one so many
are drawn, and stand for all (chosen)."""
_FIELD = rf"\b(?:{'|'.join(one.name for one in fields(Scenario))})=[^\s:]+"
"""A field of a scenario and its value, in a message."""
_IN_PLAIN_WORDS = {
    r"no task of the \w+ split is ever asked about: ": "",
    rf"{_FIELD} leaves no task in it": "it holds no task",
    rf"{_FIELD} leaves none of its ([\d,]+) tasks": r"nothing is decided about its \1 tasks",
}
"""What messages say of scenarios, and what a report says instead."""


@dataclass(frozen=True)
class Course:
    """A measure on the folds of a record, under one kind of forecast."""

    measure: Measure
    forecast: str
    """"none" or "trained" """
    scenarios: tuple[Scenario, ...]
    """of each fold in which something is decided"""
    places: tuple[Anchors, ...]
    """replay on each; no bound (`failgym.assessment.room` finds it, which takes long)"""
    skipped: tuple[str, ...]
    """folds in which nothing is decided, or whose past does not tell what another attempt would
    meet, and why, a line each"""

    @classmethod
    def of(cls, measure: Measure, trace: str | Trace, forecast: str, task_value: float) -> Course:
        """Replay under a measure.

        Raises:
            ValueError: if nothing is decided in any fold.
        """
        scenarios: list[Scenario] = []
        places: list[Anchors] = []
        skipped: list[str] = []
        for fold in range(1, FOLDS + 1):
            try:
                scenario = scenario_of(measure, trace, forecast, task_value, fold)
                places.append(Anchors.of(scenario, split="test", bound=_nothing))
                scenarios.append(scenario)
            except ValueError as error:
                skipped.append(f"part {fold} of {FOLDS}: {reason(error)}")
        if not places:
            raise ValueError(
                f"none of the {FOLDS} parts that the later half of the record is cut into can be"
                f" judged; {skipped[0]}"
            )
        return cls(measure, forecast, tuple(scenarios), tuple(places), tuple(skipped))

    @cached_property
    def wholes(self) -> tuple[Whole, ...]:
        """All that each fold holds, whether the measure is about it or not."""
        return tuple(map(_whole, self.scenarios))

    @property
    def about(self) -> dict[str, Any]:
        """All that decides what happens there, but who plays and the code; JSON."""
        return {
            "scenarios": [fields_of(each) for each in self.scenarios],
            "trace": whole_trace(self.scenarios[0]).content_hash,
        }

    def past(self) -> Past | None:
        """What was before the first of the folds; None where nothing is decided in it."""
        return _past(self.scenarios[0])

    @cached_property
    def ground(self) -> Ground:
        """What judging needs of it."""
        evidence = Folds(self.places).evidence
        replay = terms_of(self.places, [place.replay for place in self.places])
        return Ground(
            measure=self.measure.name,
            forecast=self.forecast,
            evidence=replace(
                evidence,
                replay=replay.sum(axis=1),
                possible=np.full(len(replay), np.nan),  # `room` finds it
            ),
            replay=replay,
            figures=np.array([figures_of(place, place.replay) for place in self.places]),
            rows=tuple(len(place.evidence.replay) for place in self.places),
            submits=self._of_rows("submit"),
            ends=self._of_rows("recorded_end"),
            mtbf=self.scenarios[-1].mtbf if self.scenarios[-1].checkpoint else None,
            task_value=self.scenarios[-1].task_value or 0.0,
            wholes=self.wholes,
        )

    def _of_rows(self, column: str) -> Ints:
        """What replay's outcomes say of each row."""
        return np.concatenate([place.replay.outcomes[column] for place in self.places])

    def can_play(self, policy: Policy, name: str) -> bool:
        """Can a policy do something in one of the folds?"""
        return any(_can_play(policy, place, name) for place in self.places)


class Whole(NamedTuple):
    """All tasks of known fate that a fold holds."""

    fold: int
    """1 to 5"""
    tasks: int
    """those that ran"""
    hours: float
    """their machine-time [machine-h]"""


@dataclass(frozen=True)
class Ground:
    """What replay did on the folds of a course: all that policies are judged by."""

    measure: str
    forecast: str
    evidence: Evidence
    """in machine-hours; what the bound saves is NaN"""
    replay: Floats
    """[rows, 5] cost of replay by term [machine-h]"""
    figures: Floats
    """[folds, `FIGURES`] of replay"""
    rows: tuple[int, ...]
    """of each fold"""
    submits: Ints
    """[rows] when the task was submitted [ms]"""
    ends: Ints
    """[rows] when it was over in the record [ms]"""
    mtbf: int | None
    """mean time between losses before the last fold [ms]; None where nothing is checkpointed"""
    task_value: float
    """what a task is worth that finishes, as a multiple of its machine-time"""
    wholes: tuple[Whole, ...]
    """of each fold"""

    @property
    def spent(self) -> float:
        """Machine-time of all tasks that are asked about [machine-h]."""
        return float(self.evidence.spent.sum())


@dataclass(frozen=True)
class Past:
    """What is known before the first fold, or tasks drawn of it: rules are chosen on it."""

    world: World
    scenario: Scenario
    replay: Run

    def saved(self, policy: Policy, name: str) -> float:
        """What a policy saves on all tasks, by those that are drawn [machine-h]."""
        slices, order = self.replay.slices, self.scenario.order
        run = run_policy(self.world, self.scenario, policy, slices, order=order, name=name)
        saved = float((self.replay.costs - run.costs).sum()) / machine_hour_of(self.world)
        return saved * self.world.slices / len(slices)


def _nothing(tables: object, rules: object, tasks: Ints) -> Floats:
    """Nobody pays less: a bound that takes no time [tasks, 5]."""
    return np.zeros((len(tasks), len(TERMS)))


def _whole(scenario: Scenario) -> Whole:
    part = split_of(scenario, "test")
    known = tasks_run(part) & (part.task_outcome != Outcome.CENSORED)
    return Whole(scenario.fold, int(known.sum()), known_hours(part))


def reason(error: Exception | str) -> str:
    """Why something cannot be done, in one line and without a full stop.

    A report has no fields that its reader could set: what a message says of them is left out.
    """
    text = " ".join(str(error).split()).removeprefix("scenario: ")
    text = text.rpartition("; set ")[0] or text
    for pattern, words in _IN_PLAIN_WORDS.items():
        text = re.sub(pattern, words, text)
    text = re.sub(rf"{_FIELD}:\s*", "", text)
    return re.sub(_FIELD, "this", text).rstrip(".")


def scenario_of(
    measure: Measure, trace: str | Trace, forecast: str, task_value: float, fold: int
) -> Scenario:
    """A measure on a fold of a record, as far as what was before the fold tells of it.

    What a task meets in attempts beyond the record is drawn by laws of that past. Of several
    measures at once those are left out of which the past does not tell.

    Args:
        measure: what may be done.
        trace: the folder of the record, or the record.
        forecast: "none" or "trained".
        task_value: what a task is worth that finishes, as a multiple of its machine-time.
        fold: 1 to 5.

    Raises:
        ValueError: if the past tells of none, or there is nothing in the fold.
    """
    shown = {"forecast": "none"} if forecast == "none" else {}
    scenario = measure.scenario(trace, task_value, fold=fold, **shown)
    if measure.after or measure.parts:
        past = split_of(scenario, "train")
        whys = {part.name: part.why_not(past) for part in measure.parts or (measure,)}
        known = [part for part in measure.parts or (measure,) if whys[part.name] is None]
        if not known:
            raise ValueError(f"before it {next(iter(whys.values()))}")
        if len(known) < len(measure.parts):
            scenario = together(known).scenario(trace, task_value, fold=fold, **shown)
    return with_mtbf(scenario)


def _past(scenario: Scenario) -> Past | None:
    past = replace(scenario, split="train")
    try:
        world = build_world(past)
    except ValueError:
        return None
    slices = drawn_slices(world.slices, PAST_TASKS, seed=0)
    return Past(world, past, run_policy(world, past, CONTINUING, slices, order=past.order))


def with_mtbf(scenario: Scenario) -> Scenario:
    """With the mean time between losses of the past, which periodic checkpoints go by."""
    if not scenario.checkpoint:
        return scenario
    past = mtbf_of(split_of(scenario, "train"))
    return scenario if past is None else scenario.override(mtbf=past)


def _can_play(policy: Policy, place: Anchors, name: str) -> bool:
    """May it do all that it is about, and is it told all that it goes by?"""
    if not made_for(policy, place.scenario):
        return False
    try:
        check_playable(policy, place.scenario, place.world, name)
    except ValueError:
        return False
    return True


def fields_of(scenario: Scenario) -> dict[str, str]:
    """All that makes a scenario, but its trace."""
    names = (field.name for field in fields(scenario) if field.name != "trace")
    return {name: repr(getattr(scenario, name)) for name in names}


def figures_of(place: Anchors, run: Run) -> list[float]:
    """`FIGURES` of one fold."""
    apart, drawn = moved(place.world, place.replayed, run).sum(axis=0) / place.machine_hour
    return [
        hours_saved([place], [run]),
        completion_hours_saved([place], [run]),
        metrics.forfeited(run.outcomes) - metrics.rescued(run.outcomes),  # whatever a task is worth
        metrics.false_kills(run.outcomes),
        metrics.rescued(run.outcomes),
        apart,
        drawn,
    ]


def terms_of(places: Sequence[Anchors], runs: Sequence[Run]) -> Floats:
    """Costs by term of the rows of all folds [rows, 5: machine-h]."""
    parts: list[Floats] = []
    for place, run in zip(places, runs, strict=True):
        costs = place.world.task_costs(run.outcomes)
        assert costs is not None, "in the pinned world each task has costs of its own"
        parts.append(costs / place.machine_hour)
    return np.concatenate(parts)
