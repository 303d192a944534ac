"""Several heuristics at once, for scenarios in which several kinds of action are open."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.algorithm_1 import Algorithm1
from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView
from failgym.baselines.grace_period import GracePeriod
from failgym.baselines.late import Late
from failgym.baselines.ml_periodic import MLPeriodic
from failgym.baselines.optimal_stopping import OptimalStopping
from failgym.baselines.retry_cap import RetryCap
from failgym.baselines.search import tuned
from failgym.vocabulary import Action

__all__ = ["AllMeasures", "CloneAndSave", "Combined", "KillOrClone", "StopOrCopy"]


@dataclass(frozen=True)
class Combined(Heuristic):
    """The answer of the first of its parts that wants anything legal but CONTINUE.

    A decision is asked again after an action as long as another one is legal, so the wishes of
    several parts are fulfilled one after the other. A task that is armed is written off: nothing
    more is spent on it.
    """

    def __post_init__(self) -> None:
        """Raise ValueError if a parameter is none that its part takes."""
        assert self.parts

    @property
    @abstractmethod
    def parts(self) -> tuple[Heuristic, ...]:
        """The heuristics, in order of precedence."""

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return the first legal action that one of the rules takes; CONTINUE if there is none."""
        row = np.arange(len(view))
        answer = np.full(len(view), int(Action.CONTINUE), dtype=np.int64)
        for part in reversed(self.parts):
            wish = part.act(view, mask)
            counts = (wish != Action.CONTINUE) & mask[row, wish] & ~view.is_on("armed")
            answer = np.where(counts, wish, answer)
        return answer


@dataclass(frozen=True)
class CloneAndSave(Combined):
    """`retry_cap`, `algorithm_1` and `ml_periodic` together.

    The first two are of El-Sayed et al. 2017, the third of Kumar et al. 2020. At a failure the cap
    decides; at a window Algorithm 1 may clone the attempt, and it is saved when its interval is
    over or failure is predicted.
    """

    name: ClassVar[str] = "clone_and_save"
    needs: ClassVar[frozenset[str]] = RetryCap.needs | Algorithm1.needs | MLPeriodic.needs

    retries: int = tuned(2, 0, 10)
    """as in `RetryCap`"""
    clone_threshold: float = tuned(0.9, 0.05, 1.0)
    """the threshold of `Algorithm1`"""
    save_threshold: float = tuned(0.75, 0.01, 1.0)
    """the threshold of `MLPeriodic`"""
    factor: float = tuned(1.0, 0.25, 8.0, log=True)
    """as in `MLPeriodic`"""

    @property
    def parts(self) -> tuple[Heuristic, ...]:
        """The heuristics, by default with the parameters of their sources."""
        cloning = Algorithm1(self.clone_threshold)
        return RetryCap(self.retries), cloning, MLPeriodic(self.save_threshold, self.factor)


@dataclass(frozen=True)
class KillOrClone(Combined):
    """`grace_period` for tasks that are predicted not to finish, `algorithm_1` for the others.

    The first is of Rosà et al. 2015, the second of El-Sayed et al. 2017.
    """

    name: ClassVar[str] = "kill_or_clone"
    needs: ClassVar[frozenset[str]] = GracePeriod.needs | Algorithm1.needs

    finish_weight: float = tuned(1.0, 0.1, 10.0, log=True)
    """as in `GracePeriod`"""
    clone_threshold: float = tuned(0.9, 0.05, 1.0)
    """the threshold of `Algorithm1`"""

    @property
    def parts(self) -> tuple[Heuristic, ...]:
        """The heuristics, by default with the parameters of their sources."""
        return GracePeriod(self.finish_weight), Algorithm1(self.clone_threshold)


@dataclass(frozen=True)
class AllMeasures(CloneAndSave):
    """`grace_period` for tasks that are predicted not to finish, `clone_and_save` for the others.

    Every action of WINDOW and FAILED at once.
    """

    name: ClassVar[str] = "all_measures"
    needs: ClassVar[frozenset[str]] = GracePeriod.needs | CloneAndSave.needs

    finish_weight: float = tuned(1.0, 0.1, 10.0, log=True)
    """as in `GracePeriod`"""

    @property
    def parts(self) -> tuple[Heuristic, ...]:
        """The heuristics, by default with the parameters of their sources."""
        return GracePeriod(self.finish_weight), *super().parts


@dataclass(frozen=True)
class StopOrCopy(Combined):
    """`optimal_stopping` for hopeless tasks, `retry_cap` at failures, `late` for stragglers.

    What helps in a loaded cluster, and nothing else. The second is of El-Sayed et al. 2017, the
    third of Zaharia et al. 2008.

    Every kill is a small gain at the risk of a large loss, so that stopping is far more cautious
    here than by itself. The weight was chosen on the train split of Mitigation-v0, an environment
    of other rules.
    """

    name: ClassVar[str] = "stop_or_copy"
    needs: ClassVar[frozenset[str]] = OptimalStopping.needs | RetryCap.needs | Late.needs

    weight: float = tuned(128.0, 1.0, 512.0, log=True)
    """as in `OptimalStopping`"""
    retries: int = tuned(2, 0, 10)
    """as in `RetryCap`"""
    slow_task: float = tuned(0.25, 0.01, 1.0)
    """as in `Late`"""

    @property
    def parts(self) -> tuple[Heuristic, ...]:
        """The heuristics, with the parameters of their sources but for the weight."""
        stopping = OptimalStopping(weight=self.weight)
        return stopping, RetryCap(self.retries), Late(slow_task=self.slow_task)
