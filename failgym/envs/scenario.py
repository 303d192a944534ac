"""`Scenario`: everything that makes an environment, in one frozen record."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_type_hints

from failgym.predictors import Forecast, Predictor
from failgym.sim.rules import Rules
from failgym.sim.state import Order
from failgym.traces import Trace

__all__ = ["Scenario", "Select", "Split"]

Split = Literal["train", "test", "all"]
Select = Literal["all", "failing"]


@dataclass(frozen=True, kw_only=True)
class Scenario(Rules):
    """A scenario: the trace, what may be decided in it, and what is charged for.

    The fields of `Rules` belong to it too. `gymnasium.make(id, field=value)` overrides any of them.

    Raises:
        ValueError: if a value is out of range; the message names the field.
    """

    name: str = ""
    """Id of the environment without its namespace."""
    trace: str | Path | Trace = "google-2011"
    """A synthetic profile, the folder of a stored trace, or a trace."""
    jobs: int = 4_000
    """Jobs to generate, for a profile."""
    trace_seed: int = 0
    """Seed of the generated trace."""
    split: Split = "train"
    """Which part of the trace: "train", "test" (jobs submitted after the boundary) or "all"."""
    boundary: float = 0.7
    """Share of the jobs that are submitted before the boundary."""
    select: Select = "all"
    """Tasks in slices: "all", or "failing": of jobs with a FAILed attempt in the split and without
    a user's kill. A selection that uses the record."""
    max_attempts: int = 100
    """Tasks of more recorded attempts are in no slice: a few of them would make up most of its cost
    (El-Sayed et al. 2017, Fig. 6: at most 70 to 100 retries)."""
    slice_tasks: int = 256
    """Tasks of an episode."""
    order: Order = "task"
    """Serve the decisions of a slice task by task, or merged by time."""
    forecast: str | Forecast | Predictor = "none"
    """What is predicted: the name of a predictor (`failgym.envs.worlds.PREDICTORS`), a stored
    forecast, a predictor, which is fitted on the train split, or a forecast of the split."""
    seed: int = 0
    """Key of the lengths of attempts that were cut, and of drawn forecasts."""
    weight_wasted: float = 1.0
    """Price of lost, redundant and ghost work, in mean machine-times of a task."""
    weight_overhead: float = 1.0
    """Price of checkpoint and restore time, in mean machine-times of a task."""
    weight_completion: float = 1.0
    """Price of completion time, in mean completion times of a task."""
    weight_forfeited: float = 1.0
    """Price of the finished work of a forfeited task and of its recorded completion time again."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("jobs", "slice_tasks", "max_attempts"):
            self._check(name, getattr(self, name) >= 1, "at least 1")
        self._check("boundary", 0.0 < self.boundary < 1.0, "in (0, 1)")
        for name in ("wasted", "overhead", "completion", "forfeited"):
            weight = f"weight_{name}"
            self._check(weight, 0.0 <= getattr(self, weight) < math.inf, "at least 0, finite")
        choices = {
            "split": ("train", "test", "all"),
            "select": ("all", "failing"),
            "order": ("task", "time"),
        }
        for name, allowed in choices.items():
            self._check(name, getattr(self, name) in allowed, f"one of {', '.join(allowed)}")

    def override(self, **values: Any) -> Scenario:
        """The scenario with some fields changed.

        Raises:
            ValueError: for an unknown field, naming the nearest, or a value of the wrong type.
        """
        known = {field.name for field in fields(self)}
        for name in values:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f", did you mean {near[0]}?" if near else ""
                raise ValueError(f"{name}: unknown field of a scenario{hint}")
        return replace(self, **{name: _typed(name, value) for name, value in values.items()})


def _typed(name: str, value: Any) -> Any:
    """A value of the field's type; whole numbers pass for real ones. Raises ValueError."""
    expected = get_type_hints(Scenario)[name]
    if expected in (int, float, bool):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if expected is float and whole:
            return float(value)
        if not isinstance(value, expected) or (expected is int and not whole):
            raise ValueError(f"{name}: expected {expected.__name__}, got {value!r}")
    return value
