"""Keyword arguments of a call that are fields of a scenario."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from failgym.envs.scenarios import resolve
from failgym.known_names import nearest
from failgym.worlds.scenario import Scenario

__all__ = ["scenario_of_call"]


def scenario_of_call(
    call: Callable[..., Any], scenario: str | Scenario, given: dict[str, Any]
) -> Scenario:
    """The scenario that a call asks for, by name or as it is, with the given fields changed.

    An unknown keyword is answered as Python answers it, so that callers who probe go on without it.

    Args:
        call: what was called.
        scenario: its argument.
        given: its keyword arguments that it has no parameters for.

    Raises:
        TypeError: for a keyword that is no field, naming the nearest keyword.
        ValueError: for an unknown scenario, or a value of the wrong type or range.
    """
    found = resolve(scenario)
    known = {field.name for field in fields(found)}
    for name in given:
        if name not in known:
            parameters = inspect.signature(call).parameters.values()
            named = {one.name for one in parameters if one.kind is not one.VAR_KEYWORD}
            named -= {"self", "scenario"}
            near = nearest(name, known | named)
            hint = f". Did you mean {near!r}?" if near else ", and no scenario has such a field"
            raise TypeError(
                f"{call.__qualname__}() got an unexpected keyword argument {name!r}{hint}"
            )
    return resolve(found, given)
