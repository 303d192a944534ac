"""`Alarms`: forecasts of a stated quality whose age tells nothing of whether they come true."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from failgym.predictors.base import attempt_numbers, window_offsets
from failgym.predictors.drawn.alarm_laws import AlarmCurves, exponential, scores
from failgym.predictors.drawn.calibrated import Calibrated
from failgym.predictors.drawn.levels import (
    KUMAR_MODELS,
    Levels,
    as_levels,
    binormal_levels,
    check_levels,
)
from failgym.predictors.parameters import check_whole
from failgym.sim.shared.alarms import FALSE_ALARMS, AlarmLaw
from failgym.sim.shared.continuation import Law
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.keys import Purpose, uniform
from failgym.sim.shared.laws import draw_all, share_up_to
from failgym.traces.trace import Trace
from failgym.vocabulary import MINUTE, Outcome

__all__ = ["LEAST_ENDS", "Alarms", "Shown"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LEAST_ENDS = 30
"""Attempts, first or later, of which as many end badly and as many otherwise have laws of their
own; else those of all attempts hold for them. A rate of 30 has a standard error of .09 at most."""
ELSAYED_LEAD = 40 * MINUTE
"""Mean lead [ms] with which true alarms come at about .3 of the duration of attempts of several
windows, as Fig. 11 of El-Sayed et al. implies: at .28 and .31 of two traces of `google-2011`; with
20 and 90 minutes at .41 and .18."""
ELSAYED_JOB_SHARE = 0.95
"""Share of the attempts that err with their job. Of the highest risk that `GradientBoosting` says
of attempts it has not learned from it is .95 [.92, .98] of first attempts that fail on three traces
of `google-2011-applications`, .97 of those that do not, .92 [.84, .97] and .97 of second ones; of
the risk at the start, and on Google's record of 2011, which tells no usage, 1.00
(`experiments.job_errors`)."""
FIRST, LATER = 0, 1
_JOB_TRUE, _JOB_FALSE = 1, 2
"""Numbers of a job's own draws for `Purpose.FORECAST_JOB`; 0 is that of `Calibrated`."""


class Shown(NamedTuple):
    """Of which tasks of a trace a forecast is shown, and what tasks and jobs are keyed to."""

    tasks: Bools
    """[tasks] is it shown? The stated rates hold over their attempts"""
    key: Ints
    """[tasks] what draws are keyed to: the row of each in the whole trace"""
    job_key: Ints
    """[jobs] the same"""

    @classmethod
    def all_of(cls, trace: Trace) -> Self:
        """All tasks, keyed to their rows."""
        tasks = trace.rows("tasks")
        rows = np.arange(tasks), np.arange(trace.rows("jobs"))
        return cls(np.ones(tasks, dtype=np.bool_), *rows)


class _Attempts(NamedTuple):
    """What the draws of recorded attempts go by, [attempts that ran and ended]."""

    row: Ints
    """of the trace"""
    task: Ints
    number: Ints
    key: Ints
    life: Ints
    """duration, at least 1 [ms]"""
    bad: Bools
    group: Ints
    """`FIRST` or `LATER`"""


class _Laws(NamedTuple):
    """The laws of first and of later attempts, a cell each; factors likewise."""

    true_score: Law
    false_time: Law
    false_score: Law
    false_factor: tuple[float, ...]
    """how many times as often as bad ends failures come that are none"""


class _Alarm(NamedTuple):
    """Alarms, at most one of each of some attempts."""

    attempt: Ints
    """position among the attempts that ran"""
    end: Ints
    """[ms] after the start"""
    lead: Ints
    score: Floats


