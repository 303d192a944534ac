"""The tables of a leaderboard's run: best of each kind, every policy, intervals of the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.leaderboard_tables import (
    OF_AGENT,
    complete,
    fingerprint,
    groups,
    marked,
    places,
    reached,
    short,
    summary,
    told_apart,
    with_room,
)
from experiments.markdown import generated, interval
from experiments.measured_worlds import world_of
from experiments.page_size import submission as large
from failgym.envs import SCENARIOS
from failgym.leaderboard.page.cells import fields_of
from failgym.leaderboard.page.ranking import scores
from failgym.leaderboard.page.rows import rows_of
from failgym.leaderboard.page.source import Source, read_source
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.verification.verdict_file import read_verdicts
from tests.leaderboard.made_up import ENVS, HELP, entry, results, submission, with_bound
from tests.pages import TOP

SKILLS: dict[tuple[str, int | None], float] = {
    ("replay", None): 0.0,
    ("random", None): -0.3,
    ("best_random_rule", None): 0.4,
    ("young", None): 0.5,
    ("young, tuned", None): 0.6,
    ("ppo", 0): 0.8,
    ("ppo", 1): 0.9,
    ("best_simple_rule", None): 0.3,
}


def cells(lines: list[str]) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.fixture(scope="module")
def board() -> Source:
    rows = results(SKILLS, slices=8)
    elsewhere = (rows["policy"] == "ppo") & (rows["env"] == "Lineage-v1")
    failed = (rows["policy"] == "young") & (rows["env"] == "Workflow-v1")
    rows.loc[failed, ["status", "reason"]] = ["timeout", "slow | slower"]
    entries = [entry(name, "agent" if name == "ppo" else "baseline", s) for name, s in SKILLS]
    for at in (2, 4, 7):
        entries[at] = replace(entries[at], files={"Cloning-v1": f"{entries[at].name}.json"})
    return submission(rows[~elsewhere], entries)


def test_policies_are_told_apart_by_where_they_come_from(board: Source) -> None:
    assert list(groups(board).values()) == [
        *(["random"], ["replay", "young"], ["young, tuned"]),
        *(["best_simple_rule"], ["best_random_rule"], ["ppo"]),
    ]


def test_the_summary_has_the_best_of_each_kind(board: Source) -> None:
    rows = cells(summary(board))[2:]
    assert [row[:2] for row in rows] == [[f"`failgym/{env}`", f] for env in ENVS for f in HELP]
    for row, place in zip(rows, places(board), strict=True):
        room = place.field.possible.sum(), place.field.replay.sum()
        assert row[2] == "1"
        assert row[3] == f"{100 * room[0] / room[1]:.1f} %, {room[0] / 2:,.0f} h"
        assert float(row[4].split()[0]) < 0.0 < float(row[7].split()[0])
        for at, rule in ((7, "best_simple_rule"), (8, "best_random_rule")):
            assert (score := place.score(rule)) is not None
            assert row[at] == interval(score)
        assert row[5].startswith("`replay`" if "Workflow" in row[0] else "`young`")
        assert row[6].startswith("`young, tuned`")
        if "Lineage" in row[0]:
            assert row[9:] == ["", ""]
            continue
        assert row[9].startswith("`ppo`")
        ours, theirs, above = (float(row[at].split()[-3]) for at in (9, 6, 10))
        assert above == pytest.approx(ours - theirs, abs=0.11)


def test_the_short_table_has_the_best_rule_and_the_agents_of_drawn_forecasts(
    board: Source,
) -> None:
    rows, whole = cells(short(board)), cells(summary(board))
    assert [row[0] for row in rows[2:]] == [f"`failgym/{env}`" for env in ENVS]
    drawn = [row for row in whole[2:] if row[1] == "drawn"]
    for row, there in zip(rows[2:], drawn, strict=True):
        assert row[:8] == [there[at] for at in (0, 2, 3, 4, 5, 6, 9, 10)]
    assert rows[0][8] == OF_AGENT
    found = {
        (one["env"], one["policy"], one["forecast"]): one for one in rows_of([board], Bootstrap(10))
    }
    played = 0
    for row in (row for row in rows[2:] if row[6]):
        env, agent = row[0].strip("`").removeprefix("failgym/"), row[6].split("`")[1]
        mine, replay = found[env, agent, "drawn"], found[env, "replay", "drawn"]
        hours, forfeits = mine["saved_hours"], mine["forfeited_per_thousand"]
        recorded = replay["forfeited_per_thousand"]
        assert row[8] == f"{hours:,.0f} h; {forfeits:.1f} ({recorded:.1f})"
        played += 1
    assert played


def test_what_was_not_played_has_no_column(board: Source) -> None:
    names = {"replay", "young"}
    few = board.results[board.results["policy"].isin(names)]
    entries = tuple(each for each in board.entries if each.name in names)
    rows = cells(summary(replace(board, results=few, entries=entries)))
    assert rows[0] == ["", "forecast", "traces", "room", "best rule as published"]


def test_the_oracle_stands_beside_where_it_was_asked_in_the_same_suite(board: Source) -> None:
    one = {"replay": [3.0, 5.0], "bound": [1.0, 2.0], "oracle": [2.0, 3.0], "spent": [3.0, 5.0]}
    found: dict[str, Any] = {
        env: {"suite": "made-up", "world": world_of(env), "forecast": "drawn", "traces": [one] * 3}
        for env in ("Mitigation-v1", "Workflow-v1", "Lineage-v1")
    }
    found["Lineage-v1"]["world"] = "of another time"
    board = replace(board, suite="made-up, version 1")
    rows = cells(summary(board, found))
    assert rows[0][-1] == "oracle"
    for row in rows[2:]:
        env, forecast = row[0].strip("`").removeprefix("failgym/"), row[1]
        if SCENARIOS[env].world == "pinned":
            assert row[-1] == "100"
        elif env == "Lineage-v1" or (env == "Mitigation-v1" and forecast != "drawn"):
            assert row[-1] == "", "of another world, or other weights of kills"
        else:
            assert row[-1].startswith("60.0 [")
    other = cells(summary(replace(board, suite="another, version 1"), found))
    assert other[0][-1] != "oracle"


def test_what_can_be_reached_stands_beside_policies_on_the_same_traces(board: Source) -> None:
    env, seed = "Workflow-v1", int(board.results["seed"].min())
    rows = board.results
    rows = rows[(rows["env"] == env) & (rows["forecast"] == "drawn") & (rows["seed"] == seed)]
    mine = rows[rows["policy"] == "ppo"]
    replay, bound = float(mine["replay_cost"].sum()), float(mine["bound_cost"].sum())
    replay, bound = replay / 2.0, bound / 2.0  # two agents were trained
    one = {"seed": seed, "replay": [replay], "bound": [bound], "spent": [replay]}
    one["oracle"] = [(replay + bound) / 2.0]
    found: dict[str, Any] = {env: {"suite": "lite", "forecast": "drawn", "traces": [one]}}
    (_, _, row) = cells(reached(board, found))
    cost = mine[["wasted", "overhead", "completion", "forfeited", "others"]].to_numpy().sum() / 2.0
    assert row[0] == f"`failgym/{env}`"
    assert row[2].startswith("50.0")
    assert row[4] == f"`ppo` {100.0 * (replay - cost) / (replay - bound):.1f}"
    assert r"\*" not in "".join(reached(board, found))
    least = board.results["replay_cost"] - 0.03 * board.results["replay_spent"]
    few = board.results["env"].eq(env)
    some = replace(
        board, results=with_bound(board.results, board.results["bound_cost"].where(~few, least))
    )
    (_, _, row, *notes) = reached(some, found)
    assert row.count(r"\*") == 3
    assert "less than 5 %" in notes[-1]
    one["replay"] = [2.0 * replay]
    with pytest.raises(ValueError, match="of the same slices"):
        reached(board, found)


def test_the_page_shows_what_the_search_for_cheap_episodes_found() -> None:
    measured = TOP / "experiments" / "measured"
    oracle = json.loads((measured / "oracle.json").read_text("utf-8"))
    wanted = "\n".join(reached(read_source(measured / "v2"), oracle))
    assert generated(TOP / "docs/results/leaderboard.md", "reached").strip() == wanted


def test_the_fingerprint_is_of_all_but_times_and_order(board: Source) -> None:
    known, rows = fingerprint(board.results), board.results
    assert len(known) == 64
    mixed = rows.sample(frac=1.0, random_state=1).assign(seconds=rows["seconds"] + 1.0)
    assert fingerprint(mixed) == known
    for name in set(rows.columns) - {"seconds"}:
        values = rows[name].tolist()
        first = values[0]
        if isinstance(first, str):
            values[0] = first + "x"
        elif isinstance(first, list | np.ndarray):
            values[0] = [*first, 1.0]
        else:
            values[0] = 1e-9 if pd.isna(first) else float(np.nextafter(float(first), np.inf))
        changed = rows.assign(**{name: pd.Series(values, index=rows.index, dtype=object)})
        assert fingerprint(changed) != known, name
    assert fingerprint(rows.iloc[1:]) != known


def test_pairs_are_told_apart_by_their_paired_difference(board: Source) -> None:
    rows = cells(told_apart(board))
    assert rows[0][-4:-2] == ["pairs 3 points apart", "told apart (90 % asked)"]
    drawn = next(place for place in places(board) if place.field.env == "Cloning-v1")
    row = next(row for row in rows if row[0] == "`failgym/Cloning-v1`")
    assert row[-2] == "`young, tuned`, `ppo`", "of all policies"
    best = drawn.above("young, tuned", "ppo")
    assert row[-1] == f"{(best.high - best.low) / 2.0:.2f}"
    assert row[3] == "`young`, `replay`"  # of the rules as published
    both = drawn.above("young", "replay")
    assert row[4] == f"{(both.high - both.low) / 2.0:.2f}"
    assert row[5].endswith(" of 1")
    one = next(row for row in rows if row[0] == "`failgym/Workflow-v1`")
    assert one[3:5] == ["", ""]  # where young failed


def test_scores_that_grow_with_the_room_have_that_slope() -> None:
    """Five points for each standard deviation of its logarithm, exactly, and none elsewhere."""
    source = read_source(TOP / "experiments" / "measured" / "v2")
    rows = source.results[source.results["policy"].isin(["replay", "young"])].copy()
    rows = rows[rows["env"].eq("Checkpoint-v1")]
    room = rows["replay_cost"] - rows["bound_cost"]
    logs = np.log(room[rows["policy"].eq("replay") & rows["forecast"].eq("drawn")])
    share = 0.3 + 0.05 * (np.log(room) - logs.mean()) / logs.std(ddof=1)
    share = share.where(rows["policy"].eq("young"), 0.0)
    rows[["overhead", "completion", "forfeited", "others"]] = 0.0
    rows["wasted"] = rows["replay_cost"] - share * room
    rows["cost_blocks"] = [[cost] for cost in rows["wasted"]]
    entries = tuple(one for one in source.entries if one.name in ("replay", "young"))
    found = cells(with_room(replace(source, results=rows, entries=entries)))
    assert found[2:] == [
        [
            *("`failgym/Checkpoint-v1`", "drawn", "30", "`young`"),
            *("5.0 [5.0, 5.0]", "1.00 [1.00, 1.00]", f"{logs.std(ddof=1):.2f}"),
        ]
    ]
    assert (
        cells(with_room(source))[2:]
        == cells(generated(TOP / "docs/results/intervals.md", "with_room").strip().splitlines())[2:]
    )


def test_scores_and_intervals_are_those_of_the_page(board: Source) -> None:
    [first] = [field for field in fields_of([board]) if field.env == "Checkpoint-v1"][:1]
    shown = scores(first, ["ppo"], Bootstrap(), 2)[0]
    [place] = [p for p in places(board) if (p.field.env, p.field.forecast) == (first.env, "drawn")]
    assert np.array_equal(np.array(place.score("ppo")), shown)


def test_every_policy_is_in_the_table_of_its_environment(board: Source) -> None:
    text = "\n".join(complete(board))
    tables = text.split("\n## failgym/")[1:]
    assert [table.partition("\n")[0] for table in tables] == list(ENVS)
    for env, table in zip(ENVS, tables, strict=True):
        names = {name for name, _ in SKILLS if not (name == "ppo" and env == "Lineage-v1")}
        assert {line.split("`")[1] for line in table.splitlines() if "`" in line} == names
        assert ("| `ppo` | 2 |" in table) == (env != "Lineage-v1")
        assert (r"timeout: slow \| slower" in table) == (env == "Workflow-v1")


def test_scores_over_little_room_are_marked_and_a_line_says_why(board: Source) -> None:
    rows = board.results
    least = rows["replay_cost"] - 0.03 * rows["replay_spent"]
    little = rows["env"].eq("Checkpoint-v1") & rows["forecast"].eq("none")
    some = with_bound(rows, rows["bound_cost"].where(~little, least))
    text = "\n".join(complete(replace(board, results=some)))
    tables = {table.partition("\n")[0]: table for table in text.split("\n## failgym/")[1:]}
    why = "saves 3.0 % of what replay spends, less than 5 %: there is little to gain."
    for env, table in tables.items():
        assert (rf"\* `{env}`, none: the bound {why}" in table) == (env == "Checkpoint-v1")
        for line in table.splitlines():
            *others, _ = line.split(" | ")
            assert not any(r"\* [" in cell for cell in others), "of other forecasts"
    assert text.count(r"\* [") == tables["Checkpoint-v1"].count(r"\* [") == len(SKILLS) - 1
    assert why in summary(replace(board, results=some))[-1]
    assert not any(why in line for line in summary(board))
    few, *_ = (each for each in places(replace(board, results=some)) if each.field.room.warning)
    assert marked(few, "1.0") == r"1.0\*", "without an interval too"


def test_a_large_leaderboard_is_one_on_the_same_slices() -> None:
    rows = [large(number, 504).results for number in range(2)]
    assert [len(each) for each in rows] == [504, 504]
    assert rows[0]["replay_cost"].equals(rows[1]["replay_cost"])
    assert not rows[0]["wasted"].equals(rows[1]["wasted"])


def test_the_published_run_is_verified() -> None:
    """Every row of the page that `make demo` writes has a verdict, and every number is proven."""
    measured = Path(__file__).parents[2] / "experiments" / "measured"
    published = read_source(measured / "v2", read_verdicts([measured / "v2_verdict.json"]))
    assert len(published.proofs) == 368
    assert set(published.proofs.values()) == {"verified"}
