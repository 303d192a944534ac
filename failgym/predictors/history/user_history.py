"""`UserHistory`: what the last jobs of a user tell of the next (Kumar et al., DSN 2020, V)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from failgym.predictors.history.job_use import QUANTITIES, JobUse, Past, past_jobs
from failgym.predictors.history.methods import METHODS, Method, Norms, foretold, same_words
from failgym.predictors.learned import Arrays
from failgym.predictors.parameters import check_whole
from failgym.traces.trace import Trace

__all__ = ["UserHistory", "percentage_error"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(eq=False)
class UserHistory:
    """What jobs will use, and how long they will run, from the last jobs of the same user.

    Memory, local and remote I/O, network and run time, before a job starts, by one of four methods
    (Kumar et al., DSN 2020, section V):

    - ``last``: what the user's last job that has ended used;
    - ``average``, ``median``: over the last n of them;
    - ``mcs``, maximum cosine similarity: what that one of the last n used that is most like the
      job; of several the latest. The five attributes are: same name, same queue (1 of the job
      itself), slots and requested walltime over the largest of the fitted trace, and nearness in
      time of submission, 1 / (1 + hours between).

    The history length n, 1 to ``longest``, is chosen in `fit` for each method and quantity: the one
    with the least median absolute percentage error (Table VI), the shorter of equals.

    **Online.** A job sees jobs of its user that ended at or before its submission, in the fitted
    trace and in the one predicted; these share one clock, and a job that is in both (same original
    id, same submission) counts once. Jobs that ended by themselves count, finished, failed or at
    their walltime, as in the run time estimators of EASY backfilling
    (`scheduled.queue.estimates`), which follow the same rules for attempts: the median of an
    even number is the lower of the middle two, so what is foretold was seen. Jobs of which the
    quantity is not known are passed over, and jobs without a user have no history.

    It foretells no failures, so it gives no `Forecast`.
    """

    name: ClassVar[str] = "user_history"

    method: Method = "mcs"
    """What `predict` goes by."""
    longest: int = 20
    """The longest history that is tried (Kumar et al., Fig. 3)."""
    lengths_: Integers = field(init=False, repr=False)
    """[METHODS, QUANTITIES] the history lengths chosen"""
    norms_: Norms = field(init=False, repr=False)
    past_: Past = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method: expected one of {', '.join(METHODS)}, got {self.method!r}")
        check_whole(self, 1, "longest")

    def fit(self, trace: Trace) -> Self:
        """Choose the history lengths on a trace and remember its jobs.

        Raises:
            ValueError: if no job's run time could be foretold from an earlier job of its user.
        """
        jobs = past_jobs(trace)
        norms = Norms(float(max(jobs.width.max(initial=0), 1)), float(jobs.walltime.max(initial=0)))
        errors = self._errors(jobs, jobs, norms)
        if not np.isfinite(errors[:, :, QUANTITIES.index("runtime")]).any():
            raise ValueError(
                f"UserHistory: nothing to learn from in {trace.meta.source!r}: expected users with"
                " a job that was submitted after another one of theirs had ended"
            )
        self.lengths_ = np.argmin(np.nan_to_num(errors, nan=np.inf), axis=0) + 1
        self.norms_, self.past_ = norms, jobs.ended()
        return self

    def predict(self, trace: Trace, method: Method | None = None) -> JobUse:
        """What the jobs of a trace are expected to use, [jobs]; NaN without history.

        `method` takes the place of the predictor's own. Raises ValueError if it is not fitted.
        """
        self._check_fitted()
        jobs = past_jobs(trace)
        known = self.past_.without(jobs).joined(jobs)
        words, row = same_words(known, jobs), METHODS.index(method or self.method)
        columns: list[Floats] = []
        for quantity, n in zip(QUANTITIES, self.lengths_[row].tolist(), strict=True):
            rule = METHODS[row : row + 1]
            guesses = foretold(known, jobs, words, quantity, rule, n, self.norms_)[0]
            columns.append(guesses[:, n - 1])
        return JobUse(*columns)

    def errors(self, trace: Trace) -> Floats:
        """Median absolute percentage errors, [METHODS, QUANTITIES] in % (Table VI).

        Over the jobs of a trace that ended by themselves; NaN where none could be foretold.
        """
        actual = past_jobs(trace).use
        result = np.empty((len(METHODS), len(QUANTITIES)))
        for row, method in enumerate(METHODS):
            expected = self.predict(trace, method)
            for column, quantity in enumerate(QUANTITIES):
                result[row, column] = percentage_error(actual.of(quantity), expected.of(quantity))
        return result

    def errors_by_length(self, trace: Trace) -> Floats:
        """The same by history length, [longest, METHODS, QUANTITIES] in % (Fig. 3a)."""
        self._check_fitted()
        jobs = past_jobs(trace)
        return self._errors(self.past_.without(jobs).joined(jobs), jobs, self.norms_)

    def _errors(self, past: Past, asked: Past, norms: Norms) -> Floats:
        errors = np.empty((self.longest, len(METHODS), len(QUANTITIES)))
        words = same_words(past, asked)
        for column, quantity in enumerate(QUANTITIES):
            guessed = foretold(past, asked, words, quantity, METHODS, self.longest, norms)
            actual = asked.use.of(quantity)
            for row, guesses in enumerate(guessed):
                for n in range(self.longest):
                    errors[n, row, column] = percentage_error(actual, guesses[:, n])
        return errors

    def arrays(self) -> Arrays:
        """What was learned: history lengths, the largest requests, the jobs that ended."""
        self._check_fitted()
        return {
            "lengths": self.lengths_,
            "norms": np.array(self.norms_),
            **{f"past/{name}": column for name, column in self.past_.columns().items()},
        }

    def restore(self, arrays: Arrays) -> Self:
        """Restore what `arrays` returned. Raises ValueError, in one line, if it does not fit."""
        names = [key for key in arrays if key.startswith("past/")]
        past = Past.of({name.removeprefix("past/"): arrays[name] for name in names})
        for name, shape in (("lengths", (len(METHODS), len(QUANTITIES))), ("norms", (2,))):
            if name not in arrays or arrays[name].shape != shape:
                raise ValueError(f"UserHistory: expected an array {name!r} of shape {list(shape)}")
        lengths, norms = arrays["lengths"], arrays["norms"]
        if lengths.dtype != np.int64 or norms.dtype != np.float64 or not np.isfinite(norms).all():
            raise ValueError("UserHistory: expected lengths as int64, norms as finite float64")
        if lengths.min() < 1 or lengths.max() > self.longest:
            raise ValueError(f"UserHistory: expected history lengths of 1 to {self.longest}")
        self.lengths_, self.past_ = lengths, past
        self.norms_ = Norms(*norms.tolist())
        return self

    def _check_fitted(self) -> None:
        if not hasattr(self, "past_"):
            raise ValueError("UserHistory: fit it first")


def percentage_error(actual: npt.ArrayLike, foretold: npt.ArrayLike) -> float:
    """The median of |actual - foretold| / actual [%], as Kumar et al. measure it (Table VI).

    Over what is known in both and above 0 in `actual`; NaN if nothing is.
    """
    a, b = np.asarray(actual, dtype=np.float64), np.asarray(foretold, dtype=np.float64)
    counts = ~np.isnan(a) & ~np.isnan(b) & (a > 0)
    if not counts.any():
        return float("nan")
    return float(np.median(100.0 * np.abs(a[counts] - b[counts]) / a[counts]))
