"""`RandomForest`: forests on configuration, usage and failures so far (El-Sayed et al.)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from failgym.predictors.base import CLASSES
from failgym.predictors.features.config import TEXTS, Rows, Vocabulary, learn_vocabulary
from failgym.predictors.forest.forest import Forest, Growth
from failgym.predictors.forest.rows import LEVELS, SCENARIOS, Knowledge, Lesson
from failgym.predictors.learned import Arrays, Learned, window_moments
from failgym.predictors.parameters import check_whole
from failgym.sim.shared.forecast import Forecast
from failgym.traces.trace import Trace
from failgym.vocabulary import DAY, MINUTE

__all__ = ["RandomForest"]

Ints = npt.NDArray[np.int64]

BLOCK = 2**19
"""Risks that are worked out together, so that their features fit into memory."""


@dataclass(eq=False)
class RandomForest(Learned):
    """Random forests after El-Sayed, Zhu and Schroeder (ICDCS 2017, section V).

    Three forests, for a forecast needs all:

    - **job**: that a job does not finish, from its configuration, at its submission;
    - **task**: its class, at its submission, from its configuration and whether attempts of its job
      have failed by then (scenarios with flags);
    - **attempt**: that it ends in FAIL, at its start and after each window, from configuration,
      flags and usage as known by then.

    Before the first usage window is over, usage is missing, which is a value of its own. The risk
    of an attempt is learned from moments after 0, 1, 2, 4, 8 ... windows. How long it has run is
    told by the number of its usage windows, in scenarios with usage.

    **Online.** Usage is that of all windows by the moment (section VI-B), or of the first five
    minutes only (section V-A) with ``sliding`` off. With ``refit``, new forests are grown at each
    of its multiples on what ended in the last ``memory`` before, in the fitted trace and the
    predicted one together; where that holds fewer than two classes, the fitted forest serves. Ranks
    of users and applications stay those of the fitted trace.

    The quality that the paper reports, by level, scenario, threshold and sampling ratio, is
    measured by `failgym.predictors.forest.sweep`.
    """

    name: ClassVar[str] = "random_forest"

    scenario: str = "all"
    """What is known: "config", "usage", "flags" or "all" (section V-A)."""
    trees: int = 50
    """Trees of a forest (section V-A)."""
    leaf: int = 5
    """Least rows in a leaf; chosen (the paper does not say)."""
    tree_rows: int = 50_000
    """Most rows that are drawn for a tree; chosen, so that time stays bounded."""
    ratio: float = 1.0
    """Share of the rows of the most frequent class that is learned from, in (0, 1]. Less makes
    risks higher than the shares that fail (section V-A, Figs. 7, 8 and 10)."""
    sliding: bool = True
    """Whether usage is followed along the run (section VI-B), or known of its first five
    minutes."""
    window: int = 5 * MINUTE
    """Time between the risks of an attempt [ms] (the sampling of usage in Google's trace)."""
    refit: int = 0
    """Time between refits on the predicted trace's clock [ms]; 0: none."""
    memory: int = 7 * DAY
    """How far back a refit looks [ms]; chosen."""
    seed: int = 0
    """Different seeds grow independent forests."""

    forests_: dict[str, Forest] = field(init=False, repr=False)
    """The forest of each level."""
    vocabulary_: dict[str, npt.NDArray[np.str_]] = field(init=False, repr=False)
    """Users, groups, applications, queues of the fitted trace, the most frequent first."""
    lessons_: dict[str, Lesson] = field(init=False, repr=False)
    """What was learned from, for refits; empty without them."""

    def __post_init__(self) -> None:
        if self.scenario not in SCENARIOS:
            expected = ", ".join(SCENARIOS)
            raise ValueError(f"scenario: expected one of {expected}, got {self.scenario!r}")
        check_whole(self, 1, "trees", "leaf", "tree_rows", "window", "memory")
        check_whole(self, 0, "refit", "seed")
        if not 0.0 < self.ratio <= 1.0:
            raise ValueError(f"ratio: expected a share in (0, 1], got {self.ratio}")

    @property
    def feature_importances_(self) -> dict[str, dict[str, float]]:
        """Mean decrease of impurity by each feature, by level; those of a level sum to 1."""
        return {
            level: dict(zip(self._names(level), forest.importance.tolist(), strict=True))
            for level, forest in self._fitted().items()
        }

    def fit(self, trace: Trace) -> Self:
        """Learn from the jobs, tasks and attempts of a trace whose end is known.

        If no job, or no task, has ended, all are said to finish. Raises ValueError if no attempt
        that ran has ended, or if scikit-learn is not installed.
        """
        vocabulary = learn_vocabulary(trace)
        lessons = self._knowledge(trace, vocabulary).lessons(self.window)
        known = {level: lesson.in_the_end() for level, lesson in lessons.items()}
        if not len(known["attempt"].rows):
            raise ValueError("RandomForest: the trace has no attempt that ran and whose end it has")
        self.vocabulary_ = vocabulary
        self.forests_ = {
            level: self._grown(level, lesson)
            if len(lesson.rows)
            else Forest.certain(0, LEVELS[level], len(self._names(level)))
            for level, lesson in known.items()
        }
        self.lessons_ = lessons if self.refit else {}
        return self

    def predict(self, trace: Trace) -> Forecast:
        """Return the forecast of a trace. Raises ValueError if the predictor is not fitted."""
        self._fitted()
        known = self._knowledge(trace, self.vocabulary_)
        own = known.lessons(self.window) if self.refit else {}
        job_confidence = np.zeros(trace.rows("jobs"), dtype=np.float32)
        for forest, jobs in self._serving("job", trace.column("jobs", "submit"), own):
            job_confidence[jobs] = forest.shares(known.job[jobs])[:, 1]
        confidence = np.zeros((trace.rows("tasks"), len(CLASSES)), dtype=np.float32)
        for forest, tasks in self._serving("task", trace.task_submit, own):
            confidence[tasks] = forest.shares(known.task[tasks])
        offset, attempt, time = window_moments(trace, self.window)
        risk = np.zeros(len(time), dtype=np.float32)
        for forest, moments in self._serving("attempt", time, own):
            for here in np.array_split(moments, len(moments) // BLOCK + 1):
                risk[here] = _risks(forest, known.attempt(attempt[here], time[here]))
        return Forecast(
            trace_hash=trace.content_hash,
            window=self.window,
            offset=offset,
            risk=risk,
            confidence=confidence,
            job_confidence=job_confidence,
        )

    def arrays(self) -> Arrays:
        """Return what was learned. Raises ValueError if the predictor is not fitted."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        for level, forest in self._fitted().items():
            arrays.update(forest.arrays(f"{level}_"))
        for name, words in self.vocabulary_.items():
            arrays[f"words_{name}"] = words
        for level, lesson in self.lessons_.items():
            for part, values in lesson._asdict().items():
                arrays[f"lesson_{level}_{part}"] = values
        return arrays

    def restore(self, arrays: Arrays) -> Self:
        """Restore what `arrays` returned. Raises ValueError, in one line, if it does not fit."""
        try:
            forests = {
                level: Forest.restore(arrays, f"{level}_", classes, len(self._names(level)))
                for level, classes in LEVELS.items()
            }
            vocabulary = {name: _words(arrays, name) for name in TEXTS}
            levels = LEVELS if self.refit else ()
            lessons = {level: _lesson(arrays, level, len(self._names(level))) for level in levels}
        except KeyError as error:
            raise ValueError(f"RandomForest: {error.args[0]} is missing") from error
        except ValueError as error:
            raise ValueError(f"RandomForest: {error}") from error
        self.forests_, self.vocabulary_, self.lessons_ = forests, vocabulary, lessons
        return self

    def _fitted(self) -> dict[str, Forest]:
        if not hasattr(self, "forests_"):
            raise ValueError("RandomForest: fit it first")
        return self.forests_

    def _names(self, level: str) -> tuple[str, ...]:
        return Knowledge.names(level, SCENARIOS[self.scenario])

    def _knowledge(self, trace: Trace, vocabulary: Vocabulary) -> Knowledge:
        return Knowledge.of(trace, vocabulary, SCENARIOS[self.scenario], self.sliding)

    def _grown(self, level: str, lesson: Lesson) -> Forest:
        growth = Growth(self.trees, self.leaf, self.tree_rows, self.ratio, self.seed)
        return Forest.grow(lesson.rows, lesson.label, LEVELS[level], growth)

    def _serving(
        self, level: str, time: Ints, own: dict[str, Lesson]
    ) -> Iterator[tuple[Forest, Ints]]:
        """The forests of a level, and the positions in `time` at which each speaks."""
        if not self.refit:
            yield self.forests_[level], np.arange(len(time))
            return
        epoch = time // self.refit
        for number in np.unique(epoch).tolist():
            forest = self._regrown(level, number * self.refit, own[level])
            yield forest, np.flatnonzero(epoch == number)

    def _regrown(self, level: str, now: int, own: Lesson) -> Forest:
        """The forest that has learned from what ended in the last `memory` before `now`."""
        recent = [lesson.as_of(now, self.memory) for lesson in (self.lessons_[level], own)]
        lesson = Lesson(*(np.concatenate(parts) for parts in zip(*recent, strict=True)))
        if len(np.unique(lesson.label)) < 2:
            return self.forests_[level]
        return self._grown(level, lesson)


def _risks(forest: Forest, rows: Rows) -> npt.NDArray[np.float64]:
    """The shares of class 1; of equal rows in a row, as a run has many, only the first is asked."""
    first = np.ones(len(rows), dtype=np.bool_)
    first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return forest.shares(rows[first])[:, 1][np.cumsum(first) - 1]


def _words(arrays: Arrays, name: str) -> npt.NDArray[np.str_]:
    words = arrays[f"words_{name}"]
    if words.ndim != 1 or words.dtype.kind != "U":
        raise ValueError(f"words_{name}: expected a list of texts")
    return words


def _lesson(arrays: Arrays, level: str, features: int) -> Lesson:
    """What was stored of a level's lesson."""
    lesson = Lesson(*(arrays[f"lesson_{level}_{part}"] for part in Lesson._fields))
    rows = len(lesson.rows)
    fits = lesson.rows.shape == (rows, features) and lesson.rows.dtype == np.float32
    if not fits or {(rows,)} != {column.shape for column in lesson[1:]}:
        raise ValueError(f"lesson_{level}_*: expected rows of {features} features")
    if not np.isfinite(lesson.rows).all():
        raise ValueError(f"lesson_{level}_rows: expected finite features")
    if {column.dtype for column in lesson[1:]} != {np.dtype(np.int64)}:
        raise ValueError(f"lesson_{level}_*: expected labels and ends as int64")
    if rows and not 0 <= lesson.label.min() <= lesson.label.max() < LEVELS[level]:
        raise ValueError(f"lesson_{level}_label: expected classes below {LEVELS[level]}")
    return lesson
