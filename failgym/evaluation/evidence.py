"""What replay and the bound cost on slices, task by task where that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym import metrics
from failgym.envs.spaces import TERMS
from failgym.evaluation.ledger import Run
from failgym.evaluation.room import spent_by
from failgym.evaluation.scoring import Score, score
from failgym.evaluation.statistics.sampling_units import (
    SamplingUnits,
    TracesUnits,
    of_jobs,
    of_slices,
)
from failgym.worlds.build import split_of
from failgym.worlds.scenario import Scenario
from failgym.worlds.settings.source import jobs_apart
from failgym.worlds.world import LeastCosts, World

__all__ = ["Evidence", "score_of", "units_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_COMPLETION = TERMS.index("completion")


@dataclass(frozen=True)
class Evidence:
    """Costs on the rows of a table: tasks where each has a cost of its own, else slices."""

    world: World
    by_task: bool
    """are rows tasks?"""
    units: SamplingUnits
    """what is resampled"""
    replay: Floats
    """[rows] cost of replay"""
    possible: Floats
    """[rows] what the bound saves over replay"""
    spent: Floats
    """[rows] what replay spends (`failgym.evaluation.room`)"""

    @classmethod
    def of(cls, scenario: Scenario, world: World, replay: Run, least: LeastCosts) -> Evidence:
        """The rows of some slices.

        Args:
            scenario: of the slices.
            world: the same, compiled.
            replay: of the slices.
            least: the least possible costs of the slices.
        """
        units = units_of(scenario, world, len(replay.costs), replay.outcomes)
        costs = world.task_costs(replay.outcomes)
        if costs is None or least.of_tasks is None:
            whole = replay.costs.sum(axis=1)
            possible = whole - least.costs.sum(axis=1)
            return cls(world, False, units, whole, possible, spent_by(world, replay))
        whole, price = costs.sum(axis=1), world.work_price
        work = metrics.task_work(replay.outcomes).astype(np.float64)
        spent = work * price if price > 0.0 else costs[:, _COMPLETION]
        return cls(world, True, units, whole, whole - least.of_tasks.sum(axis=1), spent)

    def costs(self, run: Run) -> Floats:
        """What a policy costs on each row, on the slices that replay was run on."""
        costs = self.world.task_costs(run.outcomes) if self.by_task else run.costs
        assert costs is not None, "rows are tasks only where tasks have costs"
        return costs.sum(axis=1)

    def only(self, rows: Ints) -> Evidence:
        """Some of the rows."""
        of_row, member = (
            np.unique(numbers[rows], return_inverse=True)[1].astype(np.int64)
            for numbers in (self.units.of_row, self.units.member)
        )
        return replace(
            self,
            units=replace(self.units, of_row=of_row, member=member),
            replay=self.replay[rows],
            possible=self.possible[rows],
            spent=self.spent[rows],
        )


def units_of(
    scenario: Scenario, world: World, slices: int, outcomes: Mapping[str, npt.NDArray[Any]]
) -> SamplingUnits:
    """What is resampled of some slices: jobs where each task has a cost of its own, else slices.

    Args:
        scenario: of the slices.
        world: the same, compiled.
        slices: how many they are, in order.
        outcomes: of their tasks.
    """
    apart = jobs_apart(scenario.trace)
    if world.task_costs(dict(outcomes)) is None:
        return of_slices(slices, apart=apart and scenario.slice_jobs > 0)
    task = outcomes["task"]
    job = split_of(scenario, scenario.split).column("tasks", "job")[task]
    return of_jobs(job, outcomes["submit"], apart=apart)


def score_of(
    evidence: Sequence[Evidence],
    costs: Sequence[Floats],
    seed: int = 0,
    *,
    given: Sequence[Floats] | None = None,
    **options: Any,
) -> Score:
    """Score of a policy over all traces together, its interval that of traces and their units.

    Args:
        evidence: of each trace.
        costs: [traces][rows] what the policy costs.
        seed: of the bootstrap.
        given: [traces][rows] what another policy costs, that 0 stands for instead of replay: the
            score is how many points the policy is above it.
        options: those of `failgym.evaluation.score`.
    """
    base = [each.replay for each in evidence] if given is None else given
    units = TracesUnits.joined([each.units for each in evidence])

    def summed(values: Sequence[Floats]) -> Floats:
        return units.sums(np.concatenate(values))

    zero = summed(base)
    possible = summed([each.possible for each in evidence])
    spent = summed([each.spent for each in evidence])
    bound = zero - possible
    return score(zero, summed(costs), bound, seed, spent=spent, traces=units.trace, **options)
