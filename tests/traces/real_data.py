"""Where the real traces are, for the tests that need them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def google_2011() -> Path:
    """The folder of Google's trace of 2011; skips the test where it is absent.

    It is looked for in `$FAILGYM_DATA`, else in `../shared/data` beside the repository.
    """
    data = os.environ.get("FAILGYM_DATA")
    folder = (Path(data) if data else REPOSITORY.parent / "shared" / "data") / "google-2011"
    if not (folder / "task_events").is_dir():
        pytest.skip(f"no real trace at {folder}: set FAILGYM_DATA")
    return folder
