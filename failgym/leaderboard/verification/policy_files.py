"""The files that policies were read from: a submission states their hashes, and does not hold them.

Whoever has them too can see that they are still what was run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from failgym.leaderboard.submission.records import PolicyRecord, Submission
from failgym.leaderboard.submission.specs import is_at_hand, names_a_file, sha256_of

__all__ = ["policy_file_problems"]


def policy_file_problems(submission: Submission) -> Iterator[str]:
    """Files that are stated where the SPEC names none, or the other way round, and changed ones.

    Changed are those that lie where the run found them (names are from the current folder) and no
    longer have the hash that is stated.
    """
    for policy in submission.policies:
        for problem in dict.fromkeys(_problems(policy)):
            yield f"policy {policy.name!r}: {problem}"


def _problems(policy: PolicyRecord) -> Iterator[str]:
    for env in policy.files.keys() - policy.specs.keys():
        yield f"states a file for {env!r}, and no SPEC"
    for env, spec in policy.specs.items():
        file, there = policy.files.get(env), Path(spec)
        if (file and file.name) != (there.name if names_a_file(spec) else None):
            yield f"{env} was played with {spec!r}, its file is stated as {file and file.name!r}"
        elif file is not None and is_at_hand(spec) and sha256_of(spec) != file.sha256:
            yield f"{spec}: was changed: its hash is not the one in submission.json"
