"""`failgym replay --video --html --perfetto`: files of a run that can be looked at."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from failgym.cli import run
from failgym.envs.rendering.playback import LAST_FRAMES, MOST_FRAMES
from failgym.envs.rendering.timeline import ACCOUNTS
from failgym.metrics import ACCOUNTS as CLASSES
from failgym.traces.synthetic import generate
from tests.envs.worlds import small_dags, small_workflows


def invoke(*arguments: str | Path) -> int:
    return run([str(argument) for argument in arguments])


def load(file: Path) -> Any:
    return json.loads(file.read_text("utf-8"))


def data_of(page: Path) -> dict[str, Any]:
    """What a page shows."""
    found = re.search(r'id="data">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found
    return json.loads(found[1])


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    folder = tmp_path / "trace"
    generate("google-2011", jobs=25, seed=3).save(folder)
    return folder


WORLDS = {
    "pinned": (None, ["--policy", "algorithm_1"]),
    "replay": (None, ["--policy", "replay"]),
    "recurrent": (None, ["--policy", "random:seed=2", "--env", "GracePeriod-v1"]),
    "lineage": (small_dags, ["--policy", "checkpoint_all", "--env", "Lineage-v1"]),
    "workflow": (small_workflows, ["--policy", "flaw", "--env", "Workflow-v1"]),
}
"""Of each world: its trace, and who decides."""


@pytest.mark.parametrize("name", WORLDS)
def test_files_add_up_to_the_run(name: str, stored: Path, tmp_path: Path) -> None:
    """All three hold the run that the table is about, its machine-time account by account."""
    source, arguments = WORLDS[name]
    if source is not None:
        stored = tmp_path / "workflows"
        source().save(stored)
    table, page, events = (tmp_path / name for name in ("r.json", "r.html", "r.perfetto"))
    files = ["--json", table, "--html", page, "--perfetto", events]
    assert invoke("replay", stored, *arguments, *files) == 0
    work = load(table)["work"]
    shown = data_of(page)
    slices = load(events)["traceEvents"]
    for account in CLASSES:
        of_account = (s["args"]["machine_time"] for s in slices if s.get("cat") == account)
        assert sum(of_account) == work[account] == shown["totals"][account], account
    assert [account for account, _ in shown["accounts"]] == list(ACCOUNTS)
    assert len(shown["marks"]) >= load(table)["decisions"]
    assert (name == "replay") == (load(table)["decisions"] == 0)


def test_the_policy_goes_the_same_way(stored: Path, tmp_path: Path) -> None:
    """Watched or not, a policy that draws nothing scores the same."""
    watched, alone = tmp_path / "watched.json", tmp_path / "alone.json"
    arguments = ["replay", stored, "--policy", "algorithm_1", "--json"]
    assert invoke(*arguments, alone) == 0
    assert invoke(*arguments, watched, "--perfetto", tmp_path / "events.json") == 0
    times = ("compile_seconds", "seconds", "decisions_per_second", "tasks_per_second")
    results = [{k: v for k, v in load(f).items() if k not in times} for f in (watched, alone)]
    assert results[0] == results[1]


@pytest.mark.parametrize("name", ["pinned", "lineage"])
def test_a_film(name: str, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL")
    library: Any = pytest.importorskip("imageio_ffmpeg")
    monkeypatch.setattr("failgym.envs.rendering.playback.MOST_FRAMES", 20)
    source, arguments = WORLDS[name]
    if source is not None:
        stored = tmp_path / "workflows"
        source().save(stored)
    film = tmp_path / "film.mp4"
    assert invoke("replay", stored, *arguments, "--video", film) == 0
    frames, _ = library.count_frames_and_secs(str(film))
    assert frames == 20 + LAST_FRAMES
    assert frames < MOST_FRAMES
    assert [path for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_a_page_asks_for_nothing_else(stored: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert invoke("replay", stored, "--html", page) == 0
    text = page.read_text("utf-8")
    assert not re.search(r"(https?:)?//\w+\.", text)
    assert not re.search(r"\b(src|href)=|@import|fetch\(|XMLHttpRequest", text)


BAD = {
    "--video {tmp}/film.avi": "--video {tmp}/film.avi: expected a name that ends in .mp4",
    "--video /dev/null": "expected a name that ends in .mp4",
    "--html {tmp}": "--html {tmp}: is a folder, expected a file",
    "--html {tmp}/no/page.html": "--html {tmp}/no/page.html: no such folder",
    "--perfetto {tmp}/trace/events.json": "--perfetto {tmp}/trace/events.json: lies in the folder",
}
"""Options, and the line that refuses them."""


@pytest.mark.parametrize("options", BAD)
def test_refusals(
    options: str, stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = options.format(tmp=tmp_path).split()
    assert invoke("replay", stored, *arguments) == 2
    shown = capsys.readouterr()
    assert BAD[options].format(tmp=tmp_path) in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_a_missing_library_is_named(
    stored: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert invoke("replay", stored, "--video", tmp_path / "film.mp4") == 2
    assert "pip install 'failgym[render]'" in capsys.readouterr().err


def test_a_page_of_too_much(
    stored: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("failgym.cli.watch.MOST_ATTEMPTS", 10)
    page = tmp_path / "page.html"
    assert invoke("replay", stored, "--html", page) == 2
    assert "expected at most 10 attempts" in capsys.readouterr().err
    assert not page.exists()
