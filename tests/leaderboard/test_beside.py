"""What stands beside a score on a page is what a recount of the rows says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from failgym.baselines import REGISTRY
from failgym.cli.board import print_rows
from failgym.evaluation import Anchors
from failgym.evaluation.measuring import measure
from failgym.evaluation.repriced import at_prices, factors_of, ranks, repriced
from failgym.leaderboard import Suite, SuiteWorlds
from failgym.leaderboard.page import Source, read_source
from failgym.leaderboard.page.beside import BESIDE, MOST_RANKED, RANK, beside, ranks_of, undefined
from failgym.leaderboard.page.cells import Field, fields_of
from failgym.leaderboard.page.prices import (
    priced_scenario,
    prices_of,
    ranks_at_prices,
    readers,
)
from failgym.leaderboard.page.rows import described, names_of, rows_of
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.statistics.ranks import Rank
from failgym.leaderboard.statistics.ranks import ranks as rank_sets
from failgym.leaderboard.suite.suites import SUITES, Cell, Course
from tests.leaderboard.boards import baseline, submit
from tests.leaderboard.made_up import entry, results, submission

QUICK = Bootstrap(resamples=200)
ENV = "GracePeriod-v1"
POLICIES = ("replay", "random", "immediate_kill", "grace_period")
PRICED = Suite("priced", 1, (Course(ENV, slices=4, changes={"jobs": 1_500, "slice_tasks": 64}),))
SUITES[PRICED.name] = PRICED


class Thrifty:
    """Plays by the value of a task."""

    value = 0.0

    def playing_by(self, rules: Any) -> Thrifty:
        found = Thrifty()
        found.value = rules.task_value
        return found


def traces(count: int, skill: float = 0.5) -> Source:
    """Replay and a policy on traces that differ."""
    parts: list[pd.DataFrame] = []
    for seed in range(count):
        skills: dict[tuple[str, int | None], float] = {
            ("replay", None): 0.0,
            ("young", 0): skill,
            ("young", 1): skill / 2,
        }
        rows = results(skills, envs=[ENV], forecasts=["none"], slices=5, seed=seed)
        parts.append(rows.assign(seed=seed))
    runs = [entry("replay"), entry("young", "agent", 0), entry("young", "agent", 1)]
    return submission(pd.concat(parts, ignore_index=True), runs)


def one_field(source: Source) -> Field:
    [field] = fields_of([source])
    return field


def costs_of(source: Source, column: str, seed: int, training_seed: int = 0) -> list[float]:
    """By block, over the slices of a trace."""
    rows = source.results
    mine = (rows["policy"] == "young") & (rows["seed"] == seed)
    mine &= rows["training_seed"] == training_seed
    return np.sum(rows.loc[mine, column].tolist(), axis=0).tolist()


def test_scores_of_traces_are_averaged_without_the_outer_quarters() -> None:
    source = traces(9)
    scores: list[float] = []
    for training_seed in (0, 1):
        of_traces: list[float] = []
        for seed in range(9):
            replay, bound = (
                sum(costs_of(source, f"{name}_cost_blocks", seed)) for name in ("replay", "bound")
            )
            cost = sum(costs_of(source, "cost_blocks", seed, training_seed))
            of_traces.append(100.0 * (replay - cost) / (replay - bound))
        scores.append(np.mean(sorted(of_traces)[2:-2]).item())
    field = one_field(source)
    found = dict(zip(BESIDE, beside(field, ["young"])[0], strict=True))
    assert found["iqm_of_traces"] == pytest.approx(np.mean(scores))
    assert undefined(field, ["young"]) == {
        "winsorised_score": "fewer than 100 blocks: nothing to winsorise"
    }


def test_the_largest_savings_are_cut_and_costs_compared_block_by_block() -> None:
    source = traces(24)  # of 5 blocks each: 1 of 120 is cut at each end
    wanted, logs = list[float](), list[float]()
    for training_seed in (0, 1):
        replay, bound, cost = (
            np.concatenate([costs_of(source, name, seed, of) for seed in range(24)])
            for name, of in (
                ("replay_cost_blocks", 0),
                ("bound_cost_blocks", 0),
                ("cost_blocks", training_seed),
            )
        )
        saved, possible = np.sort(replay - cost), np.sort(replay - bound)
        for each in (saved, possible):
            each[0], each[-1] = each[1], each[-2]
        wanted.append(100.0 * saved.sum() / possible.sum())
        logs.append(np.log(cost / replay).mean().item())
    found = dict(zip(BESIDE, beside(one_field(source), ["young"])[0], strict=True))
    assert found["winsorised_score"] == pytest.approx(np.mean(wanted))
    assert found["mean_log_cost_ratio"] == pytest.approx(np.mean(logs))


def test_hours_and_tasks_are_means_over_runs_of_sums_over_rows() -> None:
    source = traces(3)
    rows = source.results
    young, replay = (rows[rows["policy"] == name] for name in ("young", "replay"))
    found = dict(zip(BESIDE, beside(one_field(source), ["young"])[0], strict=True))
    before = replay["replay_waste_hours"].sum(), replay["replay_completion_hours"].sum()
    after = young["waste_hours"].sum() / 2, young["completion_hours"].sum() / 2
    assert found["saved_hours"] == pytest.approx(before[0] - after[0])
    assert found["saved_completion_hours"] == pytest.approx(before[1] - after[1])
    thousands = 3 * 5 * 50 / 1000
    per_thousand = young["forfeits"].sum() / 2 / thousands
    assert found["forfeited_per_thousand"] == pytest.approx(per_thousand)
    assert found["false_kills_per_thousand"] == pytest.approx(
        young["false_kills"].sum() / 2 / thousands
    )
    assert found["drawn_share"] == pytest.approx(0.25)


def test_what_is_drawn_is_not_known_where_it_is_known_of_a_row_no_more() -> None:
    source = traces(2)
    changed = source.results.copy()
    changed.loc[changed["policy"] == "young", "moved_drawn"] = np.nan
    field = one_field(replace(source, results=changed))
    found = dict(zip(BESIDE, beside(field, ["young"])[0], strict=True))
    assert np.isnan(found["drawn_share"])
    assert "drawn_share" in undefined(field, ["young"])
    assert "nothing is saved" in undefined(field, ["replay"])["drawn_share"]


def test_the_room_is_worth_hours_and_who_holds_it_is_counted_once_a_trace() -> None:
    source = traces(3)
    field = one_field(source)
    possible = field.possible.sum()
    assert field.room.cost == pytest.approx(possible)
    assert field.room.of_cost == pytest.approx(possible / field.replay.sum())
    assert field.room.hours == pytest.approx(possible / 2.0)  # of a unit an hour spends two
    assert field.account["stake"] == pytest.approx(possible)
    of_trace = np.bincount(field.slices[:, 0], field.possible)
    assert field.account["stake_in_top"] == pytest.approx(0.1 * of_trace.max())
    assert field.account["stake_in_top_percent"] == pytest.approx(0.2 * possible)


def test_an_hour_costs_in_each_trace_what_it_costs_there() -> None:
    """As `evaluate` adds the hours of traces, of which none costs what another does."""
    source = traces(3)
    rows, price = source.results, np.array([0.5, 2.0, 8.0])
    source = replace(
        source, results=rows.assign(replay_hours=rows["replay_spent"] / price[rows["seed"]])
    )
    field = one_field(source)
    of_trace = np.bincount(field.slices[:, 0], field.possible)
    assert field.room.hours == pytest.approx((of_trace / price).sum())


def test_room_and_stake_are_those_of_evaluate(tmp_path: Path) -> None:
    course = Course(ENV, seeds=(0, 1, 2), slices=3, changes={"jobs": 300, "slice_tasks": 64})
    suite = Suite("apart", 1, (course,))
    SUITES[suite.name] = suite
    submit(tmp_path, baseline("replay"), suite=suite)
    worlds = SuiteWorlds.of(suite)
    for field in fields_of([read_source(tmp_path)]):
        cells = [Cell(ENV, field.forecast, seed) for seed in course.seeds]
        anchors = [Anchors.of(worlds.scenario(c), episodes=3, seed=c.seed) for c in cells]
        runs = [each.run(REGISTRY["replay"]()) for each in anchors]
        expected = measure(anchors, runs)
        assert field.room.hours == pytest.approx(expected.room_hours)
        assert field.room.of_cost == pytest.approx(expected.room_of_cost)
        assert described(field)["stake_in_top"] == pytest.approx(expected.stake_in_top)
        assert described(field)["stake_of"] == expected.stake_of
        each = [measure([one], [run]) for one, run in zip(anchors, runs, strict=True)]
        tops = sum(
            one.stake_in_top_percent * of.possible.sum()
            for one, of in zip(each, anchors, strict=True)
        )
        percent = described(field)["stake_in_top_percent"]
        assert percent == pytest.approx(tops / sum(of.possible.sum() for of in anchors))


def test_ranks_are_those_of_policies_that_have_scores_everywhere() -> None:
    skills: dict[tuple[str, int | None], float] = {(f"p{at}", None): at / 8 for at in range(8)}
    source = submission(results(skills, forecasts=["none"]), [entry(name) for name, _ in skills])
    rows = source.results
    missing = (rows["policy"] == "p7") & (rows["env"] == "Lineage-v1")
    fields = fields_of([replace(source, results=rows[~missing])])
    names = [name for name, _ in skills]
    found = ranks_of(fields, names, QUICK)
    assert np.isnan(found[7]).all()
    cells = [[cell.runs for f in fields if (cell := f.cell(name))] for name in names[:7]]
    assert [Rank(*map(int, row)) for row in found[:7]] == rank_sets(cells, QUICK)


def test_of_very_many_policies_ranks_are_known_and_no_sets() -> None:
    count = MOST_RANKED + 1
    skills: dict[tuple[str, int | None], float] = {
        (f"p{at:03}", None): at / count for at in range(count)
    }
    names = [name for name, _ in skills]
    source = submission(
        results(skills, envs=[ENV], forecasts=["none"], slices=4), [entry(n) for n in names]
    )
    field = one_field(source)
    found = ranks_of([field], names, QUICK)
    assert np.isnan(found[:, 1:]).all()
    costs = [cell.costs.sum() for name in names if (cell := field.cell(name))]
    assert found[:, 0].astype(int).tolist() == ranks(costs)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Source:
    folder: Path = tmp_path_factory.mktemp("priced")
    submit(folder, *map(baseline, POLICIES), suite=PRICED)
    return read_source(folder)


def test_ranks_at_other_prices_are_those_of_playing_there(played: Source) -> None:
    """What rows say costs there as much as the evaluation of the same play at those prices."""
    [field] = [each for each in fields_of([played]) if each.forecast == "none"]
    known = priced_scenario(played, ENV)
    assert known is not None
    found = ranks_at_prices(field, POLICIES, known)
    anchors = Anchors.of(SuiteWorlds.of(PRICED).scenario(Cell(ENV, "none", 0)), episodes=4)
    runs = [anchors.run(REGISTRY[name]()) for name in POLICIES]
    order = sorted(factors_of(anchors.scenario), key=lambda each: each.value * each.waiting)
    assert len(order) == len(prices_of(known)) > 2
    wanted: list[Any] = []
    for factors in order:
        there = at_prices(anchors, factors)
        assert there.scenario.trace == anchors.scenario.trace
        wanted.append(ranks([repriced(anchors, run, factors).costs.sum() for run in runs]))
    assert found.T.astype(int).tolist() == wanted


def test_rules_that_read_prices_are_marked_and_so_is_what_nobody_knows(
    played: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = priced_scenario(played, ENV)
    assert readers([played], ENV, scenario) == set()
    code = replace(played.entries[0], name="mine", kind="code", specs={ENV: "lab:Mine"})
    agent = replace(code, name="ppo", kind="agent")
    more = replace(played, entries=(*played.entries, code, agent))
    assert readers([more], ENV, scenario) == {"mine"}
    monkeypatch.setitem(REGISTRY, "random", Thrifty)
    file = replace(code, name="tuned", kind="baseline", specs={ENV: "rules/mine.json"})
    more = replace(played, entries=(*played.entries, file, agent))
    assert readers([more], ENV, scenario) == {"random", "tuned"}


def test_rows_have_the_ranks_of_the_page_whatever_names_are_called() -> None:
    """Draws hang on the order of policies: that in which they are stated, not that of names."""
    skills: dict[tuple[str, int | None], float] = {
        (name, seed): 0.5 + 0.02 * at + 0.05 * seed
        for at, name in enumerate(("zeta", "beta", "eta", "alpha"))
        for seed in range(4)
    }
    rows = results(skills, envs=[ENV], forecasts=["none"], slices=6)
    runs = [entry(name, "agent", seed) for name, seed in skills]
    source = submission(rows, runs)
    names = names_of([source])
    assert names == ["zeta", "beta", "eta", "alpha"]
    of_page = ranks_of(fields_of([source]), names, QUICK)
    shown = {row["policy"]: row for row in rows_of([source], QUICK)}
    for name, ranked in zip(names, of_page, strict=True):
        assert [shown[name][each] for each in RANK] == ranked.astype(int).tolist()


def test_what_a_page_refuses_rows_refuse() -> None:
    rows = results({("mine", None): 0.5}, envs=[ENV], forecasts=["none"])
    one = submission(rows, [entry("mine", "agent")])
    other = submission(rows.assign(forecast="drawn"), [entry("mine", "code")], "two")
    with pytest.raises(
        ValueError, match="'mine' is of kind agent in one submission and code in another"
    ):
        rows_of([one, other], QUICK)
    with pytest.raises(ValueError, match="'mine', training seed None, is there twice"):
        rows_of([one, replace(one, folder="two")], QUICK)


def test_prices_of_real_traces_are_known_though_environments_are_left_out(
    played: Source,
) -> None:
    whole = SUITES["v2-real"]
    cut = SuiteWorlds.of(whole, {ENV: "mine"}).suite
    source = replace(
        played, suite="v2-real, version 1", digest=cut.digest, traces=((ENV, 0, "00" * 32),)
    )
    assert cut.digest != whole.digest
    assert priced_scenario(source, ENV) == whole.course(ENV).scenario()
    assert priced_scenario(source, "Cloning-v1") is None


def test_folds_of_one_trace_are_not_called_traces(
    played: Source, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_of([replace(played, suite="v2-real, version 1")], QUICK)
    assert all(row["folds"] for row in rows)
    print_rows(rows)
    shown = capsys.readouterr().out
    assert f": {rows[0]['traces']} fold" in shown
    assert f"{rows[0]['traces']} trace" not in shown
    assert not any(row["folds"] for row in rows_of([played], QUICK))


def test_prices_of_a_suite_of_another_version_are_not_known(played: Source) -> None:
    other = replace(played, digest="00" * 32)
    assert priced_scenario(other, ENV) is None
    assert prices_of(None) == []
    [field] = [each for each in fields_of([played]) if each.forecast == "none"]
    assert ranks_at_prices(field, POLICIES, None).shape == (len(POLICIES), 0)
    assert readers([other], ENV, None) == set()
