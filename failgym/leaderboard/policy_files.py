"""The files that policies were read from: a submission states their hashes, and does not hold them.

Whoever has them too can see that they are still what was run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from failgym.leaderboard.submission import Submission, file_sha256

__all__ = ["policy_file_problems"]


def policy_file_problems(submission: Submission) -> Iterator[str]:
    """Files that lie where the run found them, and are no longer the same.

    Names are those of the run, from the current folder.
    """
    for policy in submission.policies:
        stated = {policy.specs.get(env, ""): file.sha256 for env, file in policy.files.items()}
        for spec, sha256 in stated.items():
            if Path(spec).is_file() and file_sha256(Path(spec)) != sha256:
                yield (
                    f"policy {policy.name!r}: {spec}: was changed: its hash is not the one in"
                    " submission.json"
                )
