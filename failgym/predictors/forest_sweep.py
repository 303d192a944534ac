"""How well forests predict: the experiments of El-Sayed et al. (ICDCS 2017, section V).

A sweep predicts the final outcome of jobs, tasks or attempts from one scenario's features, as the
paper does: trained on 70 % of the jobs, drawn at random, and measured on the others, at decision
thresholds and sampling ratios. Its features are as of these moments:

- configuration: the submission;
- usage: five minutes after the start, or the end of what ends sooner, as in the paper, which so
  includes what a short run shows only as it ends. That of a job is the mean, and the variation, of
  the first runs of its tasks that begin in its own first five minutes;
- TaskFailFlag and AttemptFailFlag of jobs and tasks: just before the end, which the paper leaves
  open. So the last failure of a job is not among them. Those of an attempt: its start.

The forecasts of `RandomForest` are stated at the moments of a run instead, and measured by
`failgym.metrics.detections`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.metrics import detection
from failgym.metrics.curves import roc_auc
from failgym.predictors.features.config import CONFIG, MISSING, Rows, learn_vocabulary
from failgym.predictors.features.flags import FLAGS, attempt_flags, job_flags, task_flags
from failgym.predictors.features.usage import RESOURCES, USAGE, usage_features
from failgym.predictors.forest_rows import EARLY, LEVELS, SCENARIOS, Knowledge, latest_by
from failgym.predictors.forests import Forest, Growth
from failgym.traces.trace import Outcome, Trace

__all__ = ["JOB_FLAGS", "JOB_USAGE", "TARGETS", "Point", "Sweep", "sweep"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Decision thresholds (section V-A: .1 to .9, by default .5)."""
TARGETS = {"fail": Outcome.FAIL, "kill": Outcome.KILL}
"""The responses of Table IV."""
JOB_USAGE = (*(f"{x}: mean" for x in RESOURCES), *(f"{x}: variation" for x in RESOURCES))
"""Early usage of a job: the mean over its tasks, and their coefficient of variation (Table IV)."""
JOB_FLAGS = ("task_fail_flag", "failed_attempts")
"""TaskFailFlag of a job, and how many of its attempts have failed."""


class Point(NamedTuple):
    """How well one threshold and one sampling ratio do."""

    ratio: float
    """Share of the most frequent class that was learned from."""
    threshold: float
    """Predicted is what has at least this share of the trees' leaves."""
    precision: float
    """Share of the predicted that come true; NaN if none is predicted."""
    recall: float
    """Share of those that come true that are predicted."""
    false_positive_rate: float
    """Share of the others that are predicted."""
    work_precision: float
    """Precision, each weighted by the machine-time that it used."""
    work_recall: float
    """Recall, weighted likewise."""


@dataclass(frozen=True)
class Sweep:
    """What a sweep measures."""

    points: tuple[Point, ...]
    """By ratio, then threshold."""
    auc: dict[float, float]
    """Area under the receiver operating characteristic, by ratio; NaN with one class only."""
    importance: dict[float, dict[str, float]]
    """Mean decrease of impurity by each feature, which sum to 1, by ratio."""
    tested: int
    """Jobs, tasks or attempts that were predicted."""
    positive: int
    """Those of them that came true."""


class Case(NamedTuple):
    """Jobs, tasks or attempts whose end is known: what there is to predict."""

    rows: Rows
    names: tuple[str, ...]
    outcome: npt.NDArray[np.int8]
    job: Ints
    work: Ints  # machine-time [ms]


