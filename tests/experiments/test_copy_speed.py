"""The measurement of copies runs; what it measures is for people to judge."""

from __future__ import annotations

from experiments.copy_speed import WAYS, measured


def test_each_way_is_measured() -> None:
    row = measured("Cloning-v1", 4, steps=3, rounds=2, fields={"jobs": 400})
    assert list(row["steps_per_second"]) == list(WAYS)
    assert all(rate > 0 for rate in row["steps_per_second"].values())
