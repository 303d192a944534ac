"""What a policy saves over replay in hours, and how much of it rests on drawn attempts.

Everything is known slice by slice; of all slices it is the sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from failgym import metrics
from failgym.evaluation.figure import Figure
from failgym.vocabulary import HOUR

if TYPE_CHECKING:
    from failgym.evaluation.anchors import Anchors
    from failgym.evaluation.ledger import Run
    from failgym.worlds.world import World

__all__ = [
    "Replayed",
    "by_slice",
    "charged_work",
    "completion_hours_saved",
    "completion_time",
    "drawn_share",
    "hours_saved",
    "moved",
    "share_of_moved",
]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Outcomes = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Replayed:
    """What replay did on some slices, as far as policies are held against it row by row."""

    by_task: bool
    """are rows tasks? Else they are slices (`failgym.evaluation.evidence`)"""
    costs: Floats
    """[rows] what replay costs"""
    drawn_in: Bools | None
    """[slices] did any task meet an attempt beyond the record? None if the world does not tell"""
    job: Ints | None
    """[tasks] the job of each, where completion times are those of jobs; else None"""

    def only(self, chosen: Ints, sizes: Ints) -> Replayed:
        """Some of the slices.

        Args:
            chosen: positions of slices, ascending.
            sizes: [slices] how many tasks each has.
        """
        kept = np.isin(np.repeat(np.arange(len(sizes)), sizes), chosen)
        return Replayed(
            self.by_task,
            self.costs[kept if self.by_task else chosen],
            None if self.drawn_in is None else self.drawn_in[chosen],
            None if self.job is None else self.job[kept],
        )


def by_slice(world: World, slices: Ints, of_tasks: npt.NDArray[Any]) -> Floats:
    """Sums over the tasks of each slice; exact, as long as they are whole and below 2^53.

    Args:
        world: of the slices.
        slices: [slices] which.
        of_tasks: [tasks] a number for each task, slice after slice.
    """
    sizes = world.own_sizes[slices]
    of = np.repeat(np.arange(len(sizes)), sizes)
    return np.bincount(of, of_tasks, len(sizes)).astype(np.float64)


def charged_work(world: World, run: Run) -> Floats:
    """Wasted work, and checkpoints and restores, of tasks charged for [slices, 2: machine-ms]."""
    known = metrics.known(run.outcomes)
    own = [
        by_slice(world, run.slices, metrics.task_work(run.outcomes, accounts) * known)
        for accounts in (metrics.WASTED, metrics.OVERHEAD)
    ]
    return np.stack(own, axis=1) + run.work_of_others


def completion_time(world: World, run: Run, job: Ints | None) -> Floats:
    """When what is charged for ends, summed [slices: ms]; of others, how long it takes.

    Args:
        world: of the slices.
        run: on them.
        job: [tasks] the job of each, where it is of jobs within their slice, up to the last of
            their tasks; None where it is of tasks.
    """
    end = np.maximum(run.outcomes["end"], run.outcomes["submit"])
    if job is None:
        return by_slice(world, run.slices, end) + run.time_of_others
    sizes = world.own_sizes[run.slices]
    pairs = np.stack([np.repeat(np.arange(len(sizes)), sizes), job], axis=1)
    distinct, which = np.unique(pairs, axis=0, return_inverse=True)
    last = np.zeros(len(distinct), dtype=np.int64)
    np.maximum.at(last, which.ravel(), end)
    ends = np.bincount(distinct[:, 0], last, len(sizes))
    return ends.astype(np.float64) + run.time_of_others


def moved(world: World, replayed: Replayed, run: Run) -> Floats:
    """What a policy saves and loses, and how much of it rests on attempts beyond the record.

    Sum of |replay - policy| over tasks; and over those of which the policy met an attempt that is
    not recorded but drawn (or, where the record is not continued, a copy). Where tasks share
    machines it is of slices, in which the policy, or replay, met one in any task: then what is
    saved in one task may rest on what was drawn for another.

    Returns:
        [slices, 2: units of cost]; the second is NaN if the world does not tell.
    """
    costs = world.task_costs(run.outcomes) if replayed.by_task else run.costs
    assert costs is not None, "rows are tasks only where tasks have costs"
    apart, met = np.abs(replayed.costs - costs.sum(axis=1)), _met(replayed, run)
    rests = np.full(len(apart), np.nan) if met is None else np.where(met, apart, 0.0)
    both = apart, rests
    if replayed.by_task:
        both = tuple(by_slice(world, run.slices, each) for each in both)
    return np.stack(both, axis=1)


def _met(replayed: Replayed, run: Run) -> Bools | None:
    """[rows] on which rows an attempt was beyond the record."""
    if replayed.by_task:
        return run.drawn
    if run.drawn_in is None or replayed.drawn_in is None:
        return None
    return run.drawn_in | replayed.drawn_in


def hours_saved(anchors: Sequence[Anchors], runs: Sequence[Run]) -> float:
    """Machine-time wasted, or spent on checkpoints and restores: replay less policy [machine-h]."""
    pairs = zip(anchors, runs, strict=True)
    saved = (charged_work(a.world, a.replay) - charged_work(a.world, run) for a, run in pairs)
    return _total(saved) / HOUR


def completion_hours_saved(anchors: Sequence[Anchors], runs: Sequence[Run]) -> float:
    """Completion time of all that is charged for, replay less policy [h].

    It is that of tasks or, where ``completion="jobs"``, of jobs within their slice, up to the last
    of their tasks. It is counted where it has no price, too.
    """

    def ends(each: Anchors, run: Run) -> Floats:
        return completion_time(each.world, run, each.replayed.job)

    pairs = zip(anchors, runs, strict=True)
    return _total(ends(each, each.replay) - ends(each, run) for each, run in pairs) / HOUR


def drawn_share(anchors: Sequence[Anchors], runs: Sequence[Run]) -> Figure:
    """Share of what a policy saves and loses that rests on attempts beyond the record (`moved`)."""
    pairs = zip(anchors, runs, strict=True)
    found = [moved(each.world, each.replayed, run) for each, run in pairs]
    return share_of_moved(*np.concatenate(found).sum(axis=0).tolist())


def share_of_moved(apart: float, rests: float) -> Figure:
    """The share that the second of the sums of `moved` is of the first."""
    if math.isnan(rests):
        return Figure(math.nan, "the world does not tell which attempts are recorded")
    if apart <= 0.0:
        return Figure(math.nan, "nothing is saved and nothing lost")
    return Figure(rests / apart)


def _total(parts: Iterable[Floats]) -> float:
    return float(sum(part.sum() for part in parts))
