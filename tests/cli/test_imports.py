"""`failgym trace import`: every format and its options reach the reader, and nothing else does."""

from __future__ import annotations

import datetime
import importlib
import inspect
import shutil
from pathlib import Path
from typing import Any

import pytest

from failgym.cli import run
from failgym.traces import FORMATS, Trace
from failgym.traces.formats import Format
from failgym.traces.synthetic import generate
from tests.traces.readers.google_2011.nasty import write_nasty

GIVEN: dict[str, tuple[list[str], Any]] = {
    "system": (["--system", "20"], 20),
    "nodes": (["--nodes", "0-255"], (0, 255)),
    "since": (["--since", "2002-11-21"], datetime.date(2002, 11, 21)),
    "until": (["--until", "2003-01-01"], datetime.date(2003, 1, 1)),
    "topology": (["--topology", "racks.json"], Path("racks.json")),
    "infer_attempts": (["--infer-attempts"], True),
    "timezone": (["--timezone", "Europe/Berlin"], "Europe/Berlin"),
    "columns": (["--columns", "JobID, State,Start"], ("JobID", "State", "Start")),
    "merge_clusters": (["--merge-clusters"], True),
    "unit_ms": (["--unit-ms", "60000"], 60_000),
    "outcomes": (["--outcomes", "OK=finished, =running"], {"OK": "finished", "": "running"}),
    "unit": (["--unit", "ms"], "ms"),
}
"""Option -> how it is typed, and what the reader is given."""
GIVEN_TO: dict[tuple[str, str], tuple[list[str], Any]] = {
    ("table", "columns"): (["--columns", "job=JobID, end=End"], {"job": "JobID", "end": "End"}),
}
"""The same where it means something else to a format."""


def invoke(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any, dict[str, Any]]]:
    """What the readers are called with, in place of reading."""
    made: list[tuple[str, Any, dict[str, Any]]] = []

    def reader(form: Format) -> Any:
        def read(path: Any, *, progress: bool, **options: Any) -> Trace:
            made.append((form.name, path, options))
            return generate("lanl-20", jobs=5)

        return read

    monkeypatch.setattr(Format, "reader", property(reader))
    return made


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_every_format_has_a_reader_with_these_options(form: Format) -> None:
    parameters = inspect.signature(form.reader).parameters
    path, *rest = parameters.values()
    assert path.name == "path"
    assert {one.name for one in rest} == {"progress", *form.options}
    assert all(one.kind is one.KEYWORD_ONLY for one in rest)
    assert form.reader.__doc__


def test_every_option_is_typed_here() -> None:
    assert set(GIVEN) == {name for form in FORMATS.values() for name in form.options}


