"""Kernels: compiled once, kept on disk, and no concern of anybody else's numba."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.codegen import CPUCodeLibrary

import failgym.sim
from failgym import vocabulary
from failgym.sim.scheduled import engine
from failgym.sim.shared.jit import _STAMP, _stamp

MODULE = """
import numpy as np
from failgym.sim.shared.jit import called, entry, kernel


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

EPISODES = """
import hashlib
import numpy as np
from failgym.envs import MitigationVectorEnv

for name, jobs in (("Cloning-v1", 100), ("Workflow-v1", 10)):
    env = MitigationVectorEnv(name, 4, jobs=jobs, split="all")
    observations, infos = env.reset(seed=0)
    content = hashlib.sha256()
    for step in range(8):
        content.update(observations.tobytes() + infos["action_mask"].tobytes())
        chances = np.random.default_rng(step).random((4, 5)) * infos["action_mask"]
        observations, rewards, ended, _, infos = env.step(chances.argmax(axis=1))
        content.update(rewards.tobytes() + ended.tobytes())
    print(content.hexdigest())
"""


def test_the_same_without_compiled_code() -> None:
    """``NUMBA_DISABLE_JIT=1`` is for debuggers: nothing is compiled, and nothing else changes."""
    shown = [
        subprocess.run(
            [sys.executable, "-c", EPISODES],
            env={**os.environ, **changes},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for changes in ({}, {"NUMBA_DISABLE_JIT": "1"})
    ]
    assert shown[0] == shown[1]
    assert len(shown[0].split()) == 2


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


@pytest.mark.parametrize("part", ["shared", "pinned", "scheduled", "scheduled/queue", "words"])
def test_a_change_anywhere_in_the_engine_makes_kept_code_out_of_date(
    part: str, tmp_path: Path
) -> None:
    sim, words = tmp_path / "sim", tmp_path / "vocabulary.py"
    shutil.copytree(Path(failgym.sim.__file__).parent, sim)
    shutil.copy(vocabulary.__file__, words)
    before = _stamp(sim, words)
    assert before == _STAMP
    changed = words if part == "words" else sorted((sim / part).glob("*.py"))[-1]
    changed.write_text(changed.read_text("utf-8") + "\n# changed\n", "utf-8")
    assert _stamp(sim, words) != before
