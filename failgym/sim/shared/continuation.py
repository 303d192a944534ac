"""How records go on: the laws from which attempts beyond a record are drawn.

A trace holds one fate per recorded attempt. What a further attempt of a task would have met is
drawn from what befell attempts like it, once, before anybody acts: rules C1 to C9 of
`failgym.sim.reference` say how. Here are the numbers that they need. They are counted from a train
split (`failgym.continued`); the engines only read them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

__all__ = ["COUNTS", "LONGEST_FATE", "Continuation", "Law"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

COUNTS = 4
"""Past intrinsic failures that are told apart: 0, 1, 2, 3 or more."""
LONGEST_FATE = 2**45
"""Longest time that is drawn, about a thousand years [ms]."""


@dataclass(frozen=True)
class Law:
    """Distributions of a number, one per cell, each a step function.

    A uniform number u on [0, 1) draws from cell c the first of its values whose share is above u.
    If there is none, nothing is drawn: what is asked about never happens.
    """

    at: Ints
    """[cells + 1] Cell c has entries ``at[c]`` to ``at[c + 1] - 1``; none if they are equal."""
    value: Floats
    """[entries] Values, ascending within a cell; of a time, whole milliseconds."""
    share: Floats
    """[entries] Chance of this value or one before it in the cell, ascending, at most 1."""

    def __post_init__(self) -> None:
        first, last = int(self.at[0]), int(self.at[-1])
        if first != 0 or last != len(self.value) or len(self.value) != len(self.share):
            raise ValueError("at: expected bounds of cells from 0 to the number of entries")
        if (np.diff(self.at) < 0).any():
            raise ValueError("at: expected ascending bounds of cells")
        if not ((self.share > 0.0) & (self.share <= 1.0)).all():
            raise ValueError("share: expected chances above 0, at most 1")
        inner = np.ones(len(self.share) + 1, dtype=np.bool_)
        inner[self.at] = False  # where a cell begins the share may fall
        if (np.diff(self.share)[inner[1:-1]] < 0.0).any():
            raise ValueError("share: expected ascending chances within a cell")
        if (np.diff(self.value)[inner[1:-1]] < 0.0).any():
            raise ValueError("value: expected ascending values within a cell")

    @property
    def cells(self) -> int:
        """How many distributions."""
        return len(self.at) - 1

    @classmethod
    def never(cls, cells: int) -> Law:
        """Nothing ever happens."""
        return cls(np.zeros(cells + 1, dtype=np.int64), np.zeros(0), np.zeros(0))


@dataclass(frozen=True)
class Continuation:
    """The laws by which the tasks of one trace go on, and which of them speaks of which task.

    Times are in milliseconds, at least 1 and at most `LONGEST_FATE`.

    Raises:
        ValueError: if the arrays do not fit each other, or a time or a share is out of range.
    """

    cell: Ints
    """[tasks, COUNTS] The cell that speaks of an attempt of a task after so many intrinsic failures
    (the last column: so many or more)."""
    failure: Law
    """Time worked until an intrinsic failure."""
    external: Law
    """Time from the start until something outside ends an attempt."""
    work: Law
    """Work of a task that the record does not finish. Its last share is 1, so that it is always
    drawn."""
    chance: Law
    """How much longer than a task's own time an attempt takes by chance, a factor. Cells of its
    own."""
    gap_after_failure: Law
    """From an intrinsic failure to the restart. A cell without entries: 1 ms."""
    gap_after_external: Law
    """From another end to the restart. A cell without entries: 1 ms."""
    gives_up: Floats
    """[cells] Share of intrinsic failures after which the cluster started the task no more."""
    ends_external: Floats
    """[cells] Share of external ends after which the cluster started the task no more."""
    slow: Floats
    """[tasks] How much longer a fresh attempt takes than the task's work by what is the task's own,
    a factor above 0: sigma^(kappa - 1), where sigma is how slow its first success was; 1 if
    unknown."""
    chance_cell: Ints
    """[tasks] Cell of `chance`; -1 if every attempt takes the same time, as where the trace states
    the length."""
    key: Ints
    """[tasks] What the draws of a task are keyed to besides the seed: its row in the whole trace,
    whatever split of it is played."""

    def __post_init__(self) -> None:
        tasks = len(self.cell)
        if self.cell.shape != (tasks, COUNTS):
            raise ValueError(f"cell: expected {COUNTS} columns, got shape {self.cell.shape}")
        for name in ("slow", "chance_cell", "key"):
            if len(getattr(self, name)) != tasks:
                raise ValueError(f"{name}: expected {tasks} tasks, got {len(getattr(self, name))}")
        cells = self.failure.cells
        for name in ("external", "work", "gap_after_failure", "gap_after_external"):
            if getattr(self, name).cells != cells:
                raise ValueError(f"{name}: expected {cells} cells, got {getattr(self, name).cells}")
        for name in ("gives_up", "ends_external"):
            share = getattr(self, name)
            if len(share) != cells or not ((share >= 0.0) & (share <= 1.0)).all():
                raise ValueError(f"{name}: expected {cells} shares, 0 to 1")
        if tasks and not 0 <= self.cell.min() <= self.cell.max() < cells:
            raise ValueError(f"cell: expected numbers from 0 to {cells - 1}")
        if tasks and not -1 <= self.chance_cell.min() <= self.chance_cell.max() < self.chance.cells:
            raise ValueError(f"chance_cell: expected numbers from -1 to {self.chance.cells - 1}")
        if not (np.isfinite(self.slow) & (self.slow > 0.0)).all():
            raise ValueError("slow: expected finite factors above 0")
        self._check_times()

    def _check_times(self) -> None:
        for field in fields(self):
            law = getattr(self, field.name)
            if not isinstance(law, Law) or field.name == "chance":
                continue
            times = law.value
            if not ((times >= 1.0) & (times <= LONGEST_FATE) & (times == np.rint(times))).all():
                raise ValueError(f"{field.name}: expected whole milliseconds, 1 to {LONGEST_FATE}")
        if not ((self.chance.value > 0.0) & np.isfinite(self.chance.value)).all():
            raise ValueError("chance: expected finite factors above 0")
        if (np.diff(self.work.at) < 1).any():
            raise ValueError("work: expected at least one time in each cell")
        if not (self.work.share[self.work.at[1:] - 1] == 1.0).all():
            raise ValueError("work: expected a last share of 1 in each cell")
