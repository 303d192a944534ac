"""How the tasks of a part of a trace go on beyond their records."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from failgym.sim.shared.continuation import Continuation
from failgym.traces import Trace
from failgym.worlds.scenario import Scenario
from failgym.worlds.split import Part

if TYPE_CHECKING:
    from failgym.continued import Habits
    from failgym.continued.strata import Finest

__all__ = ["continuation_of"]

DRAW = 2**40
"""Rows of a trace are fewer: what is drawn anew is keyed to rows of another trace."""


def continuation_of(scenario: Scenario, part: Part, known: Trace) -> Continuation | None:
    """By laws that are counted from the trace that is known; None if records do not go on.

    With ``split="all"`` nothing is played that was not there: they are counted from all of it.
    """
    if scenario.beyond_record != "continued":
        return None
    counted = part.trace if scenario.split == "all" else known
    habits = _habits(counted, scenario.task_share, scenario.strata)
    return habits.of(part.trace, part.tasks + DRAW * scenario.draw_seed)


@lru_cache(maxsize=2)
def _habits(known: Trace, task_share: float | None, finest: Finest) -> Habits:
    """The laws of a trace, counted once for all worlds that go on by them."""
    from failgym.continued import fit

    return fit(known, task_share=task_share, finest=finest)
