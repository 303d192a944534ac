"""What verifying found: problems, what is proven of each row, and what it cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from failgym.leaderboard.submission.proofs import MEANINGS, PROOFS, STATED, Proof, RowProof
from failgym.leaderboard.submission.records import Submission
from failgym.leaderboard.verification.verdict_file import written

__all__ = ["Verification"]


@dataclass(frozen=True)
class Verification:
    """Result of verifying a submission."""

    submission: Submission
    problems: tuple[str, ...]
    """what is wrong, a line each; none: every number is that of the actions"""
    proofs: tuple[RowProof, ...] = ()
    """of each row, in their order; where there are problems, nothing is proven of any"""
    rows: int = 0
    """whose numbers were computed anew"""
    engine_seconds: float = 0.0
    """processor time that playing the actions took, and replay and the bound [s]"""
    policy_seconds: float = 0.0
    """wall time that policies took to answer again [s]"""

    @property
    def ratio(self) -> float:
        """The engine's time over its share of the run, as stated."""
        return self.engine_seconds / max(self.submission.seconds.engine, 1e-9)

    @property
    def asked_ratio(self) -> float:
        """The policies' time over their share of the run, as stated."""
        return self.policy_seconds / max(self.submission.seconds.policy, 1e-9)

    @property
    def counts(self) -> dict[Proof, int]:
        """How many rows there are of which so much is proven."""
        found = Counter(one.proof for one in self.proofs)
        return {proof: found[proof] for proof in PROOFS}

    def report(self) -> dict[str, Any]:
        """Content of a verdict's file, as JSON values."""
        return written(
            {
                "failgym": self.submission.failgym,
                "suite": self.submission.suite.model_dump(),
                "problems": list(self.problems),
                "rows": self.rows,
                "ratio": self.ratio,
                "asked_ratio": self.asked_ratio,
                "proofs": [asdict(one) for one in self.proofs],
                "meanings": MEANINGS,
                "stated": list(STATED),
            }
        )
