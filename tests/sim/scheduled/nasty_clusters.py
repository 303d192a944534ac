"""Clusters nastier than `tests.sim.scheduled.random_clusters`, all of them continued.

Their tasks fare as in `tests.sim.nasty_worlds`: rows overlap, last no time, never start, are killed
by their user in every place; work is a millisecond or years. Machines are slow as snails or so fast
that times are rounded to 0. Some of it no trace or no simulator accepts: `nasty_cluster` or the
simulators then raise ValueError.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from failgym.sim.scheduled.rules import ScheduledRules
from tests.sim.nasty_worlds import nasty_attempts, nasty_laws, nasty_rules
from tests.sim.random_worlds import alarming, random_context, random_weights
from tests.sim.scheduled.random_clusters import (
    Cluster,
    Columns,
    Theme,
    cluster_size,
    random_episode,
    random_predictions,
    random_scheduled_rules,
    random_trace,
)

__all__ = ["nasty_cluster"]

SPEEDS = (0.3, 0.5, 1.0, 2.0, 3.0, 7.0, 1000.0)
KEPT = ("kill", "give_up")
"""What the rules of the scheduled world say of the agent and those of nasty worlds do not change:
where tasks are killed too often nothing else happens."""


def nasty_cluster(seed: int) -> Cluster:
    """The cluster of a seed."""
    rng = np.random.default_rng([seed, 27])
    themes: list[Theme] = ["mixed", "mixed", "workflow", "crowded", "contended"]
    theme = themes[int(rng.integers(len(themes)))]
    full = theme in ("crowded", "contended")
    schedulers = ["priority"] if full else ["fifo", "priority", "easy_backfill", "rank_hybd"]
    scheduler = rng.choice(schedulers).item()
    grid, huge = int(rng.choice([1, 7, 10, 10])), bool(rng.random() < 0.1)
    trace = random_trace(
        rng,
        grid,
        gangs=scheduler != "rank_hybd",
        theme=theme,
        attempts=partial(_attempts, huge=huge),
        speeds=SPEEDS,
    )
    rules = _rules(rng, scheduler, grid, theme, huge=huge)
    value = None if rng.random() < 0.2 else float(rng.choice([0.0, 1.0, 4.0, 1e6]))
    tasks, own, standing = random_episode(rng, trace, grid)
    return Cluster(
        trace=trace,
        rules=rules,
        context=alarming(
            np.random.default_rng([seed, 3]),
            random_context(rng, trace, rules),
            trace.column("tasks", "job"),
        ),
        weights=replace(random_weights(rng), task_value=value),
        nodes=random_predictions(rng, cluster_size(trace), grid),
        tasks=tasks,
        own=own,
        standing=standing,
        seed=seed,
        continuation=nasty_laws(rng, trace.rows("tasks"), grid, huge),
    )


def _attempts(
    rng: np.random.Generator, task: int, submit: int, grid: int, lengths: bool, *, huge: bool
) -> Sequence[Columns]:
    start = submit + int(rng.integers(0, 3)) * grid
    return [row | {"task": task} for row in nasty_attempts(rng, start, grid, lengths, huge)]


def _rules(
    rng: np.random.Generator, scheduler: str, grid: int, theme: Theme, *, huge: bool
) -> ScheduledRules:
    """What may be decided as in nasty worlds, all else as in random clusters."""
    cluster = vars(random_scheduled_rules(rng, scheduler, grid, theme))
    agent = vars(nasty_rules(rng, grid, huge))
    given: dict[str, Any] = cluster | agent | {name: cluster[name] for name in KEPT}
    if rng.random() < 0.5:  # much is started, and little of it is killed
        given |= {"clone": True, "checkpoint": True, "retry": True, "max_extra": 4, "max_clones": 3}
        given |= {"kill": False, "give_up": False, "walltime_kill": False, "outputs": "lost"}
        given["estimator"] = "oracle"
    if given["completion"] == "tasks":
        given["charge"] = rng.choice(["own", "episode"]).item()
    return ScheduledRules(**given)
