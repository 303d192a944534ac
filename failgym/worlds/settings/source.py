"""`TraceSource`: where the trace of a scenario comes from."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from failgym.sim.shared.rules import LONGEST
from failgym.traces import Trace
from failgym.traces.synthetic import PROFILES, independent_jobs
from failgym.worlds.settings.checked import Checked

__all__ = ["TraceSource", "generated", "generates", "jobs_apart"]


@dataclass(frozen=True, kw_only=True)
class TraceSource(Checked):
    """A trace: given, stored in a folder, or generated from a profile.

    Raises:
        ValueError: if a value is out of range; the message names the field.
    """

    trace: str | Path | Trace = "google-2011"
    """A synthetic profile, the folder of a stored trace, or a trace."""
    jobs: int = 4_000
    """Jobs to generate, for a profile."""
    trace_seed: int = 0
    """Seed of the generated trace, and of generated outages."""
    twin: int = 0
    """Jobs of a twin of a stored or given trace (`failgym.traces.twin`), which is played instead;
    0: the trace itself."""
    sampling: float = 0.0
    """Share of the system's jobs in a generated trace, for a profile that has one; 0: its own."""
    longest: int = 0
    """Longest machine-time of a task of a generated trace [ms], for a profile that has one; 0: its
    own."""

    def __post_init__(self) -> None:
        self._check("jobs", self.jobs >= 1, "at least 1")
        self._check("twin", self.twin >= 0, "at least 0")
        made = not isinstance(self.trace, Trace) and str(self.trace) in PROFILES
        self._check("twin", not (self.twin and made), "0 for a profile: jobs says how many")
        self._check("trace_seed", self.trace_seed >= 0, "at least 0")
        self._check("sampling", 0.0 <= self.sampling <= 1.0, "in [0, 1]")
        self._check("longest", 0 <= self.longest <= LONGEST, f"0 to {LONGEST} ms")


def generates(source: str | Path | Trace, name: str) -> bool:
    """Is the source of a trace a profile that has a number of this name?"""
    if not generated(source):
        return False
    return name in {field.name for field in fields(PROFILES[str(source)])}


def generated(source: str | Path | Trace) -> bool:
    """Is a trace generated from a profile, so that there may be others like it?"""
    return not isinstance(source, Trace) and str(source) in PROFILES


def jobs_apart(source: str | Path | Trace) -> bool:
    """Are the jobs of a trace independent of each other, as none of a real system are?"""
    return generated(source) and independent_jobs(PROFILES[str(source)])
