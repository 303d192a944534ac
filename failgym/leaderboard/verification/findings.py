"""What verifying found at a place: an environment and a seed, or a predictor."""

from __future__ import annotations

from dataclasses import dataclass, field

from failgym.leaderboard.submission.proofs import RowProof

__all__ = ["Findings", "Place"]

Place = tuple[str, int | None]
"""An environment and a seed; None for the seed stands for the predictor of the environment."""


@dataclass
class Findings:
    """Findings in an environment under a seed."""

    slices: list[int] = field(default_factory=list[int])
    """those that there are"""
    problems: list[str] = field(default_factory=list[str])
    proofs: list[RowProof] = field(default_factory=list[RowProof])
    """of the policies there"""
    rows: int = 0
    """whose numbers were computed anew"""
    engine_seconds: float = 0.0
    """processor time of the engine [s]"""
    policy_seconds: float = 0.0
    """wall time that policies took to answer again [s]"""
