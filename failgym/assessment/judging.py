"""Policies on the folds of a record: what each would have saved, and how surely."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.assessment.course import Ground
from failgym.assessment.measures import TASK_VALUE
from failgym.assessment.playing import NOTHING
from failgym.assessment.work_folder import FIGURES, Played
from failgym.envs.spaces import TERMS
from failgym.evaluation.evidence import Evidence
from failgym.evaluation.scoring import CONFIDENCE, score_spread
from failgym.evaluation.statistics.groups import sums_with_intervals
from failgym.evaluation.statistics.interval_width import stretch
from failgym.evaluation.statistics.resampling import resampled
from failgym.evaluation.verdict import ERROR, Verdict, verdict_on

__all__ = [
    "CHOSEN",
    "VALUES",
    "Judged",
    "Named",
    "Sure",
    "chosen_on_the_past",
    "judged",
    "sure_of",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CHOSEN = "chosen on the past"
"""The rule that saves most before each fold, or none."""
VALUES = (0.25, 1.0, 4.0)
"""Factors of the value of a task that savings are shown at."""
WIDEST = 2.0
"""Intervals that hold 0 and are wider, as a multiple of the machine-time of the tasks that are
asked about, say nothing (chosen). Where a task is worth more than `TASK_VALUE` times its
machine-time, as much more may be saved and lost, and they may be as much wider."""
_FORFEITED, _OVERHEAD = TERMS.index("forfeited"), TERMS.index("overhead")


class Named(NamedTuple):
    """Who plays, and what is told of them."""

    name: str
    kind: str
    """as in `Judged.kind`"""
    about: str = ""
    """what it does, in a sentence"""
    parameters: str = ""
    """of a rule"""


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
    first_period: int
    """number of the first period of which tasks were judged, among those of `Happened.periods`"""
    by_period: tuple[float, ...]
    """net saving in that and in each that follows, up to the last: of tasks that were submitted
    then [machine-h]"""
    by_period_low: tuple[float | None, ...]
    """with `by_period_high`: where what as many jobs like these save lies, with 95 % for all
    periods and all candidates at once [machine-h]; None where that is not known: of fewer than
    five units, where units of each period are alike, or if it would hold 0 and be wider than
    `WIDEST` says of the tasks of the period"""
    by_period_high: tuple[float | None, ...]
    worst: float
    """net saving of the worst period [machine-h]"""
    losing: int
    """periods in which it loses"""
    surely_losing: int | None
    """those of them whose interval lies below 0; None if none of them has one"""
    periods: int
    """those of which tasks were judged"""
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
    parameters: str = ""
    """of a rule"""
    chosen: tuple[str, ...] = ()
    """of `CHOSEN`: the rule of each fold"""

    @property
    def saves(self) -> tuple[float, ...]:
        """What tells what it saves from what others do, to the last seconds."""
        return tuple(round(value, 3) for value in self.by_period)


class Sure(NamedTuple):
    """How surely something is saved, whatever it is made of: who saves the same has the same."""

    verdict: Verdict
    harm: float | None
    """as in `Judged`"""
    first_period: int
    """as in `Judged`"""
    by_period: Floats
    lows: Floats
    highs: Floats
    """[periods] what is saved in each, and between what and what; NaN for no interval"""


def sure_of(
    ground: Ground, played: Played, *, candidates: int, periods: Callable[[Ints], Ints]
) -> Sure:
    """How surely a policy saves what it does; most of the time of `judged` goes here.

    Args:
        ground: costs of replay on the folds, which savings are relative to.
        played: the policy's costs there.
        candidates: number of policies that are compared; intervals are widened for so many.
        periods: maps times of submission [ms] to the number of their period, such as a week.
    """
    even, acts = _even(ground), _acted(ground, played)
    verdict = verdict_on([even], [played.terms.sum(axis=1)], acts, candidates, seed=0)
    saved = (ground.replay - played.terms).sum(axis=1)
    of_period = periods(ground.submits)
    first = int(of_period.min())
    by_period = _by_period(ground, saved, of_period - first, candidates)
    told = acts and _interval(verdict, ground)[0] is not None
    harm = _chance_of_loss(even, saved) if told else None
    return Sure(verdict, harm, first, *by_period)


def judged(
    ground: Ground,
    who: Named,
    played: Played,
    sure: Sure,
    *,
    periods: Callable[[Ints], Ints],
) -> Judged:
    """The savings of a policy on the folds, with their interval and a verdict.

    Args:
        ground: costs of replay on the folds, which savings are relative to.
        who: the policy, and what is told of it.
        played: its costs on the folds.
        sure: of what it saves, from `sure_of`.
        periods: as for `sure_of`.
    """
    spent, acts, verdict = ground.spent, _acted(ground, played), sure.verdict
    low, high = _interval(verdict, ground)
    by_term = ground.replay - played.terms
    saved = by_term.sum(axis=1)
    losing = sure.by_period < 0.0
    told = losing & ~np.isnan(sure.highs)
    total, forfeited_value = float(saved.sum()), float(by_term[:, _FORFEITED].sum())
    figures = (played.figures - ground.figures).sum(axis=0)
    moved = dict(zip(FIGURES, figures.tolist(), strict=True))
    thousands = len(saved) / 1000.0
    return Judged(
        policy=who.name,
        kind=who.kind,
        measure=ground.measure,
        forecast=ground.forecast,
        saved=total,
        low=low,
        high=high,
        share=total / spent if spent > 0.0 else 0.0,
        verdict=verdict,
        harm=sure.harm,
        without_largest=total - max(float(_by_unit(ground, saved).max(initial=0.0)), 0.0),
        folds=tuple(whole.fold for whole in ground.wholes),
        by_fold=_by_fold(ground, saved),
        tasks_by_fold=tuple(whole.tasks for whole in ground.wholes),
        first_period=sure.first_period,
        by_period=tuple(sure.by_period.tolist()),
        by_period_low=tuple(map(_known, sure.lows.tolist())),
        by_period_high=tuple(map(_known, sure.highs.tolist())),
        worst=float(sure.by_period.min()),
        losing=int(losing.sum()),
        surely_losing=int((sure.highs < 0.0).sum()) if told.any() or not losing.any() else None,
        periods=len(np.unique(periods(ground.submits))),
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
        about=who.about,
        parameters=who.parameters,
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
    if low <= 0.0 <= high and high - low > 100.0 * _widest(ground):
        return None, None
    return low * spent / 100.0, high * spent / 100.0


def _widest(ground: Ground) -> float:
    """How wide an interval that holds 0 may be, over the machine-time of its tasks."""
    return WIDEST * max(ground.task_value / TASK_VALUE, 1.0)


def _by_period(
    ground: Ground, saved: Floats, of_period: Ints, candidates: int
) -> tuple[Floats, Floats, Floats]:
    """What is saved in each period, and between what and what [machine-h]; NaN for no interval."""
    count, of_row = int(of_period.max()) + 1, ground.evidence.units.of_row
    sums, low, high = sums_with_intervals(saved, of_row, of_period, count, ERROR / candidates)
    spent = np.bincount(of_period, ground.evidence.spent, count)
    nothing = (low <= 0.0) & (high >= 0.0) & (high - low > _widest(ground) * spent)
    low[nothing], high[nothing] = np.nan, np.nan
    return sums, low, high


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _acted(ground: Ground, played: Played) -> bool:
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
    """In each fold the policy that saves most before it, or replay; and their names.

    That is what it saves on the past of the first fold, with the measures that it tells of, and on
    those tasks of the folds in between that were over when the first task of the fold was
    submitted that is asked about. Tasks that were not over as the first fold began, and those of
    folds that are left out, are of neither. Who was made of a past is not among them.
    """
    asked = {name: one for name, one in played.items() if not np.isnan(one.past)}
    saved = {name: (ground.replay - one.terms).sum(axis=1) for name, one in asked.items()}
    first = 0
    terms: list[Floats] = []
    figures: list[Floats] = []
    chosen: list[str] = []
    for fold, count in enumerate(ground.rows):
        rows = slice(first, first + count)
        over = np.flatnonzero(ground.ends[:first] <= ground.submits[rows].min())
        first = rows.stop
        before = {name: float(one.past + saved[name][over].sum()) for name, one in asked.items()}
        name = max(before, key=lambda name: before[name])
        acts = before[name] > 0.0
        chosen.append(name if acts else NOTHING)
        terms.append((played[name].terms if acts else ground.replay)[rows])
        figures.append((played[name].figures if acts else ground.figures)[fold])
    nowhere = np.array(np.nan)
    return Played(np.concatenate(terms), nowhere, np.array(figures)), tuple(chosen)
