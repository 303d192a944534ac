"""Five folds by time, as the one record that they are of: a rolling origin.

The later half of the jobs of a record are five folds (`failgym.envs.Scenario.fold`; Tashman,
"Out-of-sample tests of forecasting accuracy: an analysis and review", International Journal of
Forecasting 2000). Prices follow the past of a fold, and differ between folds: joined, costs are in
machine-hours. Blocks of jobs are resampled, none of which lies in two folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from failgym.evaluation.anchors import Anchors
from failgym.evaluation.evidence import Evidence
from failgym.evaluation.ledger import Run
from failgym.evaluation.statistics.sampling_units import TracesUnits

__all__ = ["Folds"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Folds:
    """What replay and the bound cost on some folds."""

    places: Sequence[Anchors]
    """of each fold, in order"""

    @cached_property
    def evidence(self) -> Evidence:
        """The rows of all folds, fold after fold, as those of one record, in machine-hours."""
        evidence = [place.evidence for place in self.places]
        units = [each.units for each in evidence]
        of_row = TracesUnits.joined(units).of_row
        member = TracesUnits.joined([replace(each, of_row=each.member) for each in units]).of_row
        largest = max(each.members for each in units)
        return replace(
            evidence[0],
            units=replace(units[0], of_row=of_row, member=member, members=largest),
            replay=self._joined([each.replay for each in evidence]),
            possible=self._joined([each.possible for each in evidence]),
            spent=self._joined([each.spent for each in evidence]),
        )

    def costs(self, runs: Sequence[Run]) -> Floats:
        """What a policy costs on these rows [rows: machine-h].

        Args:
            runs: on the slices of each fold.
        """
        pairs = zip(self.places, runs, strict=True)
        return self._joined([place.evidence.costs(run) for place, run in pairs])

    def acts(self, runs: Sequence[Run]) -> bool:
        """Did a policy ever change what happens?"""
        pairs = zip(self.places, runs, strict=True)
        return any(not (run.costs == place.replay.costs).all() for place, run in pairs)

    def _joined(self, costs: Sequence[Floats]) -> Floats:
        pairs = zip(costs, self.places, strict=True)
        return np.concatenate([of / place.machine_hour for of, place in pairs])
