"""What tables of several pages write into their cells."""

from __future__ import annotations

import math
from collections.abc import Sequence

from failgym.envs import SCENARIOS
from failgym.evaluation.scoring import Score
from failgym.leaderboard.suite.suites import RELEASED

__all__ = ["estimate", "interval", "percent", "score_of", "shown"]


def shown(env: str) -> bool:
    """Is it a released environment, or none of failgym's?"""
    name = env.removeprefix("failgym/")
    return name in RELEASED or name not in SCENARIOS


def estimate(value: Sequence[float]) -> str:
    """Of a value and the ends of its interval."""
    return interval(dict(zip(("value", "low", "high"), value, strict=True)))


def interval(value: dict[str, float]) -> str:
    """The same of one that is named: value, low, high."""
    score, low, high = (f"{round(value[x], 1) + 0.0:.1f}" for x in ("value", "low", "high"))
    return f"{score} [{low}, {high}]"


def percent(share: float) -> str:
    """A share, of a hundred."""
    return f"{100.0 * share:.1f} %"


def score_of(stored: Sequence[float | None]) -> Score:
    """A score as JSON keeps it, where NaN is null."""
    return Score(*(math.nan if number is None else number for number in stored))
