"""What happens between two updates of training: evaluations, checkpoints, the wish to stop."""

# stable-baselines3 and torch annotate some of their arguments without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback

from failgym.agents.training.training_settings import Keep
from failgym.agents.training.validation import Validation, Validator
from failgym.evaluation.progress import Advance

__all__ = ["Log", "Milestones", "Told", "TrainingCallback", "check_finite", "held_interrupts"]


@dataclass(frozen=True)
class Milestones:
    """After how many decisions something is due, again and again."""

    validation: int
    checkpoint: int


@dataclass
class Log:
    """Scores, times and the best weights up to now; part of every checkpoint."""

    validations: list[Validation] = field(default_factory=list[Validation])
    best: Validation | None = None
    best_policy: dict[str, torch.Tensor] | None = None
    """weights"""
    seconds: float = 0.0
    """wall-clock time up to the last checkpoint, validation included [s]"""
    validation_seconds: float = 0.0
    """of these, spent on validation [s]"""
    warm_start: dict[str, Any] | None = None
    """what came of the warm start, if there was one"""
    warm_start_seconds: float = 0.0
    """of the seconds, spent on that [s]"""
    saved: int = 0
    """decisions at the last checkpoint"""

    def to_state(self) -> dict[str, Any]:
        """Tensors, numbers and texts."""
        return {
            "validations": [validation.to_json() for validation in self.validations],
            "best": self.best and self.best.to_json(),
            "best_policy": self.best_policy,
            "seconds": self.seconds,
            "validation_seconds": self.validation_seconds,
            "warm_start": self.warm_start,
            "warm_start_seconds": self.warm_start_seconds,
            "saved": self.saved,
        }

    @classmethod
    def of(cls, state: dict[str, Any]) -> Log:
        """The log that a checkpoint holds. Raises TypeError or KeyError if it is none."""
        validations = [Validation(**one) for one in state["validations"]]
        best = state["best"]
        own: dict[str, Any] = {"validations": validations, "best": best and Validation(**best)}
        return cls(**{**state, **own})


@dataclass(frozen=True)
class Told:
    """What is called as training goes on."""

    record: Callable[[Any, Any], None]
    """with the actions and the ends of every step"""
    keep: Callable[[], None]
    """when the best agent so far has been found"""
    save: Callable[[], None]
    """writes a checkpoint"""
    stop: Callable[[], bool]
    """does somebody wish to stop?"""
    advance: Advance
    """with the number of decisions made"""


class TrainingCallback(BaseCallback):
    """Called by stable-baselines3 in every step and before every rollout.

    Args:
        validator: scores the agent.
        milestones: numbers of steps after which the agent is validated and saved.
        log: results of the run so far; new ones are appended.
        by: the score by which the best agent is chosen.
        told: informed of every step; may ask to stop.
    """

    def __init__(
        self, validator: Validator, milestones: Milestones, log: Log, by: Keep, told: Told
    ) -> None:
        super().__init__()
        self.validator, self.milestones, self.log = validator, milestones, log
        self.by: Keep = by
        self.told = told
        self._since = time.perf_counter()

    def _on_step(self) -> bool:
        self.told.record(self.locals["actions"], self.locals["dones"])
        self.told.advance(len(self.locals["dones"]))
        return True

    def _on_rollout_start(self) -> None:
        """Between two updates: nothing is under way."""
        steps = self.model.num_timesteps
        if not steps:
            if self.log.warm_start is not None and not self.log.validations:
                self.validate()  # what a baseline has taught may be the best there will be
            return
        check_finite(self.model)
        validated = self.log.validations[-1].steps if self.log.validations else 0
        if _due(validated, steps, self.milestones.validation):
            self.validate()
        stopping = self.told.stop()
        if stopping or _due(self.log.saved, steps, self.milestones.checkpoint):
            self.save()
        if stopping:
            raise KeyboardInterrupt

    def validate(self) -> None:
        """Score the agent; keep it if it is the best so far, and was not overruled."""
        before = self.validator.seconds
        found = self.validator.validate(self.model)
        log = self.log
        log.validation_seconds += self.validator.seconds - before
        log.validations.append(found)
        self.logger.record("validation/score", found.score)
        if found.stochastic is not None:
            self.logger.record("validation/stochastic", found.stochastic)
        self.logger.dump(found.steps)  # the next of the library comes later, or never
        if found.overruled:
            return
        if log.best is None or found.rank(self.by) > log.best.rank(self.by):
            weights = self.model.policy.state_dict()
            log.best, log.best_policy = found, {n: w.clone() for n, w in weights.items()}
            self.save()
            self.told.keep()

    def save(self) -> None:
        """Write a checkpoint."""
        now = time.perf_counter()
        self.log.seconds += now - self._since
        self._since, self.log.saved = now, self.model.num_timesteps
        self.told.save()

    def finish(self) -> None:
        """After the last update."""
        check_finite(self.model)
        last = self.log.validations[-1].steps if self.log.validations else -1
        if last != self.model.num_timesteps:
            self.validate()
        self.save()


def check_finite(model: BaseAlgorithm) -> None:
    """Raise ValueError if training has diverged."""
    if not all(np.isfinite(float(w.detach().sum())) for w in model.policy.parameters()):
        raise ValueError(
            f"training diverged within {model.num_timesteps:,} steps: weights are no longer finite;"
            " try a lower learning_rate"
        )


def _due(last: int, now: int, every: int) -> bool:
    """Has a multiple of ``every`` steps been passed?"""
    return now // every > last // every


@contextmanager
def held_interrupts() -> Generator[Callable[[], bool]]:
    """While the block runs, the first Ctrl-C is only noted; the second interrupts as always.

    Yields:
        Has there been one?
    """
    noted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield noted.is_set
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        noted.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield noted.is_set
    finally:
        signal.signal(signal.SIGINT, before)
