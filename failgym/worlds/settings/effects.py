"""Which fields of a scenario have an effect only beside certain values of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field
from typing import Any, NamedTuple

__all__ = ["EFFECTS", "Effect", "check_effects", "without_effect"]


class Effect(NamedTuple):
    """Fields that have an effect on one condition only."""

    fields: tuple[str, ...]
    where: str
    """the condition, in words"""
    holds: Callable[[Any], bool]
    """does it, in a scenario?"""


def _is(field: str, *values: object) -> Callable[[Any], bool]:
    return lambda scenario: getattr(scenario, field) in values


def _positive(field: str) -> Callable[[Any], bool]:
    """Is a number not 0? One below is refused elsewhere."""
    return lambda scenario: getattr(scenario, field) != 0.0


def _continued(scenario: Any) -> bool:
    """Does a record go on? A value that is none is refused elsewhere."""
    return scenario.beyond_record not in ("ghost", "paper")


def _lawful(scenario: Any) -> bool:
    """Do outages follow a law?"""
    return scenario.outages not in ("trace", "none")


def _forfeits(scenario: Any) -> bool:
    """Has a value a price? One of 0 needs none."""
    return scenario.task_value == 0.0 or 0.0 not in (
        scenario.weight_wasted,
        scenario.weight_forfeited,
    )


EFFECTS = (
    Effect(
        ("restarts", "task_value", "spare_attempts", "task_share", "strata", "draw_seed"),
        "beyond_record='continued'",
        _continued,
    ),
    Effect(("boundary",), "fold=0", _is("fold", 0)),
    Effect(("restart_limit",), "restarts='limit'", _is("restarts", "limit")),
    Effect(("every",), "decide='every'", _is("decide", "every")),
    Effect(("factor",), "decide='geometric'", _is("decide", "geometric")),
    Effect(("alarm",), "decide='alarm'", _is("decide", "alarm")),
    Effect(("grace_evict", "grace_fail", "grace_kill"), "grace=True", _is("grace", True)),
    Effect(("waiting_price",), "weight_completion is above 0", _positive("weight_completion")),
    Effect(("task_value",), "weight_wasted and weight_forfeited are above 0", _forfeits),
    Effect(
        ("estimator", "correction"),
        "scheduler='easy_backfill'",
        _is("scheduler", "easy_backfill"),
    ),
    Effect(
        ("history",),
        "estimator is 'average', 'median' or 'mcs'",
        _is("estimator", "average", "median", "mcs"),
    ),
    Effect(("machine_mtbf",), "outages have a law", _lawful),
    Effect(("outage_shape", "repair"), "outages='weibull'", _is("outages", "weibull")),
    Effect(
        ("node_accuracy", "node_false_positives"),
        "node_forecast='calibrated'",
        _is("node_forecast", "calibrated"),
    ),
    Effect(("failed_at",), "failed_share is above 0", _positive("failed_share")),
)
"""In an order in which one that is back at its default takes no effect from those behind it.

Not here is what belongs to something that is switched off and on without another thought: what a
decision costs and how often it may be taken (``max_clones`` without ``clone``, ``weight_overhead``
without ``checkpoint``), how a forecast is read, how much of a trace is generated; and what depends
on the trace.
"""


def without_effect(
    scenario: Any, fields: Mapping[str, Field[Any]]
) -> Iterator[tuple[Effect, list[str]]]:
    """The conditions that do not hold, and the fields whose values, not their defaults, do nothing.

    Args:
        scenario: its values are read when the iterator comes to them.
        fields: those of a scenario, by name.
    """
    for effect in EFFECTS:
        if not effect.holds(scenario):
            idle = [n for n in effect.fields if getattr(scenario, n) != fields[n].default]
            if idle:
                yield effect, idle


def check_effects(scenario: Any, fields: Mapping[str, Field[Any]]) -> None:
    """Raise ValueError, naming all fields of one condition, if they cannot have an effect."""
    for effect, idle in without_effect(scenario, fields):
        expected = ", ".join(f"{name}={fields[name].default!r}" for name in idle)
        got = ", ".join(repr(getattr(scenario, name)) for name in idle)
        raise ValueError(f"{', '.join(idle)}: expected {expected} unless {effect.where}, got {got}")
