"""What is proven of a leaderboard's rows, as it is printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from failgym.cli.output import Cell, print_line, print_table

if TYPE_CHECKING:
    from failgym.leaderboard import Submission, Verification
    from failgym.leaderboard.submission.proofs import RowProof
    from failgym.leaderboard.submission.records import PolicyRecord

__all__ = ["print_proofs", "print_verification"]


def print_verification(found: Verification, folder: Path, seconds: float) -> None:
    """What is proven of each policy, what is not, and what that cost."""
    print_proofs(found.submission, found.proofs)
    counts = ", ".join(f"{count} {proof}" for proof, count in found.counts.items())
    print_line(
        f"{folder}: no problem found: {found.rows:,} episodes of {len(found.submission.policies)}"
        f" policies are those of their actions; rows: {counts}"
    )
    print_line(
        f"{seconds:.1f} s: engine {found.engine_seconds:.1f} s, {found.ratio:.2f} of what the run"
        f" states; policies asked again {found.policy_seconds:.1f} s, {found.asked_ratio:.2f} of it"
    )


def print_proofs(submission: Submission, proofs: Sequence[RowProof]) -> None:
    """A line per policy: of how many of its rows how much is proven, and what the words mean."""
    from failgym.leaderboard import CODE_NOTE
    from failgym.leaderboard.submission.proofs import MEANINGS, PROOFS

    rows: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys(policy.name for policy in submission.policies):
        runs = [policy for policy in submission.policies if policy.name == name]
        mine = [one for one in proofs if one.policy == name]
        counts = [sum(one.proof == proof for one in mine) for proof in PROOFS]
        why = "; ".join(dict.fromkeys(one.why for one in mine if one.why))
        kind = CODE_NOTE if runs[0].kind == "code" else runs[0].kind
        rows.append((name, _spec(runs), kind, *counts, why))
    print_table(
        f"Suite {submission.suite.name}: rows (environment and forecast)",
        ("policy", "SPEC", "kind", *PROOFS, "why no more"),
        rows,
    )
    for proof in PROOFS:
        if any(one.proof == proof for one in proofs):
            print_line(f"{proof}: {MEANINGS[proof]}")
    print_line("stated by the submitter, checked by nobody: commands, versions of packages, times")


def _spec(runs: Sequence[PolicyRecord]) -> str:
    """What was asked, unless the name says it; the first of several files."""
    specs = list(dict.fromkeys(spec for run in runs for spec in run.specs.values()))
    if specs == [runs[0].name]:
        return ""
    return specs[0] if len(specs) == 1 else f"{specs[0]} and {len(specs) - 1} more"
