"""What a SPEC names: a baseline that comes with failgym, or a file."""

from __future__ import annotations

import os
from pathlib import Path

from failgym.baselines import REGISTRY
from failgym.leaderboard.submission.records import PolicyRecord, file_sha256

__all__ = ["is_at_hand", "is_shipped", "names_a_file", "why_not_asked"]


def is_shipped(spec: str) -> bool:
    """Does a SPEC name a baseline that comes with failgym?"""
    return spec.partition(":")[0] in REGISTRY


def names_a_file(spec: str) -> bool:
    """Does a SPEC name a file: of a baseline's parameters, or of an agent?"""
    return not is_shipped(spec) and spec.endswith((".json", ".safetensors"))


def is_at_hand(spec: str) -> bool:
    """Is the file here that a SPEC names, and can it be read? No name is too odd to ask for."""
    return os.path.isfile(spec) and os.access(spec, os.R_OK)


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
    return None if file_sha256(Path(spec)) == file.sha256 else f"{spec} here is another file"
