"""What a search maximises: the gain that is sure, not the score that happened to be highest.

A few heavy slices decide a score, so the best of many scores is mostly the luckiest one, and does
worse than the given parameters on slices that it was not chosen on. Here a variant is compared with
the given parameters slice by slice, and stands for the lower end of the bootstrap interval of the
difference. What a search finds so has still been chosen among many: it is adopted only if it is
better on later slices too, that no trial has seen.

The rule was chosen on the training splits of Cloning-v0, GracePeriod-v0 and Checkpoint-v0
(`experiments.tuning_objectives`): the highest score, its own lower bound, winsorised gains and
medians of folds lost more than half a point elsewhere three times as often, or more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from failgym.baselines import Heuristic
from failgym.evaluation import Anchors, Score, run_policy, score
from failgym.worlds.build import build_world

__all__ = ["ADOPTED", "SURE", "Comparison", "Floats", "Rows", "gain"]

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


def gain(
    given: Floats,
    tried: Floats,
    possible: Floats,
    confidence: float = SURE,
    seed: int = 0,
    *,
    spent: Floats | None = None,
) -> Score:
    """How many points of score a variant is above the given parameters, with its interval.

    The interval says where the gain lies if there is something to gain on the slices.

    Args:
        given: [slices] cost at the given parameters.
        tried: [slices] cost of the variant on the same slices.
        possible: [slices] what the bound saves over replay.
        confidence: of the interval [%].
        seed: of the bootstrap.
        spent: [slices] what replay spends, as in `failgym.evaluation.score`.
    """
    return score(
        given, tried, given - possible, seed, spent=spent, confidence=confidence, if_room=True
    )


class Comparison:
    """Variants of a heuristic beside the given one, on the same slices."""

    def __init__(self, given: Heuristic, anchors: Anchors) -> None:
        self.anchors = anchors
        self.replay: Floats = anchors.replay.costs.sum(axis=1)
        """[slices] cost of replay"""
        self.possible: Floats = anchors.possible
        """[slices] what the bound saves over replay"""
        self._apart = _Apart(anchors) if anchors.scenario.kind.independent else None
        self.given: Floats = self.costs(given, self.all)
        """[slices] cost at the given parameters"""

    @property
    def all(self) -> Rows:
        """Every slice."""
        return np.arange(len(self.replay))

    def costs(self, policy: Heuristic, rows: Rows) -> Floats:
        """What a variant costs on some of the slices [rows]."""
        a = self.anchors
        chosen = a.replay.slices[rows]
        if self._apart is not None:
            return self._apart.costs(policy, chosen)
        run = run_policy(a.world, a.scenario, policy, chosen, order=a.scenario.order)
        return run.costs.sum(axis=1)

    def gain(self, tried: Floats, rows: Rows, confidence: float = SURE) -> Score:
        """The gain of a variant that costs so much on these slices."""
        given, possible = self.given[rows], self.possible[rows]
        seed, spent = self.anchors.seed, self.anchors.spent[rows]
        return gain(given, tried, possible, confidence, seed, spent=spent)

    def score(self, costs: Floats) -> Score:
        """The score of a variant that costs so much on all slices."""
        a = self.anchors
        return score(self.replay, costs, self.replay - self.possible, a.seed, spent=a.spent)


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
        """What a heuristic costs on slices of the anchors [slices]."""
        first = self.first[slices]
        count = self.first[slices + 1] - first
        of = np.repeat(np.arange(len(slices)), count)
        task = np.arange(len(of)) + (first - (np.cumsum(count) - count))[of]
        order = np.argsort(-self.length[task], kind="stable")
        run = run_policy(self.world, self.rules, policy, task[order], lanes=LANES)
        costs = np.zeros(len(slices))
        np.add.at(costs, of[order], run.costs.sum(axis=1))
        return costs
