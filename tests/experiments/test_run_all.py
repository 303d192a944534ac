"""All experiments in one run: it goes on where it was, and tells what came out and what did not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from experiments.reproduction import Row
from experiments.reproduction.catalogue import Catalogue, content_of_traces
from experiments.reproduction.report_entries import Entry, entries_of
from experiments.reproduction.report_page import Part, parts_of, write_page
from experiments.reproduction.report_table import markdown
from experiments.reproduction.stored_results import Store
from experiments.run_all import complaints, main, write_table
from failgym.workers import Workers
from tests.experiments.made_up import BAD, GOOD, KILLED, SILENT, run, write


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalogue]:
    """Experiments of a package of their own."""
    folder = tmp_path_factory.mktemp("top") / "made_up"
    folder.mkdir()
    (folder / "__init__.py").write_text("", "utf-8")
    (folder / "shared.py").write_text("FACTOR = 1.0\n", "utf-8")
    write(folder, "good", GOOD, "Table IV", "APPROXIMATE", seeds=3)
    write(folder, "bad", BAD, "Table II")
    write(folder, "killed", KILLED, "Figure 3")
    write(folder, "silent", SILENT, "Table V")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder.parent))
        yield Catalogue(folder)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("out") / "results"


@pytest.fixture(scope="module")
def entries(catalogue: Catalogue, out: Path) -> dict[str, Entry]:
    return {entry.name: entry for entry in run(catalogue, out, workers=Workers(2))}


def runs_of(catalogue: Catalogue, name: str) -> int:
    return len((catalogue.folder / f"{name}.runs").read_text("utf-8"))


def test_experiments_are_found_without_being_imported(tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text("raise SystemExit\nEXPERIMENT = None\n", "utf-8")
    (tmp_path / "second.py").write_text("EXPERIMENT: int = 1\n(", "utf-8")
    (tmp_path / "other.py").write_text("NOTHING = 'EXPERIMENT = 1'\n", "utf-8")
    found = Catalogue(tmp_path)
    assert found.names() == ["first", "second"]
    assert found.chosen(["sec"]) == ["second"]
    with pytest.raises(ValueError, match="--only third: no experiment"):
        found.chosen(["third"])


def test_every_experiment_of_ours_is_found() -> None:
    names = Catalogue().names()
    assert {"elsayed2017_retry_cap", "cross_table", "open_loop"} <= set(names)
    assert "reproduction" not in names


@pytest.mark.parametrize("name", Catalogue().names())
def test_what_is_judged_is_drawn_from_ten_seeds_or_not_at_random(name: str) -> None:
    experiment = import_module(f"experiments.{name}").EXPERIMENT
    assert experiment.module == name
    if experiment.kind.judged:
        assert experiment.seeds == 0 or experiment.seeds >= 10


def test_one_that_fails_stops_no_other_and_says_why(entries: dict[str, Entry]) -> None:
    assert entries["bad"].error == "failed: RuntimeError: no such luck"
    assert "killed by signal 9" in entries["killed"].error
    assert not entries["good"].error
    assert entries["good"].counts == {"within": 1, "fitted": 1, "outside": 1, "": 2}


def test_the_log_of_one_that_fails_holds_the_traceback(
    out: Path, entries: dict[str, Entry]
) -> None:
    assert "in measure" in Store(out).file("bad", "log").read_text("utf-8")
    assert not Store(out).file("good", "log").exists()


def test_tables_come_in_the_order_of_the_paper_and_failures_last(
    entries: dict[str, Entry],
) -> None:
    assert list(entries) == ["good", "silent", "bad", "killed"]


def test_items_are_sorted_by_number_however_it_is_written(tmp_path: Path) -> None:
    items = ["retry cap", "Fig. 11", "Figure 2", "Table VIII, simulated", "Table VIII", "Table IV"]
    (tmp_path / "__init__.py").write_text("", "utf-8")
    store = Store(tmp_path)
    for i, item in enumerate(items):
        about = {"paper": "P", "title": "", "kind": "", "seeds": 0, "seconds": 0.0, "rows": []}
        about |= {"key": "", "picture": False, "per": "seeds"}
        (tmp_path / f"x{i}.py").write_text('"""A."""\n', "utf-8")
        store.file(f"x{i}").write_text(json.dumps({**about, "item": item}), "utf-8")
    names = [f"x{i}" for i in range(len(items))]
    found = [entry.item for entry in entries_of(Catalogue(tmp_path), store, names, {})]
    assert found == [items[5], items[4], items[3], items[2], items[1], items[0]]


def test_what_is_outside_and_does_not_say_why_is_named(entries: dict[str, Entry]) -> None:
    wrong = "\n".join(complaints(list(entries.values()), quick=False))
    assert "silent: 'astray' is outside" in wrong
    assert "bad: failed: RuntimeError" in wrong
    assert "told" not in wrong
    assert "astray" not in "".join(complaints(list(entries.values()), quick=True))
    assert not complaints([entries["good"]], quick=False)


def test_what_is_finished_is_not_run_again_until_it_changes(
    catalogue: Catalogue, tmp_path: Path, entries: dict[str, Entry]
) -> None:
    before = runs_of(catalogue, "good")
    first = run(catalogue, tmp_path, "good", "bad")
    assert run(catalogue, tmp_path, "good", "bad") == first
    assert runs_of(catalogue, "good") == before + 1
    assert runs_of(catalogue, "bad") == 3
    shared = catalogue.folder / "shared.py"
    text = shared.read_text("utf-8")
    shared.write_text("FACTOR = 3.00\n", "utf-8")  # of another size: Python looks at that
    try:
        changed = run(catalogue, tmp_path, "good")
    finally:
        shared.write_text(text, "utf-8")
    assert changed[0].rows[0].ours == pytest.approx(3.0 * first[0].rows[0].ours)


def test_a_result_depends_on_code_and_options(catalogue: Catalogue, tmp_path: Path) -> None:
    key = catalogue.key("good", "quick")
    assert key == catalogue.key("good", "quick")
    assert key != catalogue.key("good", "full")
    assert key != catalogue.key("silent", "quick")


def test_one_process_and_two_give_the_same_results(
    catalogue: Catalogue, out: Path, tmp_path: Path, entries: dict[str, Entry]
) -> None:
    run(catalogue, tmp_path, "good")
    results = [Store(folder).load("good") or {} for folder in (out, tmp_path)]
    assert all(result.pop("seconds") > 0.0 for result in results)
    assert results[0] == results[1]
    pictures = [Store(folder).file("good", "png").read_bytes() for folder in (out, tmp_path)]
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize("name", Catalogue().names())
def test_experiments_say_what_is_claimed_how_it_is_judged_and_what_was_chosen(name: str) -> None:
    headings = [part.text for part in parts_of(Catalogue().description(name))]
    assert {"Claim", "Kind and band", "Choices"} <= set(headings)


def test_two_runs_cannot_share_a_folder(catalogue: Catalogue, tmp_path: Path) -> None:
    with Store(tmp_path).locked(), pytest.raises(ValueError, match="another run"):
        run(catalogue, tmp_path, "good")


def test_a_row_is_the_same_after_it_was_stored(
    catalogue: Catalogue, out: Path, entries: dict[str, Entry]
) -> None:
    rows = {row.name: row for row in entries["good"].rows}
    assert rows["in <b>"].band == (0.0, 1.0)
    assert rows["none"].ours != rows["none"].ours
    assert rows["told"].verdict == "outside"
    written = json.loads(Store(out).file("good").read_text("utf-8"))["rows"]
    assert [row["verdict"] for row in written] == [r.verdict for r in entries["good"].rows]


def test_the_table_has_a_line_for_every_row_and_command(
    tmp_path: Path, entries: dict[str, Entry]
) -> None:
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- results -->\nstale\n<!-- /results -->\nafter\n", "utf-8")
    write_table(list(entries.values()), page)
    text = page.read_text("utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "stale" not in text
    assert "4 experiments, 2 without a result; rows: 1 within, 2 outside, 1 fitted, 2 prin" in text
    assert "`python -m made_up.good`" in text
    assert "| bad | **failed: RuntimeError: no such luck** |" in text
    assert "| told | 0.5 |" in text
    assert "since a \\| b |" in text
    assert "| in &lt;b&gt; |" in text
    assert "| outside | predicted |" in text


def test_a_table_without_its_place_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("nothing\n", "utf-8")
    with pytest.raises(ValueError, match="<!-- results -->"):
        write_table([], page)


def test_the_report_asks_for_nothing_from_elsewhere(
    tmp_path: Path, entries: dict[str, Entry]
) -> None:
    write_page(list(entries.values()), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "http" not in text.replace("http-equiv", "")
    assert text.count('<img src="data:image/png;base64,') == 1
    assert "A claim that goes over two lines." in text
    assert "in &lt;b&gt;" in text
    assert "no such luck" in text


def test_docstrings_are_read_as_they_are_meant() -> None:
    text = (
        "First\nline.\n\nClaim\n    One.\n\n    - a\n      b\n    - c\n\nSum::\n\n        x  =  1"
    )
    assert parts_of(text) == [
        Part("First line."),
        Part("Claim", "heading"),
        Part("One."),
        Part("a b", "item"),
        Part("c", "item"),
        Part("Sum::"),
        Part("x  =  1", "code"),
    ]


def test_an_experiment_that_never_ran_says_so(catalogue: Catalogue, tmp_path: Path) -> None:
    entry = entries_of(catalogue, Store(tmp_path), ["good"], {})[0]
    assert entry.error == "not run"
    assert "**not run**" in markdown([entry])


def test_rows_that_were_fitted_count_as_such() -> None:
    assert Row("a", 1.0, 1.0, band=(0.0, 2.0), fitted=True).verdict == "fitted"


def test_traces_are_known_by_content(tmp_path: Path) -> None:
    assert content_of_traces(None) == {}
    with pytest.raises(ValueError, match="found none"):
        content_of_traces(tmp_path)
    (tmp_path / "lanl-2").mkdir()
    (tmp_path / "lanl-2" / "meta.json").write_text('{"content_hash": "abc"}', "utf-8")
    assert content_of_traces(tmp_path) == {"lanl-2": "abc"}
    for wrong in ("", "[1]", "{}", '{"content_hash": 3}'):
        (tmp_path / "lanl-2" / "meta.json").write_text(wrong, "utf-8")
        with pytest.raises(ValueError, match="expected what `failgym"):
            content_of_traces(tmp_path)


def test_the_command_runs_a_part_and_leaves_the_page_alone(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "experiments" / "README.md"
    before = page.read_text("utf-8")
    app = typer.Typer()
    app.command()(main)
    asked = ["--only", "elsayed2017_retry_cap", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "elsayed2017_retry_cap: 6 within" in done.output
    assert "retry cap" in (tmp_path / "report.html").read_text("utf-8")
    assert page.read_text("utf-8") == before


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--only", "nothing"], "--only nothing: no experiment begins so"),
        (["--traces", "nowhere"], "--traces nowhere: expected a folder of stored traces"),
        (["--workers", "0"], "--workers: expected a number, 1 to 1024, or ray, got 0"),
        (["--ray-address", "auto"], "--ray-address auto: expected --workers ray beside it"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_one_clear_line(asked: list[str], said: str, tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(main)
    done = CliRunner().invoke(app, [*asked, "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert len(done.output.strip().splitlines()) == 1
    assert said in done.output


def test_the_page_of_the_experiments_has_a_place_for_the_table() -> None:
    page = Path(__file__).parents[2] / "experiments" / "README.md"
    assert page.read_text("utf-8").count("<!-- results -->") == 1
