"""How good a forecast is: what `experiments.forecast_quality` measures of each predictor."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.baselines import GracePeriod, Heuristic, Replay
from failgym.envs import resolve
from failgym.evaluation import run_policy, whole_trace_world
from failgym.metrics import detection, resource_reduction
from failgym.metrics.curves import roc_auc
from failgym.predictors import Forecast, TwoLevelNetwork
from failgym.predictors.boosting.examples import Target, failed, fates_known
from failgym.predictors.network.grace_periods import learn_grace_periods, mitigated_false_negatives
from failgym.predictors.network.two_level_network import considered
from failgym.traces import Outcome, Trace
from failgym.vocabulary import MINUTE

__all__ = [
    "BINS",
    "Bin",
    "Grace",
    "Quality",
    "calibration_error",
    "grace_of_days",
    "half_of_the_time",
    "played",
    "quality",
    "reliability",
]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

DAY = 24 * 60 * MINUTE
LEARNED, CHOSEN = 0.2, 0.7
"""Shares of the jobs that are only learned from, and that came before grace periods are chosen."""
BINS = 10
"""Equal bins of predicted probability, as usual in reliability diagrams (Niculescu-Mizil and
Caruana, ICML 2005)."""


class Bin(NamedTuple):
    """One bin of a reliability diagram."""

    rows: int
    predicted: float
    """mean of what was predicted; NaN if nothing fell into the bin"""
    observed: float
    """share of these that failed; NaN likewise"""


@dataclass(frozen=True)
class Quality:
    """How well the risks of a forecast tell the attempts that fail from the others.

    Attempts that ran and whose fate is known count.
    """

    predictor: str
    attempts: int
    failures: int
    precision: float
    """of alarms where the highest risk of an attempt reaches .5; NaN without an alarm"""
    recall: float
    auc_start: float
    """area under the ROC curve of the risk at the start"""
    auc_highest: float
    """the same of the highest risk before the end"""
    auc_task: float
    """of a task's confidence not to finish, said at its submission"""
    auc_job: float
    """of a job's"""
    error_start: float
    """expected calibration error of the risk at the start"""
    error_moments: float
    """of the risks at all moments, each attempt counting once"""
    bins: tuple[Bin, ...]
    """reliability of the risk at the start"""


def reliability(bad: Bools, risk: npt.ArrayLike, weight: npt.ArrayLike = 1.0) -> tuple[Bin, ...]:
    """Mean prediction and share of the bad in `BINS` equal bins of [0, 1], the lowest first.

    Means are weighted; counts are not.
    """
    risks = np.asarray(risk, dtype=np.float64)
    weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), risks.shape)
    place = np.minimum((risks * BINS).astype(np.int64), BINS - 1)
    total, predicted, observed = (
        np.bincount(place, values, BINS) for values in (weights, weights * risks, weights * bad)
    )
    count = np.bincount(place, minlength=BINS)
    with np.errstate(invalid="ignore"):
        means, shares = predicted / total, observed / total
    return tuple(
        Bin(int(n), float(p), float(s)) for n, p, s in zip(count, means, shares, strict=True)
    )


def calibration_error(bad: Bools, risk: npt.ArrayLike, weight: npt.ArrayLike = 1.0) -> float:
    """Expected calibration error: mean distance of prediction and share over the bins.

    Each bin counts by its weight (Naeini, Cooper and Hauskrecht, AAAI 2015). NaN for no rows.
    """
    risks = np.asarray(risk, dtype=np.float64)
    weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), risks.shape)
    if not len(risks):
        return math.nan
    place = np.minimum((risks * BINS).astype(np.int64), BINS - 1)
    distance = np.bincount(place, weights * (risks - bad), BINS)
    return float(np.abs(distance).sum() / weights.sum())


def quality(name: str, trace: Trace, forecast: Forecast, target: Target = "fail") -> Quality:
    """Measure a forecast of a trace whose predictor has not seen it."""
    ran = np.flatnonzero(fates_known(trace, target) & (np.diff(forecast.offset) > 0))
    bad = failed(trace, target)
    begin, counts = forecast.offset[:-1], np.diff(forecast.offset)
    start = forecast.risk[begin[ran]]
    some = np.flatnonzero(counts)
    highest = np.zeros(len(counts), dtype=np.float32)
    if len(some):
        highest[some] = np.maximum.reduceat(forecast.risk, begin[some])
    alarms = detection(bad[ran], highest[ran] >= np.float32(0.5))
    holder = np.repeat(np.arange(len(counts)), counts)
    of_known = np.zeros(len(counts), dtype=np.bool_)
    of_known[ran] = True
    moments = np.flatnonzero(of_known[holder])
    task, job = trace.task_outcome, trace.column("jobs", "outcome")
    ended, over = task != Outcome.CENSORED, job != Outcome.CENSORED
    return Quality(
        predictor=name,
        attempts=len(ran),
        failures=int(bad[ran].sum()),
        precision=alarms.precision,
        recall=alarms.recall,
        auc_start=roc_auc(bad[ran], start),
        auc_highest=roc_auc(bad[ran], highest[ran]),
        auc_task=roc_auc(task[ended] != Outcome.FINISH, 1.0 - forecast.confidence[ended, 0]),
        auc_job=roc_auc(job[over] != Outcome.FINISH, forecast.job_confidence[over]),
        error_start=calibration_error(bad[ran], start),
        error_moments=calibration_error(
            bad[holder[moments]], forecast.risk[moments], 1.0 / counts[holder[moments]]
        ),
        bins=reliability(bad[ran], start),
    )


