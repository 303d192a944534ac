"""Step 1: the trace of a scenario, as given, generated from a profile, or read from a folder."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from failgym.traces import Trace, twin
from failgym.traces.synthetic import PROFILES, generate
from failgym.worlds.scenario import Scenario
from failgym.worlds.settings.source import generated, generates

__all__ = ["stored_trace", "version_of", "whole_trace"]


def whole_trace(scenario: Scenario) -> Trace:
    """The trace of a scenario, all splits of it; generated or read once. A twin is learned from the
    train part of the record.

    Raises:
        ValueError: if it is neither a profile nor a stored trace, or ``sampling`` or ``longest``
            is given for what has no such number.
    """
    source = scenario.trace
    changes = {"sampling": scenario.sampling, "longest": scenario.longest}
    changes = {name: value for name, value in changes.items() if value}
    for name in changes:
        if not generates(source, name):
            raise ValueError(f"{name}: expected 0 for a trace without this setting")
    if scenario.twin:
        record = whole_trace(replace(scenario, twin=0))
        return _twin(record, scenario.twin, scenario.trace_seed, scenario.origin)
    if isinstance(source, Trace):
        return source
    if generated(source):
        numbers = scenario.jobs, scenario.trace_seed, tuple(changes.items())
        return _generated(str(source), *numbers)
    if not Path(source).exists():
        known = ", ".join(PROFILES)
        raise ValueError(
            f"trace: expected a profile ({known}) or the folder of a trace, got {source}"
        )
    return stored_trace(source)


def stored_trace(folder: str | Path) -> Trace:
    """The trace of a folder, read once: scenarios that name the folder by a path share it.

    It is read again if its ``meta.json`` is another one. Other tables are not looked at again.

    Raises:
        OSError, ValueError: as `failgym.traces.Trace.load`.
    """
    return _loaded(os.path.abspath(folder), version_of(folder))


@lru_cache(maxsize=4)
def _generated(profile: str, jobs: int, seed: int, changes: tuple[tuple[str, Any], ...]) -> Trace:
    """Generate a trace, once per process."""
    return generate(replace(PROFILES[profile], **dict(changes)), jobs=jobs, seed=seed)


@lru_cache(maxsize=4)
def _loaded(folder: str, version: str) -> Trace:
    """Read a trace, once per process and version of it."""
    return Trace.load(folder)


@lru_cache(maxsize=2)
def _twin(record: Trace, jobs: int, seed: int, boundary_share: float) -> Trace:
    """Generate a twin, once per process."""
    return twin(record, jobs, seed, boundary_share=boundary_share)


def version_of(source: object) -> str:
    """What tells a trace's folder, or a forecast's file, from any other, and from itself before.

    "" for anything else. The path alone does not: it may be relative, and what lies there be
    replaced by something that says it is as old.
    """
    if not isinstance(source, str | Path):
        return ""
    path = Path(source) / "meta.json" if Path(source).is_dir() else Path(source)
    if not path.is_file():
        return ""
    about = path.stat()
    times = about.st_mtime_ns, about.st_ctime_ns
    return " ".join(map(str, (path.absolute(), about.st_ino, about.st_size, *times)))
