"""What tables of several pages write into their cells."""

from __future__ import annotations

from collections.abc import Sequence

from failgym.envs import SCENARIOS
from failgym.leaderboard.suite.suites import RELEASED

__all__ = ["estimate", "interval", "percent", "shown"]


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
