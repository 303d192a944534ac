"""Policies on the folds of a record: what each would have saved, and how surely."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym import metrics
from failgym.assessment.makers import Maker
from failgym.assessment.measures import Measure, mtbf_of
from failgym.assessment.work_folder import Played, WorkFolder
from failgym.baselines import REGISTRY
from failgym.envs import Scenario
from failgym.envs.spaces import TERMS
from failgym.evaluation import Anchors, Run
from failgym.evaluation.caller import check_playable, made_for
from failgym.evaluation.folds import Folds
from failgym.evaluation.savings import completion_hours_saved, hours_saved, moved
from failgym.evaluation.statistics.resampling import resampled
from failgym.evaluation.verdict import Verdict, verdict_on
from failgym.policy import Policy
from failgym.traces import Trace
from failgym.worlds.build import split_of
from failgym.worlds.scenario import Split
from failgym.worlds.settings.splitting import FOLDS
from failgym.worlds.source import whole_trace

__all__ = ["CHOSEN", "VALUES", "Course", "Judged", "chosen_on_the_past", "judged", "play"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CHOSEN = "chosen on the past"
"""The rule that saves most on the past of each fold, or none."""
NOTHING = "replay"
"""What plays where no rule saves anything on the past."""
VALUES = (0.25, 1.0, 4.0)
"""Factors of the value of a task that savings are shown at."""
_FORFEITED = TERMS.index("forfeited")


@dataclass(frozen=True)
class Course:
    """A measure on the folds of a record, under one kind of forecast."""

    measure: Measure
    forecast: str
    """"none" or "trained" """
    scenarios: tuple[Scenario, ...]
    """of each fold"""

    @classmethod
    def of(cls, measure: Measure, trace: str | Trace, forecast: str, task_value: float) -> Course:
        """The scenarios of a measure.

        Raises:
            ValueError: naming the fold, for one that cannot be cut from the record.
        """
        shown = {"forecast": "none"} if forecast == "none" else {}
        found: list[Scenario] = []
        for fold in range(1, FOLDS + 1):
            try:
                scenario = measure.scenario(trace, task_value, fold=fold, **shown)
                found.append(_with_mtbf(scenario))
            except ValueError as error:
                raise ValueError(f"{measure.name}, fold {fold}: {error}") from error
        return cls(measure, forecast, tuple(found))

    def folds(self, split: Split = "test") -> Folds:
        """Replay and the bound on the folds, or on the past of each ("train").

        Raises:
            ValueError: naming the fold, if nothing is decided in one.
        """
        places: list[Anchors] = []
        for number, scenario in enumerate(self.scenarios, 1):
            try:
                places.append(Anchors.of(scenario, split=split))
            except ValueError as error:
                where = f"{self.measure.name}, fold {number}, {split} split"
                raise ValueError(f"{where}: {error}") from error
        return Folds(places)

    @cached_property
    def test(self) -> Folds:
        """The folds."""
        return self.folds()

    @cached_property
    def past(self) -> Folds:
        """The past of each."""
        return self.folds("train")

    @property
    def submits(self) -> Ints:
        """When the task of each row was submitted [rows: ms]."""
        return np.concatenate([place.replay.outcomes["submit"] for place in self.test.places])

    def can_play(self, policy: Policy, name: str) -> bool:
        """Can a policy do something in one of the folds?"""
        return any(_can_play(policy, place, name) for place in self.test.places)


def _with_mtbf(scenario: Scenario) -> Scenario:
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


def play(course: Course, name: str, who: Policy | Maker, key: Any, work: WorkFolder) -> Played:
    """Play a policy on the folds and on the past of each, unless that is done.

    Args:
        course: where.
        name: what it is called.
        who: plays; a maker makes one for each fold.
        key: what tells who plays from others; JSON.
        work: what is done stays there.

    Raises:
        ValueError: if a policy fails, or can be made for no fold.
    """
    about = {
        "policy": key,
        "scenarios": [_fields(each) for each in course.scenarios],
        "trace": whole_trace(course.scenarios[0]).content_hash,
    }

    def found() -> Played:
        with work.making(about) as folder:
            return _played(course, name, who, folder)

    return work.played(about, found)


def _fields(scenario: Scenario) -> dict[str, str]:
    """All that makes a scenario, but its trace."""
    names = (field.name for field in fields(scenario) if field.name != "trace")
    return {name: repr(getattr(scenario, name)) for name in names}


def _played(course: Course, name: str, who: Policy | Maker, folder: Path) -> Played:
    folds = course.test
    policies = _of_folds(course, who, folder)
    runs = [
        place.run(policy, name=name) for place, policy in zip(folds.places, policies, strict=True)
    ]
    past = np.full(len(runs), np.nan)
    if isinstance(who, Policy):  # what was made from the past is no stranger there
        for fold, place in enumerate(course.past.places):
            costs = place.evidence.costs(place.run(who, name=name))
            past[fold] = (place.evidence.replay - costs).sum() / place.machine_hour
    figures = [_figures(place, run) for place, run in zip(folds.places, runs, strict=True)]
    return Played(_terms(folds, runs), past, np.array(figures))


def _of_folds(course: Course, who: Policy | Maker, folder: Path) -> list[Policy]:
    """Who plays each fold; replay where nothing can be made of its past."""
    if isinstance(who, Policy):
        return [who] * len(course.scenarios)
    found: list[Policy] = []
    reasons: list[str] = []
    for number, scenario in enumerate(course.scenarios, 1):
        try:
            found.append(who.make(scenario, folder / f"fold-{number}"))
        except ValueError as error:
            reasons.append(f"fold {number}: {error}")
            found.append(REGISTRY["replay"]())
    if len(reasons) == len(found):
        raise ValueError(reasons[0])
    return found


def _figures(place: Anchors, run: Run) -> list[float]:
    """`FIGURES` of one fold."""
    apart, drawn = moved(place.world, place.replayed, run).sum(axis=0) / place.machine_hour
    return [
        hours_saved([place], [run]),
        completion_hours_saved([place], [run]),
        run.forfeited,
        metrics.false_kills(run.outcomes),
        metrics.rescued(run.outcomes),
        apart,
        drawn,
    ]


def _terms(folds: Folds, runs: Sequence[Run]) -> Floats:
    """Costs by term of the rows of all folds [rows, 5: machine-h]."""
    parts: list[Floats] = []
    for place, run in zip(folds.places, runs, strict=True):
        costs = place.world.task_costs(run.outcomes)
        assert costs is not None, "in the pinned world each task has costs of its own"
        parts.append(costs / place.machine_hour)
    return np.concatenate(parts)


@dataclass(frozen=True)
class Judged:
    """What a policy would have saved on the later half of a record."""

    policy: str
    kind: str
    """"published", "tuned", "learned", "shipped" or "given"; "chosen" for `CHOSEN`"""
    measure: str
    forecast: str
    saved: float
    """net: machine-time, and the value of tasks that finish [machine-h]"""
    low: float | None
    """with `high`: 95 % for all candidates at once [machine-h]; None where too few jobs decide"""
    high: float | None
    share: float
    """net, of the machine-time of these tasks"""
    verdict: Verdict
    harm: float | None
    """chance that jobs like these would have made it lose; None if it never acts"""
    worst: float
    """net saving of the worst period [machine-h]"""
    losing: int
    """periods in which it loses"""
    periods: int
    """all of them"""
    machine_hours: float
    """machine-time saved [machine-h]"""
    completion_hours: float
    """completion time saved [h]"""
    forfeited: int
    """tasks with a value that do not finish, beyond those of the record"""
    forfeited_per_thousand: float
    """the same, of a thousand tasks"""
    false_kills_per_thousand: float
    rescued_per_thousand: float
    drawn: float | None
    """share that rests on attempts beyond the record"""
    at_values: dict[str, float]
    """net saving if a task is worth so many times as much [machine-h]"""
    acts: bool
    about: str = ""
    """what it does, in a sentence"""
    chosen: tuple[str, ...] = ()
    """of `CHOSEN`: the rule of each fold"""


def judged(
    course: Course,
    name: str,
    kind: str,
    played: Played,
    *,
    candidates: int,
    periods: Callable[[Ints], Ints],
    about: str = "",
    chosen: tuple[str, ...] = (),
) -> Judged:
    """What the folds say of a policy.

    Args:
        course: where it was played.
        name: what it is called.
        kind: what it is.
        played: what it did.
        candidates: how many policies are compared: the interval is for all of them.
        periods: the number of the stretch of time of a submission [ms].
        about: what it does, in a sentence.
        chosen: of `CHOSEN`: the rule of each fold.
    """
    replay = _replayed(course)
    before, costs = replay.sum(axis=1), played.terms.sum(axis=1)
    # A share of the machine-time, not of the room: the room may be next to nothing.
    units, spent = course.test.evidence.units, float(course.test.evidence.spent.sum())
    of_spent = replace(course.test.evidence, replay=before, possible=course.test.evidence.spent)
    acts = bool((played.terms != replay).any())
    verdict = verdict_on([of_spent], [costs], acts, candidates, seed=0)
    saved = before - costs
    by_period = np.bincount(periods(course.submits), saved)
    by_term = (replay - played.terms).sum(axis=0)
    forfeited = int(played.figure("forfeited")) - sum(
        place.replay.forfeited for place in course.test.places
    )
    changed = played.figure("moved")
    thousands = len(costs) / 1000.0
    return Judged(
        policy=name,
        kind=kind,
        measure=course.measure.name,
        forecast=course.forecast,
        saved=float(saved.sum()),
        low=None if verdict.low is None else verdict.low * spent / 100.0,
        high=None if verdict.high is None else verdict.high * spent / 100.0,
        share=float(saved.sum()) / spent if spent > 0.0 else 0.0,
        verdict=verdict,
        harm=_chance_of_loss(units.of_row, saved) if acts else None,
        worst=float(by_period.min(initial=0.0)),
        losing=int((by_period < 0.0).sum()),
        periods=len(np.unique(periods(course.submits))),
        machine_hours=played.figure("machine_hours"),
        completion_hours=played.figure("completion_hours"),
        forfeited=forfeited,
        forfeited_per_thousand=forfeited / thousands,
        false_kills_per_thousand=played.figure("false_kills") / thousands,
        rescued_per_thousand=played.figure("rescued") / thousands,
        drawn=played.figure("moved_by_drawn") / changed if changed > 0.0 else None,
        at_values={
            f"{factor:g}": float(by_term.sum() + (factor - 1.0) * by_term[_FORFEITED])
            for factor in VALUES
        },
        acts=acts,
        about=about,
        chosen=chosen,
    )


def _replayed(course: Course) -> Floats:
    """[rows, 5] what replay costs by term [machine-h]."""
    places = course.test.places
    return _terms(course.test, [place.replay for place in places])


def _chance_of_loss(of_row: Ints, saved: Floats) -> float:
    """Share of bootstrap samples in which a policy loses."""
    sums = np.bincount(of_row, saved)[:, None].astype(np.float64)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(0)))
    samples = resampled(sums, np.zeros(len(sums), dtype=np.int64), 0.0, rng)
    return float((samples[:, 0] < 0.0).mean())


def chosen_on_the_past(
    course: Course, played: Mapping[str, Played]
) -> tuple[Played, tuple[str, ...]]:
    """In each fold the policy that saves most on its past, or replay; and their names."""
    nothing, first = _play_of_replay(course), 0
    terms: list[Floats] = []
    figures: list[Floats] = []
    chosen: list[str] = []
    for fold, place in enumerate(course.test.places):
        rows = slice(first, first + len(place.evidence.replay))
        first = rows.stop
        name = max(played, key=lambda name: _number(played[name].past[fold]))
        acts = played[name].past[fold] > 0.0
        found = played[name] if acts else nothing
        chosen.append(name if acts else NOTHING)
        terms.append(found.terms[rows])
        figures.append(found.figures[fold])
    past = np.full(len(figures), np.nan)
    return Played(np.concatenate(terms), past, np.array(figures)), tuple(chosen)


def _number(saved: float) -> float:
    """What was not played on the past is never chosen by it."""
    return -np.inf if np.isnan(saved) else saved


def _play_of_replay(course: Course) -> Played:
    """What is recorded, as if a policy had played it."""
    places = course.test.places
    figures = [_figures(place, place.replay) for place in places]
    return Played(_replayed(course), np.zeros(len(places)), np.array(figures))
