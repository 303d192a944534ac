"""Are the rows of the results those of the policies that a submission states?"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

from failgym.leaderboard.submission.checks import KEYS, cells_of
from failgym.leaderboard.submission.layout import planned
from failgym.leaderboard.submission.records import SUBMISSION_FILE, Submission, SuiteRecord
from failgym.leaderboard.submission.tables import RESULTS_FILE
from failgym.leaderboard.suite.suites import suite_named

__all__ = ["check_rows_stated"]

_Row = tuple[str, int | None, str, str, int]
"""Policy, training seed, environment, forecast and seed."""


def check_rows_stated(submission: Submission, results: Any) -> None:
    """Nothing is proven of rows that no policy states, and rows left out flatter their policy.

    Args:
        submission: its policies, and the suite that they were played on.
        results: its table of results.

    Raises:
        ValueError: in one line, naming the first such row.
    """
    columns = (results.column(name).to_pylist() for name in KEYS[:-1])
    found: set[_Row] = set(zip(*columns, strict=True))
    specs = {policy.key: policy.specs for policy in submission.policies}
    for row in sorted(found, key=repr):
        name, training_seed, env, _, _ = row
        if env not in specs.get((name, training_seed), ()):
            raise ValueError(
                f"{RESULTS_FILE}: no policy {_called(row)} with a SPEC for {env!r}"
                f" in {SUBMISSION_FILE}"
            )
    suite = suite_named(submission.suite.name)
    if submission.suite == SuiteRecord.of(suite):  # else it is of another version
        wanted = _planned(submission)
        _check_none(wanted - found, "is missing")
        _check_none(found - wanted, "does not belong to the suite")


def _planned(submission: Submission) -> set[_Row]:
    """The rows that there must be."""
    played = {trace.env for trace in submission.traces}
    cells = cells_of(submission, suite_named(submission.suite.name))
    plan = planned(submission.policies, [cell for cell in cells if cell.env in played])
    return {
        (*submission.policies[number].key, cell.env, cell.forecast, cell.seed)
        for number, cell in plan
    }


def _check_none(rows: set[_Row], what: str) -> None:
    """Raises ValueError, naming the first of the rows."""
    if rows:
        row = min(rows, key=repr)
        _, _, env, forecast, seed = row
        where = f"{env}, forecast {forecast}, seed {seed}"
        raise ValueError(f"{RESULTS_FILE}: {_called(row)}: {where}: {what}")


def _called(row: _Row) -> str:
    name, training_seed, *_ = row
    seed = "" if training_seed is None else f", training seed {training_seed}"
    return f"{name!r}{seed}"
