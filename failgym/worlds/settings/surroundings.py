"""`Surroundings` and `Strikes`: what is in the cluster with a slice, and what befalls its jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from failgym.sim.shared.rules import LONGEST
from failgym.worlds.settings.checked import Checked
from failgym.worlds.settings.cluster import MOST_MACHINES

__all__ = ["Strikes", "Surroundings"]

MOST_TASKS = 100_000_000


@dataclass(frozen=True, kw_only=True)
class Surroundings(Checked):
    """What runs beside the tasks of a slice of a scheduled world.

    Raises:
        ValueError: if a value is out of range; the message names the field.
    """

    slice_jobs: int = 0
    """Whole jobs of an episode, with nothing else in the cluster; 0: slices are of tasks."""
    warmup: int = 0
    """Tasks before those of a slice that are in the cluster with them, not asked about."""
    followers: int = 0
    """Tasks after those of a slice, likewise."""
    begin: int = 0
    """No slice of the train split begins before [ms]: the record begins with an empty cluster."""

    def __post_init__(self) -> None:
        for name in ("slice_jobs", "warmup", "followers"):
            self._check(name, 0 <= getattr(self, name) <= MOST_TASKS, f"0 to {MOST_TASKS}")
        self._check("begin", 0 <= self.begin <= LONGEST, f"0 to {LONGEST} ms")
        for name in ("warmup", "followers", "begin"):
            alone = not (self.slice_jobs and getattr(self, name))
            self._check(name, alone, "0 with slice_jobs")


@dataclass(frozen=True, kw_only=True)
class Strikes(Checked):
    """Failures that strike each job at a stated moment, and machines that it does not get.

    Raises:
        ValueError: if a value is out of range; the message names the field.
    """

    job_machines: tuple[tuple[str, int], ...] = ()
    """Names of jobs that run on so many machines only; others have them all."""
    failed_share: float = 0.0
    """Share of a job's machines that fail in one moment of its run, and are replaced after
    ``detection_delay``."""
    failed_at: float = -1.0
    """That moment, as a share of the job's undisturbed run time; -1: uniform, keyed by the job."""

    def __post_init__(self) -> None:
        self._check("failed_share", 0.0 <= self.failed_share <= 1.0, "in [0, 1]")
        moment = self.failed_at == -1.0 or 0.0 <= self.failed_at <= 1.0
        self._check("failed_at", moment, "in [0, 1], or -1")
        self._check("job_machines", _named_counts(self.job_machines), "((name, machines), ...)")
        for name, count in self.job_machines:
            good = 1 <= count <= MOST_MACHINES
            self._check("job_machines", good, f"1 to {MOST_MACHINES} machines for {name}")


def _named_counts(value: Any) -> bool:
    """Is it a tuple of pairs of a name and a whole number?"""
    if not isinstance(value, tuple):
        return False
    pairs = cast("tuple[Any, ...]", value)
    return all(isinstance(p, tuple) and tuple(map(type, cast(Any, p))) == (str, int) for p in pairs)
