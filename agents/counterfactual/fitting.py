"""Trees that tell from an observation which answer saves, learned from exact gains.

An answer is worth giving where it saves more than every other one. For each action but CONTINUE a
classifier learns in which decisions that is so; a decision weighs as much as is lost by getting it
wrong. So what is minimised is a bound of the regret, not how many decisions are judged wrongly
(cost-sensitive classification: Beygelzimer, Langford and Zadrozny, "Weighted one-against-all",
AAAI 2005; of rollouts: Lazaric, Ghavamzadeh and Munos, "Analysis of a classification-based policy
iteration algorithm", ICML 2010).

Tasks of a job share its fate, and few jobs hold most of what there is to gain. So the models of the
ensemble differ in the jobs that they have learned from: each weighs whole jobs by Poisson numbers,
which is a bootstrap of jobs (Oza and Russell, "Online bagging and boosting", AISTATS 2001). Where a
gain hangs on one job, models disagree. And no job weighs more than a share of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.agents.counterfactual.visits import Visits
from failgym.agents.forests.forest import Forest
from failgym.agents.forests.from_xgboost import forest_of

__all__ = ["decided_actions", "fitted", "job_weights", "regrets"]

Floats = npt.NDArray[np.float64]


def regrets(gains: Floats, action: int) -> Floats:
    """How much better an answer is than the best of the others, [rows].

    NaN where it is illegal, or the only one.

    Args:
        gains: [rows, ACTIONS] over CONTINUE, NaN for what is illegal.
        action: the answer.
    """
    others: Floats = np.fmax.reduce(np.delete(gains, action, axis=1), axis=1)
    return gains[:, action] - others


def job_weights(weight: Floats, jobs: npt.NDArray[np.int64], most: float) -> Floats:
    """Weights of which no job has more than a share of the whole, their mean 1.

    Jobs that have more are cut down to what is then that share; others keep what they have. Where
    jobs are so few that they cannot all stay below it, those that weigh anything weigh alike.

    Args:
        weight: [rows] not negative.
        jobs: [rows] numbers.
        most: the share.
    """
    held: Floats = np.bincount(jobs, weights=weight).astype(np.float64)
    if not held.any():
        return np.ones(len(weight))
    allowed = _level(held, most)
    factor = np.divide(allowed, held, out=np.ones(len(held)), where=held > allowed)
    capped = weight * factor[jobs]
    return capped / capped.mean()


def _level(held: Floats, most: float) -> float:
    """What each job may hold, so that it is a share of what all hold then."""
    falling = np.sort(held[held > 0.0])[::-1]
    rest = falling.sum()
    for cut, largest in enumerate(falling):  # so many are cut down to the same level
        if cut * most >= 1.0:
            break
        level = most * rest / (1.0 - cut * most)
        if largest <= level:
            return float(level)
        rest -= largest
    return float(falling[-1])


def fitted(
    visits: Visits,
    actions: Sequence[int],
    *,
    models: int,
    trees: int,
    depth: int,
    rate: float,
    least_weight: float,
    job_share: float,
    seed: int,
    threads: int = 1,
) -> Forest:
    """An ensemble that tells for each of some actions whether it saves more than all others.

    Args:
        visits: what is learned from.
        actions: numbers of actions, in the order of the forest's outputs; each is legal somewhere.
        models: members of the ensemble.
        trees: boosting rounds.
        depth: levels of a tree.
        rate: what each tree's share is shrunk by.
        least_weight: of the hessian in a leaf, where the mean row weighs 1.
        job_share: of the whole weight that a job has at most.
        seed: of the draw of jobs.
        threads: of XGBoost; it gives the same trees with any number of them.
    """
    import xgboost

    parameters = {
        "objective": "binary:logistic",
        "base_score": 0.5,  # a margin of 0
        "tree_method": "hist",
        "max_depth": depth,
        "eta": rate,
        "min_child_weight": least_weight,
        "nthread": threads,
    }
    rng = np.random.default_rng(seed)
    draws = rng.poisson(1.0, size=(models, int(visits.units.max()) + 1)).astype(np.float64)
    boosters: list[list[Any]] = []
    for action in actions:
        better = regrets(visits.gains, action)
        legal = np.flatnonzero(~np.isnan(better))
        better, units = better[legal], visits.units[legal]
        weight = job_weights(np.abs(better) * visits.weights[legal], units, job_share)
        rows = xgboost.DMatrix(visits.observations[legal], label=better > 0.0, nthread=threads)
        boosters.append([])
        for draw in draws:
            rows.set_weight((weight * draw[units]).astype(np.float32))
            boosters[-1].append(xgboost.train(parameters, rows, num_boost_round=trees))
    return forest_of(boosters, depth)


def decided_actions(visits: Visits) -> tuple[int, ...]:
    """The actions that are legal in some decision: CONTINUE, which always is, and then others."""
    return tuple(np.flatnonzero(~np.isnan(visits.gains).all(axis=0)).tolist())
