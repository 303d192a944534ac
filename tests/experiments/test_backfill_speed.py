"""The measurement of backfilling runs on a log; what it measures is for people to judge."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from failgym.sim.scheduled.rules import ESTIMATORS

TOP = Path(__file__).parents[2]
LOG = """; MaxProcs: 4
1 0 -1 100 3 -1 -1 3 200 -1 1 1 1 1 1 -1 -1 -1
2 1 -1 50 2 -1 -1 2 60 -1 1 1 1 1 1 -1 -1 -1
3 2 -1 10 1 -1 -1 1 20 -1 0 2 1 1 1 -1 -1 -1
"""


def test_every_estimator_is_measured(tmp_path: Path) -> None:
    log, file = tmp_path / "small.swf", tmp_path / "speed.json"
    log.write_text(LOG, "utf-8")
    options = [str(log), "--runs", "1", "--json", str(file)]
    command = [sys.executable, "-m", "experiments.backfill_speed", *options]
    subprocess.run(command, cwd=TOP, check=True, capture_output=True)
    figures = json.loads(file.read_text("utf-8"))["figures"]
    assert [figure["estimator"] for figure in figures] == list(ESTIMATORS)
    for figure in figures:
        assert (figure["log"], figure["jobs"], figure["processors"]) == ("small", 3, 4)
        assert figure["mean_wait"] == (99 + 0 + 0) / 3
        assert figure["jobs_per_second"] > 0


def test_a_file_that_is_no_log_is_one_clear_line(tmp_path: Path) -> None:
    log = tmp_path / "bad.swf"
    log.write_text("no numbers\n", "utf-8")
    command = [sys.executable, "-m", "experiments.backfill_speed", str(log)]
    done = subprocess.run(command, cwd=TOP, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
