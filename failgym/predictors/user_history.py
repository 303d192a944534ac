"""`UserHistory`: what the last jobs of a user tell of the next (Kumar et al., DSN 2020, V)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, Self, cast, get_args

import numpy as np
import numpy.typing as npt

from failgym.predictors.job_use import QUANTITIES, JobUse, Past, past_jobs
from failgym.predictors.learned import Arrays
from failgym.predictors.parameters import check_whole
from failgym.sim.rules import MINUTE
from failgym.traces.trace import Trace

__all__ = ["METHODS", "QUANTITIES", "JobUse", "UserHistory", "percentage_error"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Method = Literal["last", "average", "median", "mcs"]

METHODS = cast(tuple[Method, ...], get_args(Method))
"""In the order of Table VI."""
HOUR = 60 * MINUTE


class _Norms(NamedTuple):
    """What attributes are divided by for the cosine."""

    widest: float
    """Slots of the widest job."""
    walltime: float
    """The longest walltime requested [ms]; 0: none is."""


class _Words(NamedTuple):
    """Texts of jobs as numbers, equal where the texts are; users without a name are -1."""

    user: Integers
    name: Integers
    queue: Integers


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
    (`failgym.sim.scheduled.estimates`), which follow the same rules for attempts: the median of an
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
    norms_: _Norms = field(init=False, repr=False)
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
        norms = _Norms(
            float(max(jobs.width.max(initial=0), 1)), float(jobs.walltime.max(initial=0))
        )
        errors = np.full((self.longest, len(METHODS), len(QUANTITIES)), np.inf)
        words = _words(jobs, jobs)
        for column, quantity in enumerate(QUANTITIES):
            foretold = _foretold(jobs, jobs, words, quantity, METHODS, self.longest, norms)
            actual = jobs.use.of(quantity)
            for row, guesses in enumerate(foretold):
                for n in range(self.longest):
                    errors[n, row, column] = percentage_error(actual, guesses[:, n])
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
        words, row = _words(known, jobs), METHODS.index(method or self.method)
        columns: list[Floats] = []
        for quantity, n in zip(QUANTITIES, self.lengths_[row].tolist(), strict=True):
            rule = METHODS[row : row + 1]
            guesses = _foretold(known, jobs, words, quantity, rule, n, self.norms_)[0]
            columns.append(guesses[:, n - 1])
        return JobUse(*columns)

    def errors(self, trace: Trace) -> Floats:
        """Median absolute percentage errors, [METHODS, QUANTITIES] in % (Table VI).

        Over the jobs of a trace that ended by themselves; NaN where none could be foretold.
        """
        actual = past_jobs(trace).use
        result = np.empty((len(METHODS), len(QUANTITIES)))
        for row, method in enumerate(METHODS):
            foretold = self.predict(trace, method)
            for column, quantity in enumerate(QUANTITIES):
                result[row, column] = percentage_error(actual.of(quantity), foretold.of(quantity))
        return result

    def arrays(self) -> Arrays:
        """What was learned: history lengths, the largest requests, the jobs that ended."""
        self._check_fitted()
        return {
            "lengths": self.lengths_,
            "norms": np.array(self.norms_),
            **{f"past/{name}": column for name, column in self.past_.columns().items()},
        }

    def restore(self, arrays: Arrays) -> Self:
        """Take up what `arrays` returned. Raises ValueError, in one line, if it does not fit."""
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
        self.norms_ = _Norms(*norms.tolist())
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


# --- From the last n jobs -------------------------------------------------------------------------


def _words(past: Past, asked: Past) -> tuple[_Words, _Words]:
    """The texts of jobs that are seen, and of those that are asked about."""
    codes: list[Integers] = []
    for name in _Words._fields:
        both = np.concatenate([getattr(past, name), getattr(asked, name)])
        codes.append(np.unique(both, return_inverse=True)[1])
        if name == "user":
            codes[-1] = np.where(both == "", -1, codes[-1])
    seen = len(past.end)
    return _Words(*(code[:seen] for code in codes)), _Words(*(code[seen:] for code in codes))


def _foretold(
    past: Past,
    asked: Past,
    words: tuple[_Words, _Words],
    quantity: str,
    methods: tuple[Method, ...],
    longest: int,
    norms: _Norms,
) -> list[Floats]:
    """What each method foretells of jobs from the last 1 to `longest`, [jobs, longest] each."""
    values = past.use.of(quantity)
    counts = np.flatnonzero(~np.isnan(values) & (past.end >= 0) & (words[0].user >= 0))
    last = _last_jobs(words[0].user[counts], past.end[counts], words[1].user, asked.submit, longest)
    rows = np.append(counts, -1)[last]
    used = np.where(rows >= 0, values[rows], np.nan)
    rules = {
        "last": lambda: np.repeat(used[:, :1], longest, axis=1),
        "average": lambda: _averages(used),
        "median": lambda: _medians(used),
        "mcs": lambda: _most_similar(used, _similarity(past, rows, asked, words, norms)),
    }
    return [rules[method]() for method in methods]


def _last_jobs(
    user: Integers, end: Integers, asked: Integers, time: Integers, longest: int
) -> Integers:
    """The last jobs of users that had ended by a time, the latest first, [asked, longest].

    Of jobs that ended together the later row is the later. -1 where there is none.
    """
    order = np.lexsort((end, user))
    question = np.repeat((0, 1), (len(user), len(asked)))
    whose = np.concatenate([user, asked])
    merged = np.lexsort((question, np.concatenate([end, time]), whose))
    before = np.empty(len(whose), dtype=np.int64)
    before[merged] = np.cumsum(question[merged] == 0)
    first = np.searchsorted(user[order], asked)
    place = before[len(user) :, None] - 1 - np.arange(longest)
    return np.where(place >= first[:, None], np.append(order, -1)[np.maximum(place, -1)], -1)


def _averages(used: Floats) -> Floats:
    known = np.cumsum(~np.isnan(used), axis=1)
    total = np.cumsum(np.nan_to_num(used), axis=1)
    return np.where(known > 0, total / np.maximum(known, 1), np.nan)


def _medians(used: Floats) -> Floats:
    """Of an even number, the lower of the middle two."""
    result = np.empty_like(used)
    known = np.cumsum(~np.isnan(used), axis=1)
    for n in range(used.shape[1]):
        middle = np.maximum(known[:, n] - 1, 0) // 2
        ordered = np.sort(used[:, : n + 1], axis=1)  # NaN last
        result[:, n] = ordered[np.arange(len(used)), middle]
    return result


def _most_similar(used: Floats, similarity: Floats) -> Floats:
    """Of equally similar ones, the latest: those come first."""
    result, best, value = np.empty_like(used), np.full(len(used), -1.0), np.full(len(used), np.nan)
    for n in range(used.shape[1]):
        better = similarity[:, n] > best
        best = np.where(better, similarity[:, n], best)
        value = np.where(better, used[:, n], value)
        result[:, n] = value
    return result


def _similarity(
    past: Past, rows: Integers, asked: Past, words: tuple[_Words, _Words], norms: _Norms
) -> Floats:
    """The cosine between each job and those before it, [jobs, longest]; NaN where there is none."""
    width, walltime = asked.width / norms.widest, _share(asked.walltime, norms.walltime)
    own = _length(1.0, 1.0, width, walltime, 1.0)[:, None]
    name = (words[0].name[rows] == words[1].name[:, None]).astype(np.float64)
    queue = (words[0].queue[rows] == words[1].queue[:, None]).astype(np.float64)
    its_width, its_walltime = past.width[rows] / norms.widest, _share(past.walltime, norms.walltime)
    its_walltime = its_walltime[rows]
    near = 1.0 / (1.0 + np.abs(asked.submit[:, None] - past.submit[rows]) / HOUR)
    dot = name + queue + its_width * width[:, None] + its_walltime * walltime[:, None] + near
    cosine = dot / (_length(name, queue, its_width, its_walltime, near) * own)
    return np.where(rows >= 0, cosine, np.nan)


def _share(part: Integers, whole: float) -> Floats:
    return part / whole if whole > 0 else np.zeros(len(part))


def _length(
    a: Floats | float, b: Floats | float, c: Floats, d: Floats, e: Floats | float
) -> Floats:
    return np.sqrt(a * a + b * b + c * c + d * d + e * e)
