"""The trace of a scenario, and its splits."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.envs.scenario import Scenario, Split
from failgym.traces import Trace
from failgym.traces.synthetic import PROFILES, generate

__all__ = [
    "jobs_of",
    "last_written",
    "load_trace",
    "part_of",
    "recorded_part",
    "tasks_run",
    "whole_trace",
]


def last_written(source: object) -> int:
    """When a folder of a trace, or a file of a forecast, was last written; 0 for anything else."""
    if not isinstance(source, str | Path):
        return 0
    path = Path(source) / "meta.json" if Path(source).is_dir() else Path(source)
    return path.stat().st_mtime_ns if path.is_file() else 0


def load_trace(
    source: str | Path | Trace, jobs: int, seed: int, sampling: float = 0.0, longest: int = 0
) -> Trace:
    """The trace of a scenario: as given, generated from a profile, or read from a folder.

    Raises:
        ValueError: if it is neither a profile nor a stored trace, or ``sampling`` or ``longest``
            is given for what has no such number.
    """
    changes = {"sampling": sampling, "longest": longest}
    changes = {name: value for name, value in changes.items() if value}
    known = str(source) in PROFILES and not isinstance(source, Trace)
    for name in changes:
        if not known or name not in {f.name for f in fields(PROFILES[str(source)])}:
            raise ValueError(f"{name}: expected 0 for a trace that has no such number")
    if isinstance(source, Trace):
        return source
    return _load(source, jobs, seed, tuple(changes.items()), last_written(source))


@lru_cache(maxsize=4)
def _load(
    source: str | Path, jobs: int, seed: int, changes: tuple[tuple[str, Any], ...], stamp: int
) -> Trace:
    """Generate or read a trace, once per process and version of it."""
    if str(source) in PROFILES:
        return generate(replace(PROFILES[str(source)], **dict(changes)), jobs=jobs, seed=seed)
    if not Path(source).is_dir():
        known = ", ".join(PROFILES)
        raise ValueError(
            f"trace: expected a profile ({known}) or the folder of a trace, got {source}"
        )
    return Trace.load(source)


def whole_trace(scenario: Scenario) -> Trace:
    """The trace of a scenario, both splits of it."""
    s = scenario
    return load_trace(s.trace, s.jobs, s.trace_seed, s.sampling, s.longest)


def part_of(scenario: Scenario, split: Split) -> Trace:
    """What a split of a scenario is simulated from.

    In the scheduled world the test split is the whole trace, since what was submitted before the
    boundary still runs, and so is the train split of a trace of which nothing was ever run: there
    is nothing to be cut.
    """
    trace = whole_trace(scenario)
    whole = split == "all"
    if scenario.world == "scheduled" and not whole:
        whole = split == "test" or not tasks_run(trace).any()
    return trace if whole else recorded_part(scenario, split)


def recorded_part(scenario: Scenario, split: Split) -> Trace:
    """A split of the record: jobs submitted before the boundary, as known then, or after it."""
    return _part(whole_trace(scenario), split, scenario.boundary)


@lru_cache(maxsize=8)
def _part(trace: Trace, split: Split, boundary: float) -> Trace:
    """A split of a trace, made once."""
    return trace if split == "all" else trace.split(split, boundary)


def tasks_run(trace: Trace) -> npt.NDArray[np.bool_]:
    """Tasks of which a run is recorded, [tasks]; of others a length may be known."""
    ran = np.zeros(trace.rows("tasks"), dtype=np.bool_)
    ran[trace.column("attempts", "task")[trace.present("attempts", "start")]] = True
    return ran


def jobs_of(scenario: Scenario) -> npt.NDArray[np.bool_]:
    """Jobs of the split of a scenario, in the trace that `part_of` gives, [jobs]."""
    trace = whole_trace(scenario)
    submit = part_of(scenario, scenario.split).column("jobs", "submit")
    if scenario.split == "all":
        return np.ones(len(submit), dtype=np.bool_)
    at = trace.boundary(scenario.boundary)
    return submit > at if scenario.split == "test" else submit <= at
