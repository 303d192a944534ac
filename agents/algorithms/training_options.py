"""What is trained on, and from where: the groups of hyper-parameters that no algorithm knows.

All are optional, and none by default. Names in them (fields, actions, baselines) are checked when
they are read.
"""

from __future__ import annotations

import math
import reprlib
from dataclasses import fields
from typing import Annotated, Any

from pydantic import AfterValidator, Discriminator, Field, Tag

from failgym.agents.strict_record import Record
from failgym.baselines import REGISTRY
from failgym.known_names import check_known
from failgym.sim.shared.fields import FIELDS
from failgym.vocabulary import Action
from failgym.worlds.scenario import Scenario

__all__ = [
    "LONE",
    "SCENARIO_FIELDS",
    "SEVERAL",
    "Hidden",
    "RewardOptions",
    "ScenarioFields",
    "StakesOptions",
    "SurrogateFields",
    "WarmStartOptions",
]

LONE, SEVERAL = "an action", "a list of actions"
"""The alternatives that an entry of `StakesOptions.against` may be written as."""
SCENARIO_FIELDS = tuple(
    f.name for f in fields(Scenario) if f.name not in ("name", "split", "boundary")
)
"""Fields of a scenario that training may change; the split is an argument of `train`, and what is
test remains so."""
SURROGATE_FIELDS = (
    "completion",
    *(f.name for f in fields(Scenario) if f.name.startswith("weight_")),
)
"""Fields that a surrogate may change: what is charged for, and nothing of what happens."""
_SHOWN = tuple(dict.fromkeys(name for f in FIELDS for name in (f.group, f.name)))
_ACTIONS = tuple(action.name for action in Action if action is not Action.CONTINUE)


def _scalar(value: Any) -> Any:
    if not isinstance(value, bool | int | float | str):
        raise ValueError(f"expected a number, a text or a truth value, got {reprlib.repr(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {value}")
    return value


def _scenario_fields(values: dict[str, Any]) -> dict[str, Any]:
    for name in values:
        check_known("field of a scenario", name, SCENARIO_FIELDS)
    return values


def _surrogate_fields(values: dict[str, Any]) -> dict[str, Any]:
    for name in values:
        check_known("field of a surrogate", name, SURROGATE_FIELDS)
    return values


def _shown(name: str) -> str:
    return check_known("field or group of fields", name, _SHOWN)


def _action(name: str) -> str:
    return check_known("action", name, _ACTIONS)


def _baseline(name: str) -> str:
    return check_known("policy", name, REGISTRY)


def _entry(value: Any) -> str:
    return SEVERAL if isinstance(value, list | tuple) else LONE


Scalar = Annotated[Any, AfterValidator(_scalar)]
ScenarioFields = Annotated[
    dict[str, Scalar], AfterValidator(_scenario_fields), Field(max_length=100)
]
"""Fields of the scenario, by name, as ``--set`` would give them."""
SurrogateFields = Annotated[dict[str, Scalar], AfterValidator(_surrogate_fields)]
"""What a surrogate charges for, by name."""
Hidden = list[Annotated[str, AfterValidator(_shown)]]
"""Names of observation fields, or of groups of them (`failgym.sim.shared.fields.FIELDS`)."""
ActionName = Annotated[str, AfterValidator(_action)]
BaselineName = Annotated[str, AfterValidator(_baseline)]
Count = Annotated[int, Field(ge=1, le=2**31)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
Entry = Annotated[
    Annotated[ActionName, Tag(LONE)]
    | Annotated[Annotated[list[ActionName], Field(min_length=1)], Tag(SEVERAL)],
    Discriminator(_entry),
]


class RewardOptions(Record):
    """Rewards to train on, of pinned worlds; `environments.rewards` says when."""

    scale: Annotated[float, Field(gt=0.0, le=1e6)] = 1.0
    """factor"""
    by_width: bool = False
    """divide by the task's width?"""
    reference: BaselineName | None = None
    """the baseline whose cost is paid back at the end of each task"""
    by_cost: Annotated[float, Field(ge=0.0, le=2.0)] = 0.0
    """power of the task's cost that rewards are divided by; 0: not divided"""


class StakesOptions(Record):
    """Tasks are met as often as much is at stake (`environments.task_sampling`); pinned worlds."""

    against: Annotated[list[Entry], Field(min_length=1)]
    """for each entry the cost of always taking that action, or the first legal one of several"""
    power: Annotated[float, Field(gt=0.0, le=2.0)] = 1.0
    """of the stakes: 0 would be to draw all tasks alike"""
    floor: Annotated[float, Field(gt=0.0, le=1.0)] = 0.05
    """least stake, a share of the mean"""

    def alternatives(self) -> tuple[tuple[int, ...], ...]:
        """The actions of each entry, as numbers."""
        lists = [entry if isinstance(entry, list) else [entry] for entry in self.against]
        return tuple(tuple(int(Action[name]) for name in one) for one in lists)


class WarmStartOptions(Record):
    """What a baseline teaches before learning begins (`failgym.agents.imitation.warm_start`)."""

    teacher: BaselineName
    steps: Count = 200_000
    """decisions to collect, of all rounds together"""
    rounds: Annotated[int, Field(ge=1, le=1_000)] = 2
    """1 is behaviour cloning; more is DAgger"""
    epochs: Annotated[int, Field(ge=1, le=1_000)] = 10
    batch_size: Count = 1_024
    learning_rate: Positive = 1e-3
    mixture: Share = 0.5
    """share of the decisions that the teacher carries out in the second round"""
