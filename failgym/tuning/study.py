"""`tune`: a search for the best parameters of a heuristic, kept in a file and resumed from it."""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from failgym import __version__
from failgym.baselines import Heuristic
from failgym.baselines.search import Range, search_space
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors, Evaluation
from failgym.evaluation.arguments import check_count
from failgym.evaluation.progress import Advance, silent

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

__all__ = ["Tuned", "tune"]

DIGITS = 4
"""Significant digits of real parameters: more would say nothing, and read badly."""


@dataclass(frozen=True)
class Tuned:
    """What a search found, and on what."""

    policy: Heuristic
    """with the best parameters"""
    best: Evaluation
    """of these, on the slices that were searched on: a policy's score elsewhere is lower"""
    default: Evaluation
    """of the heuristic as it was given, on the same slices"""
    trials: int
    """sets of parameters that were tried, the given one included"""


def tune(
    policy: Heuristic,
    env: str | Scenario,
    *,
    trials: int = 50,
    episodes: int | None = None,
    seed: int = 0,
    fixed: Collection[str] = (),
    storage: str | Path | None = None,
    progress: Advance = silent,
) -> Tuned:
    """Search for the parameters of a heuristic with the best score on the training split.

    The first set of parameters is the given one, so that what is found is never worse on the
    slices of the search; the others come from the tree-structured Parzen estimator (Bergstra et
    al., NeurIPS 2011) of Optuna. Each trial draws with a seed of its own, made of ``seed`` and its
    number: a search that was interrupted goes on as if it had not been.

    Args:
        policy: what is tuned: the parameters that its class declares with
            `failgym.baselines.search.tuned` and `choice`.
        env: an environment's id or a scenario.
        trials: sets of parameters to try, those of earlier calls with this ``storage`` included.
        episodes: slices of the training split to draw; all by default.
        seed: of the draw of slices, and of the search.
        fixed: parameters that keep their value.
        storage: a file (SQLite, of Optuna's layout) that keeps the trials; none by default.
        progress: called with 1 after each trial.

    Raises:
        ValueError: if the heuristic has nothing to tune or does not fit the environment; for a
            ``storage`` that is no such file, or keeps another search; without Optuna; and as
            `Anchors.of`.
    """
    check_count("trials", trials, 1)
    if find_spec("optuna") is None:
        raise ValueError("tuning needs Optuna: pip install 'failgym[tuning]'")
    ranges = {n: r for n, r in search_space(type(policy)).items() if n not in fixed}
    if not ranges:
        raise ValueError(f"{policy.name}: no parameter to tune")
    scenario = resolve(env)
    if not policy.compatible(scenario):
        raise ValueError(f"{policy.name}: needs decisions that {scenario.name} has not")
    anchors = Anchors.of(scenario, episodes=episodes, seed=seed, split="train")
    search = _Search(policy, anchors, ranges, seed)
    study = search.opened(storage)
    progress(min(len(_done(study)), trials))
    while len(_done(study)) < trials:
        search.step(study)
        progress(1)
    return search.result(study)


