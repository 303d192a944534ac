"""The measurement of speed runs; what it measures is for people to judge."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[2]


def test_quick_run(tmp_path: Path) -> None:
    file = tmp_path / "speed.json"
    command = [sys.executable, "-m", "experiments.speed", "--quick", "--json", str(file)]
    subprocess.run(command, cwd=TOP, check=True, capture_output=True)
    result = json.loads(file.read_text("utf-8"))
    measured = {"failgym/GracePeriod-v1", "failgym/Workflow-v1", "CartPole-v1"}
    assert {row["id"] for row in result["rates"]} == measured
    assert all(row["decisions_per_second"] > 0 for row in result["rates"])
