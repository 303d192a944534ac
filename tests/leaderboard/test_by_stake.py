"""Slices drawn by stake: each as likely as it should be, and sums that are right on the mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failgym.baselines import BlindKill, Replay
from failgym.evaluation import Anchors, run_policy
from failgym.leaderboard import SUITES, Suite, SuiteWorlds, verify
from failgym.leaderboard.page.cells import fields_of
from failgym.leaderboard.page.source import read_source
from failgym.leaderboard.policy_process.players import OwnPolicy
from failgym.leaderboard.statistics.estimators import probability_of_improvement
from failgym.leaderboard.suite import suite_worlds
from failgym.leaderboard.suite.by_stake import SHARES, draw_by_stake, inclusion
from failgym.leaderboard.suite.reference import WHOLE, ReferenceArrays
from failgym.leaderboard.suite.suites import Cell, Course
from failgym.worlds import build
from tests.leaderboard.boards import baseline, rehash, results, rewrite, submit

DRAWS = 4_000
RNG = np.random.default_rng(5)
POSSIBLE = RNG.pareto(1.3, 60)
SPENT = POSSIBLE + RNG.gamma(1.0, 2.0, 60)
CHANGES = {"jobs": 300, "slice_tasks": 2}
STAKES = Suite(
    "stakes", 1, (Course("GracePeriod-v1", seeds=(0, 1), slices=9, by_stake=True, changes=CHANGES),)
)
SUITES[STAKES.name] = STAKES


@pytest.mark.parametrize("count", [1, 10, 45, 59])
def test_chances_add_up_and_grow_with_the_stake(count: int) -> None:
    chance = inclusion(POSSIBLE, SPENT, count)
    assert chance.sum() == pytest.approx(count)
    assert (chance > 0.0).all()
    assert (chance <= 1.0).all()
    parts = np.stack([POSSIBLE, SPENT, np.ones(60)])
    size = SHARES @ (parts / parts.sum(axis=1, keepdims=True))
    order = np.argsort(size)
    assert (np.diff(chance[order]) >= -1e-12).all()
    below = chance < 1.0
    ratio = chance[below] / size[below]
    assert ratio == pytest.approx(np.full(below.sum(), ratio[0]))


def test_all_are_drawn_where_there_are_not_more() -> None:
    for count in (60, 100):
        assert inclusion(POSSIBLE, SPENT, count).tolist() == [1.0] * 60
        slices, weights = draw_by_stake(POSSIBLE, SPENT, count, seed=1)
        assert slices.tolist() == list(range(60))
        assert weights.tolist() == [1.0] * 60


def test_where_nothing_is_at_stake_all_are_alike() -> None:
    nothing = np.zeros(8)
    assert inclusion(nothing, nothing, 2) == pytest.approx(np.full(8, 0.25))


@pytest.mark.parametrize("count", [3, 10, 45])
def test_each_is_drawn_as_often_as_it_should_be(count: int) -> None:
    chance, drawn = inclusion(POSSIBLE, SPENT, count), np.zeros(60)
    for seed in range(DRAWS):
        slices, weights = draw_by_stake(POSSIBLE, SPENT, count, seed)
        assert len(slices) == count
        assert (np.diff(slices) > 0).all()
        assert weights == pytest.approx(1.0 / chance[slices])
        drawn[slices] += 1.0
    error = np.sqrt(chance * (1.0 - chance) / DRAWS)
    assert (np.abs(drawn / DRAWS - chance) <= 4.5 * error + 1e-12).all()


def test_sums_are_right_on_the_mean() -> None:
    saved, sums = 0.6 * POSSIBLE - 0.1 * SPENT, np.zeros(DRAWS)
    for seed in range(DRAWS):
        slices, weights = draw_by_stake(POSSIBLE, SPENT, 12, seed)
        sums[seed] = (weights * saved[slices]).sum()
    assert sums.mean() == pytest.approx(saved.sum(), abs=4 * sums.std() / DRAWS**0.5)


def test_scores_scatter_less_than_of_slices_drawn_alike() -> None:
    """With tails as of generated traces, where a hundredth of the tasks holds half the stake."""
    rng, number, count = np.random.default_rng(8), 2_000, 200
    possible = rng.pareto(1.1, number) * (rng.random(number) < 0.5)
    spent = possible + rng.gamma(1.0, 2.0, number)
    assert np.sort(possible)[-20:].sum() > 0.3 * possible.sum()
    saved = possible * rng.choice([-0.5, 0.5, 0.9], number) - 0.02 * spent
    scores = np.zeros((2, 500))
    for seed in range(500):
        slices, weights = draw_by_stake(possible, spent, count, seed)
        alike = rng.permutation(number)[:count]
        scores[0, seed] = (weights * saved[slices]).sum() / (weights * possible[slices]).sum()
        scores[1, seed] = saved[alike].sum() / possible[alike].sum()
    assert scores[0].mean() == pytest.approx(saved.sum() / possible.sum(), abs=0.02)
    assert scores[0].std() < 0.4 * scores[1].std()


def test_a_row_costs_what_its_slices_cost_times_what_they_stand_for(tmp_path: Path) -> None:
    submit(tmp_path / "board", baseline("blind_kill"), baseline("replay"), suite=STAKES)
    rows = results(tmp_path / "board")
    worlds = SuiteWorlds.of(STAKES)
    for seed in (0, 1):
        cell = Cell("GracePeriod-v1", "none", seed)
        scenario, whole = worlds.scenario(cell), Anchors.of(worlds.scenario(cell))
        chance = inclusion(whole.possible, whole.spent, 9)
        for rule in (BlindKill(), Replay()):
            [row] = [
                row
                for row in rows
                if (row["policy"], row["forecast"], row["seed"]) == (rule.name, "none", seed)
            ]
            reference = worlds.reference(cell)
            slices, weights = reference.slices, reference.weights
            assert len(slices) == 9 < whole.world.slices
            assert weights == pytest.approx(1.0 / chance[slices])
            run = run_policy(worlds.world(cell), scenario, rule, slices)
            for i, term in enumerate(("wasted", "overhead", "completion", "forfeited", "others")):
                assert row[term] == pytest.approx(weights @ run.costs[:, i])
            assert row["replay_cost"] == pytest.approx(weights @ whole.replay.costs[slices].sum(1))
            assert row["bound_cost"] == pytest.approx(weights @ whole.bound[slices].sum(1))
            assert row["replay_spent"] == pytest.approx(weights @ whole.spent[slices])
            assert row["cost_blocks"] == pytest.approx([weights @ run.costs.sum(axis=1)])
            assert (row["slice"], row["decisions"]) == (-1, run.decisions)


def test_such_a_submission_is_verified(tmp_path: Path) -> None:
    submit(tmp_path / "board", baseline("blind_kill"), suite=STAKES)
    found = verify(tmp_path / "board")
    assert found.problems == ()
    assert found.rows == 2 * 2


def test_actions_that_move_to_another_slice_of_a_trace_are_found(tmp_path: Path) -> None:
    """They are in one row, and as many: the counts alone say where each slice begins."""
    submit(tmp_path / "board", baseline("blind_kill"), suite=STAKES)
    [file] = (tmp_path / "board" / "actions").rglob("*-none.parquet")

    def move(rows: list[dict[str, Any]]) -> None:
        counts = rows[0]["counts"]
        assert len(counts) == 9
        counts[0], counts[1] = counts[0] + 1, counts[1] - 1

    rewrite(file, move)
    rehash(tmp_path / "board")
    found = verify(tmp_path / "board")
    assert found.problems
    assert {proof.proof for proof in found.proofs} == {"claimed"}


def test_a_suite_of_slices_drawn_alike_is_another() -> None:
    alike = replace(STAKES, courses=(replace(STAKES.courses[0], by_stake=False),))
    assert alike.digest != STAKES.digest


def test_what_replay_costs_is_kept_beside_the_world(
    kept_worlds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not kept_worlds.exists()
    cell, worlds = Cell("GracePeriod-v1", "none", 0), SuiteWorlds.of(STAKES)
    first = worlds.reference(cell)
    asked: list[str] = []
    found = Anchors.of

    def counted(*args: Any, **options: Any) -> Anchors:
        asked.append("asked")
        return found(*args, **options)

    assert [file.name.count("-reference-") for file in kept_worlds.glob("*.world")] == [1]
    monkeypatch.setattr(Anchors, "of", counted)
    again = worlds.reference(cell)
    assert asked == []
    both = ReferenceArrays.of(first), ReferenceArrays.of(again)
    for value, kept in zip(*both, strict=True):
        assert (value.shape, value.tobytes()) == (kept.shape, kept.tobytes())
    fewer = replace(STAKES, courses=(replace(STAKES.courses[0], slices=5),))
    assert len(SuiteWorlds.of(fewer).reference(cell).slices) == 5
    assert asked == ["asked"]


def test_what_was_found_by_other_sources_is_not_kept(
    kept_worlds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file was edited after it was imported: what runs is not what lies there."""
    cell, worlds = Cell("GracePeriod-v1", "none", 0), SuiteWorlds.of(STAKES)
    monkeypatch.setattr(suite_worlds, "_sources", lambda: "others")
    worlds.reference(cell)
    assert [file.name for file in kept_worlds.glob("*-reference-*")] == []


