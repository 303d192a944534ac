"""What tests of several packages share."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from failgym import world_cache

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60_000
"""What a busy machine may take to start one [ms]."""

os.environ.setdefault("FAILGYM_CACHE_SIZE", "0")  # a world that is kept proves nothing of building
with contextlib.suppress(ImportError):  # libraries that use failgym are tested without it
    from hypothesis import settings

    # What is drawn at random is drawn anew in every run: in the long run it is many examples.
    settings.register_profile("quick", max_examples=25)
    settings.load_profile("quick")


@pytest.fixture
def kept_worlds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a cache of the test's own, in which every world that is built is kept."""
    monkeypatch.setenv("FAILGYM_CACHE_DIR", str(tmp_path / "worlds"))
    monkeypatch.delenv("FAILGYM_CACHE_SIZE", raising=False)
    monkeypatch.setattr(world_cache, "LEAST_SECONDS", 0.0)
    return tmp_path / "worlds"


@pytest.fixture(scope="module")
def shared_worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each world is built once for all tests of a module: for tests of something else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAILGYM_CACHE_DIR", str(tmp_path_factory.mktemp("worlds")))
        patch.delenv("FAILGYM_CACHE_SIZE", raising=False)
        patch.setattr(world_cache, "LEAST_SECONDS", 0.0)
        yield


LONGEST = (
    "tests/test_room.py",
    "tests/agents/test_many.py",
    "tests/leaderboard/test_host_mode.py",
    "tests/agents/test_rolling_origin.py",
    "tests/cli/test_leaderboard.py",
    "tests/assessment/test_workers.py",
    "tests/leaderboard/test_policies.py",
    "tests/tuning/test_shared.py",
    "tests/comparison/test_comparison.py",
    "tests/experiments/test_generalisation.py",
    "tests/leaderboard/test_proofs.py",
    "tests/papers/test_panda.py",
)
"""Files that take longest: they are begun first, so that no process works on when others rest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first."""
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.nodeid.partition("::")[0], len(LONGEST)))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser, for the pages that failgym writes."""
    playwright: Any = pytest.importorskip("playwright.sync_api", reason="no playwright")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    with playwright.sync_playwright() as started:
        if found is None and not os.path.exists(started.chromium.executable_path):
            pytest.skip("no Chromium is installed")
        # Without a sandbox it starts for root and in containers too; the page is our own.
        opened = started.chromium.launch(
            executable_path=found, args=["--no-sandbox"], timeout=PATIENCE
        )
        yield opened
        opened.close()
