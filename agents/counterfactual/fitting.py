"""Trees that tell from an observation which of two answers saves more, learned from exact gains.

For each pair of actions a classifier learns in which decisions the one saves more than the other; a
decision weighs what the two differ by. Then the sign of its margin is that of the difference that
is to be expected, and not of how often one of them wins (weighted all pairs: Beygelzimer, Dani,
Hayes, Langford and Zadrozny, "Error limiting reductions between classification tasks", ICML 2005;
of rollouts: Lazaric, Ghavamzadeh and Munos, "Analysis of a classification-based policy iteration
algorithm", ICML 2010). To ask of one action whether it is the best of all would be another
question: of two that save alike neither is, most of the time.

Tasks of a job share its fate, and few jobs hold most of what there is to gain. So the models of the
ensemble differ in the jobs that they have learned from: each weighs whole jobs by Poisson numbers,
which is a bootstrap of jobs (Oza and Russell, "Online bagging and boosting", AISTATS 2001). Where a
gain hangs on one job, models disagree. And no job weighs more than a share of all. Where there are
ten traces or more these are drawn in place of jobs: fields that say how it goes with the whole
system tell a trace from others, and what is learned by them may hold in no other.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.agents.counterfactual.visits import Visits
from failgym.agents.forests.forest import Forest
from failgym.agents.forests.from_xgboost import forest_of

__all__ = ["decided_actions", "fitted", "job_weights"]

Floats = npt.NDArray[np.float64]

MANY_TRACES = 10
"""From so many on traces are drawn whole."""
NEGLIGIBLE = 1e-9
"""What rounding may make of nothing, in units of the mean task's cost: jobs that weigh less do not
count among those that share."""


def job_weights(weight: Floats, jobs: npt.NDArray[np.int64], most: float) -> Floats:
    """Weights of which no job has more than a share of the whole, their mean 1.

    Jobs that have more are cut down to what is then that share; others keep what they have. Where
    jobs are so few that they cannot all stay below it, those that weigh anything to speak of weigh
    alike.

    Args:
        weight: [rows] not negative.
        jobs: [rows] numbers.
        most: the share.
    """
    held: Floats = np.bincount(jobs, weights=weight).astype(np.float64)
    if not (held > NEGLIGIBLE).any():
        return np.ones(len(weight))
    allowed = _level(held, most)
    factor = np.divide(allowed, held, out=np.ones(len(held)), where=held > allowed)
    capped = weight * factor[jobs]
    return capped / capped.mean()


def _level(held: Floats, most: float) -> float:
    """What each job may hold, so that it is a share of what all hold then."""
    falling = np.sort(held[held > NEGLIGIBLE])[::-1]
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
    choices: Sequence[int],
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
    """An ensemble that tells for each pair of choices where the second saves more than the first.

    Args:
        visits: what is learned from.
        choices: numbers of actions, or of rules; the forest's outputs are about the pairs of them,
            in the order of `itertools.combinations`. A pair that is never legal together has a
            margin of 0. Leaves are rounded as files hold them.
        models: members of the ensemble.
        trees: boosting rounds.
        depth: levels of a tree.
        rate: what each tree's share is shrunk by.
        least_weight: of the hessian in a leaf, where the mean row weighs 1.
        job_share: of the whole weight that a job has at most.
        seed: of the draw of jobs, or of traces.
        threads: of XGBoost, 0 for all; it gives the same trees with any number of them.
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
    drawn = visits.units if visits.traces.max() + 1 < MANY_TRACES else visits.traces
    draws = rng.poisson(1.0, size=(models, int(drawn.max()) + 1)).astype(np.float64)
    nothing = Forest.of_nothing(models, trees, depth)
    found: list[Forest] = []
    for one, other in itertools.combinations(choices, 2):
        better = visits.gains[:, other] - visits.gains[:, one]
        legal = np.flatnonzero(~np.isnan(better))
        better, units, shown = better[legal], visits.units[legal], visits.observations[legal]
        if not better.any():
            found.append(nothing)
            continue
        weight = job_weights(np.abs(better) * visits.weights[legal], units, job_share)
        boosters: list[Any] = []
        for draw in draws:  # XGBoost bins by the weights that a matrix has at first
            weights = (weight * draw[drawn[legal]]).astype(np.float32)
            rows = xgboost.DMatrix(shown, label=better > 0.0, weight=weights, nthread=threads)
            boosters.append(xgboost.train(parameters, rows, num_boost_round=trees))
        found.append(forest_of([boosters], depth))
    return functools.reduce(Forest.joined, found).rounded()


def decided_actions(visits: Visits) -> tuple[int, ...]:
    """The actions that are legal in some decision: CONTINUE, which always is, and then others.

    Raises:
        ValueError: if there are no others.
    """
    found = tuple(np.flatnonzero(~np.isnan(visits.gains).all(axis=0)).tolist())
    if len(found) < 2:
        raise ValueError("env: expected one in which something is to be decided")
    return found
