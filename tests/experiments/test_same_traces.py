"""A policy on some traces of the published run, beside what others have on the same ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.measured_worlds import world_of
from experiments.result_tables.agents import same_traces
from experiments.same_traces import beside, read
from tests.experiments.runs_on_traces import BOUND, REPLAYED, rows, written


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return written(
        tmp_path / "v2",
        rows("replay", {seed: [cost] for seed, cost in REPLAYED.items()}),
        rows("good", {1: [50.0], 2: [50.0], 3: [500.0]}),  # the best, but on the third trace
        rows("fair", {1: [70.0], 2: [55.0], 3: [20.0]}),
        rows("half", {1: [1.0]}),  # has not played them all
        rows("fails", {1: [1.0], 2: [float("nan")], 3: [1.0]}),
        rows("agent", {1: [40.0], 2: [40.0], 3: [40.0]}, training_seed=0.0),
        rows("agent", {1: [60.0], 2: [40.0], 3: [40.0]}, training_seed=1.0),
    )


def test_it_is_held_against_the_best_rule_on_its_own_traces(
    tmp_path: Path, published: Path
) -> None:
    lite = written(tmp_path / "lite", rows("mine", {1: [20.0, 10.0], 2: [40.0]}))
    [row] = beside(read(lite), read(published), "mine")
    room = REPLAYED[1] + REPLAYED[2] - 2 * BOUND
    assert (row["env"], row["forecast"], row["traces"]) == ("failgym/Cloning-v1", "none", 2)
    assert row["world"] == world_of("Cloning-v1")
    assert row["rule"] == "good"
    assert row["score"][0] == pytest.approx(100.0 * (160.0 - 70.0) / room)
    assert row["rule_score"][0] == pytest.approx(100.0 * (160.0 - 100.0) / room)
    assert row["above"][0] == pytest.approx(100.0 * (100.0 - 70.0) / room)
    assert row["agents"]["agent"][0] == pytest.approx(100.0 * (160.0 - 90.0) / room)
    line = same_traces([row]).splitlines()[-1]
    assert f"`good` {row['rule_score'][0]:.1f}" in line
    assert f"`agent` {row['agents']['agent'][0]:.1f}" in line


def test_other_traces_are_refused(tmp_path: Path, published: Path) -> None:
    other = rows("mine", {1: [20.0], 2: [40.0]}).assign(replay_cost=7.0)
    unknown = rows("mine", {1: [20.0]}).assign(seed=9)
    for number, frame in enumerate((other, unknown)):
        lite = written(tmp_path / f"lite{number}", frame)
        with pytest.raises(ValueError, match="expected the traces of the published run"):
            beside(read(lite), read(published), "mine")
    with pytest.raises(ValueError, match="--policy: expected one that is there, got 'who'"):
        beside(read(published), read(published), "who")
    with pytest.raises(ValueError, match="expected a submission"):
        read(tmp_path)


def test_who_failed_has_not_played_for_nothing(tmp_path: Path, published: Path) -> None:
    others = read(published)
    fails = others[others["policy"].eq("fails")].set_index("seed")["cost"]
    assert fails.to_dict() == {1: 1.0, 2: float("inf"), 3: 1.0}
    failed = rows("mine", {1: [20.0, float("nan")], 2: [40.0]})
    lite = written(tmp_path / "failed", failed)
    with pytest.raises(ValueError, match="mine: Cloning-v1, forecast none: expected no failed"):
        beside(read(lite), others, "mine")
