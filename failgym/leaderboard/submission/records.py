"""`submission.json`: what a submission says of itself; everything in it is checked when read."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from failgym.files import replacing
from failgym.leaderboard.suite.suites import Suite

__all__ = [
    "CODE_NOTE",
    "EVERY",
    "SUBMISSION_FILE",
    "Kind",
    "LeftOut",
    "PolicyFile",
    "PolicyRecord",
    "Seconds",
    "Submission",
    "SuiteRecord",
    "TraceRecord",
    "file_sha256",
    "first_error",
    "read_submission",
    "write_submission",
]

SUBMISSION_FILE = "submission.json"
VERSION = 4
"""Version of the file's format."""
MOST_BYTES = 1 << 26
"""Largest `submission.json` that is read [bytes]: some 50,000 policies."""
CODE_NOTE = "code, unverified for foresight"
"""What tables say of a policy of kind "code": the seeds are public, and code can read them."""

Kind = Literal["baseline", "agent", "code"]
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
LARGEST = 2**63 - 1
"""Largest whole number that is stated: tables hold int64."""


def _legible(text: str) -> str:
    """Text that looks like what it is: two names must not look alike, nor move a cursor."""
    if not text.isprintable() or text != text.strip():
        raise ValueError("expected printable characters, without white space around them")
    return text


Text = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Name = Annotated[Text, AfterValidator(_legible)]
Command = Annotated[
    str, StringConstraints(min_length=1, max_length=100_000), AfterValidator(_legible)
]
"""Longest command that is stated, on one line: some hundred policies with their files."""
Whole = Annotated[int, Field(ge=0, le=LARGEST)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class SuiteRecord(_Record):
    """Which suite was run."""

    name: Name
    version: Whole
    digest: Hash
    """of all that the suite fixes (`Suite.digest`)"""

    @classmethod
    def of(cls, suite: Suite) -> Self:
        """The record of a suite."""
        return cls(name=suite.name, version=suite.version, digest=suite.digest)


class TraceRecord(_Record):
    """The trace of an environment under a seed."""

    env: Name
    seed: Whole
    content_hash: Name


class PolicyFile(_Record):
    """A file that a policy was read from."""

    name: Name
    sha256: Hash


class PolicyRecord(_Record):
    """A policy of the submission. Name and training seed tell policies apart."""

    name: Name
    kind: Kind
    training_seed: Whole | None
    specs: Annotated[dict[Name, Name], Field(min_length=1)]
    """environment -> the SPEC that it was played with; it was not played in others"""
    files: dict[Name, PolicyFile]
    """environment -> the file that the SPEC names, if it names one"""
    command: Command
    """what was typed"""
    versions: dict[Name, Name]
    """of Python and the libraries that it was run with"""

    @property
    def spec(self) -> str:
        """The SPEC; where environments have different ones, all of them."""
        return ", ".join(dict.fromkeys(self.specs.values()))

    @property
    def key(self) -> tuple[str, int | None]:
        """Name and training seed, which tell policies apart."""
        return self.name, self.training_seed

    @property
    def said(self) -> str:
        """Name of the policy in messages, with its training seed."""
        seed = self.training_seed
        return repr(self.name) if seed is None else f"{self.name!r}, training seed {seed}"


EVERY = "any"
"""In place of the name of a forecast: nothing is played in the environment."""


class LeftOut(_Record):
    """A forecast that the user's own trace does not allow."""

    env: Name
    forecast: Name
    """`EVERY`, where the trace cannot be played in the environment at all"""
    reason: Text


class Seconds(_Record):
    """Where the time of a run went, of all its processes together [s]."""

    engine: float = Field(ge=0.0)
    """processor time of the episodes, replay and bound included: what `verify` does again"""
    policy: float = Field(ge=0.0)
    """wall time of waiting for actions"""


class Submission(_Record):
    """The whole file."""

    format: Literal["failgym submission"] = "failgym submission"
    format_version: Literal[4] = VERSION
    failgym: Name
    """the version of failgym"""
    suite: SuiteRecord
    secret: Hash | None
    """the commitment to the secret seed, where there was one"""
    traces: list[TraceRecord]
    left_out: list[LeftOut]
    policies: list[PolicyRecord] = Field(min_length=1)
    seconds: Seconds
    files: dict[Text, Hash]
    """name within the folder -> SHA-256"""

    @model_validator(mode="after")
    def _no_name_twice(self) -> Self:
        for (name, _), count in Counter(policy.key for policy in self.policies).items():
            if count > 1:
                raise ValueError(f"policies: {name!r} is there twice")
        return self


def read_submission(folder: Path) -> Submission:
    """Read the `submission.json` of a folder. Raises ValueError, in one line."""
    file = folder / SUBMISSION_FILE
    if not file.is_file():
        raise ValueError(f"{folder}: no submission: {SUBMISSION_FILE} is missing")
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"{file}: expected at most {MOST_BYTES:,} bytes")
    content = file.read_bytes()
    try:
        found = Submission.model_validate_json(content)
        json.loads(content, object_pairs_hook=_once)
        return found
    except ValidationError as error:
        raise ValueError(f"{file}: {first_error(error)}") from error
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    except RecursionError as error:
        raise ValueError(f"{file}: expected a submission, got JSON too deep") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Raises ValueError if a name is there twice: nobody knows which counts."""
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise ValueError(f"{name[:100]!r} is there twice")
    return dict(pairs)


def first_error(error: ValidationError) -> str:
    """The first of what is wrong, and where, in one line."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"])) or "the file"
    said = f"{where}: {first['msg']}"
    return "".join(sign if sign.isprintable() else " " for sign in said)


def write_submission(submission: Submission, folder: Path) -> None:
    """Write `submission.json` whole or not at all. Raises OSError."""
    file = folder / SUBMISSION_FILE
    with replacing(file) as partial:
        partial.write_text(submission.model_dump_json(indent=1) + "\n", encoding="utf-8")


def file_sha256(path: Path) -> str:
    """SHA-256 of a file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
