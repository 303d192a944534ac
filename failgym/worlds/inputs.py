"""What a world gives policies to go by: forecasts, and what only some traces record.

A rule that reads nothing but what a world does not have never acts. Rather than let it score 0 like
one that chose to do nothing, its user is told what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from failgym.vocabulary import NEVER
from failgym.worlds.world import World

__all__ = ["FORECAST_INPUTS", "INPUTS", "Input", "inputs_of", "missing_inputs"]


class Input(NamedTuple):
    """Something that a policy may go by."""

    what: str
    """what it is"""
    remedy: str
    """which field to change, or why none helps"""


INPUTS: dict[str, Input] = {
    "risk": Input(
        "a forecast of attempts that fail",
        "set forecast to one, for example forecast=elsayed",
    ),
    "classes": Input(
        "a forecast of the classes of tasks: finish, evict, fail, kill",
        "set forecast to one, for example forecast=rosa",
    ),
    "node_forecast": Input(
        "a forecast of machines that fail",
        "set node_forecast to one (calibrated, exact), and outages to a law, if there are none",
    ),
    "failures": Input(
        "attempts that fail",
        "the trace records none",
    ),
    "restarts": Input(
        "tasks that were started again after the system ended an attempt",
        "the train split records none",
    ),
    "siblings": Input(
        "jobs of several tasks",
        "the trace has none",
    ),
    "walltimes": Input(
        "requested walltimes",
        "the trace records none",
    ),
    "outages": Input(
        "machines that fail",
        "set outages to a law, for example outages=lanl-2",
    ),
    "outputs": Input(
        "workflows, in which tasks read the outputs of others",
        "the trace has none",
    ),
}
"""By name."""
FORECAST_INPUTS = frozenset({"risk", "classes", "node_forecast"})
"""Those that a forecast gives, whatever the trace."""


def inputs_of(tables: Any) -> frozenset[str]:
    """What tasks and a forecast give to go by, from the compiled tables of a world."""
    tasks = tables.tasks
    there = {
        "risk": (tables.risk > 0).any(),
        "classes": (tasks["confidence"][:, 1:] > 0).any(),
        "failures": (tasks["own_fail"] != NEVER).any(),
        "restarts": np.isfinite(tables.lazy).any(),
        "siblings": (tasks["job_width"] > 1).any(),
        "walltimes": tasks["walltime"].any(),
    }
    return frozenset(name for name, found in there.items() if found)


def missing_inputs(world: World, names: Iterable[str]) -> list[str]:
    """What of these a world does not have, each with what can be done about it."""
    lacking = set(names) - world.inputs
    return [f"needs {each.what}: {each.remedy}" for name, each in INPUTS.items() if name in lacking]
