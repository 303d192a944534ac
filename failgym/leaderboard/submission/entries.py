"""A policy that takes part: its name, its SPECs, and the files that they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from platform import python_version

from failgym import __version__
from failgym.leaderboard.submission.records import Kind, PolicyFile, PolicyRecord

__all__ = ["Entry", "library_versions"]

LIBRARIES = (
    *("gymnasium", "numba", "numpy", "pandas", "pyarrow"),
    *("scikit-learn", "xgboost-cpu", "xgboost", "stable-baselines3", "sb3-contrib", "torch"),
)
"""Whose versions a submission states."""


@dataclass(frozen=True)
class Entry:
    """A policy that takes part."""

    name: str
    kind: Kind
    specs: Mapping[str, str]
    """environment -> SPEC; where there is none it does not play"""
    files: Mapping[str, PolicyFile] = field(default_factory=dict[str, PolicyFile])
    """environment -> the file that the SPEC names"""
    training_seed: int | None = None

    @property
    def key(self) -> tuple[str, int | None]:
        """Name and training seed, which tell policies apart."""
        return self.name, self.training_seed

    def record(self, command: str) -> PolicyRecord:
        """The record of the policy that a submission states."""
        return PolicyRecord(
            name=self.name,
            kind=self.kind,
            training_seed=self.training_seed,
            specs=dict(self.specs),
            files=dict(self.files),
            command=command,
            versions=library_versions(),
        )


def library_versions() -> dict[str, str]:
    """Versions of Python, failgym and the libraries that are installed."""
    found = {"python": python_version(), "failgym": __version__}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found
