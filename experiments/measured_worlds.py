"""Which world a figure was measured in, so that a page says when the world has changed since.

What is measured in an environment holds a digest of it (``"world"``): of `failgym.worlds.identity`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

from failgym.envs import SCENARIOS
from failgym.worlds.identity import identity

__all__ = ["changed_since", "note", "world_of"]


def world_of(env: str) -> str:
    """A digest of a registered environment as it is now.

    Args:
        env: its id, with or without ``failgym/``.
    """
    text = json.dumps(identity(SCENARIOS[_name(env)]), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def changed_since(content: Any) -> list[str]:
    """The environments that have changed since something was measured in them, in their order.

    Args:
        content: what an experiment wrote: an entry that names its ``"env"``, a list of such, a
            mapping of entries by environment, or a list of such entries under ``"cases"``. Other
            content counts as unchanged.
    """
    found = {env for env, entry in _entries(content) if entry.get("world") != world_of(env)}
    return [name for name in SCENARIOS if name in found]


def note(content: Any) -> str:
    """What a page says below such a table: nothing, or which figures are of another world."""
    changed = ", ".join(f"`failgym/{name}`" for name in changed_since(content))
    return f"\n\n**Measured before its world became what it is:** {changed}." if changed else ""


def _entries(content: Any) -> list[tuple[str, Mapping[str, Any]]]:
    if isinstance(content, list):
        rows = cast(list[Any], content)
        return [found for row in rows for found in _entries(row)]
    if not isinstance(content, dict):
        return []
    known = cast(dict[str, Any], content)
    if "cases" in known:
        return _entries(known["cases"])
    by_env: Mapping[str, Any] = {str(known["env"]): known} if "env" in known else known
    named = [(_name(env), entry) for env, entry in by_env.items()]
    return [(env, entry) for env, entry in named if env in SCENARIOS and isinstance(entry, dict)]


def _name(env: str) -> str:
    return env.removeprefix("failgym/")
