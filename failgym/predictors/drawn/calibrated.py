"""`Calibrated`: forecasts of a stated quality, drawn from the known outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from failgym.predictors.base import attempt_numbers, window_offsets
from failgym.predictors.drawn.classes import ClassQuality, draw_classes, draw_jobs
from failgym.predictors.drawn.levels import (
    KUMAR_MODELS,
    Levels,
    as_levels,
    binormal_levels,
    check_levels,
)
from failgym.predictors.drawn.representatives import representatives
from failgym.predictors.parameters import check_whole
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.keys import Purpose, uniform
from failgym.traces.trace import Trace
from failgym.vocabulary import MINUTE, Outcome

__all__ = ["KUMAR_MODELS", "Calibrated", "ClassQuality"]

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

JOB_SHARE, APPLICATION_SHARE = 1.0, 0.9
"""Shares of the error of learned forecasts that are the job's and the application's."""


@dataclass(frozen=True)
class Calibrated:
    """A predictor of known quality: recall and false-positive rate at each threshold.

    **Risk.** One latent score per attempt, keyed by (seed, task row, attempt number), drives all
    its windows. At each ``threshold`` the risk reaches it, at some time of the attempt, for a
    share ``recall`` of the attempts that end in FAIL (whatever the cause) and a share ``fpr`` of
    the others. Between thresholds the rates are interpolated; above the highest one they fall to 0
    at risk 1. An attempt that reaches none says ``prior`` throughout, and so does every attempt
    until its alarm: below the lowest threshold a risk says nothing. After its alarm the risk keeps
    its one value. Attempts that the end of the data cut off are drawn like those that do not fail.

    **Time of the alarm.** In absolute time since the attempt's start, by one law for all attempts:
    at the start with probability ``at_start`` (what is known then suffices), else exponential with
    mean ``delay``, conditioned to come at a window of the attempt. An attempt of one window has
    its alarm at its start. So an alarm at t > 0 tells of the duration that it is at least t, and
    favours shorter ones by the conditioning: by at most a factor 1 / (1 - exp(-t / delay)). With
    ``lead``, the alarm of an attempt that FAILs comes instead an exponential time of that mean
    before its end, or at its start if that is later: a monitor that sees failures coming.

    **Classes.** Confidences as `ClassQuality` says, driven by the latent score of the task's first
    attempt: classes and risk err together, and averaging them reveals nothing.

    **Shared errors.** With ``job_share`` and ``application_share`` tasks are given what was drawn
    for others (`failgym.predictors.drawn.representatives`): predictors that learned from a record
    err by whole jobs and applications, while forecasts that are drawn task by task flag a few tasks
    of every large job. The rates above are then those among representatives.

    The default is `elsayed`.
    """

    threshold: Levels = (0.1, 0.5, 0.9, 0.95, 0.99)
    """Risks at which the quality is stated, increasing."""
    recall: Levels = (0.80, 0.68, 0.60, 0.58, 0.50)
    """Share of FAIL attempts whose risk reaches each threshold, decreasing."""
    fpr: Levels = (0.139, 0.046, 0.020, 0.017, 0.007)
    """Share of the other attempts whose risk reaches each threshold, decreasing."""
    prior: float = 0.02
    """Risk without an alarm; less than the lowest threshold (El-Sayed et al., ICDCS 2017, Fig. 6:
    2 % of first attempts fail)."""
    at_start: float = 0.3
    """Probability that an alarm comes at the start."""
    delay: int = 60 * MINUTE
    """Mean time of the other alarms after the start [ms]. With ``at_start`` an alarm comes on
    average at about .3 of the duration of attempts of several windows, as Fig. 11 of El-Sayed et
    al. implies."""
    lead: int | None = None
    """Mean time of a true alarm before the failure [ms]; None: alarms follow ``delay``."""
    window: int = 5 * MINUTE
    """Monitoring window [ms]."""
    classes: ClassQuality = field(default_factory=ClassQuality)
    """Quality of the class confidences."""
    job_share: float = 0.0
    """Share of the tasks that err with their job."""
    application_share: float = 0.0
    """Share of the jobs that err with the other runs of their application."""
    seed: int = 0
    """Different seeds draw independent forecasts."""

    def __post_init__(self) -> None:
        check_levels(self.threshold, self.recall, self.fpr, self.prior)
        if not 0.0 <= self.at_start <= 1.0:
            raise ValueError(f"at_start: expected a probability, got {self.at_start}")
        if self.delay < 1 or self.window < 1 or (self.lead is not None and self.lead < 0):
            raise ValueError("delay, window, lead: expected times of at least 1 ms (lead: 0)")
        for name in ("job_share", "application_share"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name}: expected a share, got {getattr(self, name)}")
        check_whole(self, 1, "delay", "window")

    def by_job(self) -> Self:
        """Return the same with the shared errors of predictors that learned from a record.

        On Google's of 2011, its last 30 % told by boosting, forests and networks that learned from
        the first 70 %, `JOB_SHARE` and `APPLICATION_SHARE` (`experiments.forecast_errors`).
        """
        return replace(self, job_share=JOB_SHARE, application_share=APPLICATION_SHARE)

    @classmethod
    def elsayed(cls, *, window: int = 5 * MINUTE, seed: int = 0) -> Self:
        """El-Sayed et al., ICDCS 2017: one predictor, used at the thresholds of Table V.

        The false-positive rates are those that the table's overheads with one clone imply, given
        the durations of Table II. The recalls lie on a binormal curve of slope .6 through .6 at
        threshold .9; the paper states none. Fig. 11's median task, 20 % faster, takes a recall of
        .85 on the profile google-2011 (`experiments/elsayed2017_figure11.py`).
        """
        return cls(window=window, seed=seed)

    @classmethod
    def rosa(cls, *, window: int = 5 * MINUTE, seed: int = 0) -> Self:
        """Rosà et al., IWQoS 2015: class confidences known at arrival, and no risk of attempts.

        The risk is the prior everywhere; all that is known is in the confidences (`ClassQuality`).
        """
        return cls(threshold=1.0, recall=0.0, fpr=0.0, window=window, seed=seed)

    @classmethod
    def kumar(
        cls,
        model: str = "shared single",
        *,
        base_rate: float = 0.5,
        lead: int = 10 * MINUTE,
        window: int = MINUTE,
        seed: int = 0,
    ) -> Self:
        """Kumar et al., DSN 2020: failures seen coming in the use of resources (Fig. 8, Table
        VIII).

        The risk is the probability of failure given the score of the binormal ``model``
        (`KUMAR_MODELS`), if a share ``base_rate`` of attempts fails; at even odds, the default,
        thresholds do not depend on the trace. The paper prints no lead time; its model is asked
        every 5 minutes (System A), and two of these are the default.

        Raises:
            ValueError: for an unknown model, or a base rate outside (0, 1).
        """
        if not 0.0 < base_rate < 1.0:
            raise ValueError(f"base_rate: expected a share in (0, 1), got {base_rate}")
        if model not in KUMAR_MODELS:
            raise ValueError(f"model: expected one of {', '.join(KUMAR_MODELS)}, got {model!r}")
        threshold, recall, fpr = binormal_levels(*KUMAR_MODELS[model], base_rate)
        return cls(threshold, recall, fpr, prior=0.0, lead=lead, window=window, seed=seed)

    def fit(self, trace: Trace) -> Self:
        """Return itself: the quality is stated, not learned."""
        return self

    def predict(self, trace: Trace) -> Forecast:
        """Draw the forecast of every attempt, task and job of the trace."""
        task, number = trace.column("attempts", "task"), attempt_numbers(trace)
        offset = window_offsets(trace, self.window)
        fails = trace.column("attempts", "outcome") == Outcome.FAIL
        score = self._scores(fails, uniform(self.seed, task, number, Purpose.FORECAST_ALARM))
        moment = uniform(self.seed, task, number, Purpose.FORECAST_TIME)
        quiet = self._quiet_windows(trace, np.diff(offset), fails, moment)
        jobs = draw_jobs(self.classes, trace, self.seed)
        health = uniform(self.seed, np.arange(trace.rows("tasks")), 0, Purpose.FORECAST_ALARM)
        confidence = draw_classes(self.classes, trace, self.seed, health, jobs)
        if self.job_share or self.application_share:
            given = representatives(trace, self.job_share, self.application_share, self.seed)
            confidence, jobs = confidence[given.task], jobs[given.job]
            score = score[_attempt_of(task, number, given.task)]
        return Forecast(
            trace_hash=trace.content_hash,
            window=self.window,
            offset=offset,
            risk=_two_levels(np.diff(offset), quiet, self.prior, score),
            confidence=confidence,
            job_confidence=jobs,
        )

    def _scores(self, fails: npt.NDArray[np.bool_], latent: Floats) -> Floats:
        """The risk after the alarm, [attempts]; the prior for those that raise none."""
        levels = np.array([1.0, *reversed(as_levels(self.threshold))])
        scores = np.empty(len(latent))
        for group, rates in ((fails, as_levels(self.recall)), (~fails, as_levels(self.fpr))):
            reached = np.interp(latent[group], [0.0, *reversed(rates)], levels)
            scores[group] = np.where(latent[group] < rates[0], reached, self.prior)
        return scores

    def _quiet_windows(
        self, trace: Trace, windows: Integers, fails: npt.NDArray[np.bool_], moment: Floats
    ) -> Integers:
        """How many windows of each attempt come before its alarm, [attempts]."""
        last = np.maximum(windows - 1, 0)
        time = self._since_start(moment, last * self.window)
        if self.lead is not None:
            duration = trace.column("attempts", "end") - trace.column("attempts", "start")
            before = duration + self.lead * np.log1p(-moment)
            time = np.where(fails, np.maximum(before, 0.0), time)
        return np.minimum(np.ceil(time / self.window).astype(np.int64), last)

    def _since_start(self, moment: Floats, latest: Integers) -> Floats:
        """Times of alarms after the start [ms], given that they come no later than ``latest``."""
        share = np.maximum(moment - self.at_start, 0.0) / max(1.0 - self.at_start, 1e-12)
        return -self.delay * np.log1p(share * np.expm1(-latest / self.delay))


def _attempt_of(task: Integers, number: Integers, given: Integers) -> Integers:
    """The attempt of another task that stands for each: as late a one, or its last [attempts]."""
    first = np.searchsorted(task, np.arange(len(given)))
    count = np.diff(first, append=len(task))
    other = given[task]
    # A task without attempts has none to give.
    other = np.where(count[other] > 0, other, task)
    return first[other] + np.minimum(number, count[other] - 1)


def _two_levels(windows: Integers, quiet: Integers, prior: float, score: Floats) -> Floats32:
    """Flat risks: each attempt at the prior for its quiet windows, then at its score."""
    lengths = np.stack([quiet, windows - quiet], axis=1)
    values = np.stack([np.full(len(score), prior), score], axis=1).astype(np.float32)
    return np.repeat(values.ravel(), lengths.ravel())
