"""What a SPEC names: a baseline that comes with failgym, a file, or a file for each fold."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from failgym.baselines import REGISTRY
from failgym.leaderboard.submission.records import PolicyRecord, file_sha256
from failgym.leaderboard.suite.suites import Cell, Suite
from failgym.worlds.settings.splitting import FOLDS

__all__ = [
    "FOLD",
    "is_at_hand",
    "is_by_fold",
    "is_shipped",
    "names_a_file",
    "sha256_of",
    "spec_played",
    "specs_of",
    "why_not_asked",
]

FOLD = "{fold}"
"""In the SPEC of a file: the number of a fold, each of which has a file of its own."""


def is_shipped(spec: str) -> bool:
    """Does a SPEC name a baseline that comes with failgym?"""
    return spec.partition(":")[0] in REGISTRY


def names_a_file(spec: str) -> bool:
    """Does a SPEC name a file: of a baseline's parameters, or of an agent?"""
    return not is_shipped(spec) and spec.endswith((".json", ".safetensors"))


def is_by_fold(spec: str) -> bool:
    """Does a SPEC name a file for each fold?"""
    return names_a_file(spec) and FOLD in spec


def specs_of(spec: str) -> list[str]:
    """The SPECs that a SPEC stands for: that of each fold, or itself."""
    if not is_by_fold(spec):
        return [spec]
    return [spec.replace(FOLD, str(fold)) for fold in range(1, FOLDS + 1)]


def spec_played(spec: str, suite: Suite, cell: Cell) -> str:
    """The SPEC that plays a cell. Raises ValueError for a file by fold where there are no folds."""
    if not is_by_fold(spec):
        return spec
    if not suite.course(cell.env).folds:
        raise ValueError(f"{spec}: {FOLD} is for suites that play folds, not {suite.name}")
    return spec.replace(FOLD, str(cell.seed))


def is_at_hand(spec: str) -> bool:
    """Are the files here that a SPEC names, and can they be read? No name is too odd to ask for."""
    return all(os.path.isfile(one) and os.access(one, os.R_OK) for one in specs_of(spec))


def sha256_of(spec: str) -> str:
    """SHA-256 of the file that a SPEC names; of folds that of a line for each. Raises OSError."""
    found = [file_sha256(Path(one)) for one in specs_of(spec)]
    if not is_by_fold(spec):
        return found[0]
    return hashlib.sha256("".join(f"{one}\n" for one in found).encode()).hexdigest()


def why_not_asked(policy: PolicyRecord, env: str) -> str | None:
    """Why a policy cannot be asked again in an environment; None if it can be."""
    spec, file = policy.specs[env], policy.files.get(env)
    if policy.kind == "code":
        return "is code, which verify never runs"
    if is_shipped(spec) and policy.kind == "baseline":
        return None
    if not names_a_file(spec) or spec.endswith(".json") != (policy.kind == "baseline"):
        return f"is no {policy.kind}: {spec!r}"
    if file is None:
        return "states no hash of its file"
    if not is_at_hand(spec):
        return f"{spec} is not here"
    return None if sha256_of(spec) == file.sha256 else f"{spec} here is another file"
