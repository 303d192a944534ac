"""What a world gives policies to go by: forecasts, and what only some traces record.

A rule that reads nothing but what a world does not have never acts. Rather than let it score 0 like
one that chose to do nothing, its user is told what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from failgym.sim.records import NEVER
from failgym.sim.records import World as PinnedWorld
from failgym.worlds.world import AnyWorld

__all__ = ["FORECAST_INPUTS", "INPUTS", "Input", "missing_inputs"]


class Input(NamedTuple):
    """Something that a policy may go by."""

    is_there: Callable[[AnyWorld], bool]
    what: str
    """what it is"""
    remedy: str
    """which field to change, or why none helps"""


def _has_risk(world: AnyWorld) -> bool:
    return bool((world.risk > 0).any())


def _has_classes(world: AnyWorld) -> bool:
    return bool((world.tasks["confidence"][:, 1:] > 0).any())


def _predicts_nodes(world: AnyWorld) -> bool:
    return not isinstance(world, PinnedWorld) and len(world.node_time) > 0


def _has_failures(world: AnyWorld) -> bool:
    return bool((world.tasks["own_fail"] != NEVER).any())


def _has_restarts(world: AnyWorld) -> bool:
    return bool(np.isfinite(world.lazy).any())


def _has_siblings(world: AnyWorld) -> bool:
    return bool((world.tasks["job_width"] > 1).any())


def _has_walltimes(world: AnyWorld) -> bool:
    return bool(world.tasks["walltime"].any())


def _has_outages(world: AnyWorld) -> bool:
    return not isinstance(world, PinnedWorld) and len(world.outages) > 0


def _has_edges(world: AnyWorld) -> bool:
    return not isinstance(world, PinnedWorld) and len(world.dags.parent) > 0


INPUTS: dict[str, Input] = {
    "risk": Input(
        _has_risk,
        "a forecast of attempts that fail",
        "set forecast to one, for example forecast=elsayed",
    ),
    "classes": Input(
        _has_classes,
        "a forecast of the classes of tasks: finish, evict, fail, kill",
        "set forecast to one, for example forecast=rosa",
    ),
    "node_forecast": Input(
        _predicts_nodes,
        "a forecast of machines that fail",
        "set node_forecast to one (calibrated, exact), and outages to a law, if there are none",
    ),
    "failures": Input(
        _has_failures,
        "attempts that fail",
        "the trace records none",
    ),
    "restarts": Input(
        _has_restarts,
        "tasks that were started again after the system ended an attempt",
        "the train split records none",
    ),
    "siblings": Input(
        _has_siblings,
        "jobs of several tasks",
        "the trace has none",
    ),
    "walltimes": Input(
        _has_walltimes,
        "requested walltimes",
        "the trace records none",
    ),
    "outages": Input(
        _has_outages,
        "machines that fail",
        "set outages to a law, for example outages=lanl-2",
    ),
    "outputs": Input(
        _has_edges,
        "workflows, in which tasks read the outputs of others",
        "the trace has none",
    ),
}
"""By name."""
FORECAST_INPUTS = frozenset({"risk", "classes", "node_forecast"})
"""Those that a forecast gives, whatever the trace."""


def missing_inputs(world: AnyWorld, names: Iterable[str]) -> list[str]:
    """What of these a world does not have, each with what can be done about it."""
    wanted = set(names)
    return [
        f"needs {each.what}: {each.remedy}"
        for name, each in INPUTS.items()
        if name in wanted and not each.is_there(world)
    ]
