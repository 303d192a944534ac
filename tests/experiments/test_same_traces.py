"""A policy on some traces of the published run, beside what others have on the same ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from experiments.measured_worlds import world_of
from experiments.result_tables.agents import same_traces
from experiments.same_traces import beside, read
from failgym.vocabulary import TERMS

REPLAYED = {1: 100.0, 2: 60.0, 3: 80.0}
BOUND = 20.0


def rows(policy: str, costs: dict[int, list[float]], training_seed: float = float("nan")) -> Any:
    """A row for each slice of each trace; a trace costs replay and the bound as much as said."""
    found: list[dict[str, Any]] = []
    for seed, parts in costs.items():
        for cost in parts:
            share = 1.0 / len(parts)
            terms = dict.fromkeys(TERMS, 0.0) | {TERMS[0]: cost / 4.0, TERMS[-1]: 3.0 * cost / 4.0}
            found.append(
                {
                    **{"policy": policy, "env": "Cloning-v1", "forecast": "none", "seed": seed},
                    **{"training_seed": training_seed, **terms},
                    **{"replay_cost": share * REPLAYED[seed], "bound_cost": share * BOUND},
                }
            )
    return pd.DataFrame(found)


def written(folder: Path, *parts: Any) -> Path:
    folder.mkdir()
    pd.concat(parts).to_parquet(folder / "results.parquet")
    return folder


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return written(
        tmp_path / "v2",
        rows("replay", {seed: [cost] for seed, cost in REPLAYED.items()}),
        rows("good", {1: [50.0], 2: [50.0], 3: [500.0]}),  # the best, but on the third trace
        rows("fair", {1: [70.0], 2: [55.0], 3: [20.0]}),
        rows("half", {1: [1.0]}),  # has not played them all
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
