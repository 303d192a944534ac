"""The files that policies were read from: a submission states their hashes, and does not hold them.

Whoever has them too can see that they are still what was run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from failgym.leaderboard.submission import PolicyRecord, Submission, file_sha256

__all__ = ["policy_file_problems"]

SUFFIXES = (".json", ".safetensors")
"""How a SPEC ends that names a file."""


def policy_file_problems(submission: Submission) -> Iterator[str]:
    """Files without a hash, and those that lie where the run found them and are no longer the same.

    Names are those of the run, from the current folder.
    """
    for policy in submission.policies:
        for problem in dict.fromkeys(_problems(policy)):
            yield f"policy {policy.name!r}: {problem}"


def _problems(policy: PolicyRecord) -> Iterator[str]:
    for env in policy.files.keys() - policy.specs.keys():
        yield f"there is the hash of a file for {env}, where it was not played"
    for env, spec in policy.specs.items():
        file, there = policy.files.get(env), Path(spec)
        if (file is not None) != spec.endswith(SUFFIXES):
            yield f"{env}: expected the hash of a file where the SPEC names one, and only there"
        elif file is not None and file.name != there.name:
            yield f"{env}: the SPEC names {there.name!r}, the hash is of {file.name!r}"
        elif file is not None and there.is_file() and file_sha256(there) != file.sha256:
            yield f"{spec}: was changed: its hash is not the one in submission.json"
