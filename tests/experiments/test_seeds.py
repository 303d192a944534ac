"""Training runs of a learner, of several seeds, beside the best rule on the same traces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from experiments.measured_worlds import note, world_of
from experiments.result_tables.agents import seeds
from experiments.same_traces import beside, read
from experiments.seeds import main, of_seeds
from tests.experiments.runs_on_traces import BOUND, REPLAYED, rows, written

MANY = {seed: 60.0 + 5.0 * (seed % 7) for seed in range(40)}
"""What traces cost replay."""


def many(policy: str, saved: Mapping[int, float], training_seed: float = float("nan")) -> Any:
    """A policy that saves a share of what there is to save, by trace."""
    costs = {seed: [MANY[seed] - share * (MANY[seed] - BOUND)] for seed, share in saved.items()}
    return rows(policy, costs, training_seed, MANY)


def skilled(name: str, skills: list[float], spread: float) -> list[Any]:
    """Runs of a learner; what they save varies from trace to trace, alike for all of them."""
    luck = np.random.default_rng(3).normal(scale=spread, size=len(MANY))
    return [
        many(f"{name}-{run}", {seed: skill + luck[seed] for seed in MANY}, run)
        for run, skill in enumerate(skills)
    ]


@pytest.fixture
def published(tmp_path: Path) -> Any:
    return read(
        written(
            tmp_path / "v2",
            many("replay", dict.fromkeys(MANY, 0.0)),
            many("rule", {seed: 0.2 + 0.01 * (seed % 3) for seed in MANY}),
            many("lucky", {seed: 0.9 if seed < 3 else -1.0 for seed in MANY}),
            many("agent", dict.fromkeys(MANY, 0.95), 0.0),
        )
    )


def measured(tmp_path: Path, published: Any, *runs: Any) -> Any:
    return of_seeds(read(written(tmp_path / "lite", *runs)), published)


def test_the_mean_of_seeds_is_held_against_the_best_rule_there(tmp_path: Path) -> None:
    published = written(
        tmp_path / "v2",
        rows("good", {1: [50.0], 2: [50.0], 3: [500.0]}),  # the best, but on the third trace
        rows("fair", {1: [70.0], 2: [55.0], 3: [20.0]}),
        rows("agent", {1: [1.0], 2: [1.0], 3: [1.0]}, training_seed=0.0),
    )
    lite = written(
        tmp_path / "lite",
        rows("ppo-0", {1: [20.0, 10.0], 2: [40.0]}, 0.0),
        rows("ppo-1", {1: [60.0], 2: [40.0]}, 1.0),
        rows("other", {1: [50.0], 2: [35.0]}, 0.0),
        rows("other", {1: [50.0], 2: [45.0]}, 7.0),
        rows("replay", {1: [100.0], 2: [60.0]}),
    )
    file = tmp_path / "seeds.json"
    main(lite, published, file)
    ppo, other = json.loads(file.read_text("utf-8"))
    room, replay = REPLAYED[1] + REPLAYED[2] - 2 * BOUND, REPLAYED[1] + REPLAYED[2]
    assert (ppo["env"], ppo["forecast"], ppo["learner"]) == ("failgym/Cloning-v1", "none", "ppo")
    assert (ppo["traces"], ppo["world"], ppo["rule"]) == (2, world_of("Cloning-v1"), "good")
    scores = {"0": 100.0 * (replay - 70.0) / room, "1": 100.0 * (replay - 100.0) / room}
    assert ppo["scores"] == pytest.approx(scores)
    assert ppo["score"][0] == pytest.approx(np.mean([*scores.values()]))
    assert ppo["rule_score"][0] == pytest.approx(100.0 * (replay - 100.0) / room)
    assert ppo["above"][0] == pytest.approx(100.0 * (100.0 - 85.0) / room)
    assert (other["learner"], list(other["scores"])) == ("other", ["0", "7"])
    assert other["score"][0] == pytest.approx(100.0 * (replay - 90.0) / room)
    table = seeds([ppo, other]).splitlines()
    assert table[2].startswith("| `failgym/Cloning-v1` | none | `ppo` | 2 | 2 | 62.5 [")
    assert "| 50.0 to 75.0 | `good` 50.0 [" in table[2]
    assert "| 0.0 to 0.0 |" in seeds([{**ppo, "scores": {"0": -0.01, "1": 0.04}}])
    assert note([ppo, other]) == ""


@pytest.mark.parametrize("spread", [0.0, 0.1])
@pytest.mark.parametrize("skills", [[0.5] * 5, [0.4, 0.45, 0.5, 0.55, 0.6], [0.4, 0.5, 0.6]])
def test_the_interval_holds_the_luck_of_training_and_of_traces(
    tmp_path: Path, published: Any, skills: list[float], spread: float
) -> None:
    """Recounted by the textbook: variances that add up, and Student's t (Satterthwaite)."""
    [row] = measured(tmp_path, published, *skilled("ppo", skills, spread))
    room = np.array([MANY[seed] - BOUND for seed in MANY])
    luck = np.random.default_rng(3).normal(scale=spread, size=len(MANY))
    rule = np.array([0.2 + 0.01 * (seed % 3) for seed in MANY])
    assert row["rule"] == "rule"
    for name, less in (("score", 0.0), ("above", rule)):
        saved = np.mean(skills) + luck - less
        value = float((saved * room).sum() / room.sum())
        parts = (saved - value) * room / room.sum()
        of_traces = len(MANY) / (len(MANY) - 1) * float((parts**2).sum())
        of_runs = float(np.var(skills, ddof=1)) / len(skills)
        each = {len(MANY) - 1: of_traces, len(skills) - 1: of_runs}
        squares = sum(size**2 / n for n, size in each.items())
        freedom = sum(each.values()) ** 2 / max(squares, 1e-300)
        reach = 100.0 * t.ppf(0.975, max(freedom, 1.0)) * np.sqrt(of_traces + of_runs)
        got, low, high = row[name]
        assert got == pytest.approx(100.0 * value)
        assert high - low == pytest.approx(2.0 * reach, rel=0.12, abs=1e-6)


