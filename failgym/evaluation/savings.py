"""What a policy saves over replay in hours, and how much of it rests on drawn attempts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from failgym import metrics
from failgym.evaluation.figure import Figure
from failgym.vocabulary import HOUR

if TYPE_CHECKING:
    from failgym.evaluation.anchors import Anchors
    from failgym.evaluation.runner import Run

__all__ = ["charged_work", "completion_hours_saved", "drawn_share", "hours_saved"]

Bools = npt.NDArray[np.bool_]
Outcomes = Mapping[str, npt.NDArray[Any]]


def charged_work(runs: Sequence[Run]) -> tuple[int, int]:
    """Wasted work, and checkpoints and restores, of all tasks that are charged for [machine-ms]."""
    outcomes = [run.outcomes for run in runs]
    wasted, overhead = np.sum([run.work_of_others.sum(axis=0) for run in runs], axis=0).tolist()
    return (
        wasted + sum(map(metrics.wasted_work, outcomes)),
        overhead + sum(map(metrics.checkpoint_work, outcomes)),
    )


def hours_saved(anchors: Sequence[Anchors], runs: Sequence[Run]) -> float:
    """Machine-time wasted, or spent on checkpoints and restores: replay less policy [machine-h]."""
    before, after = charged_work([each.replay for each in anchors]), charged_work(runs)
    return (sum(before) - sum(after)) / HOUR


def completion_hours_saved(anchors: Sequence[Anchors], runs: Sequence[Run]) -> float:
    """Completion time of all that is charged for, replay less policy [h].

    It is that of tasks or, where ``completion="jobs"``, of jobs within their slice, up to the last
    of their tasks. It is counted where it has no price, too.
    """
    pairs = zip(anchors, runs, strict=True)
    return sum(_ends(each, each.replay) - _ends(each, run) for each, run in pairs) / HOUR


def drawn_share(anchors: Sequence[Anchors], runs: Sequence[Run]) -> Figure:
    """Share of what a policy saves and loses that lies where an attempt was beyond the record.

    Sum of |replay - policy| over tasks of which the policy met an attempt that is not recorded but
    drawn (or, where the record is not continued, a copy), over the sum of all tasks. Where tasks
    share machines it is summed over slices, in which it, or replay, met one in any task: then what
    is saved in one task may rest on what was drawn for another.
    """
    all_saved = rests = 0.0
    for each, run in zip(anchors, runs, strict=True):
        met = _met(each, run)
        if met is None:
            return Figure(math.nan, "the world does not tell which attempts are recorded")
        saved = np.abs(each.evidence.replay - each.evidence.costs(run))
        all_saved, rests = all_saved + float(saved.sum()), rests + float(saved[met].sum())
    if all_saved <= 0.0:
        return Figure(math.nan, "nothing is saved and nothing lost")
    return Figure(rests / all_saved)


def _met(anchors: Anchors, run: Run) -> Bools | None:
    """[rows] on which rows of the evidence an attempt was beyond the record."""
    if anchors.evidence.by_task:
        return run.drawn
    before = anchors.replay.drawn_in
    return None if run.drawn_in is None or before is None else run.drawn_in | before


def _ends(anchors: Anchors, run: Run) -> int:
    """Sum of the ends of what is charged for; of others, of their completion times [ms]."""
    outcomes, rules = run.outcomes, anchors.scenario
    end = np.maximum(outcomes["end"], outcomes["submit"])
    if rules.completion == "jobs":
        sizes = anchors.world.own_sizes[run.slices]
        pairs = np.stack([np.repeat(np.arange(len(sizes)), sizes), anchors.job], axis=1)
        _, which = np.unique(pairs, axis=0, return_inverse=True)
        last = np.zeros(int(which.max(initial=-1)) + 1, dtype=np.int64)
        np.maximum.at(last, which.ravel(), end)
        end = last
    return int(end.sum()) + int(run.time_of_others.sum())
