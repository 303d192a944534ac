"""Results share the costs of slices out among blocks of jobs, wherever their tasks lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from failgym.baselines import REGISTRY
from failgym.envs.spaces import TERMS
from failgym.evaluation import Anchors, evaluate
from failgym.leaderboard import SUITES, Suite, merge, verify
from failgym.leaderboard.page import write_page
from failgym.leaderboard.page.cells import fields_of
from failgym.leaderboard.page.source import read_source
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.suite.cost_blocks import BLOCKS, CostBlocks
from failgym.leaderboard.suite.suites import Course
from failgym.worlds.build import split_of
from tests.leaderboard.boards import baseline, rehash, rewrite, submit

PINNED = Course(
    "GracePeriod-v1",
    slices=40,
    changes={
        "trace": "google-2011",
        "longest": 0,
        "forecast": "rosa",
        "beyond_record": "ghost",
        "restarts": "limit",
        "task_value": None,
        "weight_forfeited": 4.0,
        "jobs": 600,
        "slice_tasks": 64,
    },
)
"""Jobs that nothing joins fill every block, and none of them decides the score, as it would if all
tasks that do not finish were charged four times their work."""
SCHEDULED = Course("Lineage-v1", slices=4, changes={"jobs": 40})


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
        ("GracePeriod-v1", BLOCKS),
        ("Lineage-v1", 2),
    }
    for row in rows:
        assert sum(row["cost_blocks"]) == pytest.approx(sum(row[term] for term in TERMS))
        for anchor in ("replay_cost", "bound_cost", "replay_spent"):
            assert sum(row[f"{anchor}_blocks"]) == pytest.approx(row[anchor])
        if row["policy"] == "replay":
            assert row["cost_blocks"] == pytest.approx(row["replay_cost_blocks"])


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A submission to be merged with."""
    folder = tmp_path_factory.mktemp("board") / "other"
    submit(folder, baseline("blind_kill"))
    return folder


def add_to(column: str) -> Callable[[dict[str, Any]], None]:
    """Add a little to a cost, or to the last block of it."""

    def change(row: dict[str, Any]) -> None:
        if column.endswith("_blocks"):
            row[column][-1] += 1e-3
        else:
            row[column] += 1e-3

    return change


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("cost_blocks", r"cost_blocks add up to [\d.]+, its costs to [\d.]+"),
        ("forfeited", r"cost_blocks add up to [\d.]+, its costs to [\d.]+"),
        ("replay_cost_blocks", r"replay_cost_blocks add up to [\d.]+, replay_cost is [\d.]+"),
        ("replay_cost", r"replay_cost_blocks add up to [\d.]+, replay_cost is [\d.]+"),
        ("bound_cost", r"bound_cost_blocks add up to [\d.]+, bound_cost is [\d.]+"),
        ("replay_spent_blocks", r"replay_spent_blocks add up to [\d.]+, replay_spent is [\d.]+"),
    ],
)
def test_a_row_whose_blocks_do_not_add_up_is_not_loaded(
    sound: Path, other: Path, copy: Path, tmp_path: Path, column: str, said: str
) -> None:
    """Its interval would be of something else than its score."""
    rewrite(copy / "results.parquet", lambda rows: add_to(column)(rows[-1]))
    rehash(copy)
    last = pq.read_table(sound / "results.parquet").num_rows - 1
    where = f"row {last} \\(random: GracePeriod-v1, forecast none, seed 1, slice "
    line = f"^{copy}: results.parquet: {where}\\d+\\): {said}$"
    with pytest.raises(ValueError, match=line):
        read_source(copy)
    with pytest.raises(ValueError, match=line):
        write_page([sound, copy], tmp_path / "page.html")
    with pytest.raises(ValueError, match=line):
        merge([other, copy], tmp_path / "both")
    assert verify(copy).problems, "which computes all anew, and says so"


def test_costs_that_are_no_numbers_are_not_loaded(copy: Path) -> None:
    rewrite(copy / "results.parquet", lambda rows: rows[0].update(bound_cost=float("nan")))
    rehash(copy)
    with pytest.raises(ValueError, match=r"bound_cost_blocks add up to [\d.]+, bound_cost is nan"):
        read_source(copy)


def test_rounding_is_no_disagreement(copy: Path) -> None:
    def other_order(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["replay_cost"] *= 1.0 + 2e-12
            row["bound_cost"] += 1e-12 * row["replay_cost"]

    rewrite(copy / "results.parquet", other_order)
    rehash(copy)
    read_source(copy)


def test_a_policy_that_failed_has_no_blocks_and_is_loaded(failed: Path) -> None:
    rows = pq.read_table(failed / "results.parquet").to_pylist()
    assert [] in [row["cost_blocks"] for row in rows]
    assert {entry.name for entry in read_source(failed).entries} == {"dead", "random"}


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
    blocks = CostBlocks.of(anchors.scenario, anchors.world, run, BLOCKS)
    np.testing.assert_allclose(blocks.costs(run), expected, rtol=1e-9, atol=1e-9)


def test_the_interval_of_a_page_is_about_that_of_evaluate(board: Path) -> None:
    fields = fields_of([read_source(board)])
    [field] = [one for one in fields if (one.env, one.forecast) == ("GracePeriod-v1", "drawn")]
    cell = field.cell("random")
    assert cell is not None
    found = Bootstrap().score(cell.runs)
    expected = evaluate(REGISTRY["random"](), PINNED.scenario())
    assert found.value == pytest.approx(expected.score)
    alone = Bootstrap().score(cell.runs._replace(units=None, blocks=None))
    wide, narrow = (one.high - one.low for one in (found, alone))
    assert wide == pytest.approx(expected.high - expected.low, rel=0.35)
    assert narrow < wide
