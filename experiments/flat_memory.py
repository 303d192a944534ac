"""Is memory flat? Two million steps with resets, and two thousand constructions.

    python -m experiments.flat_memory [--steps 2000000] [--constructions 2000]

Resident memory is read after a tenth of each part, when everything is compiled and every array has
been touched, and at the end; what grows in between would grow for ever.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import failgym

SLOTS = 64
ENVIRONMENTS = ("failgym/Cloning-v1", "failgym/Checkpoint-v1", "failgym/Workflow-v1")
EVERY = 200
"""Steps of the batched environment between two resets of all its slots."""


def resident() -> float:
    """Memory of this process that is in use [MB]."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def batched(env_id: str, steps: int) -> Iterator[int]:
    """Step slots at once, at random, resetting all now and then; yields steps done."""
    env: Any = gymnasium.make_vec(env_id, num_envs=SLOTS)
    rng = np.random.default_rng(0)
    for done in range(0, steps, SLOTS):
        if done // SLOTS % EVERY == 0:
            env.reset(seed=done)
        env.step((rng.random(SLOTS) < 0.05).astype(np.int64))
        yield SLOTS
    env.close()


def single(env_id: str, steps: int) -> Iterator[int]:
    """Step one environment, at random, resetting it at each end; yields steps done."""
    env: Any = gymnasium.make(env_id)
    rng = np.random.default_rng(0)
    ended = True
    for done in range(steps):
        if ended:
            env.reset(seed=done)
        *_, terminated, truncated, _ = env.step(int(rng.random() < 0.05))
        ended = terminated or truncated
        yield 1
    env.close()


def constructed(env_id: str, count: int) -> Iterator[int]:
    """Make an environment, single and batched in turn, begin it and close it."""
    for i in range(count):
        env: Any = gymnasium.make_vec(env_id, num_envs=2) if i % 2 else gymnasium.make(env_id)
        env.reset(seed=i)
        env.close()
        yield 1


def measured(name: str, work: Callable[[], Iterator[int]], total: int) -> None:
    """Do some work, and print what memory it took after a tenth of it and at the end."""
    begun, done, early = time.process_time(), 0, 0.0
    for more in work():
        done += more
        if not early and done >= total / 10:
            early = resident()
    late, spent = resident(), time.process_time() - begun
    print(
        f"{name:45} {done:>9,} in {spent:6.1f} s: {early:7.1f} MB after a tenth, {late:7.1f} MB at"
        f" the end, {late - early:+.1f}",
        flush=True,
    )


def main() -> None:
    """Measure all parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--constructions", type=int, default=2_000)
    options = parser.parse_args()
    print(
        f"failgym {failgym.__version__}, numpy {np.__version__}, gymnasium {gymnasium.__version__}"
    )
    many, few = options.steps * 9 // 10 // len(ENVIRONMENTS), options.steps // 10
    for env_id in ENVIRONMENTS:
        measured(f"{env_id}, {SLOTS} slots, steps", lambda e=env_id: batched(e, many), many)
    measured("failgym/Cloning-v1, single, steps", lambda: single("failgym/Cloning-v1", few), few)
    each = options.constructions // len(ENVIRONMENTS)
    for env_id in ENVIRONMENTS:
        measured(f"{env_id}, constructions", lambda e=env_id: constructed(e, each), each)


if __name__ == "__main__":
    main()
