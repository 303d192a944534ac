"""Results share the costs of slices out among blocks of jobs, wherever their tasks lie."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from failgym.baselines import REGISTRY
from failgym.envs.spaces import TERMS
from failgym.evaluation import Anchors, evaluate
from failgym.leaderboard import SUITES, Suite
from failgym.leaderboard.page.cells import fields_of
from failgym.leaderboard.page.source import read_source
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.suite.cost_blocks import BLOCKS, CostBlocks
from failgym.leaderboard.suite.suites import Course
from failgym.worlds.build import split_of
from tests.leaderboard.boards import baseline, rehash, rewrite, submit

PINNED = Course("GracePeriod-v0", slices=40, changes={"jobs": 900, "slice_tasks": 64})
SCHEDULED = Course("Lineage-v0", slices=4, changes={"jobs": 40})


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    out = tmp_path_factory.mktemp("board") / "run"
    suite = Suite("blocks", 1, (PINNED, SCHEDULED))
    entries = [
        replace(baseline(name), specs={course.env: name for course in suite.courses})
        for name in ("replay", "random")
    ]
    SUITES[suite.name] = suite
    submit(out, *entries, suite=suite)
    yield out
    del SUITES[suite.name]


@pytest.fixture(scope="module")
def rows(board: Path) -> list[dict[str, Any]]:
    return pq.read_table(board / "results.parquet").to_pylist()


def test_blocks_add_up_to_their_slice(rows: list[dict[str, Any]]) -> None:
    assert {(row["env"], len(row["cost_blocks"])) for row in rows} == {
        ("GracePeriod-v0", BLOCKS),
        ("Lineage-v0", 2),
    }
    for row in rows:
        assert sum(row["cost_blocks"]) == pytest.approx(sum(row[term] for term in TERMS))
        for anchor in ("replay_cost", "bound_cost", "replay_spent"):
            assert sum(row[f"{anchor}_blocks"]) == pytest.approx(row[anchor])
        if row["policy"] == "replay":
            assert row["cost_blocks"] == pytest.approx(row["replay_cost_blocks"])


def test_a_page_refuses_blocks_that_do_not_add_up(board: Path, tmp_path: Path) -> None:
    """Else an interval, which is of blocks, could be made as narrow as one likes."""
    forged = tmp_path / "forged"
    shutil.copytree(board, forged)

    def more_than_it_costs(rows: list[dict[str, Any]]) -> None:
        rows[3]["cost_blocks"] = [1.0 + cost for cost in rows[3]["cost_blocks"]]

    rewrite(forged / "results.parquet", more_than_it_costs)
    rehash(forged)
    expected = "results.parquet: row 3: column 'cost_blocks': expected numbers that add up to"
    with pytest.raises(ValueError, match=expected):
        read_source(forged)


def test_a_block_is_of_jobs_that_were_submitted_one_after_the_other() -> None:
    """Each job's cost, found by hand, lies in one block, though its tasks lie in several slices."""
    anchors = Anchors.of(PINNED.scenario())
    run = anchors.run(REGISTRY["random"]())
    costs = anchors.world.task_costs(run.outcomes)
    assert costs is not None
    task = run.outcomes["task"]
    test = split_of(anchors.scenario, "test")
    job = test.column("tasks", "job")[task]
    size = anchors.world.own_sizes[run.slices]
    at = np.repeat(np.arange(len(size)), size)
    assert any(len(np.unique(at[job == one])) > 2 for one in np.unique(job)), (
        "or this shows nothing"
    )
    submit_of = {
        one: anchors.world.tasks["submit"][task][job == one].min() for one in np.unique(job)
    }
    in_order = sorted(submit_of, key=lambda one: (submit_of[one], one))
    expected = np.zeros((len(size), BLOCKS))
    for place, one in enumerate(in_order):
        for row in np.flatnonzero(job == one):
            expected[at[row], place * BLOCKS // len(in_order)] += costs[row].sum()
    blocks = CostBlocks.of(anchors.scenario, anchors.world, run.slices, run.outcomes)
    np.testing.assert_allclose(
        blocks.costs(run.outcomes, run.costs), expected, rtol=1e-9, atol=1e-9
    )


def test_the_interval_of_a_page_is_about_that_of_evaluate(board: Path) -> None:
    fields = fields_of([read_source(board)])
    [field] = [one for one in fields if (one.env, one.forecast) == ("GracePeriod-v0", "drawn")]
    cell = field.cell("random")
    assert cell is not None
    found = Bootstrap().score(cell.runs)
    expected = evaluate(REGISTRY["random"](), PINNED.scenario())
    assert found.value == pytest.approx(expected.score)
    alone = Bootstrap().score(cell.runs._replace(units=None, blocks=None))
    wide, narrow = (one.high - one.low for one in (found, alone))
    assert wide == pytest.approx(expected.high - expected.low, rel=0.35)
    assert narrow < wide