@pytest.mark.parametrize("option", GIVEN)
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "google-2011"])
def test_an_option_reaches_the_reader_that_takes_it(
    name: str,
    option: str,
    calls: list[tuple[str, Any, dict[str, Any]]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    typed, value = GIVEN_TO.get((name, option), GIVEN[option])
    status = invoke("trace", "import", name, "a", "b", "--out", tmp_path / "t", *typed)
    if option in FORMATS[name].options:
        assert status == 0
        assert calls == [(name, [Path("a"), Path("b")], {option: value})]
        assert Trace.load(tmp_path / "t").rows("jobs")
    else:
        assert status == 2
        shown = capsys.readouterr().err
        assert typed[0] in shown
        assert shown.count("\n") == 1
        assert not calls


def test_options_of_the_outages_go_to_their_reader(
    calls: list[tuple[str, Any, dict[str, Any]]], tmp_path: Path
) -> None:
    arguments = ["swf", "log", "--outages", "lanl", "failures.csv", "--system", "20"]
    more = ["--infer-attempts", "--align", "start", "--out", tmp_path / "t"]
    assert invoke("trace", "import", *arguments, *more) == 0
    assert calls == [
        ("swf", Path("log"), {"infer_attempts": True}),
        ("lanl", Path("failures.csv"), {"system": 20}),
    ]


BAD: dict[str, tuple[list[str], str]] = {
    "unknown format": (["swv", "log"], "unknown format 'swv', did you mean swf?"),
    "unknown outages": (["swf", "log", "--outages", "lnl", "x"], "did you mean lanl?"),
    "one word": (["swf", "log", "--outages", "lanl"], "--out"),
    "no source": (["swf"], "SOURCE"),
    "reversed": (["lanl", "x", "--nodes", "9-3"], "--nodes: expected A-B with A at most B"),
    "no numbers": (["lanl", "x", "--nodes", "a-b"], "--nodes: expected two node numbers"),
    "no date": (["lanl", "x", "--since", "2002-13-01"], "--since: expected a date YYYY-MM-DD"),
    "no days": (
        ["swf", "x", "--outages", "lanl", "y", "--since", "2002-11-21", "--until", "2002-11-20"],
        "--until: expected a day that is not before --since",
    ),
    "no zone": (["torque", "x", "--timezone", "Mars/Base"], "--timezone: unknown time zone"),
    "an evil zone": (["torque", "x", "--timezone", "/etc/passwd"], "--timezone: unknown time zone"),
    "no columns": (["sacct", "x", "--columns", "JobID,,State"], "--columns: expected names like"),
    "no pairs": (["table", "x", "--columns", "job"], "--columns: expected pairs like job=JobID"),
    "no field": (["table", "x", "--columns", "jb=JobID"], "field 'jb', did you mean job?"),
    "told twice": (["table", "x", "--outcomes", "a=done,a=failed"], "each once, got"),
    "no outcome": (["table", "x", "--outcomes", "a=finishd"], "--outcomes: unknown outcome"),
    "no unit of time": (["table", "x", "--unit", "min"], "--unit: expected s or ms, got 'min'"),
    "no unit": (["stg", "x", "--unit-ms", "0"], "--unit-ms: expected at least 1"),
    "two days": (["stg", "x", "--unit-ms", "172800000"], "at most 86400000, got 172800000"),
    "alone": (["swf", "x", "--align", "date"], "--align: expected --outages beside it"),
    "another way": (["swf", "x", "--outages", "fta", "y", "--align", "dat"], "did you mean date?"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_one_line_before_anything_is_read(
    case: str,
    calls: list[tuple[str, Any, dict[str, Any]]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments, said = BAD[case]
    assert invoke("trace", "import", *arguments, "--out", tmp_path / "t") == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1
    assert not calls
    assert not (tmp_path / "t").exists()


def test_what_is_in_a_large_trace_is_said_without_loading_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke("trace", "synth", "system-a", "--jobs", "40", "--out", tmp_path / "t") == 0
    said = capsys.readouterr().out
    monkeypatch.setattr(importlib.import_module("failgym.cli.trace"), "LARGE", 10)
    monkeypatch.setattr(Trace, "load", None)
    assert invoke("trace", "synth", "system-a", "--jobs", "40", "--out", tmp_path / "t") == 0
    shown = capsys.readouterr().out
    assert said.splitlines()[-1] == shown.splitlines()[-1]
    assert "attempts" in shown
    assert "FINISH" not in shown


def test_a_source_larger_than_memory_is_not_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: list[tuple[str, Any, dict[str, Any]]]
) -> None:
    write_nasty(tmp_path / "source")
    assert (
        invoke("trace", "import", "google-2011", tmp_path / "source", "--out", tmp_path / "t") == 0
    )
    assert not calls
    monkeypatch.undo()
    read = FORMATS["google-2011"].reader(tmp_path / "source")
    assert Trace.load(tmp_path / "t").content_hash == read.content_hash


def test_what_a_source_leaves_unknown_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_nasty(tmp_path / "source")
    shutil.rmtree(tmp_path / "source" / "job_events")
    assert (
        invoke("trace", "import", "google-2011", tmp_path / "source", "--out", tmp_path / "t") == 0
    )
    assert "no job_events: names and outcomes of jobs are not known" in capsys.readouterr().out
