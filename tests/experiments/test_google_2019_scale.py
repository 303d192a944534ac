"""The made-up cell of the import's experiment, and what a fresh process finds of it."""

from __future__ import annotations

from pathlib import Path

from experiments.google_2019_scale import imported, make_cell
from failgym.traces import Outcome, read_google_2019


def test_a_made_up_cell_is_read_whole(tmp_path: Path) -> None:
    events = make_cell(tmp_path / "cell", 20_000, 3, seed=0)
    made = read_google_2019(tmp_path / "cell")
    assert 10_000 < events < 24_000
    assert made.meta.rows_read["instance events"] == events
    assert not [reason for reason in made.meta.dropped if "instance that is" in reason]
    outcomes = {Outcome(code) for code in made.column("attempts", "outcome").tolist()}
    assert {Outcome.FINISH, Outcome.FAIL, Outcome.KILL, Outcome.EVICT} <= outcomes
    make_cell(tmp_path / "warm", 1000, 1, seed=1)
    *took, content = imported(tmp_path, 1)
    assert content == made.content_hash
    assert min(took) > 0.0