class _Search:
    """One heuristic on fixed slices."""

    def __init__(
        self, policy: Heuristic, anchors: Anchors, ranges: dict[str, Any], seed: int
    ) -> None:
        self.policy, self.anchors, self.seed = policy, anchors, seed
        self.distributions = {name: _distribution(r) for name, r in ranges.items()}
        self.identity = {
            "failgym": __version__,
            "scenario": repr(anchors.scenario),
            "policy": repr(policy),
            "tuned": sorted(ranges),
            "seed": seed,
            "slices": len(anchors.replay.slices),
            "replay": float(anchors.replay.costs.sum()),  # what a changed trace would change
        }
        self.kept: Study | None = None

    def opened(self, storage: str | Path | None) -> Study:
        """A study in memory with the trials that the file keeps. Raises ValueError."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(direction="maximize")
        if storage is not None:
            self.kept = _file_study(Path(storage))
            known = self.kept.user_attrs
            for name, value in self.identity.items():
                if name in known and known[name] != value:
                    raise ValueError(
                        f"{storage}: keeps the trials of another search: its {name} was"
                        f" {_differing(known[name], value)}"
                    )
                if name not in known:
                    self.kept.set_user_attr(name, value)
            study.add_trials(self.kept.trials)
        if not study.trials:
            study.enqueue_trial({n: getattr(self.policy, n) for n in self.distributions})
        return study

    def step(self, study: Study) -> None:
        """Try one more set of parameters, and keep what came out."""
        import optuna

        key = np.random.SeedSequence([self.seed, len(_done(study))]).generate_state(1)[0]
        study.sampler = optuna.samplers.TPESampler(seed=int(key))
        trial = study.ask(self.distributions)
        score = self.evaluated(trial.params).score
        if math.isnan(score):
            raise ValueError(f"{self.anchors.scenario.name}: nothing can be saved on these slices")
        study.tell(trial, score)
        if self.kept is not None:
            self.kept.add_trial(study.trials[trial.number])

    def candidate(self, values: dict[str, Any]) -> Heuristic:
        """The heuristic with these parameters, rounded."""
        return replace(self.policy, **{name: _rounded(v) for name, v in values.items()})

    def evaluated(self, values: dict[str, Any]) -> Evaluation:
        """How the heuristic with these parameters does."""
        run = self.anchors.run(self.candidate(values), name=self.policy.name)
        return self.anchors.measure(run)

    def result(self, study: Study) -> Tuned:
        """The best of all trials; the first of equal ones."""
        done = _done(study)
        values = max(done, key=lambda trial: (trial.value or 0.0, -trial.number)).params
        default = {name: getattr(self.policy, name) for name in self.distributions}
        return Tuned(
            policy=self.candidate(values),
            best=self.evaluated(values),
            default=self.evaluated(default),
            trials=len(done),
        )


def _make_database(path: Path) -> None:
    """Make the file of an empty search, whole or not at all, unless there is one.

    Raises an error of SQLite for a file that Optuna has not made: it would add its tables to it. A
    file is opened for writing, so that SQLite takes back what was being written at a kill.
    """
    import optuna

    if path.is_file() and path.stat().st_size:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as file:
            file.execute("select schema_version from version_info").fetchall()
        return
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        optuna.storages.RDBStorage(_url(partial)).engine.dispose()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _differing(before: Any, now: Any) -> str:
    """Two values, of long texts the parts that differ."""
    if isinstance(before, str) and isinstance(now, str):
        parts = [set(text.rstrip(")").split(", ")) for text in (before, now)]
        before, now = (", ".join(sorted(a - b)) for a, b in (parts, parts[::-1]))
    return f"{before}, is {now}"


def _done(study: Study) -> list[FrozenTrial]:
    """Trials whose score is known."""
    return [trial for trial in study.trials if trial.state.is_finished()]


def _distribution(wanted: Any) -> BaseDistribution:
    from optuna import distributions as d

    if not isinstance(wanted, Range):
        return d.CategoricalDistribution(wanted.values)
    if isinstance(wanted.low, int) and isinstance(wanted.high, int):
        return d.IntDistribution(wanted.low, wanted.high, log=wanted.log)
    return d.FloatDistribution(wanted.low, wanted.high, log=wanted.log)


def _rounded(value: Any) -> Any:
    """A real number to `DIGITS` significant digits; anything else as it is."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _url(path: Path) -> str:
    from sqlalchemy import URL

    return URL.create("sqlite", database=str(path)).render_as_string()


def _file_study(path: Path) -> Study:
    """The study that a file keeps. Raises ValueError, in one line, for a file that is no such."""
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    if not path.parent.is_dir():
        raise ValueError(f"{path}: no such folder: {path.parent}")
    try:
        _make_database(path)
        return optuna.create_study(
            storage=_url(path), study_name="failgym", direction="maximize", load_if_exists=True
        )
    except (SQLAlchemyError, sqlite3.Error, RuntimeError) as error:
        raise ValueError(f"{path}: not a file of trials") from error
