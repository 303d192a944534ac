"""What the search for the plan of a task writes down, and the stages that it goes through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.vocabulary import TERMS, Action

__all__ = [
    "ALL",
    "ANY",
    "CHOICE",
    "FOUND",
    "KILL_AT_ONCE",
    "NEARLY",
    "OVER",
    "REPLAY",
    "SEQUENCE",
    "WORTHY",
    "Bound",
]

_CONTINUE = int(Action.CONTINUE)
REPLAY, KILL_AT_ONCE, WORTHY, SEQUENCE, ALL, OVER = 0, 1, 2, 3, 4, 5
"""Stages of the search for a plan: see `next_stage`."""
NEARLY = 1.0 - 1e-12
"""A plan that is better by no more than rounding errors is no better."""
ANY = 0xFF & ~(1 << _CONTINUE)
"""All actions but CONTINUE, a bit each."""

CHOICE = np.dtype(
    [
        ("at", "i8"),  # which of the task's answers it is, counted from 0
        ("action", "i1"),
        ("untried", "u1"),  # actions that remain to be tried there, a bit each
        ("skipped", "i4"),  # attempt that was last left unsaved at a window before, see `_saved`
        ("saved", "i4"),
        ("least", "f8"),  # what every plan must cost that goes on from there
    ],
    align=True,
)
"""An action of a plan other than CONTINUE."""
FOUND = np.dtype(
    [
        ("cost", "f8"),
        ("terms", "f8", (len(TERMS),)),
        ("decisions", "i8"),  # answers of the plan, CONTINUE included
        ("choices", "i8"),  # of them, other than CONTINUE
        ("nodes", "i8"),  # decisions answered in the search
        ("lowest", "f8"),  # what the plans must cost that were not searched
        ("exact", "?"),
    ],
    align=True,
)
"""The best plan of a task so far."""


@dataclass(frozen=True)
class Bound:
    """The cheapest plans of some tasks."""

    costs: npt.NDArray[np.float64]
    """[tasks, 5] cost of each task under its plan, in the order of `TERMS`; weighted, each at least
    0"""
    exact: npt.NDArray[np.bool_]
    """[tasks] is it proven that no plan is cheaper? Else the plan is the best one found within the
    limit."""
    lowest: npt.NDArray[np.float64]
    """[tasks] what no plan can cost less than: what the plan costs, where that is exact, else less;
    in the units of ``costs``, all terms together"""
    decisions: npt.NDArray[np.int64]
    """[tasks] answers of each plan"""
    choices: npt.NDArray[np.int64]
    """[tasks] answers other than CONTINUE"""
    searched: npt.NDArray[np.int64]
    """[tasks] decisions answered in the search"""
    plans: npt.NDArray[Any]
    """CHOICE [tasks, most choices]"""

    def actions(self, i: int) -> list[int]:
        """The plan of task number ``i`` of those asked for: an action per decision, in order."""
        plan = [_CONTINUE] * int(self.decisions[i])
        for choice in self.plans[i, : self.choices[i]]:
            plan[int(choice["at"])] = int(choice["action"])
        return plan
