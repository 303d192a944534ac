"""What is tried next: the given parameters first, then those of a tree-structured Parzen estimator.

The estimator draws with a seed that follows from the place of the trial in the search: a search
that goes on, in this process or another one, draws what it would have drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.samplers import BaseSampler, TPESampler

from failgym.tuning.search import place_of

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial, TrialState

__all__ = ["Numbered"]


class Numbered(BaseSampler):
    """Draws each trial by its place; one trial at a time."""

    def __init__(self, given: Mapping[str, Any], seed: int) -> None:
        self._given, self._seed = dict(given), seed
        self._drawn = TPESampler(seed=seed)
        self._first = True

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Be ready for a trial."""
        place = place_of(trial)
        self._first = place == 0
        key = np.random.SeedSequence([self._seed, place]).generate_state(1)[0]
        self._drawn = TPESampler(seed=int(key))
        self._drawn.before_trial(study, trial)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """The parameters that are drawn together."""
        return {} if self._first else self._drawn.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Draw these."""
        return {} if self._first else self._drawn.sample_relative(study, trial, search_space)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Draw one by itself."""
        if self._first:
            return self._given[param_name]
        return self._drawn.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Learn that a trial is over."""
        self._drawn.after_trial(study, trial, state, values)
