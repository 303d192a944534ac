"""A hash of each row: of its numbers, and of all that they were proven from.

So what was found of a row holds for the same row wherever it appears, in a merged folder too, and
for no other: not for the same numbers under another name, SPEC, file, suite or trace.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from failgym.leaderboard.submission.layout import action_file, files_of
from failgym.leaderboard.submission.proofs import Row
from failgym.leaderboard.submission.records import PolicyRecord, Submission
from failgym.leaderboard.submission.tables import RESULTS
from failgym.leaderboard.suite.suites import suite_named

__all__ = ["row_hashes"]


def row_hashes(submission: Submission, results: Any) -> dict[Row, str]:
    """SHA-256 of each row of a submission that has results.

    Args:
        submission: whose rows they are.
        results: its table of results.
    """
    policies = {policy.key: policy for policy in submission.policies}
    columns = [_values(results.column(name)) for name in RESULTS.names]
    found: dict[Row, str] = {}
    for row, places in _places(results).items():
        name, seed, env, forecast = row
        policy = policies.get((name, seed))
        if policy is None or env not in policy.specs:
            continue
        said = json.dumps(_said(submission, policy, env, forecast), sort_keys=True)
        digest = hashlib.sha256(said.encode())
        for column in columns:
            digest.update(_bytes(column[places]))
        found[row] = digest.hexdigest()
    return found


def _said(submission: Submission, policy: PolicyRecord, env: str, forecast: str) -> dict[str, Any]:
    """Everything that the numbers of a row were proven from, as JSON values."""
    file = policy.files.get(env)
    return {
        "failgym": submission.failgym,
        "suite": submission.suite.model_dump(),
        "secret": submission.secret,
        "traces": [(one.seed, one.content_hash) for one in submission.traces if one.env == env],
        "policy": [*policy.key, policy.kind, policy.specs[env], file and file.sha256],
        "actions": submission.files.get(action_file(policy.key, env, forecast)),
        "predictor": forecast == "trained" and _predictors(submission, env),
    }


def _predictors(submission: Submission, env: str) -> str | list[str | None] | None:
    """The hash of the predictor of an environment, if there is one; of folds a list of theirs."""
    course = suite_named(submission.suite.name).course(env)
    found = [submission.files.get(name) for name in files_of(course)]
    return found if course.folds else found[0]


def _places(results: Any) -> dict[Row, list[int]]:
    """The places of each row's episodes in the table of results."""
    keys = ("policy", "training_seed", "env", "forecast")
    found: dict[Row, list[int]] = {}
    columns = (results.column(name).to_pylist() for name in keys)
    for place, row in enumerate(zip(*columns, strict=True)):
        found.setdefault(row, []).append(place)
    return found


def _values(column: Any) -> Any:
    """The values of a column: numbers, or objects where there are texts, lists or nothing."""
    if column.null_count or str(column.type) == "string" or str(column.type).startswith("list"):
        return np.array(column.to_pylist(), dtype=object)
    return column.to_numpy()


def _bytes(values: Any) -> bytes:
    return repr(values.tolist()).encode()