def half_of_the_time(trace: Trace) -> float:
    """The share of the jobs that are submitted in the first half of the trace's time."""
    submit = trace.column("jobs", "submit")
    middle = (int(submit.min()) + int(submit.max())) // 2
    return float(np.mean(submit <= middle))


@dataclass(frozen=True)
class Grace:
    """Class grace periods that were chosen on earlier days, and what they do on later ones."""

    networks: str
    """"daily": trained anew each day; "once": the same for all days"""
    jobs: int
    seed: int
    days: float
    """of the whole trace"""
    percentile: float
    minutes: dict[str, float]
    """class grace periods [min]"""
    unmitigated: float
    """share of the considered tasks of the later days that finish and are predicted not to"""
    chosen: float
    """share of the considered tasks of the earlier days that finish and are killed"""
    held_out: float
    """the same of the later days"""
    considered: int
    """tasks of the later days that are considered"""
    reduction: dict[str, float]
    """relative resource consumption saved by resource, on the later days"""


def grace_of_days(trace: Trace, seed: int, target: float, predictor: TwoLevelNetwork) -> Grace:
    """Choose grace periods as Rosà et al. do, on days that come before those they are judged on.

    Of the jobs, by submission, the first fifth is only learned from; periods are chosen on the next
    half, as known when it is over, and judged on the last three tenths, followed to their ends.
    """
    first, rest = trace.split("train", LEARNED), trace.split("test", LEARNED)
    earlier = rest.split("train", (CHOSEN - LEARNED) / (1.0 - LEARNED))
    fitted = predictor.fit(first)
    learned = learn_grace_periods(earlier, fitted.predict(earlier), target)
    late = rest.column("jobs", "submit") > earlier.column("jobs", "submit").max()
    forecast = _considering(late, fitted.predict(rest))
    flagged = considered(forecast.job_confidence)[rest.column("tasks", "job")]
    submit = trace.column("jobs", "submit")
    return Grace(
        networks="daily" if predictor.refit else "once",
        jobs=trace.rows("jobs"),
        seed=seed,
        days=float(submit.max() - submit.min()) / DAY,
        percentile=learned.percentile,
        minutes={name: value / MINUTE for name, value in learned.periods.items()},
        unmitigated=mitigated_false_negatives(rest, forecast, dict.fromkeys(learned.periods, 0)),
        chosen=learned.mitigated,
        held_out=mitigated_false_negatives(rest, forecast, learned.periods),
        considered=int(np.sum(flagged & (rest.task_outcome != Outcome.CENSORED))),
        reduction=_reductions(rest, forecast, learned.periods, late),
    )


def _considering(jobs: Bools, forecast: Forecast) -> Forecast:
    """The forecast that predicts of other jobs that they finish, so that only these count."""
    told = np.where(jobs, forecast.job_confidence, np.float32(0.0))
    return replace(forecast, job_confidence=told)


def _reductions(
    trace: Trace, forecast: Forecast, periods: dict[str, int], jobs: Bools
) -> dict[str, float]:
    """RRC of each resource and of time by the grace policy (Rosà et al., section IV-3).

    Over tasks that do not finish, in those of the jobs that do not.
    """
    policy = played(trace, forecast, GracePeriod(), periods)
    replay = played(trace, forecast, Replay(), periods)
    unfinished = jobs & (trace.column("jobs", "outcome") != Outcome.FINISH)
    where = unfinished[trace.column("tasks", "job")[replay["task"]]]
    found: dict[str, float] = {}
    for name in ("cpu", "memory", "disk"):
        request = trace.column("tasks", name, missing=0)[policy["task"]]
        found[name] = resource_reduction(policy, replay, request, where)
    return {**found, "time": resource_reduction(policy, replay, 1.0, where)}


def played(
    trace: Trace, forecast: Forecast, rule: Heuristic, periods: dict[str, int]
) -> dict[str, npt.NDArray[Any]]:
    """What a rule makes of all tasks of a trace whose end is known, in the same order for all.

    Args:
        trace: whole.
        forecast: of it.
        rule: is asked at every window.
        periods: class grace periods [ms], by field of a scenario; the paper's if there are none.
    """
    scenario = resolve("GracePeriod-v1").override(
        trace=trace, split="all", forecast=forecast, decide="every", **periods
    )
    world = whole_trace_world(trace, scenario, known_only=True)
    return run_policy(world, scenario, rule, threads=1).outcomes
