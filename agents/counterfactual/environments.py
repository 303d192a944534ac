"""Settings of one of several environments that an agent learns in, and the words of all of them."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from failgym.agents.algorithms.training_options import BaselineName, Hidden, ScenarioFields
from failgym.agents.ensembles.advice import MOST_ADVISERS, Adviser
from failgym.agents.strict_record import Record
from failgym.worlds.settings.source import TraceSource
from failgym.worlds.settings.splitting import Splitting

__all__ = [
    "Advice",
    "Count",
    "EnvironmentSettings",
    "Rules",
    "Share",
    "Situations",
    "Traces",
    "Visited",
]

KEPT = (
    *(field.name for field in fields(Splitting)),
    *(field.name for field in fields(TraceSource)),
)
"""Fields that say which jobs are learned from: what is judged on must not be among them."""
NOT_OF_SITUATIONS = (
    *(field.name for field in fields(Splitting)),
    *("trace_seed", "twin", "world", "window", "decide", "every"),
)
"""Fields that say which jobs are learned from, in which world, and when an agent is asked."""


def _elsewhere(values: dict[str, Any]) -> dict[str, Any]:
    for name in values:
        if name in KEPT:
            raise ValueError(f"{name}: expected none: it says which jobs are learned from")
    return values


def _situation(values: dict[str, Any]) -> dict[str, Any]:
    for name in values:
        if name in NOT_OF_SITUATIONS:
            raise ValueError(f"{name}: expected none: situations leave it as it is")
    return values


Count = Annotated[int, Field(ge=1, le=2**31)]
Share = Annotated[float, Field(gt=0.0, le=1.0)]
Traces = Annotated[int, Field(ge=1, le=10_000)]
Visited = Annotated[ScenarioFields, AfterValidator(_elsewhere)]
Situation = Annotated[ScenarioFields, AfterValidator(_situation)]
Situations = Annotated[list[Situation], Field(max_length=100)]
Rules = Annotated[list[BaselineName], Field(max_length=100)]
Advice = Annotated[list[Adviser], Field(max_length=MOST_ADVISERS)]


class EnvironmentSettings(Record):
    """One of several environments; what it leaves out is as the settings say for all.

    The names are those of `failgym.agents.counterfactual.settings.CounterfactualSettings`, but for
    these: `env` is the environment's, `fields` what is `env` there, `scored`, and `hidden`.
    """

    env: str
    """its id, such as failgym/Cloning-v1"""
    fields: ScenarioFields | None = None
    """fields of its scenario, beside those for all"""
    traces: Traces | None = None
    chosen_on: Traces | None = None
    scored: Count | None = None
    """slices of each trace (tasks in the pinned world) that agents are chosen on; if None, as many
    as training is told to validate on, or all"""
    situations: Situations | None = None
    episodes: Count | None = None
    decisions: Share | None = None
    acting: Share | None = None
    at_random: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    rules: Rules | None = None
    """if None, those for all that decide what is decided here"""
    advice: Advice | None = None
    """the same; the columns of other rules show CONTINUE here"""
    visit: Visited | None = None
    hidden: Hidden | None = None
    """fields of the observation, or groups, that are shown as 0 here: those that mean another thing
    where it is learned than where it is played"""

    @property
    def own(self) -> dict[str, Any]:
        """What replaces the settings for all, by their names."""
        names = set(type(self).model_fields) - {"env", "fields", "scored", "hidden"}
        return {name: v for name in sorted(names) if (v := getattr(self, name)) is not None}
