"""`GradientBoosting`: Kumar et al.'s forecast of failures from the use of resources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from failgym.predictors.base import CLASSES, task_classes
from failgym.predictors.boosting.by_type import Growth, Models
from failgym.predictors.boosting.examples import (
    FEATURES,
    JOB_TYPES,
    Examples,
    Known,
    Target,
    failed,
    fates_known,
    features_at_submission,
    job_types,
    moments,
    sampled,
    spread_over_classes,
    task_examples,
)
from failgym.predictors.features.config import TEXTS, Vocabulary, learn_vocabulary
from failgym.predictors.features.system import NEVER
from failgym.predictors.learned import Arrays, Learned
from failgym.predictors.parameters import check_whole
from failgym.sim.shared.forecast import Forecast
from failgym.traces.trace import Trace
from failgym.vocabulary import DAY, MINUTE, Outcome

__all__ = ["FEATURES", "JOB_TYPES", "GradientBoosting"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Samples = Literal["moments", "tail"]


@dataclass(eq=False)
class GradientBoosting(Learned):
    """Boosted decision trees on what attempts request and use (Kumar et al., DSN 2020, VI-A).

    XGBoost, one model per environment and job type (`JOB_TYPES`), as in the paper. A type with
    fewer than ``least`` attempts that failed, and jobs of which the trace does not say, are served
    by a model of all.

    **Samples.** With ``"moments"`` one for every moment of an attempt at which something new is
    known of it: a window of its usage, a step of its age. So a risk is what a forecast asks for:
    the probability that an attempt that runs still will fail, given what is known by then. With
    ``"tail"`` one per attempt, with its last window, as the paper analyses it ("tail usage",
    section V). Such a model tells well which of the attempts that have ended failed (Fig. 8); asked
    at a moment, it says how probable a failure were if the attempt ended there: no more a
    probability of what will come, but a sharp alarm.

    **Imbalance.** The paper names no measure against it and moves the threshold instead. So does
    this: no class weighs more than it counts. Of more than ``most_rows`` rows a sample is learned
    from, failures first, in which each row weighs as many as it stands for. So a risk is a
    probability at the rate at which failures occur.

    **Left out.** Attempts killed at their walltime are neither failures nor successes (section IV)
    and teach nothing, unless the target is ``"unfinished"``.

    **Tasks and jobs.** That a task does not finish in the end is said by models of its own at its
    submission, whatever the target: an attempt that fails or is evicted may well be followed by one
    that finishes. The other classes share that confidence as often as they occurred in training. A
    job's confidence is the largest of those of its tasks not to finish, of the tasks that were
    submitted with it; without such a task, the share of tasks that did not finish in training.
    """

    name: ClassVar[str] = "gradient_boosting"

    target: Target = "fail"
    """What is foretold. `fail`: the attempt ends in FAIL, whatever the cause, as `Forecast.risk`
    says. `system`: in FAIL by a cause outside of it (machine, shared), Kumar et al.'s failures:
    those that a checkpoint saves work from, since what fails by itself fails again. `unfinished`:
    any end but FINISH."""
    samples: Samples = "moments"
    """What is learned from, as above."""
    window: int = 5 * MINUTE
    """Monitoring window [ms]; 5 minutes on System A, 1 on System B (Kumar et al., section III)."""
    trees: int = 100
    """Boosting rounds; XGBoost's default, since the paper states none."""
    depth: int = 4
    """Levels of a tree at most; chosen, as is the next: the moments of one attempt are much alike,
    and XGBoost's defaults, 6 and .3, learn attempts by heart."""
    rate: float = 0.05
    """What each tree's share is shrunk by."""
    least_weight: float = 1.0
    """Of the second derivative of the loss in a leaf; XGBoost's default."""
    least: int = 20
    """Failed attempts that a job type needs for a model of its own; chosen."""
    most_rows: int = 400_000
    """Rows that are learned from at most; of more, a sample is."""
    refit: int = 0
    """The models are fitted anew at each multiple of this [ms]; 0: never."""
    memory: int = 30 * DAY
    """On the attempts and tasks that ended in this time before [ms]."""
    seed: int = 0
    """Of the sample of rows."""
    vocabulary_: Vocabulary = field(init=False, repr=False)
    models_: Models = field(init=False, repr=False)
    task_models_: Models = field(init=False, repr=False)
    shares_: Floats = field(init=False, repr=False)
    recent_: Examples = field(init=False, repr=False)
    recent_tasks_: Examples = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, known in (("target", get_args(Target)), ("samples", get_args(Samples))):
            if getattr(self, name) not in known:
                given = getattr(self, name)
                raise ValueError(f"{name}: expected one of {', '.join(known)}, got {given!r}")
        check_whole(self, 1, "window", "trees", "depth", "least", "most_rows", "memory")
        check_whole(self, 0, "refit", "seed")
        if not 0.0 < self.rate <= 1.0:
            raise ValueError(f"rate: expected above 0 and at most 1, got {self.rate}")
        if not 0.0 <= self.least_weight < np.inf:
            raise ValueError(f"least_weight: expected at least 0, got {self.least_weight}")

    def fit(self, trace: Trace) -> Self:
        """Learn the models of a trace's job types.

        Raises:
            ValueError: if none of its attempts failed, or all did.
        """
        vocabulary = learn_vocabulary(trace)
        examples = self._examples(trace, vocabulary, self.most_rows)
        models = self._learned(examples)
        if not models.boosters:
            raise ValueError(
                f"GradientBoosting: nothing to learn from in {trace.meta.source!r}: expected"
                f" attempts that fail and others that do not (target {self.target!r})"
            )
        known = trace.task_outcome != Outcome.CENSORED
        count = np.bincount(task_classes(trace)[known], minlength=len(CLASSES))
        last = int(examples.end.max())
        tasks = task_examples(trace, vocabulary)
        self.vocabulary_, self.models_ = vocabulary, models
        self.task_models_ = self._learned(tasks.in_the_end())
        self.shares_ = count / max(count.sum(), 1)
        since = last - self.memory if self.refit else NEVER
        self.recent_ = examples.of(examples.end > since)
        self.recent_tasks_ = tasks.of(tasks.end > since)
        return self

    def predict(self, trace: Trace) -> Forecast:
        """The forecast of every attempt, task and job. Raises ValueError if it is not fitted."""
        return self.predict_jobs(trace, np.ones(trace.rows("jobs"), dtype=np.bool_))

    def predict_jobs(self, trace: Trace, jobs: Bools) -> Forecast:
        """See `Learned.predict_jobs`."""
        self._check_fitted()
        at = moments(trace, self.window, self.refit)
        tasks = jobs[trace.column("tasks", "job")]
        asked = np.flatnonzero(tasks[trace.column("attempts", "task")][at.attempt])
        risk = np.zeros(len(at.attempt), dtype=np.float32)
        risk[asked] = self._risk_at(trace, at.attempt[asked], at.time[asked])
        unfinished = self._unfinished(trace, np.flatnonzero(tasks))
        confidence = spread_over_classes(unfinished, self.shares_)
        return Forecast(
            trace_hash=trace.content_hash,
            window=self.window,
            offset=at.offset,
            risk=np.repeat(risk, np.diff(np.flatnonzero(at.new), append=len(at.new))),
            confidence=confidence,
            job_confidence=self._job_confidence(trace, confidence),
        )

    def scores(self, trace: Trace) -> Floats32:
        """How probable the failure of each attempt seemed at most, [attempts]; for `curves`.

        The largest risk at any moment before its end: what a monitor would flag. If the predictor
        learned from tails, the risk at its end with all of its usage, no forecast: what the paper
        evaluates (Fig. 8). NaN for attempts that never ran.
        """
        score = np.full(trace.rows("attempts"), np.nan, dtype=np.float32)
        if self.samples == "tail":
            self._check_fitted()
            ran = np.flatnonzero(trace.present("attempts", "start"))
            end = trace.column("attempts", "end")[ran]
            score[ran] = self._risk_at(trace, ran, end)
            return score
        forecast = self.predict(trace)
        some = np.flatnonzero(np.diff(forecast.offset))
        if len(some):
            score[some] = np.maximum.reduceat(forecast.risk, forecast.offset[some])
        return score

    def arrays(self) -> Arrays:
        """What was learned: words, boosters as JSON bytes, shares of classes, examples to refit."""
        self._check_fitted()
        return {
            **{f"words/{name}": words for name, words in self.vocabulary_.items()},
            **self.models_.arrays("model/"),
            **self.task_models_.arrays("task_model/"),
            "shares": self.shares_,
            **{f"recent/{name}": values for name, values in self.recent_._asdict().items()},
            **{f"recent_tasks/{name}": v for name, v in self.recent_tasks_._asdict().items()},
        }

    def restore(self, arrays: Arrays) -> Self:
        """Restore what `arrays` returned. Raises ValueError, in one line, if it does not fit."""
        recent, recent_tasks = (
            Examples.restored(
                {key.removeprefix(of): arrays[key] for key in arrays if key.startswith(of)},
                len(FEATURES),
            )
            for of in ("recent/", "recent_tasks/")
        )
        words = [f"words/{name}" for name in TEXTS]
        for name in ("shares", f"model/{JOB_TYPES[0]}", *words):
            if name not in arrays or (name in words and not _is_list_of_texts(arrays[name])):
                raise ValueError(f"GradientBoosting: array {name!r} is missing, or not of its type")
        shares = arrays["shares"]
        if shares.shape != (len(CLASSES),) or shares.dtype != np.float64:
            raise ValueError(f"GradientBoosting: expected {len(CLASSES)} shares")
        if not np.all((shares >= 0.0) & (shares <= 1.0)):
            raise ValueError("GradientBoosting: expected shares in [0, 1]")
        models = [Models.of_arrays(arrays, of) for of in ("model/", "task_model/")]
        self.vocabulary_ = {name: arrays[f"words/{name}"] for name in TEXTS}
        (self.models_, self.task_models_), self.shares_ = models, shares
        self.recent_, self.recent_tasks_ = recent, recent_tasks
        return self

    # --- Examples and models ----------------------------------------------------------------------

    def _check_fitted(self) -> None:
        if not hasattr(self, "models_"):
            raise ValueError("GradientBoosting: fit it first")

    def _learned(self, examples: Examples) -> Models:
        names = [field.name for field in fields(Growth)]
        return Models.learned(examples, Growth(**{name: getattr(self, name) for name in names}))

    def _examples(self, trace: Trace, vocabulary: Vocabulary, most: int) -> Examples:
        """What a trace teaches of attempts; of more rows than `most`, a sample."""
        if self.samples == "tail":
            attempt = np.flatnonzero(fates_known(trace, self.target))
            time = trace.column("attempts", "end")[attempt]
        else:
            at = moments(trace, self.window, 0)
            counts = fates_known(trace, self.target)[at.attempt]
            attempt, time = at.attempt[counts], at.time[counts]
        bad = failed(trace, self.target)[attempt]
        rows, weight = sampled(bad, most, np.random.default_rng(self.seed))
        attempt, time = attempt[rows], time[rows]
        return Examples(
            features=Known(trace, vocabulary, self.window).features(attempt, time),
            kind=job_types(trace)[trace.column("attempts", "task")[attempt]],
            bad=bad[rows],
            first=np.diff(attempt, prepend=-1) != 0,
            weight=weight,
            end=trace.column("attempts", "end")[attempt],
            until=np.full(len(attempt), NEVER),
        )

    # --- Risks ------------------------------------------------------------------------------------

    def _in_force(
        self, time: Integers, fitted: Models, known: Callable[[], Examples]
    ) -> Iterator[tuple[Models, Integers]]:
        """Models, and which of the times fall into the period of the clock in which they serve.

        Where nothing new taught them, the fitted ones.
        """
        if not self.refit:
            yield fitted, np.arange(len(time))
            return
        period, examples = time // self.refit, known()
        for number in np.unique(period).tolist():
            now = number * self.refit
            models = self._learned(examples.within(now - self.memory, now))
            yield models.or_else(fitted), np.flatnonzero(period == number)

    def _risk_at(self, trace: Trace, attempt: Integers, time: Integers) -> Floats32:
        """The risk of attempts at moments, [rows]."""
        kind = job_types(trace)[trace.column("attempts", "task")[attempt]]
        at = Known(trace, self.vocabulary_, self.window)

        def features(rows: Integers) -> Floats32:
            return at.features(attempt[rows], time[rows])

        def known() -> Examples:
            every = np.iinfo(np.int64).max
            return self.recent_.joined(self._examples(trace, self.vocabulary_, every))

        risk = np.empty(len(time), dtype=np.float32)
        for models, rows in self._in_force(time, self.models_, known):
            risk[rows] = models.risks(kind, features, rows)
        return risk

    def _unfinished(self, trace: Trace, tasks: Integers) -> Floats32:
        """That some tasks do not finish, as known when they are submitted, [all tasks]."""
        at_submission, kind = features_at_submission(trace, self.vocabulary_), job_types(trace)

        def known() -> Examples:
            return self.recent_tasks_.joined(task_examples(trace, self.vocabulary_))

        unfinished = np.full(len(kind), 1.0 - self.shares_[0], dtype=np.float32)
        for models, some in self._in_force(trace.task_submit[tasks], self.task_models_, known):
            rows = tasks[some]
            if models.boosters:
                unfinished[rows] = models.risks(kind, lambda some: at_submission[some], rows)
        return unfinished

    def _job_confidence(self, trace: Trace, confidence: Floats32) -> Floats32:
        """That each job does not finish, as known when it is submitted, [jobs]."""
        job = trace.column("tasks", "job")
        with_it = trace.task_submit <= trace.column("jobs", "submit")[job]
        most = np.full(trace.rows("jobs"), -1.0, dtype=np.float32)
        np.maximum.at(most, job[with_it], 1.0 - confidence[with_it, 0])
        return np.where(most < 0, np.float32(1.0 - self.shares_[0]), most)


def _is_list_of_texts(array: npt.NDArray[Any]) -> bool:
    return array.ndim == 1 and array.dtype.kind == "U"
