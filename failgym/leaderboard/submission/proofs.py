"""What is proven of a row of a leaderboard: who played, only the numbers, or nothing.

A row is a policy, or one training run of it, in an environment with one kind of forecast.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from failgym.leaderboard.submission.records import PolicyRecord

__all__ = ["MEANINGS", "PROOFS", "STATED", "Key", "Proof", "Row", "RowProof", "joined", "weakest"]

Proof = Literal["verified", "replayed", "claimed"]
PROOFS: Final[tuple[Proof, ...]] = ("verified", "replayed", "claimed")
"""The strongest first."""
MEANINGS: Final[dict[Proof, str]] = {
    "verified": "the policy was asked again, and every action is its own",
    "replayed": "the actions prove the numbers, and nobody proves who played",
    "claimed": "stated by the submitter: nothing could be played again",
}
STATED = ("command", "versions", "seconds")
"""What a submitter states and nobody can check, in tables and in `submission.json`."""

Key = tuple[str, int | None]
"""Name and training seed of a policy."""
Row = tuple[str, int | None, str, str]
"""Name, training seed, environment, forecast."""


@dataclass(frozen=True)
class RowProof:
    """What is proven of a row."""

    policy: str
    training_seed: int | None
    env: str
    forecast: str
    proof: Proof
    why: str = ""
    """why no more is proven"""
    sha256: str = ""
    """of the row (`failgym.leaderboard.submission.row_hashes`)"""
    player: str = ""
    """who was asked again (`failgym.leaderboard.submission.same_players`), where it can be told"""

    @classmethod
    def of(
        cls, policy: PolicyRecord, env: str, forecast: str, proof: Proof, why: str = ""
    ) -> RowProof:
        """What is proven of a policy in an environment with a kind of forecast."""
        return cls(*policy.key, env, forecast, proof, why)

    @property
    def row(self) -> Row:
        """Policy, training seed, environment and forecast, which tell rows apart."""
        return self.policy, self.training_seed, self.env, self.forecast

    def claimed(self, why: str) -> RowProof:
        """The same row, of which nothing is proven."""
        return replace(self, proof="claimed", why=why)


def weakest(proofs: Iterable[Proof]) -> Proof:
    """The least of what is proven; of nothing, nothing is proven."""
    found = set(proofs)
    for proof in reversed(PROOFS):
        if proof in found:
            return proof
    return "claimed"


def joined(proofs: Iterable[RowProof], rows: Sequence[RowProof]) -> list[RowProof]:
    """The weakest of what was found of each row under each of its seeds.

    Args:
        proofs: what was found.
        rows: what is said where nothing was found, in the order of the result.
    """
    found: dict[Row, RowProof] = {}
    for one in proofs:
        known = found.get(one.row)
        if known is None or PROOFS.index(one.proof) > PROOFS.index(known.proof):
            found[one.row] = one
    return [found.get(one.row, one) for one in rows]
