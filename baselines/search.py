"""Which values of a heuristic's parameters a search may try."""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

__all__ = ["Choice", "Range", "choice", "fixed", "search_space", "tuned", "undecided"]

Number = TypeVar("Number", int, float)
Text = TypeVar("Text", str, bool)

_KEY = "search"


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included; whole ones if both are."""

    low: float
    high: float
    log: bool = False
    """Are magnitudes equally likely, instead of values?"""

    def __post_init__(self) -> None:
        finite = math.isfinite(self.low) and math.isfinite(self.high)
        if not finite or self.low > self.high or (self.log and self.low <= 0):
            raise ValueError(f"search range: expected low <= high, positive if log, got {self}")


@dataclass(frozen=True)
class Choice:
    """One of a few values."""

    values: tuple[str | bool, ...]


def tuned(default: Number, low: Number, high: Number, *, log: bool = False) -> Number:
    """A field of a heuristic with its default, and the range in which a better value is sought."""
    made: Any = field(default=default, metadata={_KEY: Range(low, high, log)})
    return made


def fixed(default: Any) -> Any:
    """A field of a heuristic that no search tries: another value is neither better nor worse."""
    return field(default=default, metadata={_KEY: None})


def choice(default: Text, *others: Text) -> Any:
    """A field of a heuristic with its default, and the other values that may be tried."""
    return field(default=default, metadata={_KEY: Choice((default, *others))})


def search_space(kind: type[Any]) -> dict[str, Range | Choice]:
    """Return the parameters of a heuristic that may be tuned, by name; a dataclass is expected."""
    known: tuple[Field[Any], ...] = fields(kind)
    return {f.name: f.metadata[_KEY] for f in known if f.metadata.get(_KEY) is not None}


def undecided(kind: type[Any]) -> list[str]:
    """Return the parameters of a heuristic of which nothing says whether they may be tuned."""
    return [f.name for f in fields(kind) if _KEY not in f.metadata]
