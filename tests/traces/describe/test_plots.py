"""The pictures: they appear whole, are what they say, and leave nothing else behind."""

from __future__ import annotations

import builtins
import importlib.util
import os
import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failgym.cli import run
from failgym.traces import Meta, Trace, TraceError, toy
from failgym.traces.describe.facts import Facts
from failgym.traces.describe.panels import panels
from failgym.traces.describe.panels_of_machines import panels_of_machines
from failgym.traces.describe.panels_of_usage import panels_of_usage
from failgym.traces.describe.plots import check, plot
from failgym.traces.schema import TABLES
from tests.traces.describe.random_traces import random_trace
from tests.traces.describe.test_what_is_missing import TRACES, extreme_trace
from tests.traces.describe.test_workflows import diamond
from tests.traces.traces import make

pytest.importorskip("matplotlib", reason="drawing needs matplotlib: pip install failgym[plots]")

SVG = "{http://www.w3.org/2000/svg}svg"


def is_valid(path: Path) -> bool:
    """Is it a PNG of some size with all its chunks, or an SVG?"""
    data = path.read_bytes()
    if path.suffix == ".svg":
        return ElementTree.fromstring(data).tag == SVG
    width, height = struct.unpack(">II", data[16:24])
    whole = data.startswith(b"\x89PNG\r\n\x1a\n") and data.endswith(b"IEND\xaeB`\x82")
    return whole and width > 400 and height > 200


def titles(trace: Trace) -> set[str]:
    facts = Facts(trace)
    drawn = [*panels(facts), *panels_of_usage(facts), *panels_of_machines(facts)]
    assert len({panel.title for panel in drawn}) == len(drawn)
    return {panel.title for panel in drawn}


def test_the_page_of_a_full_trace(tmp_path: Path) -> None:
    trace = random_trace(0)
    folder = tmp_path / "deep" / "plots"
    paths = plot(trace, folder)
    assert sorted(folder.iterdir()) == sorted(paths)
    assert {path.name for path in paths} == {"trace.png", "trace.svg"}
    assert all(is_valid(path) for path in paths)
    text = (folder / "trace.svg").read_text("utf-8")
    assert len(titles(trace)) >= 18
    assert text.count('<g id="axes_') >= len(titles(trace))


def test_the_same_trace_is_drawn_alike(tmp_path: Path) -> None:
    paths = plot(diamond(), tmp_path)
    before = [path.read_bytes() for path in paths]
    assert plot(diamond(), tmp_path) == paths
    assert [path.read_bytes() for path in paths] == before
    assert sorted(tmp_path.iterdir()) == sorted(paths)


@pytest.mark.parametrize("name", TRACES)
def test_every_sort_of_trace_can_be_drawn(name: str, tmp_path: Path) -> None:
    paths = plot(Trace.of(Meta(f"{name} $x_{{"), **TRACES[name]), tmp_path)
    assert all(is_valid(path) for path in paths)


@pytest.mark.parametrize("trace", [toy(), diamond(length=[1, 2, 3, 4, 5]), extreme_trace()])
def test_small_traces_can_be_drawn(trace: Trace, tmp_path: Path) -> None:
    assert all(is_valid(path) for path in plot(trace, tmp_path))


def test_what_is_drawn_is_what_there_is() -> None:
    lone = titles(Trace.of(Meta("outages"), **TRACES["outages"]))
    assert lone == {"Downtimes"}
    assert titles(diamond()) - titles(toy()) >= {"Depth and width of workflows", "Tasks per job"}
    drawn = titles(random_trace(3))
    assert {
        "Outcomes",
        "Exit categories",
        "Time between failures",
        "Jobs that left the default",
    } <= (drawn)


def test_rates_against_usage_are_drawn_with_enough_attempts() -> None:
    rng, n = np.random.default_rng(0), 4000
    memory = rng.random(n)
    dies = rng.random(n) < memory / 2
    trace = Trace.of(
        Meta("memory"),
        jobs={"original_id": ["a"], "submit": [0], "width": n, "outcome": 0},
        tasks={"job": np.zeros(n, np.int64), "index": np.arange(n), "width": 1},
        attempts={
            "task": np.arange(n),
            "start": 0,
            "end": 5,
            "outcome": dies.astype(np.int64),
            "cause": np.ma.array(np.zeros(n, np.int64), mask=~dies),
            "mean_memory": memory,
        },
    )
    assert "Failure rate against memory" in titles(trace)


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    (tmp_path / "trace.png").write_text("old")

    def fail(self: Figure, name: Path, **_: Any) -> None:
        Path(name).write_text("half")
        raise OSError("disk full")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        plot(diamond(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["trace.png"]
    assert (tmp_path / "trace.png").read_text() == "old"


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(name: str) -> None:
        assert name == "matplotlib"

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    with pytest.raises(
        TraceError, match=r"^drawing needs matplotlib: pip install failgym\[plots\]$"
    ):
        plot(toy(), tmp_path / "plots")
    assert not (tmp_path / "plots").exists()


def test_only_drawing_imports_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def guarded(name: str, *rest: Any) -> Any:
        assert not name.startswith("matplotlib")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", guarded)
    assert titles(random_trace(0))


def test_a_file_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(TraceError, match="is not a folder"):
        check(file)
    with pytest.raises(TraceError, match=r"below: .*file is not a folder"):
        check(file / "deep" / "below")
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(TraceError, match="link: is not a folder"):
        check(tmp_path / "link")
    check(tmp_path / "new" / "deep")

    def access(path: Path, mode: int) -> bool:
        return path != tmp_path

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(TraceError, match=r"deep: .* cannot be written to"):
        check(tmp_path / "new" / "deep")


def test_a_long_source_is_one_short_line(tmp_path: Path) -> None:
    meta = Meta("swf: one machine\nanother, " + "and more " * 40, end=2000)
    trace = make()
    drawn = plot(Trace(meta, **{name: trace.table(name) for name in TABLES}), tmp_path)
    assert all(is_valid(path) for path in drawn)
    text = (tmp_path / "trace.svg").read_text("utf-8")
    assert "swf: one machine another, and more" in text
    assert "...: 3 jobs" in text


def test_the_command_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored, plots = tmp_path / "trace", tmp_path / "plots"
    diamond().save(stored)
    assert run(["trace", "info", str(stored), "--plot", str(plots)]) == 0
    shown = capsys.readouterr().out
    assert {path.name for path in plots.iterdir()} == {"trace.png", "trace.svg"}
    assert f"written to {plots / 'trace.png'}" in shown
    assert "- Machines and their outages: needs outages of machines" in shown
    for bad in (stored, stored / "plots"):
        assert run(["trace", "info", str(stored), "--plot", str(bad)]) == 2
        assert "saved trace" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert run(["trace", "info", str(stored), "--plot", str(tmp_path / "file")]) == 2
    told = capsys.readouterr()
    assert told.err == f"failgym: --plot {tmp_path / 'file'}: is not a folder\n"
    assert not told.out
    assert sorted(p.name for p in stored.iterdir() if p.suffix not in (".parquet", ".json")) == []
