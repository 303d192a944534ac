"""Errors of off-policy estimates, of made-up data sets; what is recorded is a client's test."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from experiments import rllib_ppo
from experiments.off_policy import QUESTIONS, Row, done_before, error
from experiments.result_tables.contrib import off_policy, rllib
from failgym.baselines import REGISTRY
from failgym.contrib.off_policy import ESTIMATORS
from failgym.envs import SCENARIOS
from failgym.leaderboard.statistics.bootstrap import Estimate
from tests.pages import table


def made_up(number: int, truth: float, found: float | None) -> Row:
    """A data set whose estimators all say the same."""
    return Row(
        *("Cloning-v1", "0", "algorithm_1", "replay", number, 10, 40, -2.0),
        *(truth, truth - 0.5, 0.75, dict.fromkeys(ESTIMATORS, found)),
    )


def test_the_error_is_the_root_of_the_mean_square_over_data_sets() -> None:
    rows = [made_up(0, -1.0, -4.0), made_up(1, -3.0, -7.0)]
    assert error(rows, "fitted Q") == pytest.approx((0.5 * (9.0 + 16.0)) ** 0.5)
    assert error(rows, None) == pytest.approx(0.5)
    assert error([*rows, made_up(2, -1.0, None)], "fitted Q") != error(rows, "fitted Q")


def test_the_table_has_a_row_for_each_policy() -> None:
    shown = table(
        off_policy([asdict(made_up(0, -1.0, -4.0)), asdict(made_up(1, -3.0, -7.0))]) + "\n"
    )
    numbers = ["2", "75 %", "-2.000", "0.500", *(["3.536"] * len(ESTIMATORS))]
    assert shown == [["failgym/Cloning-v1", "replay", *numbers]]


def test_the_table_of_agents_has_a_row_for_each_run() -> None:
    row = {
        "env": "Cloning-v1",
        "decisions": 600_000,
        "seconds": 61.4,
        "rllib_cost": 12.25,
        "cost": 12.25,
        "traces": 8,
        "agent": 70.04,
        "rule": "algorithm_1",
        "rule_score": [60.0, 50.0, 70.0],
        "above": [10.0, 1.0, 20.0],
    }
    (cells,) = table(rllib([row]) + "\n")
    assert cells[:6] == [
        *("failgym/Cloning-v1", "600,000", "61 s", "12.250000", "12.250000", "8"),
    ]


def test_what_was_estimated_before_is_read_again(tmp_path: Path) -> None:
    file, rows = tmp_path / "rows.json", [made_up(0, -1.0, -4.0), made_up(1, -1.0, None)]
    assert done_before(file) == done_before(None) == []
    file.write_text(json.dumps([asdict(row) for row in rows]))
    assert done_before(file) == rows
    file.write_text('[{"env": "Cloning-v1"}]')
    with pytest.raises(ValueError, match="expected what this experiment wrote"):
        done_before(file)


def test_policies_are_those_of_their_environments() -> None:
    for env, question in QUESTIONS.items():
        for name in (question.behaviour, *question.targets):
            assert REGISTRY[name].compatible(SCENARIOS[env])


def test_a_training_run_that_stands_in_a_file_is_shown_again(tmp_path: Path) -> None:
    file, estimate = tmp_path / "rows.json", [60.0, 50.0, 70.0]
    numbers = dict.fromkeys(("seconds", "decisions_per_second", "rllib_cost", "cost", "score"), 1.5)
    counts = dict.fromkeys(("seed", "decisions", "slices", "traces", "unseen_slices"), 3)
    names = {"env": "Cloning-v1", "world": "0", "rule": "algorithm_1", "agent": 70.0}
    row = {**names, **numbers, **counts, "rule_score": estimate, "above": estimate}
    file.write_text(json.dumps([row]))
    (found,) = rllib_ppo.done_before(file)
    assert found.above == Estimate(60.0, 50.0, 70.0)
    rllib_ppo.show([found])
    file.write_text('[{"env": "Cloning-v1"}]')
    with pytest.raises(ValueError, match="expected what this experiment wrote"):
        rllib_ppo.done_before(file)
