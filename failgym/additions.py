"""What other packages add to failgym: policies, environments, readers and predictors.

A package names them as entry points in its `pyproject.toml`; nothing of it is imported until one
of them is asked for:

    [project.entry-points."failgym.policies"]
    impatient = "mine:Impatient"

| group | an entry is | asked for by |
|---|---|---|
| `failgym.policies` | a class with `predict` (`failgym.Policy`) | ``--policy NAME[:field=value]`` |
| `failgym.environments` | a `failgym.Scenario` of the entry's name | ``gym.make("failgym/NAME")`` |
| `failgym.readers` | ``(path, *, <options>, progress=False) -> Trace`` | ``trace import NAME`` |
| `failgym.predictors` | a class with `fit` and `predict` | ``--predictor NAME`` |

A predictor is given ``window`` and ``seed``, the first if it takes them (`failgym.predictors`).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

__all__ = ["Addition", "Kind", "additions"]

Kind = Literal["policies", "environments", "readers", "predictors"]
_ONE: dict[Kind, str] = {
    "policies": "policy",
    "environments": "environment",
    "readers": "reader",
    "predictors": "predictor",
}


@dataclass(frozen=True)
class Addition:
    """Something that another package adds."""

    kind: Kind
    entry: EntryPoint

    def __str__(self) -> str:
        return f"package {self.package}: {_ONE[self.kind]} {self.entry.name!r}"

    @property
    def package(self) -> str:
        """The name that the package is installed by."""
        return self.entry.dist.name if self.entry.dist else self.entry.module

    def load(self) -> Any:
        """Import it. Raises ValueError, in one line that names the package, if that fails."""
        with self.blamed():
            return self.entry.load()

    @contextmanager
    def blamed(self) -> Generator[None]:
        """Turn whatever its code raises, even SystemExit, into one line that names the package."""
        try:
            yield
        except (KeyboardInterrupt, MemoryError):
            raise
        except BaseException as error:
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            raise ValueError(" ".join(f"{self}: {kind}{error}".split())) from error


def additions(kind: Kind, ours: Collection[str]) -> dict[str, Addition]:
    """What other packages add of a kind, by name.

    Args:
        kind: of what.
        ours: names of failgym's own. Whatever has one of these, or the name that another package
            uses too, is left out, and a warning says so in a line.
    """
    return dict(_additions(kind, tuple(ours), tuple(sys.path)))


@lru_cache(maxsize=16)
def _additions(
    kind: Kind, ours: tuple[str, ...], path: tuple[str, ...]
) -> tuple[tuple[str, Addition], ...]:
    """The same; ``path`` is where packages are looked for."""
    found: dict[str, list[Addition]] = {}
    for entry in sorted(entry_points(group=f"failgym.{kind}")):
        found.setdefault(entry.name, []).append(Addition(kind, entry))
    for name, these in found.items():
        others = sorted({one.package for one in these})
        if name in ours:
            why = "is the name of one of failgym's own"
        elif len(these) > 1:
            why = f"is in several packages: {', '.join(others)}"
        else:
            continue
        warnings.warn(f"{these[0]} {why}: left out", stacklevel=3)
    return tuple(
        (name, these[0]) for name, these in found.items() if name not in ours and len(these) == 1
    )
