"""What tests of several packages share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60_000
"""What a busy machine may take to start one [ms]."""


LONGEST = (
    "tests/sim/scheduled/test_kernel_agrees.py",
    "tests/sim/test_kernel_agrees.py",
    "tests/test_room.py",
    "tests/test_readme.py",
    "tests/leaderboard/test_host_mode.py",
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
