"""What the files of policies say of their training, for people: nothing in them is run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["policy_facts"]


def policy_facts(path: Path) -> Mapping[str, Any]:
    """By name, in the order in which they are worth reading.

    Raises:
        ValueError: in one line, if it is no policy's file, or what reads it is not installed.
    """
    return _agent(path) if path.suffix == ".safetensors" else _heuristic(path)


def _heuristic(path: Path) -> Mapping[str, Any]:
    from failgym.baselines.stored import described

    said = described(path)
    return {
        "Rule": said["policy"],
        "Parameters": _lines(said["parameters"]),
        **{f"About: {name}": value for name, value in said["about"].items()},
    }


def _agent(path: Path) -> Mapping[str, Any]:
    try:
        from failgym.agents import read_manifest
    except ImportError as error:
        raise ValueError(str(error)) from error
    said = read_manifest(path)
    trained: dict[str, Any] = {
        "Trained in": said.environment.id,
        "Fields of the environment that were changed": _lines(said.environment.fields),
        "Trace, by content hash": said.trace_hash,
    }
    if said.environments:
        trained = {
            "Trained in": [place.id for place in said.environments],
            "Fields of the environments that were changed": [
                line
                for place in said.environments
                for line in _lines({f"{place.id}: {n}": v for n, v in place.fields.items()})
            ],
            "Traces, by content hash": _lines({p.id: p.trace_hash for p in said.environments}),
        }
    return {
        "Name": said.name,
        "Algorithm": f"{said.algorithm}, {said.policy}",
        **trained,
        "Steps": said.steps,
        "Seed": said.seed,
        "Settings": _lines(said.settings),
        "Size": said.network.model_dump(mode="json"),
        "Reads": [f"{field.name} [{field.unit}]" for field in said.observation],
        "Command": said.command,
        "Versions": _lines(said.versions),
        "Scores, as its author states them": _lines(said.scores),
    }


def _lines(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}: {value}" for name, value in values.items()]
