"""Ensembles that tell from an observation which of two answers saves more, by exact gains.

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
from collections.abc import Sequence

import numpy as np

from failgym.agents.counterfactual.learners import Learner
from failgym.agents.counterfactual.lessons import lessons
from failgym.agents.counterfactual.visits import Visits
from failgym.agents.ensembles.ensemble import Ensemble, joined

__all__ = ["decided_actions", "fitted"]


def fitted(
    visits: Visits,
    choices: Sequence[int],
    learner: Learner,
    *,
    models: int,
    job_share: float,
    seed: int,
) -> Ensemble:
    """An ensemble that tells for each pair of choices where the second saves more than the first.

    Args:
        visits: what is learned from.
        choices: numbers of actions, or of rules; the outputs are about the pairs of them, in the
            order of `itertools.combinations`. A pair that is never legal together has a margin
            of 0. Numbers are rounded as files hold them.
        learner: trees or networks, and their sizes.
        models: members of the ensemble.
        job_share: of the whole weight, of its environment, that a job has at most.
        seed: of the draw of jobs, or of traces.
    """
    columns = visits.observations.shape[1]
    found = [
        learner.nothing(models, columns) if lesson is None else learner.learn(lesson, seed + pair)
        for pair, lesson in enumerate(lessons(visits, choices, models, job_share, seed))
    ]
    return functools.reduce(joined, found)


def decided_actions(visits: Visits) -> tuple[int, ...]:
    """The actions that are legal in some decision: CONTINUE, which always is, and then others.

    Raises:
        ValueError: if there are no others.
    """
    found = tuple(np.flatnonzero(~np.isnan(visits.gains).all(axis=0)).tolist())
    if len(found) < 2:
        raise ValueError("env: expected one in which something is to be decided")
    return found
