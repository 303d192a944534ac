"""What the page knows of a submission: its results, and where they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from failgym.envs.spaces import TERMS

__all__ = ["COLUMNS", "PolicyRun", "Source", "read_source"]

MANIFEST, RESULTS = "submission.json", "results.parquet"
COLUMNS = (
    *("policy", "env", "forecast", "training_seed", "seed", "slice"),
    *TERMS,
    *("replay_cost", "bound_cost", "decisions", "illegal", "seconds", "status", "reason"),
)
"""Of the results: an episode per row."""


@dataclass(frozen=True)
class PolicyRun:
    """A policy of a submission, or one training run of it."""

    name: str
    kind: str
    """"baseline", "agent" or "code"; of code nobody checks that it did not look ahead"""
    training_seed: int | None
    specs: Mapping[str, str]
    """environment -> the SPEC that it was played with; it was not played in others"""
    files: Mapping[str, str]
    """environment -> name and SHA-256 of the file that the SPEC names, if it names one"""
    command: str
    """what was typed"""
    versions: Mapping[str, str]
    """of Python and the libraries that it was run with"""


@dataclass(frozen=True)
class Source:
    """Results and their provenance."""

    results: pd.DataFrame
    """an episode per row; `COLUMNS`"""
    entries: tuple[PolicyRun, ...]
    suite: str
    """name and version"""
    digest: str
    """of all that the suite fixes"""
    failgym: str
    """version of failgym that ran it"""
    traces: tuple[tuple[str, int, str], ...]
    """environment, seed and content hash of each trace"""
    left_out: tuple[tuple[str, str, str], ...] = ()
    """environment, forecast and reason of what the traces do not allow"""
    folder: str = ""
    secret: str | None = None
    """SHA-256 of the host's secret seed, if the slices were drawn with one"""

    def __post_init__(self) -> None:
        missing = [name for name in COLUMNS if name not in self.results.columns]
        if missing:
            raise ValueError(f"{self.folder or RESULTS}: expected the columns {missing}")
        known = {entry.name for entry in self.entries}
        unknown = sorted(set(self.results["policy"].unique()) - known)
        if unknown:
            raise ValueError(f"{self.folder or RESULTS}: policies {unknown} not in {MANIFEST}")


def read_source(folder: Path) -> Source:
    """Read a submission's folder, without verifying it.

    Raises:
        ValueError: naming the file, if it is missing or not what a submission holds.
    """
    manifest, results = folder / MANIFEST, folder / RESULTS
    try:
        provenance = _provenance(json.loads(manifest.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{manifest}: expected a submission: {error!r}") from error
    try:
        table = pd.read_parquet(results)
    except (OSError, ValueError, RuntimeError) as error:  # those of pyarrow are such
        raise ValueError(f"{results}: expected a Parquet of results: {error}") from error
    return Source(table, folder=folder.name, **provenance)


def _provenance(found: dict[str, Any]) -> dict[str, Any]:
    """The fields of a `Source` that `submission.json` holds."""
    suite = found["suite"]
    return {
        "entries": tuple(_entry(each) for each in found["policies"]),
        "suite": f"{suite['name']}, version {suite['version']}",
        "digest": str(suite["digest"]),
        "failgym": str(found["failgym"]),
        "traces": tuple(
            (str(each["env"]), int(each["seed"]), str(each["content_hash"]))
            for each in found["traces"]
        ),
        "left_out": tuple(
            (str(each["env"]), str(each["forecast"]), str(each["reason"]))
            for each in found["left_out"]
        ),
        "secret": found["secret"],
    }


def _entry(found: dict[str, Any]) -> PolicyRun:
    return PolicyRun(
        str(found["name"]),
        str(found["kind"]),
        found["training_seed"],
        dict(found["specs"]),
        {env: f"{file['name']}, SHA-256 {file['sha256']}" for env, file in found["files"].items()},
        str(found["command"]),
        dict(found["versions"]),
    )
