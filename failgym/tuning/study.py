"""`tune`: a search for better parameters of a heuristic, kept in a file and resumed from it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from failgym.baselines import Heuristic
from failgym.baselines.search import Choice, Range, search_space
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors, Score
from failgym.evaluation.arguments import check_count
from failgym.evaluation.caller import check_playable
from failgym.evaluation.progress import Advance, done_before, silent
from failgym.tuning.objective import ADOPTED, Comparison
from failgym.tuning.search import Search, done
from failgym.tuning.shared import SharedSearch
from failgym.tuning.storage import folder_of
from failgym.workers import ALONE, Workers, each

__all__ = ["Grounds", "Tuned", "tune"]


@dataclass(frozen=True)
class Grounds:
    """The slices that heuristics are tuned on: made once and shared by all of a table."""

    fit: Anchors
    """slices that variants are tried on"""
    validation: Anchors
    """later ones, that decide whether the best of them is adopted"""

    @classmethod
    def of(cls, env: str | Scenario, *, episodes: int | None = None, seed: int = 0) -> Grounds:
        """Draw the slices; arguments and errors are those of `tune`.

        Raises:
            ValueError: as `Anchors.of`, and if there is nothing to gain on the slices.
        """
        fit = Anchors.of(env, episodes=episodes, seed=seed, split="fit")
        later = Anchors.of(env, seed=seed, split="validation")
        for anchors in (fit, later):
            anchors.check_room()
        return cls(fit, later)


@dataclass(frozen=True)
class Tuned:
    """What a search found, and on what."""

    policy: Heuristic
    """with the best parameters found, if they proved better on validation; else as it was given"""
    found: Heuristic
    """with the best parameters found"""
    gain: Score
    """points of score that the found ones are above the given ones, on the slices that were
    searched on, with an interval of `SURE` per cent: a policy gains less elsewhere"""
    proof: Score
    """the same on the validation split, with an interval of `ADOPTED` per cent"""
    best: Score
    """of the policy, on the validation split"""
    default: Score
    """of the heuristic as it was given, likewise"""
    trials: int
    """sets of parameters that were tried, the given one included"""
    unit: str
    """what is resampled for the intervals, as in `failgym.evaluation.Evaluation.unit`"""

    @property
    def adopted(self) -> bool:
        """Did the parameters that were found prove better?"""
        return self.proof.low > 0.0


def tune(
    policy: Heuristic,
    env: str | Scenario | Grounds,
    *,
    trials: int = 50,
    episodes: int | None = None,
    seed: int = 0,
    fixed: Collection[str] = (),
    storage: str | Path | None = None,
    shared: str | None = None,
    workers: Workers = ALONE,
    progress: Advance = silent,
) -> Tuned:
    """Search for parameters of a heuristic that are surely better than the given ones.

    Variants are tried on the earlier part of the training split ("fit"), by the lower end of the
    95 % interval of what they gain over the given parameters; the best of them is adopted if it is
    better on the later part ("validation") too, with four chances in five. Otherwise the given
    parameters stay.

    The first set of parameters is the given one; the others come from the tree-structured Parzen
    estimator (Bergstra et al., NeurIPS 2011) of Optuna, and those that are below the median on a
    third of the slices are given up there. Each trial draws with a seed of its own, made of
    ``seed`` and its number: a search that was interrupted goes on as if it had not been.

    Args:
        policy: what is tuned: the parameters that its class declares with
            `failgym.baselines.search.tuned` and `choice`.
        env: an environment's id, a scenario, or slices that were drawn before.
        trials: sets of parameters to try, those of earlier calls with this ``storage`` included.
        episodes: slices of the fit split to draw; all by default. Of `Grounds`, those they have.
        seed: of the draw of slices, of the search, and of the bootstrap.
        fixed: parameters that keep their value.
        storage: a file (SQLite, of Optuna's layout) that keeps the trials; none by default.
        shared: instead, the URL of a storage that other calls may share, at the same time and on
            other machines: ``journal:PATH`` or one of SQLAlchemy. All calls go on until ``trials``
            are known. What is tried then follows from who is done when, and who is killed, unless
            one call is alone and is not.
        workers: who tries; several need ``shared``.
        progress: called with the number of trials that are over since the last call.

    Raises:
        ValueError: if the heuristic has nothing to tune or does not fit the environment; for a
            ``storage`` or ``shared`` that is none, or keeps another search; for several workers
            with nothing that they share; without Optuna; and as `Anchors.of`.
    """
    check_count("trials", trials, 1)
    if workers.several and (shared is None or isinstance(env, Grounds)):
        raise ValueError(f"{workers}: expected --storage beside it, which the workers share")
    if workers.remote and shared is not None and shared.startswith("sqlite"):
        raise ValueError(
            f"{workers}: --storage {shared} serves processes of one machine: expected journal:PATH"
            " on a shared file system, or a database server"
        )
    if find_spec("optuna") is None:
        raise ValueError("tuning needs Optuna: pip install 'failgym[tuning]'")
    ranges = {n: r for n, r in search_space(type(policy)).items() if n not in fixed}
    if not ranges:
        raise ValueError(f"{policy.name}: no parameter to tune")
    scenario = env.fit.scenario if isinstance(env, Grounds) else resolve(env)
    check_playable(policy, scenario)
    grounds = env if isinstance(env, Grounds) else Grounds.of(env, episodes=episodes, seed=seed)
    check_playable(policy, scenario, grounds.fit.world)
    fit, later = Comparison(policy, grounds.fit), Comparison(policy, grounds.validation)
    search = Search(policy, fit, ranges, seed)
    if shared is not None:
        part = SharedSearch(search, shared, trials)
        if workers.several and not isinstance(env, Grounds):
            taking = _Part(policy, scenario, episodes, seed, ranges, shared, trials)
            each(
                taking.one,
                range(trials - len(part.known())),
                workers,
                look=lambda: part.report(progress),
                named=lambda number: f"trial {number + 1} of those left",
                folder=folder_of(shared),
            )
        part.all(progress)
        return _judged(policy, search.best(part.known()), fit, later, trials)
    study = search.opened(storage)
    done_before(progress, min(len(done(study)), trials))
    while len(done(study)) < trials:
        search.step(study)
        progress(1)
    return _judged(policy, search.best(done(study)), fit, later, len(done(study)))


@dataclass
class _Part:
    """What a worker needs to take part in a shared search."""

    policy: Heuristic
    env: Scenario
    episodes: int | None
    seed: int
    ranges: dict[str, Range | Choice]
    shared: str
    trials: int

    @cached_property
    def search(self) -> SharedSearch:
        """The search, made once in a process."""
        fit = Anchors.of(self.env, episodes=self.episodes, seed=self.seed, split="fit")
        search = Search(self.policy, Comparison(self.policy, fit), self.ranges, self.seed)
        return SharedSearch(search, self.shared, self.trials)

    def one(self, number: int) -> bool:
        """Try one set of parameters, unless all become known before there is one to try."""
        return self.search.one()


def _judged(
    given: Heuristic, found: Heuristic, fit: Comparison, later: Comparison, trials: int
) -> Tuned:
    """What was found, and whether it is adopted."""
    costs = later.costs(found, later.all)
    proof = later.gain(costs, later.all, ADOPTED)
    adopted = proof.low > 0.0
    return Tuned(
        policy=found if adopted else given,
        found=found,
        gain=fit.gain(fit.costs(found, fit.all), fit.all),
        proof=proof,
        best=later.score(costs if adopted else later.given),
        default=later.score(later.given),
        trials=trials,
        unit=later.evidence.units.name,
    )
