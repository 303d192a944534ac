"""Every real file at hand imports with one command, and `trace info` prints its tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from failgym.cli import run
from failgym.traces import Trace
from tests.traces.real_data import real

SOURCES: dict[str, tuple[list[str], str, str]] = {
    "google-2011": (["google-2011"], "google-2011", ""),
    "google-2019": (["google-2019"], "google-2019", ""),
    "lanl 2": (["lanl", "--system", "2"], "lanl", ""),
    "lanl 20": (["lanl", "--system", "20", "--nodes", "0-255"], "lanl", ""),
    "lanl": (["lanl"], "lanl", ""),
    "fta": (["fta"], "fta-lanl", ""),
    "swf": (["swf"], "swf", "KTH-SP2-1996-2.1-cln.swf.gz"),
    "swf attempts": (["swf", "--infer-attempts"], "swf", "LANL-CM5-1994-4.1-cln.swf.gz"),
    "rumen": (["rumen"], "rumen", "19-jobs.trace.json.gz"),
    "stg": (["stg"], "stg", "stg-50.tar.gz"),
    "workflows": (["wfformat"], "workflows", ""),
}
"""Name -> format and options, folder and file."""


def invoke(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


@pytest.mark.parametrize("name", SOURCES)
def test_a_real_source_is_imported_and_described(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (form, *options), folder, inside = SOURCES[name]
    source = real(folder, inside) / inside
    assert invoke("trace", "import", form, source, "--out", tmp_path / "t", *options) == 0
    assert invoke("trace", "info", tmp_path / "t", "--json", tmp_path / "info.json") == 0
    assert "content" in capsys.readouterr().out
    tables: dict[str, Any] = json.loads((tmp_path / "info.json").read_text("utf-8"))["tables"]
    trace = Trace.load(tmp_path / "t")
    rows = {row["table"]: row["rows"] for row in tables["rows"]["rows"]}
    assert rows == {table: trace.rows(table) for table in rows}
    assert trace.rows("tasks") + trace.rows("machines") > 0


def test_outages_join_a_workload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = real("swf") / "KTH-SP2-1996-2.1-cln.swf.gz"
    failures = real("lanl") / "LA-UR-05-7318-failure-data-1996-2005.csv.gz"
    more = ["--outages", "lanl", failures, "--system", "20"]
    assert invoke("trace", "import", "swf", log, *more, "--out", tmp_path / "t") == 0
    shown = capsys.readouterr().out
    assert "outages of lanl system 20: aligned by start (1996-09-23 to 1997-08-29" in shown
    trace = Trace.load(tmp_path / "t")
    assert trace.rows("jobs") == 28_476
    assert trace.rows("outages") > 100
    assert trace.rows("machines") >= 256
    assert trace.meta.end is not None
    assert trace.column("outages", "down").max() <= trace.meta.end
