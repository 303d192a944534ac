"""Where the real traces are, for the tests that need them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def google_2011() -> Path:
    """The folder of Google's trace of 2011; skips the test where it is absent."""
    return real("google-2011", "task_events")


def real(name: str, inside: str = "") -> Path:
    """The folder of that name among the real traces; skips the test where it, or `inside`, is not.

    It is looked for in `$FAILGYM_DATA`, else in `../shared/data` beside the repository.
    """
    data = os.environ.get("FAILGYM_DATA")
    folder = (Path(data) if data else REPOSITORY.parent / "shared" / "data") / name
    if not (folder / inside).exists():
        pytest.skip(f"no real trace at {folder / inside}: set FAILGYM_DATA")
    return folder
