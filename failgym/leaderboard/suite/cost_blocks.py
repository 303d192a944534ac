"""What is resampled on leaderboards: blocks of jobs of a trace, and what each costs.

A job may lie in many slices, so that slices are no units to resample. Where it is known what each
task costs, every row of results says how much of its slice is of which block of jobs; where tasks
share machines, a block is one of neighbouring slices (`failgym.evaluation.statistics`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from failgym.evaluation.evidence import units_of
from failgym.evaluation.ledger import Run
from failgym.worlds.scenario import Scenario
from failgym.worlds.world import World

__all__ = ["BLOCKS", "CostBlocks"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BLOCKS = 15
"""Blocks of a trace, at most: few, since every row states what each of them costs. Intervals are
stretched for so few (Student's t with 14 degrees: by 9 %); `experiments.interval_coverage` counts
how often they hold the truth."""


@dataclass(frozen=True)
class CostBlocks:
    """Which block of which slice each row of costs belongs to."""

    world: World
    by_task: bool
    """are rows tasks? Else they are slices"""
    shape: tuple[int, int]
    """slices, blocks"""
    at: Ints
    """[rows] slice times blocks, plus block"""

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        world: World,
        run: Run,
        most: int = BLOCKS,
    ) -> CostBlocks:
        """The blocks of some slices.

        Args:
            scenario: of the slices.
            world: the same, compiled.
            run: of whoever played them.
            most: blocks at most; with 1 it is all the same whose tasks they are.
        """
        slices = run.slices
        if most == 1:
            return cls(world, False, (len(slices), 1), np.arange(len(slices)))
        units = units_of(scenario, world, len(slices), run.outcomes)
        count = min(units.count, most)
        block = units.of_row * count // units.count
        row = np.repeat(np.arange(len(slices)), world.own_sizes[slices])
        row = row if units.by_task else np.arange(len(slices))
        return cls(world, units.by_task, (len(slices), count), row * count + block)

    def sums(self, rows: Floats) -> Floats:
        """Sums of numbers of rows, [slices, blocks]."""
        slices, blocks = self.shape
        sums = np.bincount(self.at, rows, slices * blocks).astype(np.float64)
        return sums.reshape(self.shape)

    def costs(self, run: Run) -> Floats:
        """What a policy costs on the slices, [slices, blocks]."""
        of_tasks = self.world.task_costs(run.outcomes) if self.by_task else run.costs
        assert of_tasks is not None, "rows are tasks only where tasks have costs"
        return self.sums(of_tasks.sum(axis=1))
