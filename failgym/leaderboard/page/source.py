"""What the page knows of a submission: its results, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from failgym.envs.spaces import TERMS
from failgym.leaderboard.submission.block_sums import check_block_sums
from failgym.leaderboard.submission.checks import read_results
from failgym.leaderboard.submission.proofs import Proof, Row
from failgym.leaderboard.submission.records import (
    SUBMISSION_FILE,
    PolicyRecord,
    Submission,
    file_sha256,
    read_submission,
)
from failgym.leaderboard.submission.stated_rows import check_rows_stated
from failgym.leaderboard.submission.tables import (
    ANCHOR_BLOCKS,
    ANCHORS,
    BLOCKS,
    COUNTED,
    RESULTS_FILE,
)
from failgym.leaderboard.verification.verdict_file import Verdicts, row_proofs

__all__ = ["COLUMNS", "PolicyRun", "Source", "read_source"]

COLUMNS = (
    *("policy", "env", "forecast", "training_seed", "seed", "slice"),
    *TERMS,
    *(*ANCHORS, *COUNTED, BLOCKS, *ANCHOR_BLOCKS),
    *("decisions", "illegal", "seconds", "status", "reason"),
)
"""Columns of the results, whose rows are episodes."""


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
    address: str = ""
    """of its own page, from the leaderboard's; "" if it has none (`failgym.leaderboard.site`)"""
    secret: str | None = None
    """SHA-256 of the host's secret seed, if the slices were drawn with one"""
    proofs: Mapping[Row, Proof] = field(default_factory=dict[Row, Proof])
    """what the host's verdicts say of rows; of others nothing is proven"""

    def __post_init__(self) -> None:
        missing = [name for name in COLUMNS if name not in self.results.columns]
        if missing:
            raise ValueError(f"{RESULTS_FILE}: expected the columns {missing}")
        known = {entry.name for entry in self.entries}
        unknown = sorted(set(self.results["policy"].unique()) - known)
        if unknown:
            raise ValueError(f"{RESULTS_FILE}: policies {unknown} not in {SUBMISSION_FILE}")
        check_block_sums(self.results)


def read_source(folder: Path, verdicts: Verdicts | None = None) -> Source:
    """Read a submission's folder, without verifying it.

    Args:
        folder: of the submission.
        verdicts: of the host (`failgym.leaderboard.verification.verdict_file`).

    Raises:
        ValueError: naming the file, if it is missing or not what a submission holds.
    """
    about = read_submission(folder)
    try:
        return _source(folder, about, verdicts)
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from error


def _source(folder: Path, about: Submission, verdicts: Verdicts | None) -> Source:
    """What a folder holds beside ``submission.json``. Raises ValueError."""
    table = read_results(folder)
    check_rows_stated(about, table)
    if file_sha256(folder / RESULTS_FILE) != about.files.get(RESULTS_FILE):
        raise ValueError(f"{RESULTS_FILE} was changed: its hash is another one")
    frame = table.to_pandas()
    seeds = table.column("training_seed").to_pylist()
    return Source(
        frame.assign(training_seed=pd.array(seeds, dtype="Int64")),
        entries=tuple(_entry(policy) for policy in about.policies),
        suite=f"{about.suite.name}, version {about.suite.version}",
        digest=about.suite.digest,
        failgym=about.failgym,
        traces=tuple((one.env, one.seed, one.content_hash) for one in about.traces),
        left_out=tuple((one.env, one.forecast, one.reason) for one in about.left_out),
        folder=folder.name,
        secret=about.secret,
        proofs={one.row: one.proof for one in row_proofs(about, table, verdicts)}
        if verdicts
        else {},
    )


def _entry(policy: PolicyRecord) -> PolicyRun:
    return PolicyRun(
        policy.name,
        policy.kind,
        policy.training_seed,
        policy.specs,
        {env: f"{file.name}, SHA-256 {file.sha256}" for env, file in policy.files.items()},
        policy.command,
        policy.versions,
    )
