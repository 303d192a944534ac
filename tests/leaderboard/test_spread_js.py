"""The page works variances and degrees of freedom out as the library does, to rounding."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from failgym.evaluation.statistics.resampling import spread_of
from failgym.leaderboard import page

NODE = shutil.which("node")
SCRIPT = Path(page.__path__[0]) / "web" / "spread.js"
ASKED = """
const sum = (values) => values.reduce((total, value) => total + value, 0);
console.log(JSON.stringify(spreadOf(Float64Array.from(%s), %s)));
"""


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("traces", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("differ", [0.0, 3.0])
def test_the_spread_is_that_of_the_library(traces: int, differ: float) -> None:
    rng = np.random.default_rng(traces)
    trace = np.repeat(np.arange(traces), 15)
    parts = rng.standard_normal(len(trace)) * rng.lognormal(0.0, 1.0, len(trace))
    parts += differ * rng.standard_normal(traces)[trace]
    parts -= parts.mean()
    asked = ASKED % (json.dumps(parts.tolist()), json.dumps(trace.tolist()))
    run = [str(NODE), "-e", SCRIPT.read_text("utf-8") + asked]
    found = json.loads(subprocess.run(run, capture_output=True, check=True, text=True).stdout)
    expected = spread_of(parts, trace)
    sizes = [list(part) for part in expected.parts if part.size > 0.0]
    assert found["parts"] == [pytest.approx(part, rel=1e-9) for part in sizes]
    assert found["traceWeight"] == pytest.approx(expected.trace_weight, rel=1e-9)
