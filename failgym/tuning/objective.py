"""What a search maximises: the gain that is sure, not the score that happened to be highest.

A few heavy slices decide a score, so the best of many scores is mostly the luckiest one, and does
worse than the given parameters on slices that it was not chosen on. Here a variant is compared with
the given parameters job by job, and stands for the lower end of the bootstrap interval of the
difference. What a search finds so has still been chosen among many: it is adopted only if it is
better on later slices too, that no trial has seen.

The rule was chosen on the training splits of the pinned environments of version 0
(`experiments.tuning_objectives`): the highest score, its own lower bound, winsorised gains and
medians of folds lost more than half a point elsewhere three times as often, or more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from failgym.baselines import Heuristic
from failgym.evaluation import Anchors, Score, run_policy
from failgym.evaluation.evidence import score_of
from failgym.ranges import joined_ranges
from failgym.worlds.build import build_world

__all__ = ["ADOPTED", "SURE", "Comparison", "Floats", "Rows"]

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

SURE = 95.0
"""Confidence of the interval whose lower end a search maximises [%]."""
ADOPTED = 60.0
"""Confidence of the interval on the validation split whose lower end must be above zero [%]: four
in five that what was found is better than what was given."""


LANES = 128
"""Tasks that are served together: enough to hide the cost of a call in Python, few enough for a
long task not to leave many lanes idle."""


class Comparison:
    """Variants of a heuristic beside the given one, on the same slices.

    What is compared are the rows of the anchors' evidence: tasks where each has a cost of its own,
    else slices.
    """

    def __init__(self, given: Heuristic, anchors: Anchors) -> None:
        self.anchors = anchors
        self.evidence = anchors.evidence
        self._apart = _Apart(anchors) if self.evidence.by_task else None
        self.given: Floats = self.costs(given, self.all)
        """[rows] cost at the given parameters"""

    @property
    def all(self) -> Rows:
        """Every slice."""
        return np.arange(len(self.anchors.replay.slices))

    def rows(self, slices: Rows) -> Rows:
        """The rows of the evidence that some of the slices are made of."""
        if self._apart is None:
            return slices
        sizes = self.anchors.world.own_sizes[self.anchors.replay.slices]
        return joined_ranges(np.cumsum(sizes)[slices] - sizes[slices], sizes[slices])

    def costs(self, policy: Heuristic, slices: Rows) -> Floats:
        """What a variant costs on each row of some of the slices [rows]."""
        a = self.anchors
        chosen = a.replay.slices[slices]
        if self._apart is not None:
            return self._apart.costs(policy, chosen)
        run = run_policy(a.world, a.scenario, policy, chosen, order=a.scenario.order)
        return run.costs.sum(axis=1)

    def gain(self, tried: Floats, slices: Rows, confidence: float = SURE) -> Score:
        """How many points of score a variant is above the given parameters, with its interval.

        The interval says where the gain lies if there is something to gain on the slices.

        Args:
            tried: [rows] what the variant costs on the rows of the slices.
            slices: some of them.
            confidence: of the interval [%].
        """
        rows = self.rows(slices)
        return score_of(
            [self.evidence.only(rows)],
            [tried],
            self.anchors.seed,
            given=[self.given[rows]],
            confidence=confidence,
            if_room=True,
        )

    def score(self, costs: Floats) -> Score:
        """The score of a variant that costs so much on the rows of all slices."""
        return score_of([self.evidence], [costs], self.anchors.seed)


class _Apart:
    """The tasks of a world, each an episode of its own.

    They are independent of each other, so that slices cost the same; but no task waits until others
    of its slice are over, and the longest begin first.
    """

    def __init__(self, anchors: Anchors) -> None:
        self.first: Rows = np.concatenate([[0], np.cumsum(anchors.world.own_sizes)])
        self.rules = replace(anchors.scenario, slice_tasks=1, order="task")
        self.world = build_world(self.rules)
        tasks = self.world.tasks[self.world.own_tasks]
        self.length: Rows = tasks["record_end"] - tasks["submit"]

    def costs(self, policy: Heuristic, slices: Rows) -> Floats:
        """What a heuristic costs on each task of some slices of the world [tasks]."""
        first = self.first[slices]
        task = joined_ranges(first, self.first[slices + 1] - first)
        order = np.argsort(-self.length[task], kind="stable")
        run = run_policy(self.world, self.rules, policy, task[order], lanes=LANES)
        costs = np.empty(len(task))
        costs[order] = run.costs.sum(axis=1)
        return costs
