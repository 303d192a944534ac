"""What rows of results say in hours and tasks is what a recount of the outcomes says."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from failgym.baselines import REGISTRY
from failgym.evaluation import Anchors
from failgym.leaderboard import Suite, SuiteWorlds
from failgym.leaderboard.submission.checks import read_results
from failgym.leaderboard.suite.account import ACCOUNT, REPLAY_ACCOUNT, STAKE
from failgym.leaderboard.suite.suites import SUITES, Cell, Course
from failgym.vocabulary import Outcome
from tests.leaderboard.boards import baseline, results, rewrite, submit

HOUR_MS = 3_600_000
LARGER = Suite(
    "larger", 1, (Course("GracePeriod-v1", slices=4, changes={"jobs": 1_500, "slice_tasks": 64}),)
)
SUITES[LARGER.name] = LARGER


def _recounted(run: Any, world: Any, position: int) -> dict[str, float]:
    """One slice, task by task; tasks whose end the record does not know waste nothing known."""
    sizes = world.own_sizes[run.slices]
    first = int(sizes[:position].sum())
    found = dict[str, float]()
    for name in ("waste_hours", "completion_hours", "forfeits", "false_kills"):
        found[name] = 0.0
    for row in range(first, first + int(sizes[position])):
        task = {name: column[row].item() for name, column in run.outcomes.items()}
        finishes = task["recorded_outcome"] == Outcome.FINISH
        if task["recorded_outcome"] != Outcome.CENSORED:
            spent = ("lost", "redundant", "ghost", "checkpoint", "restore")
            found["waste_hours"] += sum(task[name] for name in spent) / HOUR_MS
        found["completion_hours"] += max(task["end"], task["submit"]) / HOUR_MS
        lost = finishes and task["outcome"] != Outcome.FINISH
        found["forfeits"] += lost
        found["false_kills"] += lost and task["killed"]
    return found


@pytest.mark.parametrize("policy", ["random", "immediate_kill"])
def test_hours_and_tasks_are_those_of_a_recount(tmp_path: Path, policy: str) -> None:
    submit(tmp_path, baseline(policy), suite=LARGER)
    rows = [row for row in results(tmp_path) if row["forecast"] == "none"]
    scenario = SuiteWorlds.of(LARGER).scenario(Cell("GracePeriod-v1", "none", 0))
    anchors = Anchors.of(scenario, episodes=4)
    assert anchors.replay.slices.tolist() == [row["slice"] for row in rows]
    run = anchors.run(REGISTRY[policy]())
    for position, row in enumerate(rows):
        wanted = _recounted(run, anchors.world, position)
        assert {name: row[name] for name in wanted} == pytest.approx(wanted)
        before = _recounted(anchors.replay, anchors.world, position)
        assert row["replay_waste_hours"] == pytest.approx(before["waste_hours"])
        assert row["replay_completion_hours"] == pytest.approx(before["completion_hours"])
        assert row["tasks"] == 64
        assert 0.0 <= row["moved_drawn"] <= row["moved"] * (1.0 + 1e-9)
    if policy == "random":
        assert any(row["waste_hours"] != row["replay_waste_hours"] for row in rows)
        assert any(row["false_kills"] for row in rows)


def test_what_is_moved_is_at_least_what_is_saved(tmp_path: Path) -> None:
    submit(tmp_path, baseline("random"))
    for row in results(tmp_path):
        terms = ("wasted", "overhead", "completion", "forfeited", "others")
        saved = row["replay_cost"] - sum(row[term] for term in terms)
        assert row["moved"] >= abs(saved) * (1.0 - 1e-9)


def test_the_stake_of_a_trace_stands_in_each_of_its_rows(tmp_path: Path) -> None:
    submit(tmp_path, baseline("replay"), suite=LARGER)
    rows = results(tmp_path)
    assert len({tuple(row[name] for name in STAKE) for row in rows}) == 1
    stake, top, percent = (rows[0][name] for name in STAKE)
    assert 0.0 < top <= percent <= stake
    assert {row["moved"] for row in rows} == {0.0}


@pytest.fixture(scope="module")
def submitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A submission for the tests that change one number of it."""
    directory = tmp_path_factory.mktemp("account")
    submit(directory, baseline("random"))
    return directory


def _refused(submitted: Path, directory: Path, name: str, value: float | None) -> None:
    changed = shutil.copytree(submitted, directory / "changed", dirs_exist_ok=True)
    rewrite(changed / "results.parquet", lambda rows: rows[3].update({name: value}))
    least = "more than 0" if name == "tasks" else "0 or more"
    with pytest.raises(ValueError, match=f"results.parquet: column '{name}': expected {least}"):
        read_results(changed)


@pytest.mark.parametrize("name", [*ACCOUNT, *REPLAY_ACCOUNT])
def test_a_count_that_is_none_is_one_line(submitted: Path, tmp_path: Path, name: str) -> None:
    for wrong in (-1.0, math.inf, 1e308):
        _refused(submitted, tmp_path, name, wrong)
    if name == "tasks":
        _refused(submitted, tmp_path, name, 0.0)


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("moved_drawn", "moved"),
        ("stake_in_top", "stake_in_top_percent"),
        ("stake_in_top_percent", "stake"),
    ],
)
def test_a_part_is_no_more_than_the_whole(
    submitted: Path, tmp_path: Path, part: str, whole: str
) -> None:
    changed = shutil.copytree(submitted, tmp_path / "changed")
    table = changed / "results.parquet"
    rewrite(table, lambda rows: rows[3].update({part: 1.01 * rows[3][whole] + 1.0}))
    with pytest.raises(ValueError, match=f"column '{part}': expected no more than '{whole}'"):
        read_results(changed)


@pytest.mark.parametrize("name", ACCOUNT)
def test_a_count_that_is_missing_is_one_line(submitted: Path, tmp_path: Path, name: str) -> None:
    _refused(submitted, tmp_path, name, None)
