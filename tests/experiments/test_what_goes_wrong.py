"""Experiments that hang or return nonsense, results that are damaged, options that are wrong."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from experiments.elsayed2017_figure1 import EXPERIMENT as FIGURE_1
from experiments.elsayed2017_retry_cap import EXPERIMENT as RETRY_CAP
from experiments.elsayed2017_table1 import EXPERIMENT as TABLE_1
from experiments.reproduction import BEYOND, Experiment, Kind, Measured, Options, run_progress
from experiments.reproduction.catalogue import Catalogue
from experiments.reproduction.processes import Apart, Event
from experiments.reproduction.run_progress import RunProgress
from experiments.reproduction.stored_results import Store
from experiments.run_all import main
from failgym.evaluation.progress import Advance
from tests.experiments.made_up import GOOD, SILENT, add, run


@pytest.fixture
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    """A package that a test puts experiments into."""
    folder = tmp_path / f"package_{tmp_path.name}"
    folder.mkdir()
    (folder / "__init__.py").write_text("", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return Catalogue(folder)


@pytest.mark.parametrize("damaged", ["", '{"key": "a', "[]", "{}", "\x00\x00", '{"key": "a"}'])
def test_what_is_no_result_counts_as_none(tmp_path: Path, damaged: str) -> None:
    store = Store(tmp_path)
    store.file("x").write_text(damaged, "utf-8")
    assert store.load("x") is None
    assert not store.fresh("x", "a")


def test_a_picture_that_is_gone_is_drawn_again(others: Catalogue, tmp_path: Path) -> None:
    add(others, "good", GOOD, "APPROXIMATE", seeds=3)
    first = run(others, tmp_path / "out")
    picture = Store(tmp_path / "out").file("good", "png")
    picture.unlink()
    assert run(others, tmp_path / "out")[0].rows[:3] == first[0].rows[:3]
    assert picture.is_file()


def test_one_that_ends_without_a_result_does_not_show_an_old_one(
    others: Catalogue, tmp_path: Path
) -> None:
    add(others, "silent", SILENT)
    assert run(others, tmp_path / "out")[0].rows
    add(others, "silent", "    import sys\n    sys.exit(0)\n")
    (entry,) = run(others, tmp_path / "out")
    assert entry.error == "failed: it ended without a result"
    assert not entry.rows


def test_one_that_hangs_is_ended_and_the_others_are_shown(
    others: Catalogue, tmp_path: Path
) -> None:
    add(others, "silent", SILENT)
    run(others, tmp_path / "out")
    add(others, "hangs", "    import time\n    time.sleep(600)\n")
    entries = {entry.name: entry for entry in run(others, tmp_path / "out", limit=3.0)}
    assert entries["hangs"].error == "failed: took longer than 0.05 min"
    assert entries["silent"].rows


NONSENSE = {
    "word": ('Row("x", 1.0, "two")', "TypeError: row 'x': expected numbers, got ['two', 1.0]"),
    "endless": ('Row("x", 1.0, 2.0, band=(0.0, float("inf")))', "ValueError: row 'x': band (0"),
    "turned": ('Row("x", 1.0, 2.0, band=(2.0, 1.0))', "ValueError: row 'x': band (2.0, 1.0)"),
    "twice": ('Row("x", 1.0, 2.0), Row("x", 1.0, 2.0)', "ValueError: rows that share a name: ['"),
    "no_row": ("7", "AttributeError"),
}
"""Rows of an experiment, and what is said of them."""


def test_nonsense_is_not_stored(others: Catalogue, tmp_path: Path) -> None:
    for name, (rows, _) in NONSENSE.items():
        add(others, name, f"    return Measured(({rows},))\n")
    for entry in run(others, tmp_path / "out"):
        assert entry.error.startswith(f"failed: {NONSENSE[entry.name][1]}")
        assert not Store(tmp_path / "out").file(entry.name).exists()


def test_what_needs_original_data_is_not_judged(others: Catalogue, tmp_path: Path) -> None:
    add(others, "judged", SILENT, "ORIGINAL")
    (entry,) = run(others, tmp_path / "out")
    assert "'original data' is not judged, but these have bands: ['astray']" in entry.error


def test_new_is_what_no_paper_has() -> None:
    def nothing(options: Options, advance: Advance) -> Measured:
        return Measured(())

    for paper, kind in (("Paper 2000", Kind.NEW), (BEYOND, Kind.APPROXIMATE)):
        with pytest.raises(ValueError, match="item: "):
            Experiment(paper, "item", "title", kind, nothing)


@pytest.mark.parametrize(
    ("experiment", "wrong"),
    [
        (RETRY_CAP, ["--json", "nowhere/x.json"]),
        (RETRY_CAP, ["--traces", "nowhere"]),
        (RETRY_CAP, ["--picture", "x.png"]),
        (TABLE_1, ["--seeds", "0"]),
        (FIGURE_1, ["--picture", "nowhere/x.png"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_option_that_is_wrong_is_one_clear_line(
    experiment: Experiment,
    wrong: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["experiment", *wrong])
    with pytest.raises(SystemExit) as ended:
        experiment.command()
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert not said.out
    assert said.err.startswith(f"error: {' '.join(wrong)}: ")
    assert len(said.err.splitlines()) == 1


def test_seeds_do_not_matter_where_nothing_is_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "cap.json"
    monkeypatch.setattr(sys, "argv", ["experiment", "--seeds", "10", "--json", str(file)])
    with pytest.raises(SystemExit) as ended:
        RETRY_CAP.command()
    assert not ended.value.code
    assert json.loads(file.read_text("utf-8"))["seeds"] == 0


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    app = typer.Typer()
    app.command()(main)
    asked = ["--only", "elsayed2017_retry_cap", "--out", str(tmp_path / "file" / "out")]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 2
    assert len(done.output.strip().splitlines()) == 1


def log_goes(folder: Path, name: str, steps: object, advance: object) -> None:
    """Its log is removed meanwhile, by another process that does the same item."""
    (folder / f"{name}.log").unlink()


def test_an_item_that_is_done_twice_at_once_does_not_fail(tmp_path: Path) -> None:
    assert Apart(partial(log_goes, tmp_path), tmp_path).do("x") == ""


def test_the_time_left_knows_how_many_work_on_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 30.0])
    monkeypatch.setattr(run_progress.time, "perf_counter", lambda: next(clock))
    names = [f"x{number}" for number in range(40)]  # a minute each, as far as is known
    with RunProgress(Store(tmp_path), names, len(names), 1, False) as progress:
        for name in names:
            progress.update(Event(name, 0.5))
        assert progress.left == pytest.approx(30.0)
