"""Class confidences of a stated quality: what a two-level classifier says when a task arrives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from failgym.predictors.base import CLASSES, task_classes
from failgym.sim.shared.keys import Purpose, uniform
from failgym.traces.trace import Trace
from failgym.vocabulary import Outcome

__all__ = ["ClassQuality", "draw_classes", "draw_jobs"]

Floats = npt.NDArray[np.float32]
Uniforms = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClassQuality:
    """How good the class confidences are (Rosà, Chen and Binder, IWQoS 2015, section IV).

    Two levels, as there: a job is predicted to finish or not; the tasks of a job that is predicted
    not to finish are *considered*, and each is put into one of four classes. A task that is not
    considered is put into FINISH.

    The paper gives rates among considered tasks: .0941 are FINISH tasks taken for another class,
    .266 are misclassified. With its share of tasks that do not finish in failed jobs, .25 (Fig. 1;
    .256 in the published trace), and its recall of .75 (which its savings imply with grace periods)
    they fix the first three of the task rates below.
    """

    job_error: float = 0.07
    """Jobs misclassified, either way (Fig. 4: .066 to .089; at the chosen window, between)."""
    finish_flagged: float = 0.0941 / 0.744
    """Considered FINISH tasks put into another class."""
    unfinished_flagged: float = 0.75
    """Considered tasks that do not finish and are not put into FINISH."""
    unfinished_confused: float = (0.266 - 0.0941) / 0.256 - 0.25
    """Considered tasks that do not finish, put into a wrong class other than FINISH."""
    false_evict: float = 0.1
    false_fail: float = 0.1
    """FINISH tasks put into another class: shares of evict and of fail; kill has the rest. An
    assumption (kill is the largest class by far); the paper does not say."""
    weakest: float = 0.5
    strongest: float = 0.95
    """The confidence of the chosen class is uniform between these; the other classes share the
    rest equally. An assumption; the paper does not say."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name}: expected a share, got {getattr(self, name)}")
        if self.unfinished_confused > self.unfinished_flagged:
            raise ValueError("unfinished_confused: expected at most unfinished_flagged")
        if self.false_evict + self.false_fail > 1.0:
            raise ValueError("false_evict, false_fail: expected a sum of at most 1")
        if not 0.5 <= self.weakest <= self.strongest:
            raise ValueError("weakest, strongest: expected 0.5 <= weakest <= strongest")


def draw_jobs(quality: ClassQuality, trace: Trace, seed: int) -> Floats:
    """Draw the confidence that each job does not finish, float32 [jobs].

    It is at least .5 where the job is predicted not to finish. A job that the end of the data cut
    off is drawn as if it finished.
    """
    outcome = trace.column("jobs", "outcome")
    unfinished = (outcome != Outcome.FINISH) & (outcome != Outcome.CENSORED)
    latent = uniform(seed, np.arange(len(outcome)), 0, Purpose.FORECAST_JOB)
    wrong = latent < quality.job_error
    # What is left of the latent, uniform again and independent of right and wrong.
    right = (latent - quality.job_error) / max(1.0 - quality.job_error, 1e-12)
    rest = np.where(wrong, latent / max(quality.job_error, 1e-12), right)
    confidence = _strength(quality, rest)
    return np.where(unfinished ^ wrong, confidence, 1.0 - confidence).astype(np.float32)


def draw_classes(
    quality: ClassQuality, trace: Trace, seed: int, health: Uniforms, job_confidence: Floats
) -> Floats:
    """Draw the class confidences of each task, float32 [tasks, 4].

    Args:
        quality: the rates.
        trace: the trace with the true outcomes.
        seed: of the forecast.
        health: the tasks' latent scores on [0, 1), the lowest looking worst, [tasks].
        job_confidence: from `draw_jobs`.
    """
    tasks = np.arange(trace.rows("tasks"))
    true = task_classes(trace)
    considered = job_confidence[trace.column("tasks", "job")] >= np.float32(0.5)
    rate = np.where(true == 0, quality.finish_flagged, quality.unfinished_flagged)
    pick = uniform(seed, tasks, 0, Purpose.FORECAST_CLASS)
    flagged = np.where(true == 0, _false_class(quality, pick), _other_class(quality, true, pick))
    predicted = np.where(considered & (health < rate), flagged, 0)
    top = _strength(quality, uniform(seed, tasks, 1, Purpose.FORECAST_CLASS))
    confidence = np.repeat((1.0 - top)[:, None] / (len(CLASSES) - 1), len(CLASSES), axis=1)
    confidence[tasks, predicted] = top
    return confidence.astype(np.float32)


def _strength(quality: ClassQuality, latent: Uniforms) -> Uniforms:
    return quality.weakest + (quality.strongest - quality.weakest) * latent


def _false_class(quality: ClassQuality, pick: Uniforms) -> npt.NDArray[np.int64]:
    """The class that a finishing task is taken for."""
    return np.digitize(pick, np.cumsum([quality.false_evict, quality.false_fail])) + 1


def _other_class(
    quality: ClassQuality, true: npt.NDArray[np.int64], pick: Uniforms
) -> npt.NDArray[np.int64]:
    """The class of a flagged task that does not finish: its own, or one of the two others."""
    confused = quality.unfinished_confused / max(quality.unfinished_flagged, 1e-12)
    step = np.where(pick < confused / 2, 1, np.where(pick < confused, 2, 0))
    return (true - 1 + step) % 3 + 1
