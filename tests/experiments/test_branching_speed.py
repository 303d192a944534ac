"""The measurement of branching runs; what it measures is for people to judge."""

from __future__ import annotations

from experiments.branching_speed import measured


def test_answers_are_counted() -> None:
    row = measured("Cloning-v1", 4, rounds=2, jobs=400)
    assert row["branches_per_second"] > 0
    assert 2.0 <= row["answers_per_decision"] <= 5.0
