"""Several heuristics at once, for scenarios in which several kinds of action are open."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.algorithm_1 import Algorithm1
from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView
from failgym.baselines.grace_period import GracePeriod
from failgym.baselines.ml_periodic import MLPeriodic
from failgym.baselines.retry_cap import RetryCap
from failgym.sim.records import Action

__all__ = ["AllMeasures", "CloneAndSave", "Combined", "KillOrClone"]


@dataclass(frozen=True)
class Combined(Heuristic):
    """The answer of the first of its parts that wants anything legal but CONTINUE.

    A decision is asked again after an action as long as another one is legal, so the wishes of
    several parts are fulfilled one after the other. A task that is armed is written off: nothing
    more is spent on it.
    """

    @property
    @abstractmethod
    def parts(self) -> tuple[Heuristic, ...]:
        """The heuristics, in order of precedence."""

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return the first wish that is legal, CONTINUE where there is none."""
        row = np.arange(len(view))
        answer = np.full(len(view), int(Action.CONTINUE), dtype=np.int64)
        for part in reversed(self.parts):
            wish = part.act(view, mask)
            counts = (wish != Action.CONTINUE) & mask[row, wish] & ~view.is_on("armed")
            answer = np.where(counts, wish, answer)
        return answer


@dataclass(frozen=True)
class CloneAndSave(Combined):
    """Retry cap and Algorithm 1 (El-Sayed et al. 2017) with ML + periodic (Kumar et al. 2020).

    At a failure the cap decides; at a window Algorithm 1 may clone the attempt, and it is saved
    when its interval is over or failure is predicted.
    """

    name: ClassVar[str] = "clone_and_save"
    needs: ClassVar[frozenset[str]] = RetryCap.needs | Algorithm1.needs | MLPeriodic.needs

    @property
    def parts(self) -> tuple[Heuristic, ...]:
        """The heuristics, each with the parameters of its source."""
        return RetryCap(), Algorithm1(), MLPeriodic()


@dataclass(frozen=True)
class KillOrClone(Combined):
    """Grace periods (Rosà et al. 2015) for tasks predicted not to finish, Algorithm 1 (El-Sayed et
    al. 2017) for the others.
    """

    name: ClassVar[str] = "kill_or_clone"
    needs: ClassVar[frozenset[str]] = GracePeriod.needs | Algorithm1.needs

    @property
    def parts(self) -> tuple[Heuristic, ...]:
        """The heuristics, each with the parameters of its source."""
        return GracePeriod(), Algorithm1()


@dataclass(frozen=True)
class AllMeasures(Combined):
    """Grace periods for tasks predicted not to finish; retry cap, Algorithm 1 and ML + periodic for
    the others: every action of WINDOW and FAILED at once.
    """

    name: ClassVar[str] = "all_measures"
    needs: ClassVar[frozenset[str]] = GracePeriod.needs | CloneAndSave.needs

    @property
    def parts(self) -> tuple[Heuristic, ...]:
        """The heuristics, each with the parameters of its source."""
        return GracePeriod(), *CloneAndSave().parts
