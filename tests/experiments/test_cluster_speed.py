"""The measurement at size runs; what it measures is for people to judge."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from experiments.cluster_speed import BUSY, RUN_TIME, steady

TOP = Path(__file__).parents[2]


def test_replay_and_costs_are_measured(tmp_path: Path) -> None:
    file = tmp_path / "speed.json"
    options = ["--jobs", "50", "--machines", "10", "--slots", "4", "--runs", "1"]
    options += ["--decisions", "20", "--sizes", "1", "--json", str(file)]
    command = [sys.executable, "-m", "experiments.cluster_speed", *options]
    subprocess.run(command, cwd=TOP, check=True, capture_output=True)
    figures = json.loads(file.read_text("utf-8"))
    assert figures["replay"]["tasks"] > 0
    assert figures["replay"]["tasks_per_second"] > 0
    assert 0 < figures["replay"]["utilisation"] <= 1
    assert [row["running"] for row in figures["cost"]] == [100]
    assert figures["cost"][0]["per_decision"] > 0


def test_steady_tasks_keep_the_stated_number_running() -> None:
    running, tasks = 100, 20_000
    trace = steady(running, tasks)
    start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
    assert abs((end - start).mean() / RUN_TIME - 1) < 0.05
    span = start.max() - start.min()
    busy = np.sum(end - start) / span
    slots = trace.column("machines", "slots").sum()
    assert abs(busy / running - 1) < 0.05
    assert abs(busy / slots - BUSY) < 0.1
