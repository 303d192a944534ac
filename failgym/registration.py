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

__all__ = ["SCENARIO_FILES", "environments_of", "register_environments"]

SCENARIO_FILES = Path(__file__).parent / "envs" / "scenarios"
_TABLES = ("Cloning", "GracePeriod", "Checkpoint", "Lineage", "Workflow", "Mitigation")
"""The order of tables; an environment that is not named here comes behind, by its name."""


def environments_of(folder: Path) -> tuple[str, ...]:
    """Names of the environments whose scenarios are in a folder, a file each, in order of tables.

    `grace_period.py` is GracePeriod-v0, and `grace_period_v1.py` would be GracePeriod-v1.
    """
    found: list[tuple[int, str]] = []
    for module in iter_modules([str(folder)]):
        stem, _, version = re.sub(r"_v(\d+)$", r"|\1", module.name).partition("|")
        name = "".join(word.title() for word in stem.split("_"))
        place = _TABLES.index(name) if name in _TABLES else len(_TABLES)
        found.append((place, f"{name}-v{version or 0}"))
    return tuple(name for _, name in sorted(found))


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