def test_of_equal_runs_only_the_luck_of_traces_is_left(tmp_path: Path, published: Any) -> None:
    runs = skilled("ppo", [0.5] * 5, 0.1)
    [five] = measured(tmp_path, published, *runs)
    [one] = of_seeds(read(written(tmp_path / "one", runs[0])), published)
    assert five["score"] == pytest.approx(one["score"])
    assert five["above"] == pytest.approx(one["above"])
    [alone] = beside(read(tmp_path / "one"), published, "ppo-0")
    assert one["above"] == pytest.approx(alone["above"], rel=0.1)
    assert (len(five["scores"]), len(one["scores"])) == (5, 1)


def test_an_environment_may_lack_seeds_and_learners(tmp_path: Path, published: Any) -> None:
    runs = [*skilled("ppo", [0.4, 0.5, 0.6], 0.1), *skilled("counterfactual", [0.7], 0.1)]
    here = pd.concat([published, published.assign(env="GracePeriod-v1")])
    elsewhere = runs[0].assign(env="GracePeriod-v1")
    found = measured(tmp_path, here, *runs, elsewhere)
    assert [(row["env"], row["learner"], len(row["scores"])) for row in found] == [
        ("failgym/Cloning-v1", "ppo", 3),
        ("failgym/Cloning-v1", "counterfactual", 1),
        ("failgym/GracePeriod-v1", "ppo", 1),
    ]


def test_where_there_is_nothing_to_gain_a_dash_stands(tmp_path: Path, published: Any) -> None:
    nothing = [
        frame.assign(bound_cost=frame["replay_cost"]) for frame in skilled("ppo", [0.4, 0.5], 0.1)
    ]
    [row] = measured(tmp_path, published, *nothing)
    stored = dict.fromkeys(row["scores"])
    for name in ("score", "rule_score", "above"):
        assert np.isnan(row[name]).all()
        row[name] = [None] * 3
    assert seeds([{**row, "scores": stored}]).endswith("| 2 | - | - | `rule` - | - |")


def test_what_are_no_runs_of_learners_is_refused(tmp_path: Path, published: Any) -> None:
    first, second = skilled("ppo", [0.4, 0.5], 0.1)
    cases = {
        "expected trained agents, got none": [many("replay", dict.fromkeys(MANY, 0.0))],
        "ppo-1: expected training seed 1, got 0": [second.assign(training_seed=0.0)],
        "ppo, ppo-0: expected one training run of seed 0": [first.assign(policy="ppo"), first],
        "ppo: Cloning-v1, forecast none: expected costs of each run on 40 traces": [
            first,
            second[second["seed"] < 39],
        ],
        "expected the traces of the published run": [first.assign(replay_cost=7.0)],
    }
    for number, (message, runs) in enumerate(cases.items()):
        lite = read(written(tmp_path / f"{number}", *runs))
        with pytest.raises(ValueError, match=message):
            of_seeds(lite, published)
    failed = first.assign(wasted=float("nan"))
    with pytest.raises(ValueError, match="expected costs of each run on 40 traces"):
        measured(tmp_path, published, failed)