@dataclass(frozen=True)
class Alarms:
    """A predictor of known quality whose alarms are true as often at every age.

    **Quality.** At each ``threshold`` a share ``recall`` of the attempts that end badly has a
    *true* alarm of at least that risk: one that is on when the failure comes. A share ``fpr`` of
    those that do not end badly has a false one, at any time. To end badly is to FAIL, whatever the
    cause, or, with ``outside``, to be taken away (EVICT, LOST) too. Both rates hold, in
    expectation, over the attempts of the tasks that are shown: all that ran, unless `predict` is
    told which; first attempts of a task and later ones each for themselves, if `LEAST_ENDS` of them
    end badly and as many otherwise. What the end of the data cut off does not end badly.

    **Alarms.** An alarm speaks of a failure. It is on from an exponential lead of mean ``lead``
    before it, or from the start, until then; afterwards the risk is ``prior`` again. False alarms
    speak of failures that do not come, whose hazard by age is a multiple of that of bad ends in the
    population (`failgym.predictors.drawn.alarm_laws`). So neither the age of an attempt nor that of
    an alarm tells if it is true: among first and among later attempts the share of true ones is the
    same at all ages. An attempt has at most `FALSE_ALARMS` false ones, also one that ends badly.

    **Attempts beyond a record** raise alarms by their own fate and the quality of later attempts
    (rules A1 to A4 of `failgym.sim.reference`); recorded ones do so by what is recorded. The
    failures that do not come of the former have the same multiple of the hazard by which their own
    are drawn: that of attempts like them, after as many failures. So the share of true alarms is
    the same at all ages among them too, and whatever they are (`experiments.alarm_ages`).

    **Errors within jobs.** A share ``job_share`` of the attempts takes its job's number for its
    true alarm, so that failures of a job are foreseen or missed together, and for its first false
    one, so that attempts of a job are suspected at the same age. Outcomes are known all the same:
    within a job attempts that fail are told from others as well as anywhere, which no forecast that
    `experiments.job_errors` measured can do.

    **Classes** of tasks and jobs are forecast as ``classes`` does, errors apart from those of the
    alarms; if it is None confidences are 0.
    """

    threshold: Levels
    """Risks at which the quality is stated, increasing."""
    recall: Levels
    """Share of the attempts that end badly with a true alarm of each risk, decreasing."""
    fpr: Levels
    """Share of the others with a false alarm of each risk, decreasing."""
    lead: int
    """Mean time from an alarm to the failure it speaks of [ms]."""
    prior: float = 0.02
    """Risk without an alarm; less than the lowest threshold."""
    outside: bool = False
    """Do alarms speak of ends from outside too?"""
    window: int = 5 * MINUTE
    """Monitoring window [ms]."""
    job_share: float = 0.0
    """Share of the attempts that err with their job."""
    classes: Calibrated | None = None
    """What forecasts the classes of tasks and jobs, if anything does."""
    seed: int = 0
    """Different seeds draw independent forecasts."""

    def __post_init__(self) -> None:
        check_levels(self.threshold, self.recall, self.fpr, self.prior)
        check_whole(self, 1, "lead", "window")
        if not 0.0 <= self.job_share <= 1.0:
            raise ValueError(f"job_share: expected a share, got {self.job_share}")

    @classmethod
    def elsayed(
        cls,
        *,
        window: int = 5 * MINUTE,
        job_share: float = ELSAYED_JOB_SHARE,
        seed: int = 0,
    ) -> Self:
        """El-Sayed et al., ICDCS 2017: the rates of `Calibrated.elsayed`, which says where they
        are from. Errors are those of whole jobs as often as in learned forecasts.
        """
        return cls(
            threshold=(0.1, 0.5, 0.9, 0.95, 0.99),
            recall=(0.80, 0.68, 0.60, 0.58, 0.50),
            fpr=(0.139, 0.046, 0.020, 0.017, 0.007),
            lead=ELSAYED_LEAD,
            window=window,
            job_share=job_share,
            seed=seed,
        )

    @classmethod
    def elsayed_and_rosa(
        cls, *, window: int = 5 * MINUTE, job_share: float = ELSAYED_JOB_SHARE, seed: int = 0
    ) -> Self:
        """The alarms of `elsayed`, and the class confidences of `Calibrated.rosa`, by job."""
        classes = Calibrated.rosa(window=window, seed=seed).by_job()
        alarms = cls.elsayed(window=window, job_share=job_share, seed=seed)
        return replace(alarms, classes=classes)

    @classmethod
    def kumar(
        cls,
        model: str = "shared single",
        *,
        base_rate: float = 0.5,
        lead: int = 10 * MINUTE,
        window: int = MINUTE,
        job_share: float = 0.0,
        seed: int = 0,
    ) -> Self:
        """Kumar et al., DSN 2020: the rates of `Calibrated.kumar`, which says where they are from.

        Ends from outside are foretold too: these are the failures of the system. A score that
        speaks for a failure less than the base rate does raises no alarm.

        Raises:
            ValueError: for an unknown model, or a base rate outside (0, 1).
        """
        if not 0.0 < base_rate < 1.0:
            raise ValueError(f"base_rate: expected a share in (0, 1), got {base_rate}")
        if model not in KUMAR_MODELS:
            raise ValueError(f"model: expected one of {', '.join(KUMAR_MODELS)}, got {model!r}")
        levels = zip(*binormal_levels(*KUMAR_MODELS[model], base_rate), strict=True)
        threshold, recall, fpr = zip(*(x for x in levels if x[0] >= base_rate), strict=True)
        return cls(
            threshold=threshold,
            recall=recall,
            fpr=fpr,
            lead=lead,
            prior=0.0,
            outside=True,
            window=window,
            job_share=job_share,
            seed=seed,
        )

    def fit(self, trace: Trace) -> Self:
        """Return itself: the quality is stated, not learned."""
        return self

    def predict(self, trace: Trace, shown: Shown | None = None) -> Forecast:
        """Draw the forecast of every attempt of the trace, and the law of those beyond it.

        Args:
            trace: speaks of these attempts.
            shown: in which of its tasks the rates hold; all, if None.
        """
        shown = Shown.all_of(trace) if shown is None else shown
        numbers = [
            uniform(self.seed, shown.job_key, what, Purpose.FORECAST_JOB)
            for what in (_JOB_TRUE, _JOB_FALSE)
        ]
        job = trace.column("tasks", "job")
        offset, attempts = window_offsets(trace, self.window), self._attempts(trace, shown)
        laws = self._laws(attempts, shown.tasks[attempts.task])
        law = AlarmLaw(
            seed=self.seed,
            prior=self.prior,
            true_score=_cell(laws.true_score, LATER),
            false_factor=laws.false_factor[LATER],
            false_score=_cell(laws.false_score, LATER),
            lead=exponential(self.lead),
            job_share=self.job_share,
            job_true=numbers[0][job],
            job_false=numbers[1][job],
            outside=self.outside,
        )
        alarms = [self._true(attempts, laws, law), *self._false(attempts, laws, law)]
        rows = trace.rows("jobs"), trace.rows("tasks"), trace.rows("attempts")
        silent = Forecast.none(trace.content_hash, *rows, self.window)
        risk = self._risks(offset, attempts.row, alarms)
        found = replace(silent, offset=offset, risk=risk, alarms=law)
        if self.classes is None:
            return found
        told = self.classes.predict(trace)
        return replace(found, confidence=told.confidence, job_confidence=told.job_confidence)

    def _attempts(self, trace: Trace, shown: Shown) -> _Attempts:
        started = trace.present("attempts", "start")
        row = np.flatnonzero(started & trace.present("attempts", "end"))
        task = trace.column("attempts", "task").astype(np.int64)
        life = trace.column("attempts", "end") - trace.column("attempts", "start")
        ends = (Outcome.FAIL, Outcome.EVICT, Outcome.LOST) if self.outside else (Outcome.FAIL,)
        before = np.cumsum(started) - started
        first = before == before[np.minimum(trace.task_first[task], len(task) - 1)]
        return _Attempts(
            row=row,
            task=task[row],
            number=attempt_numbers(trace)[row],
            key=shown.key[task[row]],
            life=np.maximum(life[row], 1),
            bad=np.isin(trace.column("attempts", "outcome")[row], ends),
            group=np.where(first[row], FIRST, LATER),
        )

    def _laws(self, a: _Attempts, shown: Bools) -> _Laws:
        """The laws of first and of later attempts by the curves of those that are shown."""
        cells = [self._laws_of(a, shown & (a.group == group)) for group in (FIRST, LATER)]
        whole = self._laws_of(a, shown, least=0)
        first, later = (cell or whole for cell in cells)
        assert first
        assert later
        return _Laws(
            true_score=_beside(first.true_score, later.true_score),
            false_time=_beside(first.false_time, later.false_time),
            false_score=_beside(first.false_score, later.false_score),
            false_factor=first.false_factor + later.false_factor,
        )

    def _laws_of(self, a: _Attempts, of: Bools, least: int = LEAST_ENDS) -> _Laws | None:
        """The laws by the curves of some attempts; None if too few end badly, or otherwise."""
        life, bad = a.life[of], a.bad[of]
        if min(np.count_nonzero(bad), np.count_nonzero(~bad)) < least:
            return None
        curves = AlarmCurves.of(life, bad)
        factor = curves.factor(as_levels(self.fpr)[0])
        none = Law.never(1)
        return _Laws(
            true_score=scores(self.threshold, as_levels(self.recall)),
            false_time=curves.false_time(factor) if factor > 0.0 else none,
            false_score=scores(self.threshold, curves.shares(factor, self.fpr))
            if factor > 0.0
            else none,
            false_factor=(factor,),
        )

    def _shared(self, a: _Attempts, own: Floats, of_job: Floats) -> Floats:
        """The numbers of attempts, or of their jobs where they err with these (rule A)."""
        shared = uniform(self.seed, a.key, a.number, Purpose.ALARM_SHARED) < self.job_share
        return np.where(shared, of_job[a.task], own)

    def _true(self, a: _Attempts, laws: _Laws, law: AlarmLaw) -> _Alarm:
        """The alarms of attempts that end badly (rule A2)."""
        own = uniform(self.seed, a.key, a.number, Purpose.ALARM_TRUE)
        score = _drawn(laws.true_score, a.group, self._shared(a, own, law.job_true))
        at = np.flatnonzero(a.bad & np.isfinite(score))
        lead = _drawn(
            law.lead, np.zeros_like(at), self._uniform(a, at, a.number, Purpose.ALARM_LEAD)
        )
        return _Alarm(at, a.life[at], lead.astype(np.int64), score[at])

    def _false(self, a: _Attempts, laws: _Laws, law: AlarmLaw) -> list[_Alarm]:
        """The alarms of failures that do not come (rule A3)."""
        alarms: list[_Alarm] = []
        at, time = np.arange(len(a.row)), np.zeros(len(a.row))
        for j in range(FALSE_ALARMS):
            key = a.number * FALSE_ALARMS + j
            u = uniform(self.seed, a.key, key, Purpose.ALARM_FALSE)
            u = (u if j else self._shared(a, u, law.job_false))[at]
            over = _share_up_to(laws.false_time, a.group[at], time)
            time = _drawn(laws.false_time, a.group[at], over + (1.0 - over) * u)
            met = time < a.life[at]
            at, time = at[met], time[met]
            score_u = self._uniform(a, at, key, Purpose.ALARM_FALSE_SCORE)
            lead_u = self._uniform(a, at, key, Purpose.ALARM_FALSE_LEAD)
            score = _drawn(laws.false_score, a.group[at], score_u)
            lead = _drawn(law.lead, np.zeros_like(at), lead_u)
            alarms.append(_Alarm(at, time.astype(np.int64), lead.astype(np.int64), score))
        return alarms

    def _uniform(self, a: _Attempts, at: Ints, number: Ints, purpose: Purpose) -> Floats:
        return uniform(self.seed, a.key[at], number[at], purpose)

    def _risks(self, offset: Ints, row: Ints, alarms: list[_Alarm]) -> npt.NDArray[np.float32]:
        """The highest score of the alarms that are seen in each window, else the prior (A4)."""
        risk = np.full(offset[-1], self.prior, dtype=np.float32)
        for alarm in alarms:
            last = (alarm.end - 1) // self.window
            begin = np.maximum(alarm.end - alarm.lead, 0)
            first = np.minimum(-(-begin // self.window), last)
            windows = last - first + 1
            of = np.repeat(np.arange(len(windows)), windows)
            since = np.arange(len(of)) - (np.cumsum(windows) - windows)[of]
            at = (offset[row[alarm.attempt]] + first)[of] + since
            risk[at] = np.maximum(risk[at], alarm.score.astype(np.float32)[of])  # one an attempt
        return risk


def _beside(first: Law, second: Law) -> Law:
    """A law of two cells."""
    at = np.cumsum([0, len(first.value), len(second.value)]).astype(np.int64)
    value, share = (
        np.concatenate([getattr(law, name) for law in (first, second)])
        for name in ("value", "share")
    )
    return Law(at, value, share)


def _cell(law: Law, cell: int) -> Law:
    """One cell of a law."""
    entries = slice(law.at[cell], law.at[cell + 1])
    at = np.array([0, law.at[cell + 1] - law.at[cell]], dtype=np.int64)
    return Law(at, law.value[entries], law.share[entries])


def _drawn(law: Law, cell: Ints, u: Floats) -> Floats:
    """What is drawn from cells, which may have no entries: never."""
    return draw_all(law, cell, u) if len(law.value) else np.full(len(cell), np.inf)


def _share_up_to(law: Law, cell: Ints, value: Floats) -> Floats:
    return share_up_to(law, cell, value) if len(law.value) else np.zeros(len(cell))
