"""Policies on the folds of a record: what each would have saved, and how surely."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym import metrics
from failgym.assessment.happened import known_hours
from failgym.assessment.makers import Maker
from failgym.assessment.measures import TASK_VALUE, Measure, mtbf_of, together
from failgym.assessment.work_folder import FIGURES, Played, WorkFolder
from failgym.baselines import REGISTRY
from failgym.envs import Scenario
from failgym.envs.spaces import TERMS
from failgym.evaluation import Anchors, Run, run_policy
from failgym.evaluation.anchors import machine_hour_of
from failgym.evaluation.caller import check_playable, made_for
from failgym.evaluation.continuing import CONTINUING
from failgym.evaluation.evidence import Evidence
from failgym.evaluation.folds import Folds
from failgym.evaluation.savings import completion_hours_saved, hours_saved, moved
from failgym.evaluation.scoring import CONFIDENCE, score_spread
from failgym.evaluation.statistics.interval_width import stretch
from failgym.evaluation.statistics.resampling import resampled
from failgym.evaluation.verdict import Verdict, verdict_on
from failgym.policy import Policy
from failgym.traces import Trace
from failgym.vocabulary import Outcome
from failgym.worlds.build import build_world, split_of
from failgym.worlds.settings.splitting import FOLDS
from failgym.worlds.source import whole_trace
from failgym.worlds.split import tasks_run
from failgym.worlds.world import World

__all__ = [
    "CHOSEN",
    "VALUES",
    "Course",
    "Ground",
    "Judged",
    "acted",
    "chosen_on_the_past",
    "fields_of",
    "judged",
    "make",
    "play",
    "reason",
    "scenario_of",
    "with_mtbf",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CHOSEN = "chosen on the past"
"""The rule that saves most on the past of each fold, or none."""
NOTHING = "replay"
"""What plays where no rule saves anything on the past."""
VALUES = (0.25, 1.0, 4.0)
"""Factors of the value of a task that savings are shown at."""
WIDEST = 2.0
"""Intervals that hold 0 and are wider, as a multiple of the machine-time of the tasks that are
asked about, say nothing (chosen). Where a task is worth more than `TASK_VALUE` times its
machine-time, as much more may be saved and lost, and they may be as much wider."""
_FIELD = rf"\b(?:{'|'.join(one.name for one in fields(Scenario))})=[^\s:]+"
"""A field of a scenario and its value, in a message."""
_FORFEITED, _OVERHEAD = TERMS.index("forfeited"), TERMS.index("overhead")


@dataclass(frozen=True)
class Course:
    """A measure on the folds of a record, under one kind of forecast."""

    measure: Measure
    forecast: str
    """"none" or "trained" """
    scenarios: tuple[Scenario, ...]
    """of each fold in which something is decided"""
    places: tuple[Anchors, ...]
    """replay and the bound on each"""
    skipped: tuple[str, ...]
    """folds in which nothing is decided, or whose past does not tell what another attempt would
    meet, and why, a line each"""

    @classmethod
    def of(cls, measure: Measure, trace: str | Trace, forecast: str, task_value: float) -> Course:
        """Replay and the bound under a measure.

        Raises:
            ValueError: if nothing is decided in any fold.
        """
        scenarios: list[Scenario] = []
        places: list[Anchors] = []
        skipped: list[str] = []
        for fold in range(1, FOLDS + 1):
            try:
                scenario = scenario_of(measure, trace, forecast, task_value, fold)
                places.append(Anchors.of(scenario, split="test"))
                scenarios.append(scenario)
            except ValueError as error:
                skipped.append(f"fold {fold}: {reason(error)}")
        if not places:
            raise ValueError(
                f"none of the {FOLDS} folds that the later half of the record is cut into can be"
                f" judged; {skipped[0]}"
            )
        return cls(measure, forecast, tuple(scenarios), tuple(places), tuple(skipped))

    @cached_property
    def folds(self) -> Folds:
        """The folds as one record."""
        return Folds(self.places)

    @cached_property
    def wholes(self) -> tuple[Whole, ...]:
        """All that each fold holds, whether the measure is about it or not."""
        return tuple(map(_whole, self.scenarios))

    @cached_property
    def pasts(self) -> tuple[Past | None, ...]:
        """The past of each fold; None where nothing is decided in it."""
        return tuple(map(_past, self.scenarios))

    @cached_property
    def ground(self) -> Ground:
        """What judging needs of it."""
        evidence = self.folds.evidence
        replay = _terms(self.places, [place.replay for place in self.places])
        return Ground(
            measure=self.measure.name,
            forecast=self.forecast,
            evidence=replace(evidence, replay=replay.sum(axis=1)),
            replay=replay,
            figures=np.array([_figures(place, place.replay) for place in self.places]),
            rows=tuple(len(place.evidence.replay) for place in self.places),
            submits=np.concatenate([place.replay.outcomes["submit"] for place in self.places]),
            mtbf=self.scenarios[-1].mtbf if self.scenarios[-1].checkpoint else None,
            task_value=self.scenarios[-1].task_value or 0.0,
            wholes=self.wholes,
        )

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
    """in machine-hours"""
    replay: Floats
    """[rows, 5] cost of replay by term [machine-h]"""
    figures: Floats
    """[folds, `FIGURES`] of replay"""
    rows: tuple[int, ...]
    """of each fold"""
    submits: Ints
    """[rows] when the task was submitted [ms]"""
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
    """What is known before a fold: rules are chosen on it."""

    world: World
    scenario: Scenario
    replay: Run

    def saved(self, policy: Policy, name: str) -> float:
        """What a policy saves there [machine-h]."""
        slices, order = self.replay.slices, self.scenario.order
        run = run_policy(self.world, self.scenario, policy, slices, order=order, name=name)
        return float((self.replay.costs - run.costs).sum()) / machine_hour_of(self.world)


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
    slices = np.arange(world.slices)
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


def fields_of(scenario: Scenario) -> dict[str, str]:
    """All that makes a scenario, but its trace."""
    names = (field.name for field in fields(scenario) if field.name != "trace")
    return {name: repr(getattr(scenario, name)) for name in names}


def _played(course: Course, name: str, who: Policy | Maker, folder: Path) -> Played:
    policies, notes = _of_folds(course, who, folder)
    pairs = zip(course.places, policies, strict=True)
    runs = [place.run(policy, name=name) for place, policy in pairs]
    past = np.full(len(runs), np.nan)
    if isinstance(who, Policy):  # what was made from the past is no stranger there
        past = np.array([np.nan if one is None else one.saved(who, name) for one in course.pasts])
    figures = [_figures(place, run) for place, run in zip(course.places, runs, strict=True)]
    return Played(_terms(course.places, runs), past, np.array(figures), np.array(notes, np.str_))


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


def _figures(place: Anchors, run: Run) -> list[float]:
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


def _terms(places: Sequence[Anchors], runs: Sequence[Run]) -> Floats:
    """Costs by term of the rows of all folds [rows, 5: machine-h]."""
    parts: list[Floats] = []
    for place, run in zip(places, runs, strict=True):
        costs = place.world.task_costs(run.outcomes)
        assert costs is not None, "in the pinned world each task has costs of its own"
        parts.append(costs / place.machine_hour)
    return np.concatenate(parts)


@dataclass(frozen=True)
class Judged:
    """What a policy would have saved on the later half of a record."""

    policy: str
    kind: str
    """"published", "tuned", "learned" or "given"; "chosen" for `CHOSEN`"""
    measure: str
    forecast: str
    saved: float
    """net: machine-time, and the value of tasks that finish [machine-h]"""
    low: float | None
    """with `high`: 95 % for all candidates at once [machine-h]; None where too few jobs decide:
    there is none, or it holds 0 and is wider than `WIDEST` says"""
    high: float | None
    share: float
    """net, of the machine-time of these tasks"""
    verdict: Verdict
    harm: float | None
    """chance that jobs like these would have made it lose; None if it never acts, or too few jobs
    decide to tell"""
    without_largest: float
    """net saving without the block of jobs that saves most [machine-h]"""
    folds: tuple[int, ...]
    """numbers of the folds that were judged, of `FOLDS`, in order of time"""
    by_fold: tuple[float, ...]
    """net saving in each of them [machine-h]"""
    tasks_by_fold: tuple[int, ...]
    """of known fate that ran in each of them, whether the measure is about them or not"""
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
    """tasks that do not finish, beyond those of the record; below 0 where more finish"""
    forfeited_per_thousand: float
    """the same, of a thousand tasks"""
    false_kills_per_thousand: float
    rescued_per_thousand: float
    drawn: float | None
    """share that rests on attempts beyond the record"""
    at_values: dict[str, float]
    """net saving, of what was played, if a task is worth so many times as much [machine-h]"""
    acts: bool
    even_at: float | None = None
    """value of a task that finishes, as a multiple of its machine-time, at which it would neither
    save nor lose; None if it saves, or loses, at every value"""
    mtbf: int | None = None
    """what periodic checkpoints go by [ms]; None if it saves nothing"""
    about: str = ""
    """what it does, in a sentence"""
    chosen: tuple[str, ...] = ()
    """of `CHOSEN`: the rule of each fold"""


def judged(
    ground: Ground,
    name: str,
    kind: str,
    played: Played,
    *,
    candidates: int,
    periods: Callable[[Ints], Ints],
    about: str = "",
    chosen: tuple[str, ...] = (),
) -> Judged:
    """The savings of a policy on the folds, with their interval and a verdict.

    Args:
        ground: costs of replay on the folds, which savings are relative to.
        name: the policy's name.
        kind: where it is from: "published", "tuned", "learned" or "given".
        played: its costs on the folds.
        candidates: number of policies that are compared; intervals are widened for so many.
        periods: maps times of submission [ms] to the number of their period, such as a week.
        about: what the policy does, in a sentence.
        chosen: only for `CHOSEN`: the name of the rule that was chosen for each fold.
    """
    spent, even = ground.spent, _even(ground)
    acts = acted(ground, played)
    verdict = verdict_on([even], [played.terms.sum(axis=1)], acts, candidates, seed=0)
    low, high = _interval(verdict, ground)
    by_term = ground.replay - played.terms
    saved = by_term.sum(axis=1)
    of_period = np.unique(periods(ground.submits), return_inverse=True)[1]
    by_period = np.bincount(of_period, saved)
    total, forfeited_value = float(saved.sum()), float(by_term[:, _FORFEITED].sum())
    figures = (played.figures - ground.figures).sum(axis=0)
    moved = dict(zip(FIGURES, figures.tolist(), strict=True))
    thousands = len(saved) / 1000.0
    return Judged(
        policy=name,
        kind=kind,
        measure=ground.measure,
        forecast=ground.forecast,
        saved=total,
        low=low,
        high=high,
        share=total / spent if spent > 0.0 else 0.0,
        verdict=verdict,
        harm=_chance_of_loss(even, saved) if acts and low is not None else None,
        without_largest=total - max(float(_by_unit(ground, saved).max(initial=0.0)), 0.0),
        folds=tuple(whole.fold for whole in ground.wholes),
        by_fold=_by_fold(ground, saved),
        tasks_by_fold=tuple(whole.tasks for whole in ground.wholes),
        worst=float(by_period.min()),
        losing=int((by_period < 0.0).sum()),
        periods=len(by_period),
        machine_hours=moved["machine_hours"],
        completion_hours=moved["completion_hours"],
        forfeited=int(moved["forfeited"]),
        forfeited_per_thousand=moved["forfeited"] / thousands,
        false_kills_per_thousand=moved["false_kills"] / thousands,
        rescued_per_thousand=moved["rescued"] / thousands,
        drawn=moved["moved_by_drawn"] / moved["moved"] if moved["moved"] > 0.0 else None,
        at_values={f"{factor:g}": total + (factor - 1.0) * forfeited_value for factor in VALUES},
        acts=acts,
        even_at=_even_at(total, forfeited_value, ground.task_value),
        mtbf=ground.mtbf if by_term[:, _OVERHEAD].any() else None,
        about=about,
        chosen=chosen,
    )


def _even_at(total: float, of_value: float, task_value: float) -> float | None:
    """The value of a task at which a saving is 0, if that is anything but less than nothing.

    Args:
        total: what is saved net [machine-h].
        of_value: the part of it that grows with the value.
        task_value: at which it was found.
    """
    if not of_value or total - of_value == 0.0:
        return None
    found = task_value * (1.0 - total / of_value)
    return found if found > 0.0 else None


def _interval(verdict: Verdict, ground: Ground) -> tuple[float | None, float | None]:
    """Of what a policy saves [machine-h]; none where it says nothing."""
    low, high, spent = verdict.low, verdict.high, ground.spent
    if low is None or high is None:
        return None, None
    widest = 100.0 * WIDEST * max(ground.task_value / TASK_VALUE, 1.0)
    if low <= 0.0 <= high and high - low > widest:
        return None, None
    return low * spent / 100.0, high * spent / 100.0


def acted(ground: Ground, played: Played) -> bool:
    """Did a policy ever change what happens?"""
    return bool((played.terms != ground.replay).any())


def _by_fold(ground: Ground, values: Floats) -> tuple[float, ...]:
    """Sums over each fold."""
    ends = np.cumsum(ground.rows)[:-1]
    return tuple(float(part.sum()) for part in np.split(values, ends))


def _by_unit(ground: Ground, values: Floats) -> Floats:
    """Sums over each block of jobs that is resampled [units]."""
    units = ground.evidence.units
    return np.bincount(units.of_row, values, units.count).astype(np.float64)


def _even(ground: Ground) -> Evidence:
    """Evidence by which a score is the saving in percent of the machine-time of all these tasks.

    What a unit spends is a share of that, the same for each: so the interval is that of the hours.
    """
    of_row, count = ground.evidence.units.of_row, ground.evidence.units.count
    rows = np.bincount(of_row, minlength=count)
    even = ground.spent / count / rows[of_row]
    return replace(ground.evidence, possible=even, spent=even)


def _chance_of_loss(even: Evidence, saved: Floats) -> float | None:
    """Share of bootstrap samples, stretched as intervals are, in which a policy loses.

    None of a single unit.
    """
    of_row, count = even.units.of_row, even.units.count
    if count < 2:
        return None
    by_unit = [np.bincount(of_row, values, count) for values in (saved, even.spent)]
    sums: Floats = np.stack(by_unit, axis=1).astype(np.float64)
    trace = np.zeros(count, dtype=np.int64)
    spread = score_spread(sums[:, 0], sums[:, 1], trace)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(0)))
    samples = resampled(sums, trace, spread.trace_weight, rng)
    whole, found = float(sums[:, 0].sum() / sums[:, 1].sum()), samples[:, 0] / samples[:, 1]
    wider = stretch(spread.parts, CONFIDENCE)
    return float((whole + wider * (found - whole) < 0.0).mean())


def chosen_on_the_past(
    ground: Ground, played: Mapping[str, Played]
) -> tuple[Played, tuple[str, ...]]:
    """In each fold the policy that saves most on its past, or replay; and their names."""
    first = 0
    terms: list[Floats] = []
    figures: list[Floats] = []
    chosen: list[str] = []
    for fold, count in enumerate(ground.rows):
        rows = slice(first, first + count)
        first = rows.stop
        name = max(played, key=lambda name: _number(played[name].past[fold]))
        acts = played[name].past[fold] > 0.0
        chosen.append(name if acts else NOTHING)
        terms.append((played[name].terms if acts else ground.replay)[rows])
        figures.append((played[name].figures if acts else ground.figures)[fold])
    past = np.full(len(figures), np.nan)
    return Played(np.concatenate(terms), past, np.array(figures)), tuple(chosen)


def _number(saved: float) -> float:
    """What was not played on the past is never chosen by it."""
    return -np.inf if np.isnan(saved) else saved
