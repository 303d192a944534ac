"""Predictors that other packages add (`failgym.additions`)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from inspect import signature
from typing import Any

from failgym.additions import Addition, additions
from failgym.sim.shared.forecast import Forecast
from failgym.traces.trace import Trace

__all__ = ["OtherPredictor", "other_predictors"]


@dataclass(frozen=True)
class OtherPredictor:
    """A predictor of another package; whatever it raises is a ValueError that names the package."""

    other: Addition
    inner: Any

    @classmethod
    def made(cls, other: Addition, **given: Any) -> OtherPredictor:
        """Make the predictor, with those of the given parameters that it takes."""
        kind = other.load()
        with other.blamed():
            taken = signature(kind).parameters
            inner = kind(**{name: value for name, value in given.items() if name in taken})
        if not all(callable(getattr(inner, name, None)) for name in ("fit", "predict")):
            raise ValueError(f"{other}: expected a class with fit and predict")
        return cls(other, inner)

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return self.other.entry.name

    def fit(self, trace: Trace) -> OtherPredictor:
        """The predictor as fitted to a trace."""
        with self.other.blamed():
            return OtherPredictor(self.other, self.inner.fit(trace))

    def predict(self, trace: Trace) -> Forecast:
        """The forecast of a trace. Raises ValueError if that is none."""
        with self.other.blamed():
            found = self.inner.predict(trace)
        if not isinstance(found, Forecast):
            raise ValueError(f"{self.other}: expected a Forecast from predict")
        return found


def other_predictors(ours: Collection[str]) -> dict[str, Addition]:
    """Predictors of other packages, by name."""
    return additions("predictors", ours)
