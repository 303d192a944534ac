"""Off-policy evaluation: what a policy is worth, from the decisions of another one.

`Decisions` are those of a data set (`failgym.contrib.minari.decisions_of` reads them), of which
each tells by which chances its action was drawn, and what the policy that is to be evaluated, the
*target*, would have done. The estimators are those that every comparison has (Voloshin and others,
"Empirical study of off-policy policy evaluation", 2021); nothing is discounted:

| estimator | what it is |
|---|---|
| `importance_sampling` | returns, weighted by how much likelier the target makes the episode |
| `per_decision` | the same reward by reward (Precup, Sutton and Singh 2000) |
| `weighted_per_decision` | the same, divided by the sum of weights instead of their number |
| `fitted_q` | regression of Q, step by step (Le, Voloshin and Yue 2019), with XGBoost |
| `doubly_robust` | Q corrected by weighted rewards (Jiang and Li 2016), on halves in turn |

Beside them stands what none of them is told: `Decisions.truth`, the exact value on these very
episodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.vocabulary import ACTIONS

__all__ = [
    "ESTIMATORS",
    "Decisions",
    "FittedQ",
    "doubly_robust",
    "fitted_q",
    "importance_sampling",
    "per_decision",
    "weighted_per_decision",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
NAN = float("nan")


@dataclass(frozen=True)
class Decisions:
    """D decisions of whole episodes, one after the other, and what a target would have done."""

    observations: npt.NDArray[np.float32]
    """[D, fields]"""
    masks: Bools
    """[D, 5] legal actions"""
    actions: Ints
    """[D] what was done"""
    chances: Floats
    """[D] the chance that it had, above 0"""
    rewards: Floats
    """[D]"""
    last: Bools
    """[D] is it the last of its episode?"""
    target: Ints
    """[D] what the target would have done"""
    returns: Floats
    """[D, 5] reward from here to the end if this is done and the target answers what follows:
    exact; NaN for what is illegal, or all where it is not known"""

    def __post_init__(self) -> None:
        lengths = {len(getattr(self, field.name)) for field in fields(self)}
        if len(lengths) != 1 or not len(self) or not self.last[-1]:
            raise ValueError(
                "decisions: expected arrays of one length, at least 1, that end with an episode"
            )
        if not (self.chances > 0.0).all():
            raise ValueError("chances: expected numbers above 0, since each action was possible")

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def first(self) -> Bools:
        """Which decisions begin an episode, [D]."""
        return np.concatenate([[True], self.last[:-1]])

    @property
    def episode(self) -> Ints:
        """Number of the episode of each decision, [D]."""
        return np.cumsum(self.first) - 1

    @property
    def step(self) -> Ints:
        """Number of each decision in its episode, [D]."""
        return np.arange(len(self)) - np.flatnonzero(self.first)[self.episode]

    @property
    def ratios(self) -> Floats:
        """How much likelier the target makes each action, [D]; 0 where it would do another."""
        return np.where(self.actions == self.target, 1.0, 0.0) / self.chances

    @property
    def weights(self) -> Floats:
        """Product of the ratios from the beginning of the episode, this decision's too, [D]."""
        weights, running = np.empty(len(self)), 1.0
        for i, (ratio, begins) in enumerate(zip(self.ratios, self.first, strict=True)):
            running = ratio if begins else running * ratio
            weights[i] = running
        return weights

    @property
    def truth(self) -> float:
        """The exact value of the target on these episodes: the mean of its returns.

        Raises:
            ValueError: if they are not known.
        """
        begun = np.flatnonzero(self.first)
        found = self.returns[begun, self.target[begun]]
        if np.isnan(found).any():
            raise ValueError("returns: expected those of the target in every first decision")
        return float(found.mean())

    def of_episodes(self, wanted: Bools) -> Decisions:
        """The decisions of some episodes, [episodes]."""
        rows = wanted[self.episode]
        return Decisions(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def importance_sampling(decisions: Decisions) -> float:
    """Mean of the returns of whole episodes, weighted by the ratio of their chances."""
    d = decisions
    returns = np.bincount(d.episode, d.rewards)
    return float((d.weights[d.last] * returns).mean())


def per_decision(decisions: Decisions) -> float:
    """The same, each reward weighted by the decisions up to it alone."""
    d = decisions
    return float((d.weights * d.rewards).sum() / d.last.sum())


def weighted_per_decision(decisions: Decisions) -> float:
    """The same, at each step divided by the sum of weights; an episode that is over keeps its own.

    Biased, and mostly nearer. NaN where no episode goes on as the target would.
    """
    d = decisions
    episodes, steps = int(d.episode[-1]) + 1, int(d.step.max()) + 1
    ended = np.zeros(episodes)
    """weights of the episodes that are over"""
    value = 0.0
    order = np.argsort(d.step, kind="stable")
    bounds = np.searchsorted(d.step[order], np.arange(steps + 1))
    weights = d.weights
    for k in range(steps):
        rows = order[bounds[k] : bounds[k + 1]]
        total = weights[rows].sum() + ended.sum()
        if total == 0.0:
            return NAN
        value += float((weights[rows] * d.rewards[rows]).sum() / total)
        over = rows[d.last[rows]]
        ended[d.episode[over]] = weights[over]
    return value


@dataclass(frozen=True)
class FittedQ:
    """Fitted Q evaluation: Q of the longest episode's many steps, each a regression on the last.

    Raises:
        ValueError: for counts below 1.
    """

    rounds: int = 30
    """regressions: rewards further away than that are not seen"""
    trees: int = 40
    """of each regression"""
    depth: int = 5
    learning_rate: float = 0.2
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("rounds", "trees", "depth", "threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: expected at least 1, got {getattr(self, name)}")

    def fit(self, decisions: Decisions) -> Callable[[npt.NDArray[np.float32], Ints], Floats]:
        """Q, learned from decisions: of observations [n, fields] and actions [n], [n].

        Raises:
            ImportError: without XGBoost.
        """
        import xgboost

        d = decisions
        data: Any = xgboost.QuantileDMatrix(_rows(d.observations, d.actions))
        ahead: Any = xgboost.DMatrix(_rows(d.observations, d.target))
        options: dict[str, Any] = {
            "max_depth": self.depth,
            "eta": self.learning_rate,
            "nthread": self.threads,
            "base_score": 0.0,
        }
        follows = np.flatnonzero(~d.last)
        goal, model = d.rewards.copy(), None
        for _ in range(min(self.rounds, int(d.step.max()) + 1)):
            if model is not None:
                goal = d.rewards.copy()
                goal[follows] += model.predict(ahead)[follows + 1]
            data.set_label(goal)
            model = xgboost.train(options, data, num_boost_round=self.trees)
        fitted: Any = model

        def values(observations: npt.NDArray[np.float32], actions: Ints) -> Floats:
            found = fitted.predict(xgboost.DMatrix(_rows(observations, actions)))
            return found.astype(np.float64)

        return values


def _rows(observations: npt.NDArray[np.float32], actions: Ints) -> npt.NDArray[np.float32]:
    """What a regression is shown: fields, and a column for each action."""
    return np.concatenate([observations, np.eye(ACTIONS, dtype=np.float32)[actions]], axis=1)


def fitted_q(decisions: Decisions, settings: FittedQ | None = None) -> float:
    """Mean of Q where episodes begin, for what the target does there.

    Raises:
        ImportError: without XGBoost.
    """
    d = decisions
    values = (settings or FittedQ()).fit(d)
    return float(values(d.observations[d.first], d.target[d.first]).mean())


def doubly_robust(decisions: Decisions, settings: FittedQ | None = None, seed: int = 0) -> float:
    """Q of each half of the episodes, corrected by the weighted rewards of the other half.

    Raises:
        ImportError: without XGBoost.
        ValueError: for less than two episodes.
    """
    d, rng = decisions, np.random.default_rng(seed)
    episodes = int(d.episode[-1]) + 1
    if episodes < 2:
        raise ValueError(f"decisions: expected two episodes at least, got {episodes}")
    half = rng.permutation(episodes) < episodes // 2
    total = 0.0
    for part in (half, ~half):
        values, judged = (settings or FittedQ()).fit(d.of_episodes(~part)), d.of_episodes(part)
        done = values(judged.observations, judged.actions)
        wanted = values(judged.observations, judged.target)
        total += corrected(judged, done, wanted) * part.sum()
    return float(total / episodes)


def corrected(decisions: Decisions, done: Floats, wanted: Floats) -> float:
    """The doubly robust estimate from Q of what was done, and of what the target would do, [D]."""
    d = decisions
    before = np.concatenate([[1.0], d.weights[:-1]])
    before[d.first] = 1.0
    return float((d.weights * (d.rewards - done) + before * wanted).sum() / d.last.sum())


ESTIMATORS: dict[str, Callable[[Decisions], float]] = {
    "importance sampling": importance_sampling,
    "per decision": per_decision,
    "weighted per decision": weighted_per_decision,
    "fitted Q": fitted_q,
    "doubly robust": doubly_robust,
}
"""Name -> estimator."""
