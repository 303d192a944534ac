"""The environments that are registered with Gymnasium: failgym's own, and those of other packages.

Nothing of them is imported here: their names are those of their files and entry points.
"""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import iter_modules

from gymnasium.envs.registration import (
    register,  # pyright: ignore[reportUnknownVariableType]
    registry,
)

from failgym.additions import additions

__all__ = ["SCENARIO_FILES", "environment_of", "environments_of", "register_environments"]

SCENARIO_FILES = Path(__file__).parent / "envs" / "scenarios"
_TABLES = ("Cloning", "GracePeriod", "Checkpoint", "Lineage", "Workflow", "Mitigation")
"""The order of tables; an environment that is not named here comes behind, by its name."""


def environment_of(module: str) -> str:
    """The name of the environment whose scenario is in a module.

    `grace_period_v1` is GracePeriod-v1, and `grace_period` would be GracePeriod-v0.
    """
    stem, _, version = re.sub(r"_v(\d+)$", r"|\1", module).partition("|")
    return f"{''.join(word.title() for word in stem.split('_'))}-v{version or 0}"


def environments_of(folder: Path) -> tuple[str, ...]:
    """Names of the environments whose scenarios are in a folder, in the order of tables."""
    names = [environment_of(module.name) for module in iter_modules([str(folder)])]
    return tuple(sorted(names, key=_place))


def _place(name: str) -> tuple[int, str]:
    stem = name.rpartition("-")[0]
    return _TABLES.index(stem) if stem in _TABLES else len(_TABLES), name


def register_environments(ours: tuple[str, ...]) -> None:
    """Register environments as ``failgym/<name>``, and those that other packages add likewise."""
    for name in (*ours, *additions("environments", ours)):
        if f"failgym/{name}" not in registry:
            register(
                id=f"failgym/{name}",
                entry_point="failgym.envs.mitigation:MitigationEnv",
                vector_entry_point="failgym.envs.vector:MitigationVectorEnv",
                kwargs={"scenario": name},
            )
