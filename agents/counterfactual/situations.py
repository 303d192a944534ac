"""The scenarios that are learned in: one for each trace, under situations that take turns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from failgym.agents.counterfactual.settings import CounterfactualSettings
from failgym.baselines.base import enabled
from failgym.envs import Scenario
from failgym.envs.select_fields import Fields, select_fields
from failgym.sim.shared.fields import INDEX
from failgym.worlds.settings.source import generated

__all__ = ["fields_shown", "scenarios_of"]


def scenarios_of(scenario: Scenario, hyper: CounterfactualSettings) -> list[Scenario]:
    """A scenario for each trace to train on; traces take turns in the situations.

    Args:
        scenario: the environment, before a situation changes fields of it.
        hyper: the number of traces, and the situations: fields of a scenario with their values.

    Raises:
        ValueError: for a situation that is malformed, or that changes which decisions are allowed.
    """
    found: list[Scenario] = []
    for number in range(hyper.traces):
        fields = hyper.situations[number % len(hyper.situations)] if hyper.situations else {}
        try:
            one = scenario.override(**fields)
        except ValueError as error:
            raise ValueError(f"situations: {error}") from error
        if enabled(one) != enabled(scenario) or one.world != scenario.world:
            raise ValueError("situations: expected fields that leave what may be decided as it is")
        if generated(one.trace):
            one = replace(one, trace_seed=one.trace_seed + number)
        elif hyper.situations:
            raise ValueError(
                "situations: expected generated traces: of a record the same jobs would count"
                " several times"
            )
        found.append(one)
    return found


def fields_shown(
    fields: Fields, scenarios: Sequence[Scenario], without: Collection[str]
) -> tuple[str, ...]:
    """Names of the fields that an agent of these scenarios is shown: of any of them.

    What is the same in all decisions of one scenario may differ from one to the next, such as the
    cost of a checkpoint.

    Raises:
        ValueError: as `select_fields`.
    """
    shown = {name for one in scenarios for name in select_fields(fields, one, without)}
    if fields == "varying":
        values = {name: {getattr(one, name, None) for one in scenarios} for name in INDEX}
        allowed = select_fields("all", scenarios[0], without)
        shown |= {name for name in allowed if len(values[name]) > 1}
    return tuple(name for name in INDEX if name in shown)