def test_parts_are_kept_and_not_the_whole_worlds(kept_worlds: Path) -> None:
    cell, worlds = Cell("GracePeriod-v1", "drawn", 0), SuiteWorlds.of(STAKES)
    build.RECENT.cache_clear()
    reference = worlds.reference(cell)
    worlds.playing(cell, reference.slices)
    names = [file.stem for file in kept_worlds.glob("*.world")]
    assert names
    assert all("-" in name for name in names)
    build.RECENT.cache_clear()


def test_slices_are_the_same_with_every_forecast() -> None:
    worlds = SuiteWorlds.of(STAKES)
    assert worlds.suite.courses[0].forecast_matters
    blind, shown = (
        worlds.reference(Cell("GracePeriod-v1", forecast, 0)) for forecast in ("none", "drawn")
    )
    assert shown.slices.tolist() == blind.slices.tolist()
    assert shown.weights.tolist() == blind.weights.tolist()


def test_a_page_counts_traces(tmp_path: Path) -> None:
    """By hand: what is saved of each trace, and how likely a policy is better on one."""
    submit(tmp_path / "board", baseline("replay"), baseline("blind_kill"), suite=STAKES)
    [field] = [
        one for one in fields_of([read_source(tmp_path / "board")]) if one.forecast == "none"
    ]
    assert field.slices.tolist() == [[0, -1], [1, -1]]
    replay, blind = (field.cell(name) for name in ("replay", "blind_kill"))
    assert replay is not None
    assert blind is not None
    rows = [row for row in results(tmp_path / "board") if row["forecast"] == "none"]
    saved = [
        row["replay_cost"] - sum(row["cost_blocks"])
        for row in rows
        if row["policy"] == "blind_kill"
    ]
    assert blind.runs.saved == pytest.approx(np.array([saved]))
    assert replay.runs.saved == pytest.approx(np.zeros((1, 2)), abs=1e-6)
    better = probability_of_improvement([blind.runs], [replay.runs])
    assert better == np.mean([(one > 0.0) + 0.5 * (one == 0.0) for one in saved])


def test_of_many_traces_each_is_one_row() -> None:
    many = replace(STAKES.courses[0], seeds=tuple(range(30)), slices=2, by_stake=False)
    worlds = SuiteWorlds.of(replace(STAKES, courses=(many,)))
    cell = Cell("GracePeriod-v1", "none", 29)
    reference = worlds.reference(cell)
    assert (len(reference.slices), reference.rows.tolist()) == (2, [WHOLE])
    assert reference.weights.tolist() == [1.0, 1.0]
    for blocks, costs in zip(
        reference.blocks, (reference.replay, reference.bound, reference.spent), strict=True
    ):
        assert blocks[:, 0].tolist() == costs.tolist()
    policy = OwnPolicy(lambda spec: BlindKill(), "blind_kill")
    played = worlds.play(cell, reference, policy)
    row = reference.by_row(played)
    assert row.costs.tolist() == [played.costs.sum(axis=0).tolist()]
    assert row.blocks.tolist() == [[pytest.approx(played.costs.sum())]]
    assert row.decisions.tolist() == [played.decisions.sum()]
