"""What is not defined says why: in the rows of a board, and below its tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from failgym.cli.board import print_rows
from failgym.envs.spaces import TERMS
from failgym.leaderboard.page import rows_of
from failgym.leaderboard.page.beside import MOST_RANKED
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from tests.leaderboard.made_up import entry, results, submission, with_bound

QUICK = Bootstrap(resamples=100)
GRACE, LINEAGE = "GracePeriod-v1", "Lineage-v1"
TWO: dict[tuple[str, int | None], float] = {("replay", None): 0.0, ("young", None): 0.5}


def made(env: str = GRACE, slices: int = 20, seed: int = 0) -> pd.DataFrame:
    """Rows of replay and another."""
    rows = results(TWO, envs=[env], forecasts=["none"], slices=slices, seed=seed)
    return rows.assign(seed=seed)


def shown(rows: pd.DataFrame, policy: str = "young") -> dict[str, Any]:
    """The row of a policy."""
    names = dict.fromkeys(rows["policy"])
    board = rows_of([submission(rows, [entry(name) for name in names])], QUICK)
    return next(row for row in board if row["policy"] == policy)


def printed(rows: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    names = dict.fromkeys(rows["policy"])
    print_rows(rows_of([submission(rows, [entry(name) for name in names])], QUICK))
    return capsys.readouterr().out


def explained(row: dict[str, Any]) -> bool:
    """Has each number that is None its reason, and no other one?"""
    missing = {name for name, value in row.items() if value is None} - {"reason", "warning"}
    return row["undefined"].keys() == missing


def test_no_score_where_there_is_nothing_to_gain(capsys: pytest.CaptureFixture[str]) -> None:
    rows = made()
    rows = with_bound(rows, rows["replay_cost"] * (1.0 - 1e-6))
    row = shown(rows)
    assert explained(row)
    for name in ("score", "low", "high", "rank", "rank_low"):
        assert row["undefined"][name].startswith("nothing to gain here: the bound saves")
    said = printed(rows, capsys)
    assert said.count("nothing to gain here: the bound saves") == 1
    assert "no score" not in said
    assert "no interval" not in said
    assert "no winsorised: fewer than 100 blocks: nothing to winsorise" in said


def test_no_interval_of_one_block_nor_of_room_that_hangs_on_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = made(slices=1)
    row = shown(rows)
    assert explained(row)
    assert (row["units"], row["unit"], row["few"]) == (1, "block of jobs", True)
    needed = "an interval needs two blocks of jobs, and there is one"
    assert row["undefined"]["low"] == row["undefined"]["high"] == needed
    said = printed(rows, capsys)
    assert f"no interval: {needed}" in said
    assert "says little" not in said

    rows = made(slices=6)
    at = rows["slice"] > 0
    row = shown(with_bound(rows, rows["bound_cost"].where(~at, rows["replay_cost"])))
    assert explained(row)
    assert row["undefined"]["low"] == (
        "there is something to gain on too few of the 6 blocks of jobs"
    )


def test_few_units_are_named_beside_the_interval(capsys: pytest.CaptureFixture[str]) -> None:
    rows = pd.concat([made(LINEAGE, 1, seed) for seed in range(4)], ignore_index=True)
    assert shown(rows)["unit"] == "block of slices"
    rows = rows.assign(slice=-1)
    row = shown(rows)
    assert explained(row)
    assert (row["units"], row["unit"], row["stake_of"]) == (4, "trace", "slice")
    said = printed(rows, capsys)
    assert "(4 traces)" in said
    assert "an interval of fewer than 10 traces says little" in said


def test_the_stake_is_of_one_job_of_all_traces(capsys: pytest.CaptureFixture[str]) -> None:
    """A job of each of several traces would be as many jobs."""
    rows = pd.concat([made(seed=seed) for seed in range(4)], ignore_index=True)
    stake = rows.groupby("seed")["stake"].first()
    rows["stake_in_top"] = np.where(rows["seed"] == 2, 0.15, 0.1) * rows["stake"]
    row, top = shown(rows), max(0.1 * stake.drop(2).max(), 0.15 * stake[2]) / stake.sum()
    assert row["stake_in_top"] == pytest.approx(top)
    assert row["stake_in_top_percent"] == pytest.approx(0.2)
    assert (
        f"stake: of all 4 traces the job that holds most has {100 * top:.1f} % of it,"
        " the top 1 % of each trace, rounded up, 20.0 %"
    ) in " ".join(printed(rows, capsys).split())
    assert "stake: the job that holds most has 10.0 % of it, the top 1 % 20.0 %" in printed(
        made(), capsys
    )
    nothing = made().assign(stake=0.0, stake_in_top=0.0, stake_in_top_percent=0.0)
    assert explained(shown(nothing))
    assert "no stake: the bound saves nothing on any job" in printed(nothing, capsys)


def test_a_policy_that_failed_says_how(capsys: pytest.CaptureFixture[str]) -> None:
    rows = made()
    here = rows["policy"] == "young"
    rows.loc[here, list(TERMS)] = np.nan
    rows.loc[here, "status"] = "crashed"
    rows.loc[here, "reason"] = "out of ideas"
    row = shown(rows)
    assert explained(row)
    assert set(row["undefined"].values()) == {"crashed: out of ideas"}
    assert printed(rows, capsys).count("no score: crashed: out of ideas") == 1


def test_of_very_many_policies_it_is_said_that_only_ranks_are_found() -> None:
    skills: dict[tuple[str, int | None], float] = {
        (f"p{at:03}", None): at / 100 for at in range(MOST_RANKED + 1)
    }
    row = shown(results(skills, envs=[GRACE], forecasts=["none"], slices=4), "p007")
    assert explained(row)
    assert (
        row["undefined"]["rank_high"] == f"of more than {MOST_RANKED} policies only ranks are found"
    )
