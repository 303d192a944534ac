"""The trace of a scenario, and its splits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from failgym.traces import Trace
from failgym.traces.synthetic import PROFILES, generate
from failgym.worlds.scenario import Scenario, Split, generates
from failgym.worlds.tables import with_columns, with_tables

__all__ = [
    "Origin",
    "jobs_of",
    "last_written",
    "learned_from",
    "load_trace",
    "origin_of",
    "part_of",
    "recorded_part",
    "tasks_run",
    "whole_trace",
]

Ints = npt.NDArray[np.int64]
Half = Literal["train", "test"]
"""What is before a boundary, and what is after it."""
Cut = tuple[Half, float]
"""A half, and the share of the jobs that are submitted before the boundary."""


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
    for name in changes:
        if not generates(source, name):
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


def learned_from(split: Split) -> Split:
    """The split from which is learned what a split of a scenario shows: expectations, forecasts.

    What is chosen on "validation" is as new to it as "test" is to "train".
    """
    return "fit" if split in ("fit", "validation") else "train"


def part_of(scenario: Scenario, split: Split) -> Trace:
    """What a split of a scenario is simulated from.

    In the scheduled world what was submitted before a boundary still runs after it: the test split
    is the whole trace, and "validation" the train split. So is every split of a trace of which
    nothing was ever run: there is nothing to be cut.
    """
    return recorded_part(scenario, _simulated(scenario, split))


def _simulated(scenario: Scenario, split: Split) -> Split:
    """The split of the record that a split is simulated from."""
    if scenario.world == "pinned":
        return split
    if split == "test" or not tasks_run(whole_trace(scenario)).any():
        return "all"
    return "train" if split == "validation" else split


def recorded_part(scenario: Scenario, split: Split) -> Trace:
    """A split of the record: jobs submitted before a boundary, as known then, or after it."""
    trace = whole_trace(scenario)
    for half, share in _cuts(scenario, split):
        trace = _part(trace, half, share)
    return trace


def _cuts(scenario: Scenario, split: Split) -> tuple[Cut, ...]:
    """What is cut one after the other to get a split of the record."""
    cuts: dict[Split, tuple[Cut, ...]] = {
        "all": (),
        "train": (("train", scenario.boundary),),
        "test": (("test", scenario.boundary),),
        "fit": (("train", scenario.boundary), ("train", scenario.inner_boundary)),
        "validation": (("train", scenario.boundary), ("test", scenario.inner_boundary)),
    }
    return cuts[split]


@lru_cache(maxsize=8)
def _part(trace: Trace, half: Half, share: float) -> Trace:
    """The first or second part of a trace, made once."""
    return trace.split(half, share)


def tasks_run(trace: Trace) -> npt.NDArray[np.bool_]:
    """Tasks of which a run is recorded, [tasks]; of others a length may be known."""
    ran = np.zeros(trace.rows("tasks"), dtype=np.bool_)
    ran[trace.column("attempts", "task")[trace.present("attempts", "start")]] = True
    return ran


def jobs_of(scenario: Scenario) -> npt.NDArray[np.bool_]:
    """Jobs of the split of a scenario, in the trace that `part_of` gives, [jobs]."""
    trace = whole_trace(scenario)
    submit = part_of(scenario, scenario.split).column("jobs", "submit")
    wanted = np.ones(len(submit), dtype=np.bool_)
    for half, share in _cuts(scenario, scenario.split):
        at = trace.boundary(share)
        wanted &= submit > at if half == "test" else submit <= at
        trace = _part(trace, half, share)
    return wanted


@dataclass(frozen=True)
class Origin:
    """Where the rows of a split come from."""

    whole: Trace
    """The trace that was split."""
    part: Trace
    """The split."""
    jobs: Ints
    """[jobs of the split] Rows of the whole trace."""
    tasks: Ints
    """[tasks of the split] Rows of the whole trace."""
    attempts: Ints
    """[attempts of the split] Rows of the whole trace; -1 for those that do not start."""


def origin_of(scenario: Scenario) -> Origin:
    """Where the rows of what `part_of` gives for a scenario's split come from."""
    whole, part = whole_trace(scenario), part_of(scenario, scenario.split)
    if part is whole:
        return Origin(whole, part, *(_row_numbers(part, t) for t in ("jobs", "tasks", "attempts")))
    return _origin(whole, part, _cuts(scenario, _simulated(scenario, scenario.split)))


@lru_cache(maxsize=4)
def _origin(whole: Trace, part: Trace, cuts: tuple[Cut, ...]) -> Origin:
    """Split the trace once more, with the numbers of its rows in columns that a split keeps."""
    bare = with_tables(whole, placements={}, windows={}, outages={})
    numbers = {
        ("jobs", "skip_mode"): _row_numbers(whole, "jobs"),
        ("tasks", "output_bytes"): _row_numbers(whole, "tasks"),
    }
    numbered = with_columns(bare, whole.meta.end, numbers)
    known = np.ones(whole.rows("attempts"), dtype=np.bool_)
    start = whole.column("attempts", "start")
    for half, share in cuts:
        if half == "train":  # a run that starts after the boundary is not in it
            known &= start <= numbered.boundary(share)
        numbered = numbered.split(half, share)
    jobs, tasks = numbered.column("jobs", "skip_mode"), numbered.column("tasks", "output_bytes")
    kept = np.zeros(whole.rows("tasks"), dtype=np.bool_)
    kept[tasks] = True
    begun = known & kept[whole.column("attempts", "task")] & whole.present("attempts", "start")
    attempts = np.full(part.rows("attempts"), -1, dtype=np.int64)
    attempts[part.present("attempts", "start")] = np.flatnonzero(begun)
    return Origin(whole, part, jobs.astype(np.int64), tasks, attempts)


def _row_numbers(trace: Trace, table: str) -> Ints:
    return np.arange(trace.rows(table), dtype=np.int64)
