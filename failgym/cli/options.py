"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from failgym.cli.completion import environment_names

if TYPE_CHECKING:
    from failgym.envs import Scenario
    from failgym.workers import Workers

__all__ = [
    "Env",
    "Json",
    "RayAddress",
    "Seed",
    "Settings",
    "WorkersOption",
    "override",
    "read_workers",
]

Env = Annotated[
    str,
    typer.Option(
        "--env",
        metavar="ID",
        help="The environment, such as failgym/GracePeriod-v1 (`failgym envs` lists them).",
        autocompletion=environment_names,
    ),
]
Json = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Also write the result to this file, as JSON."),
]
Seed = Annotated[int, typer.Option(help="Seed of all random numbers.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Change a field of the scenario, such as jobs=1000. Times are in milliseconds."
        " Repeatable.",
    ),
]
WorkersOption = Annotated[
    str,
    typer.Option(
        "--workers",
        metavar="N|ray",
        help="Run independent steps in N processes of this machine, or on a Ray cluster (ray).",
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        metavar="ADDRESS",
        help="Address of the Ray cluster: auto (default), HOST:PORT or ray://HOST:PORT.",
    ),
]


def read_workers(workers: str, ray_address: str | None) -> Workers:
    """The workers that two options name. Raises ValueError, as `Workers.read`."""
    from failgym.workers import Workers

    return Workers.read(workers, ray_address)


def override(
    scenario: Scenario, settings: list[str] | None, only: Collection[str] | None = None
) -> Scenario:
    """A scenario with the fields changed that `--set` names.

    Args:
        scenario: what is changed.
        settings: FIELD=VALUE texts.
        only: fields that mean something to the command; all by default.

    Raises:
        ValueError: for an unknown field, naming the nearest, a field that means nothing to the
            command, or a value of the wrong type or range.
    """
    from typing import get_type_hints

    from failgym.cli.values import assignments, read_value
    from failgym.known_names import unknown

    hints = get_type_hints(type(scenario))
    texts = assignments(settings or [], "--set")
    values: dict[str, Any] = {}
    for name, text in texts.items():
        if name not in hints:
            raise ValueError(f"--set: {unknown('field', name, hints)}")
        if only is not None and name not in only:
            raise ValueError(f"--set: {name} changes nothing in this command")
        values[name] = read_value(name, text, hints[name])
    return scenario.override(**values) if values else scenario
