"""Kernels: compiled once, kept on disk, and no concern of anybody else's numba."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from numba.core.codegen import CPUCodeLibrary

from failgym.sim.scheduled import engine

MODULE = """
import numpy as np
from failgym.sim.jit import called, entry, kernel


@kernel
def twice(x):
    return 2 * x


@called
def total(values):
    out = 0
    for i in range(len(values)):
        out += twice(values[i])
    return out


@entry
def run(values):
    values[0] = total(values)


values = np.arange(10)
run(values)
print(values[0], sum(run.stats.cache_hits.values()))
"""


def test_other_code_is_compiled_as_ever() -> None:
    assert engine.run is not None
    assert CPUCodeLibrary._optimize_final_module.__module__ == "numba.core.codegen"  # pyright: ignore[reportPrivateUsage]


def test_a_cold_and_a_warm_cache(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(MODULE)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for hits in ("0", "1"):
        done = subprocess.run(
            [sys.executable, tmp_path / "kernels.py"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == ["90", hits]
