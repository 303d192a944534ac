"""Trials of one heuristic: what is tried next, on which slices, and when it is given up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from failgym import __version__
from failgym.baselines import Heuristic
from failgym.baselines.search import Choice, Range
from failgym.tuning.objective import SURE, Comparison
from failgym.tuning.storage import file_study

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.pruners import MedianPruner
    from optuna.trial import FrozenTrial, Trial

    from failgym.tuning.sampler import Numbered

__all__ = ["LOST", "PLACE", "Search", "done", "not_lost", "place_of", "pruner"]

LOST = "lost "
"""Noted of a study, before the number of a trial that was given up."""
PLACE = "place"
"""Noted of a trial: its place in the search, if it is not its number."""

DIGITS = 4
"""Significant digits of real parameters: more would say nothing, and read badly."""
FIRST_SHARE = 3
"""One slice in so many is tried first: what is worse there than the median of the trials before is
not tried on the others."""
UNPRUNED = 5
"""Trials that are made whole before any is given up."""


class Search:
    """One heuristic on fixed slices."""

    def __init__(
        self,
        policy: Heuristic,
        comparison: Comparison,
        ranges: dict[str, Range | Choice],
        seed: int,
    ) -> None:
        self.policy, self.comparison, self.seed = policy, comparison, seed
        self.distributions = {name: _distribution(r) for name, r in ranges.items()}
        first = comparison.all % FIRST_SHARE == 0
        parts = comparison.all[first], comparison.all[~first]
        self.rungs = [part for part in parts if len(part)]
        self.kept: Study | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What tells this search from others, of which a file must not hold the trials."""
        anchors = self.comparison.anchors
        return {
            "failgym": __version__,
            "objective": f"lower end of the {SURE:g} % interval of the gain",
            "scenario": repr(anchors.scenario),
            "policy": repr(self.policy),
            "tuned": sorted(self.distributions),
            "seed": self.seed,
            "slices": len(self.comparison.all),
            "replay": float(anchors.replay.costs.sum()),  # what a changed trace would change
        }

    def opened(self, storage: str | Path | None) -> Study:
        """A study in memory with the trials that the file keeps. Raises ValueError."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(
            direction="maximize",
            pruner=pruner(),
        )
        if storage is not None:
            self.kept = file_study(Path(storage), self.identity)
            study.add_trials(self.kept.trials)
        study.sampler = self.sampler
        return study

    @property
    def sampler(self) -> Numbered:
        """Says what is tried next."""
        from failgym.tuning.sampler import Numbered

        return Numbered({n: getattr(self.policy, n) for n in self.distributions}, self.seed)

    def step(self, study: Study) -> None:
        """Try one more set of parameters, and keep what came out."""
        trial = study.ask(self.distributions)
        self.play(study, trial)
        if self.kept is not None:
            self.kept.add_trial(study.trials[trial.number])

    def play(self, study: Study, trial: Trial) -> None:
        """Find out what a trial is worth, and tell the study."""
        import optuna

        wanted = self.variant(trial.params)
        same = next((t for t in done(study) if self.variant(t.params) == wanted), None)
        value = _repeated(trial, same) if same is not None else self._tried(trial, wanted)
        if value is None:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED, skip_if_finished=True)
        else:
            study.tell(trial, value, skip_if_finished=True)

    def _tried(self, trial: Trial, wanted: Heuristic) -> float | None:
        """What a variant surely gains; None if it was given up before all slices were run."""
        rows, costs, sure = np.zeros(0, dtype=np.int64), np.zeros(0), math.nan
        for rung, more in enumerate(self.rungs):
            rows = np.append(rows, more)
            costs = np.append(costs, self.comparison.costs(wanted, more))
            sure = self.comparison.gain(costs, rows).low
            if not math.isnan(sure):  # where nothing can be saved, nothing is told
                trial.report(sure, rung)
            if rung + 1 < len(self.rungs) and trial.should_prune():
                return None
        return sure

    def variant(self, values: dict[str, Any]) -> Heuristic:
        """The heuristic with these parameters, rounded."""
        return replace(self.policy, **{name: _rounded(v) for name, v in values.items()})

    def best(self, trials: Sequence[FrozenTrial]) -> Heuristic:
        """The best variant of trials that are over; the first of equal ones.

        The given one, if nothing can be told of any.
        """
        whole = [trial for trial in trials if trial.value is not None]
        if not whole:
            return self.policy
        chosen = max(whole, key=lambda trial: (trial.value or 0.0, -place_of(trial)))
        return self.variant(chosen.params)


def done(study: Study) -> list[FrozenTrial]:
    """Trials that are over, and not lost with their process."""
    return [trial for trial in not_lost(study) if trial.state.is_finished()]


def not_lost(study: Study) -> list[FrozenTrial]:
    """Trials but for those that were given up, for a reason that lies not in their parameters."""
    trials, said = study.get_trials(deepcopy=False), study.user_attrs
    return [t for t in trials if t.state.name != "FAIL" or f"{LOST}{t.number}" not in said]


def place_of(trial: Trial | FrozenTrial) -> int:
    """The place of a trial in its search, from 0."""
    return int(trial.user_attrs.get(PLACE, trial.number))


def pruner() -> MedianPruner:
    """Says which trials are given up before all slices were run."""
    import optuna

    return optuna.pruners.MedianPruner(n_startup_trials=UNPRUNED)


def _repeated(trial: Trial, same: FrozenTrial) -> float | None:
    """What came out of a trial of the same parameters."""
    for rung, value in same.intermediate_values.items():
        trial.report(value, rung)
    return same.value if same.state.name == "COMPLETE" else None


def _distribution(wanted: Range | Choice) -> BaseDistribution:
    from optuna import distributions as d

    if not isinstance(wanted, Range):
        return d.CategoricalDistribution(wanted.values)
    if isinstance(wanted.low, int) and isinstance(wanted.high, int):
        return d.IntDistribution(wanted.low, wanted.high, log=wanted.log)
    return d.FloatDistribution(wanted.low, wanted.high, log=wanted.log)


def _rounded(value: Any) -> Any:
    """A real number to `DIGITS` significant digits; anything else as it is."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
