"""More episodes at once than there is memory for are refused in one line that says how many fit."""

from __future__ import annotations

import copy
import gc
import os
import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from failgym import memory
from failgym.envs import MitigationVectorEnv
from failgym.sim.pinned.batch import Batch
from failgym.worlds import batches
from failgym.worlds.pinned import world as pinned

FEW = {"jobs": 60, "trace_seed": 2}
SHORT: dict[str, dict[str, Any]] = {
    "failgym/Cloning-v1": {**FEW, "trace": "google-2011"},
    "failgym/Lineage-v1": {},
}
GB = 10**9
STATM = Path("/proc/self/statm")


@pytest.mark.parametrize("env_id", SHORT)
def test_so_many_fit_as_the_line_says(env_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    room = GB // 10
    for module in (batches, memory):
        monkeypatch.setattr(module, "available", lambda: room)
    with pytest.raises(MemoryError) as caught:
        gymnasium.make_vec(env_id, num_envs=200_000, **SHORT[env_id])
    found = re.fullmatch(
        r"200,000 episodes at once take [\d,.]+ [GM]B of memory to begin with"
        r" \([\d,]+ (MB|bytes) each\),"
        r" 100 MB are free: expected at most ([\d,]+) \(num_envs\)",
        str(caught.value),
    )
    assert found
    most = int(found[2].replace(",", ""))
    env = gymnasium.make_vec(env_id, num_envs=most, **SHORT[env_id])
    assert isinstance(env.unwrapped, MitigationVectorEnv)
    batch = env.unwrapped.batch
    assert room - batch.bytes_each < most * batch.bytes_each <= room
    with pytest.raises(MemoryError):
        gymnasium.make_vec(env_id, num_envs=most + 1, **SHORT[env_id])


def test_where_nobody_tells_numpys_refusal_becomes_the_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(world: Any, rules: Any, episodes: int, *_: object) -> Batch:
        return Batch(world, rules, 10**12 if episodes else 0)

    monkeypatch.setattr(batches, "available", lambda: None)
    monkeypatch.setattr(pinned, "Batch", refused)
    expected = r"^4 episodes at once take .* more than there is: expected fewer \(num_envs\)$"
    with pytest.raises(MemoryError, match=expected):
        gymnasium.make_vec("failgym/Cloning-v1", num_envs=4, **SHORT["failgym/Cloning-v1"])


def test_a_copy_asks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    env = gymnasium.make_vec("failgym/Cloning-v1", num_envs=500, **SHORT["failgym/Cloning-v1"])
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: 1_000)
    with pytest.raises(MemoryError, match=r"^copy of 500 episodes: .*, and 1,000 bytes are free$"):
        copy.deepcopy(env)


@pytest.mark.skipif(not STATM.exists(), reason="this platform does not tell what is resident")
def test_memory_does_not_grow_with_steps_and_constructions() -> None:
    """A small version of experiments.flat_memory."""
    settings = SHORT["failgym/Cloning-v1"]

    def play(times: int) -> int:
        for seed in range(times):
            env = gymnasium.make_vec("failgym/Cloning-v1", num_envs=64, **settings)
            env.reset(seed=seed)
            for _ in range(30):
                env.step(np.zeros(64, dtype=np.int64))
            env.close()
        gc.collect()
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = play(10)
    assert play(100) - before < 20_000_000  # a copy of the world for each would take as much
