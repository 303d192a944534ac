"""`failgym cache`: what is kept, and clearing it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from failgym.cli import run
from failgym.envs import resolve
from failgym.world_cache.folder import entries
from failgym.worlds import build
from failgym.worlds.build import build_world


def keep(**fields: object) -> None:
    build.RECENT.cache_clear()
    build_world(resolve("Cloning-v1", {"jobs": 400, **fields}))


def test_what_is_kept_is_shown(kept_worlds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep()
    keep(split="test", forecast="none")
    file = kept_worlds.parent / "cache.json"
    assert run(["cache", "--json", str(file)]) == 0
    shown, said = capsys.readouterr().out, json.loads(file.read_text("utf-8"))
    for text in (
        str(kept_worlds),
        "2 files",
        "4.0 GB",
        "Cloning-v1",
        "google-2011-applications-failing, 400 jobs, seed 0",
    ):
        assert text in shown
    assert shown.count("Cloning-v1") == 1, "one line for a trace"
    assert said["folder"] == str(kept_worlds)
    assert said["used"]
    assert said["most"] == 4_000_000_000
    assert {(each["split"], each["forecast"]) for each in said["worlds"]} == {
        ("train", "auto"),
        ("test", "none"),
    }
    assert {each["holds"] for each in said["worlds"]} == {"world"}
    assert [each["size"] for each in said["worlds"]] == [each.size for each in entries()]


def test_clear(kept_worlds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep()
    assert run(["cache", "clear"]) == 0
    assert "removed 1 file," in capsys.readouterr().out
    assert entries() == []
    assert list(kept_worlds.iterdir()) == []
    assert run(["cache", "clear"]) == 0
    keep()
    assert len(entries()) == 1


def test_clear_leaves_what_is_not_its_own(kept_worlds: Path) -> None:
    keep()
    (kept_worlds / "letter.txt").write_text("mine")
    assert run(["cache", "clear"]) == 0
    assert [file.name for file in kept_worlds.iterdir()] == ["letter.txt"]


def test_without_a_cache(
    kept_worlds: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAILGYM_CACHE_SIZE", "0")
    assert run(["cache"]) == 0
    assert "not used" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["cache", "evaluate --env Cloning-v1 --policy replay"])
def test_a_size_that_is_none(
    command: str,
    kept_worlds: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    build.RECENT.cache_clear()
    monkeypatch.setenv("FAILGYM_CACHE_SIZE", "plenty")
    assert run(command.split()) == 2
    assert capsys.readouterr().err.splitlines() == [
        "failgym: FAILGYM_CACHE_SIZE: expected bytes as 500M or 4G, or 0 for no cache, got 'plenty'"
    ]


def test_help_names_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "cache" in shown
    assert run(["cache", "--help"]) == 0
    assert "clear" in capsys.readouterr().out