def sweep(
    trace: Trace,
    level: str,
    scenario: str,
    *,
    target: str = "fail",
    thresholds: Sequence[float] = THRESHOLDS,
    ratios: Sequence[float] = (1.0,),
    train: float = 0.7,
    trees: int = 50,
    leaf: int = 5,
    tree_rows: int = 50_000,
    seed: int = 0,
) -> Sweep:
    """Measure precision, recall and false positives by threshold and sampling ratio.

    Args:
        trace: the trace, whole.
        level: "job", "task" or "attempt".
        scenario: "config", "usage", "flags" or "all".
        target: "fail" or "kill".
        thresholds: decision thresholds.
        ratios: sampling ratios; a forest is grown for each.
        train: share of the jobs that is learned from.
        trees: as for `RandomForest`.
        leaf: as for `RandomForest`.
        tree_rows: as for `RandomForest`.
        seed: draws the jobs and grows the forests.

    Raises:
        ValueError: for a name that there is not, a share outside (0, 1), and if either part of the
            jobs has nothing whose end is known.
    """
    for name, value, known in (
        ("level", level, LEVELS),
        ("scenario", scenario, SCENARIOS),
        ("target", target, TARGETS),
    ):
        if value not in known:
            raise ValueError(f"{name}: expected one of {', '.join(known)}, got {value!r}")
    if not 0.0 < train < 1.0:
        raise ValueError(f"train: expected a share in (0, 1), got {train}")
    learned = np.random.default_rng(seed).permutation(trace.rows("jobs")) < train * trace.rows(
        "jobs"
    )
    case = _case(trace, level, scenario, learned)
    early, positive = learned[case.job], case.outcome == TARGETS[target]
    if not early.any() or early.all():
        raise ValueError(f"trace: no {level} whose end is known among the jobs of either part")
    label = positive.astype(np.int64)
    points: list[Point] = []
    auc: dict[float, float] = {}
    importance: dict[float, dict[str, float]] = {}
    for ratio in ratios:
        growth = Growth(trees, leaf, tree_rows, ratio, seed)
        forest = Forest.grow(case.rows[early], label[early], 2, growth)
        score = forest.shares(case.rows[~early])[:, 1]
        bad, work = positive[~early], case.work[~early]
        points += [_point(bad, score, work, ratio, threshold) for threshold in thresholds]
        auc[ratio] = roc_auc(bad, score)
        importance[ratio] = dict(zip(case.names, forest.importance.tolist(), strict=True))
    tested = positive[~early]
    return Sweep(tuple(points), auc, importance, len(tested), int(tested.sum()))


def _point(bad: Bools, score: Floats, work: Ints, ratio: float, threshold: float) -> Point:
    flagged = score >= threshold
    good = ~bad
    false = float(np.mean(flagged[good])) if good.any() else float("nan")
    precision, recall = detection(bad, flagged)
    weighted = detection(bad, flagged, work)
    return Point(ratio, threshold, precision, recall, false, *weighted)


def _case(trace: Trace, level: str, scenario: str, learned: Bools) -> Case:
    """What there is to predict of a level, and what is known of it in the scenario."""
    plain = SCENARIOS["config"]
    known = Knowledge.of(trace, learn_vocabulary(trace, learned), plain, sliding=False)
    whole = {"job": _jobs, "task": _tasks, "attempt": _attempts}[level](known, scenario)
    ended = whole.outcome != Outcome.CENSORED
    if level == "attempt":
        ended &= trace.present("attempts", "start")
    rows, names, outcome, job, work = whole
    return Case(rows[ended], names, outcome[ended], job[ended], work[ended])


def _jobs(known: Knowledge, scenario: str) -> Case:
    trace = known.trace
    job = trace.column("tasks", "job")
    parts, names = [known.job], CONFIG
    if SCENARIOS[scenario].usage:
        parts.append(_job_usage(trace))
        names = (*names, *JOB_USAGE)
    if SCENARIOS[scenario].flags:
        end = latest_by(job, _task_ends(trace), trace.rows("jobs"))
        parts.append(job_flags(trace, known.failures, np.arange(len(end)), end))
        names = (*names, *JOB_FLAGS)
    work = np.bincount(job, _task_work(trace), trace.rows("jobs")).astype(np.int64)
    outcome = trace.column("jobs", "outcome")
    return Case(np.concatenate(parts, axis=1), names, outcome, np.arange(len(outcome)), work)


def _tasks(known: Knowledge, scenario: str) -> Case:
    trace = known.trace
    parts, names = [known.config], CONFIG
    if SCENARIOS[scenario].usage:
        parts.append(_task_usage(trace)[0])
        names = (*names, *USAGE)
    if SCENARIOS[scenario].flags:
        end = _task_ends(trace)
        parts.append(task_flags(trace, known.failures, np.arange(len(end)), end))
        names = (*names, *FLAGS)
    rows, job = np.concatenate(parts, axis=1), trace.column("tasks", "job")
    return Case(rows, names, trace.task_outcome, job, _task_work(trace))


