"""What jobs after Kumar et al. request: environments, nodes, memory, walltimes.

Each job by itself, or as its application is used to.
"""

from __future__ import annotations

import numpy as np

from failgym.traces.synthetic.kumar_applications import Habits, usual_mean, usual_median
from failgym.traces.synthetic.profiles.kumar import Kumar
from failgym.traces.synthetic.quantiles import Floats, Ints, allot, skewed


def environments(profile: Kumar, n: int, rng: np.random.Generator) -> Ints:
    """The environment of each job, exact shares."""
    return allot(rng, [e.jobs for e in profile.environments], n)


def nodes_of(profile: Kumar, wide: Ints, rng: np.random.Generator, habits: Habits | None) -> Floats:
    """Nodes of the jobs of several; a habit is the mean of what its jobs would have."""
    if habits is None:
        return np.rint(profile.multi_nodes.sample(rng, len(wide)))
    wanted = np.empty(len(wide))
    for environment in np.unique(habits.environment[wide]):
        here = np.flatnonzero(habits.environment[wide] == environment)
        order = habits.uniform(habits.nodes[wide[here]], rng)
        wanted[here] = profile.multi_nodes.at(order)
    return np.rint(usual_mean(habits.usual[wide], wanted))


def walltimes(
    profile: Kumar,
    length: Floats,
    run: Floats,
    rng: np.random.Generator,
    habits: Habits | None,
) -> Floats:
    """Requested walltimes [s], in whole minutes; a habit is the median of what its jobs would."""
    if habits is None:
        return np.ceil(profile.overestimate.sample(rng, len(length)) * length / 60.0) * 60.0
    wanted = profile.overestimate.at(habits.uniform(habits.request, rng)) * run
    return np.ceil(usual_median(habits.usual, wanted) / 60.0) * 60.0


def memory_of(
    profile: Kumar, n: int, rng: np.random.Generator, habits: Habits | None = None
) -> Floats:
    """The memory that each job requests, of a node's: there are kinds that request alike."""
    law = profile.sessions
    if habits is not None:  # as much each time
        kinds = rng.beta(1.2, 2.5, int(habits.application.max()) + 1)
        return np.clip(kinds[habits.application[habits.sitting]] + 0.1 * habits.memory, 0.01, 1.0)
    kind = skewed(rng, law.skew, law.users, n)
    habit = rng.beta(1.2, 2.5, law.users)[kind]
    return np.clip(habit + 0.1 * rng.standard_normal(n), 0.01, 1.0)
