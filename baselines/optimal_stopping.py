"""Optimal stopping: kill when going on is expected to waste more than killing loses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from failgym.baselines.base import (
    Bools,
    Choices,
    Heuristic,
    ObservationView,
    choose,
)
from failgym.baselines.grace_period import CLASSES
from failgym.baselines.search import tuned
from failgym.vocabulary import Action

__all__ = ["OptimalStopping"]

CERTAIN = 1e-3
"""Chances are kept this far from 0 and 1, as no estimate is surer than that."""


@dataclass(frozen=True)
class OptimalStopping(Heuristic):
    """Kill a task at an age from which it is expected to waste more than its kill forfeits.

    A threshold on the chance of success at each age, instead of fixed grace periods: the stopping
    problem behind the index of Gittins, "Bandit processes and dynamic allocation indices", Journal
    of the Royal Statistical Society B, 1979.

    At age a the attempt finishes with chance q, and is expected to take D in all. To go on until
    the end wastes D - a if it does not finish, (1 - q) (D - a) on average. To kill it wastes the a
    spent so far and forfeits ``weight`` times its work if it would have finished: q (a + weight D).
    With x = a / D, going on is the dearer where

        q / (1 - q) < (1 - x) / (x + weight).

    Where what is left has no memory (a constant rate of ending, a share q of which finishes), D - a
    stays and the loss grows with the age: what is worth going on with now is so later, and the
    comparison with going on to the end is the optimal rule. Run times of clusters have a heavier
    tail: many tasks finish soon, so that a little patience pays before the comparison starts.

    q combines two independent opinions by Bayes' rule, in odds: the forecast's confidence that the
    task finishes, and how the chance of its class has changed with its age from the ``prior``. x is
    the age over the expected duration. Without a forecast the class alone decides. Nothing is
    killed at its start, when nothing was learned and nothing wasted. The kill does not wait for the
    grace period: a first KILL arms the task and a second one ends it.

    What is left is taken to be as long for tasks that finish as for those that do not.
    """

    name: ClassVar[str] = "optimal_stopping"
    after: ClassVar[str] = "Gittins 1979"
    needs: ClassVar[frozenset[str]] = frozenset({"kill"})

    weight: float = tuned(8.0, 1.0, 512.0, log=True)
    """What a forfeited task costs, in its work, wasted work costing 1. `GracePeriod-v1` charges
    four times its machine-time."""
    prior: float = tuned(0.65, 0.3, 0.95)
    """Chance of finishing of which the forecast knows already: that of all attempts (Google 2011:
    .65 in jobs of several tasks)."""
    trust: float = tuned(1.0, 0.0, 2.0)
    """Exponent of the odds of the forecast: 1 for calibrated confidences, 0 to ignore them."""
    patience: float = tuned(56.0, 1.0, 300.0, log=True)
    """Age before which nothing is killed [min]: the shortest of the class grace periods of Rosà et
    al. (IWQoS 2015, section IV), within which 84 % of failing tasks end by themselves."""

    def __post_init__(self) -> None:
        if not self.weight >= 0.0:
            raise ValueError(f"weight: expected at least 0, got {self.weight}")
        if not 0.0 < self.prior < 1.0:
            raise ValueError(f"prior: expected a probability in (0, 1), got {self.prior}")
        if not self.trust >= 0.0:
            raise ValueError(f"trust: expected at least 0, got {self.trust}")
        if not self.patience >= 0.0:
            raise ValueError(f"patience: expected at least 0 min, got {self.patience}")

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return KILL, armed or not, for a task that is not worth going on with."""
        x = np.minimum(view["age_over_expected"].astype(np.float64), 1.0)
        hopeless = self._odds(view) * (x + self.weight) < 1.0 - x
        old = (x > 0.0) & (view["age"] >= np.float32(np.log2(1.0 + self.patience)))
        return choose(view.is_on("window") & old & hopeless, Action.KILL)

    def _odds(self, view: ObservationView) -> npt.NDArray[np.float64]:
        """Odds that the task finishes [batch]."""
        known = np.any([view[f"confidence_{name}"] > 0.0 for name in CLASSES], axis=0)
        forecast = (_odds(view["confidence_finish"]) / _odds(self.prior)) ** self.trust
        return _odds(view["chance_of_finish"]) * np.where(known, forecast, 1.0)


def _odds(chance: npt.NDArray[np.float32] | float) -> npt.NDArray[np.float64]:
    """Odds of a chance."""
    bounded = np.clip(np.asarray(chance, dtype=np.float64), CERTAIN, 1.0 - CERTAIN)
    return bounded / (1.0 - bounded)
