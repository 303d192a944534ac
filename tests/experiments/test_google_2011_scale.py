"""The long trace of the import's experiment: as many times everything as there are copies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from experiments.google_2011_scale import main
from tests.traces.readers.google_2011.nasty import job_row, task_row, write_part

TASKS = [
    ["0 3 0 - 0", "0 3 0 71 1", "0 3 1 - 0", "5000000 3 0 71 2", "5000010 3 0 - 0"],
    ["6000000 3 0 72 1", "7000000 4 0 - 0", "7500000 4 0 71 1", "8000000 3 0 72 4"],
]
JOBS = [["0 3 0", "7000000 4 0"], ["9000000 3 4"]]


def write(folder: Path) -> Path:
    for number, rows in enumerate(TASKS):
        write_part(folder / "task_events", number, [task_row(*row.split()) for row in rows])
    for number, rows in enumerate(JOBS):
        write_part(folder / "job_events", number, [job_row(*row.split()) for row in rows])
    return folder


def test_every_count_is_that_of_one_copy_times_the_copies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(write(tmp_path / "source"), tmp_path / "scratch", rows=30)
    result = json.loads(capsys.readouterr().out)
    assert (result["copies"], result["all"]["rows"], result["one"]["rows"]) == (3, 33, 11)
    assert result["counts_that_are_off"] == []
    counted = {key: result["counts"][key] for key in ("rows of tasks", "rows of attempts")}
    assert counted == {"rows of tasks": 9, "rows of attempts": 12}
    assert result["counts"]["attempts of outcome 2"] == 6  # open tasks are killed at the end
    assert 50 < result["all"]["peak_rss_mb"] < 2000


def test_a_folder_with_something_in_it_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="is not empty"):
        main(write(tmp_path / "source"), tmp_path, rows=30)
