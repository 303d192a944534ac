"""The measurement of generators covers every profile."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from failgym.traces.synthetic import PROFILES

TOP = Path(__file__).parents[2]


def test_every_profile_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "rates.json"
    options = ["--tasks", "1000", "--repeat", "1", "--json", str(file)]
    command = [sys.executable, "-m", "experiments.generation_speed", *options]
    subprocess.run(command, cwd=TOP, check=True, capture_output=True)
    rates = json.loads(file.read_text("utf-8"))
    assert [rate["profile"] for rate in rates] == list(PROFILES)
    assert all(rate["tasks_per_second"] > 0 and rate["tasks"] > 100 for rate in rates)