def _attempts(known: Knowledge, scenario: str) -> Case:
    trace = known.trace
    task, start = trace.column("attempts", "task"), trace.column("attempts", "start")
    attempt = np.arange(len(task))
    parts, names = [known.config[task]], CONFIG
    if SCENARIOS[scenario].usage:
        parts.append(_early_usage(trace, attempt))
        names = (*names, *USAGE)
    if SCENARIOS[scenario].flags:
        parts.append(attempt_flags(trace, known.failures, attempt, start))
        names = (*names, *FLAGS)
    rows, job = np.concatenate(parts, axis=1), trace.column("tasks", "job")[task]
    return Case(rows, names, trace.column("attempts", "outcome"), job, _work(trace))


def _early_usage(trace: Trace, attempt: Ints) -> Rows:
    """The usage of attempts after their first five minutes, or at their end [rows, `USAGE`]."""
    start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
    time = np.minimum(start[attempt] + EARLY, end[attempt])
    usage, _ = usage_features(trace, attempt, time, EARLY)
    return np.where(np.isnan(usage), np.float32(MISSING), usage)


def _task_usage(trace: Trace) -> tuple[Rows, Ints]:
    """The early usage of the first run of each task [tasks, `USAGE`], and its start [ms].

    `MISSING`, and -1, for a task that never ran.
    """
    ran = np.flatnonzero(trace.present("attempts", "start"))
    task, place = np.unique(trace.column("attempts", "task")[ran], return_index=True)
    usage = np.full((trace.rows("tasks"), len(USAGE)), MISSING, dtype=np.float32)
    start = np.full(trace.rows("tasks"), -1, dtype=np.int64)
    usage[task] = _early_usage(trace, ran[place])
    start[task] = trace.column("attempts", "start")[ran[place]]
    return usage, start


def _job_usage(trace: Trace) -> Rows:
    """The early usage of the tasks of each job: means and variations [jobs, `JOB_USAGE`]."""
    usage, start = _task_usage(trace)
    job, jobs = trace.column("tasks", "job"), trace.rows("jobs")
    ran = np.flatnonzero(start >= 0)
    first = np.full(jobs, np.iinfo(np.int64).max)
    np.minimum.at(first, job[ran], start[ran])
    ran = ran[start[ran] <= first[job[ran]] + EARLY]
    columns = [
        _mean_and_variation(job[ran], usage[ran, USAGE.index(f"{name}: mean")], jobs)
        for name in RESOURCES
    ]
    means, variations = zip(*columns, strict=True)
    return np.column_stack([*means, *variations]).astype(np.float32)


def _mean_and_variation(group: Ints, values: Rows, groups: int) -> tuple[Floats, Floats]:
    """Mean and coefficient of variation of the known values of each group; `MISSING` of none."""
    known = values != np.float32(MISSING)
    group, exact = group[known], values[known].astype(np.float64)
    count = np.bincount(group, minlength=groups)
    mean = np.bincount(group, exact, groups) / np.maximum(count, 1)
    square = np.bincount(group, (exact - mean[group]) ** 2, groups) / np.maximum(count, 1)
    variation = np.sqrt(square) / np.where(mean > 0, mean, 1.0)
    return np.where(count > 0, mean, MISSING), np.where(count > 0, variation, MISSING)


def _task_ends(trace: Trace) -> Ints:
    """When the last attempt of each task ends [ms]; -1 without one."""
    task, end = trace.column("attempts", "task"), trace.column("attempts", "end")
    return latest_by(task, end, trace.rows("tasks"))


def _work(trace: Trace) -> Ints:
    """The machine-time of each attempt [slots ms]; 0 of one that never ran."""
    width = trace.column("tasks", "width")[trace.column("attempts", "task")]
    duration = trace.column("attempts", "end") - trace.column("attempts", "start")
    return np.where(trace.present("attempts", "start"), duration * width, 0)


def _task_work(trace: Trace) -> Ints:
    """The machine-time of each task [slots ms]."""
    task = trace.column("attempts", "task")
    return np.bincount(task, _work(trace), trace.rows("tasks")).astype(np.int64)
