"""`Scenario`: everything that makes an environment, in one frozen record."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from types import SimpleNamespace
from typing import Any, get_type_hints

from failgym.known_names import nearest
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.worlds.kinds import Kind, kind_of
from failgym.worlds.settings.cluster import Cluster
from failgym.worlds.settings.continuation import Continuing
from failgym.worlds.settings.effects import check_effects, without_effect
from failgym.worlds.settings.prediction import NodePrediction, Prediction
from failgym.worlds.settings.prices import Prices
from failgym.worlds.settings.slicing import Slicing
from failgym.worlds.settings.source import TraceSource, generates
from failgym.worlds.settings.splitting import Split, Splitting
from failgym.worlds.settings.surroundings import Strikes, Surroundings

__all__ = ["SETTINGS", "Scenario", "Split"]

SETTINGS = (
    *(TraceSource, Splitting, Slicing, Prediction, Prices, Continuing),
    *(Cluster, Surroundings, Strikes, NodePrediction),
)
"""What a scenario is composed of, beside its rules."""


@dataclass(frozen=True, kw_only=True)
class Scenario(
    NodePrediction,
    Strikes,
    Surroundings,
    Cluster,
    Continuing,
    Prices,
    Prediction,
    Slicing,
    Splitting,
    TraceSource,
    ScheduledRules,
):
    """A scenario: the trace, what may be decided in it, and what is charged for.

    It has the fields of all its `SETTINGS`, of `Rules` and, in the scheduled world, those of
    `ScheduledRules`. `gymnasium.make(id, field=value)` overrides any of them.

    Raises:
        ValueError: if a value is out of range, or is not the default and can have no effect beside
            others (`failgym.worlds.settings.effects.EFFECTS`); the message names the fields.
    """

    name: str = ""
    """Id of the environment without its namespace."""
    world: str = "pinned"
    """Tasks as recorded and independent of each other ("pinned"), or on machines with a queue, a
    scheduler and outages ("scheduled"), or another kind (`failgym.worlds.register_world`)."""

    def __post_init__(self) -> None:
        check_effects(self, self.__dataclass_fields__)
        ScheduledRules.__post_init__(self)
        for part in SETTINGS:
            part.__post_init__(self)
        self.kind.check(self)

    @property
    def kind(self) -> Kind:
        """The kind of its world."""
        return kind_of(self.world)

    def override(self, **values: Any) -> Scenario:
        """The scenario with some fields changed.

        Raises:
            ValueError: for an unknown field, naming the nearest, or a value of the wrong type.
        """
        known = {field.name for field in fields(self)}
        for name in values:
            if name not in known:
                near = nearest(name, known)
                hint = f", did you mean {near}?" if near else ""
                raise ValueError(f"{name}: unknown field of a scenario{hint}")
        typed = {name: _typed(type(self), name, value) for name, value in values.items()}
        for name in ("sampling", "longest"):  # do not follow the scenario to a trace without them
            if "trace" in typed and not generates(typed["trace"], name):
                typed.setdefault(name, _typed(type(self), name, 0))
        if typed.get("outages") in ("none", "trace"):  # then no law has it
            typed.setdefault("machine_mtbf", 0)
        return replace(self, **typed)

    def reduced(self, **values: Any) -> Scenario:
        """The same with some fields changed; what has no effect then is back at its default."""
        given = SimpleNamespace(**{field.name: getattr(self, field.name) for field in fields(self)})
        vars(given).update(values)
        for _, idle in without_effect(given, self.__dataclass_fields__):
            vars(given).update({name: self.__dataclass_fields__[name].default for name in idle})
        return replace(self, **vars(given))


def _typed(kind: type[Scenario], name: str, value: Any) -> Any:
    """A value of the field's type; whole numbers pass for real ones. Raises ValueError."""
    expected = get_type_hints(kind)[name]
    if expected == float | None:
        if value is None:
            return None
        expected = float
    if expected in (int, float, bool):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if expected is float and whole:
            return float(value)
        if not isinstance(value, expected) or (expected is int and not whole):
            raise ValueError(f"{name}: expected {expected.__name__}, got {value!r}")
    elif isinstance(value, bool | int | float):
        raise ValueError(f"{name}: expected a text, got {value!r}")
    return value
