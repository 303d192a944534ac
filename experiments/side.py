"""One side of `experiments.beside`: a checkout of failgym that plays as it is told.

It is started as a file, with the python path of a checkout, which may be an older one: it uses only
what users use. It reads a task a line (JSON) and answers with a line each.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

import failgym

Play = Callable[[int], float]


def batched(env_id: str, episodes: int) -> Play:
    """Steps of a batched environment under a random legal policy: their processor time [s]."""
    env = gym.make_vec(
        env_id,
        num_envs=episodes,
        vectorization_mode="vector_entry_point",
        autoreset_mode="SameStep",
    )
    rng = np.random.default_rng(0)
    info: dict[str, Any] = env.reset(seed=0)[1]

    def play(steps: int) -> float:
        nonlocal info
        spent = 0.0
        for _ in range(steps):
            mask: npt.NDArray[np.int8] = info["action_mask"]
            chances = rng.random(mask.shape, np.float32) * mask
            actions = np.argmax(chances, axis=1)
            begun = time.process_time()
            info = env.step(actions)[4]
            spent += time.process_time() - begun
        return spent

    return play


def single(env_id: str) -> Play:
    """The same of one environment, resets among the steps."""
    env: gym.Env[Any, Any] = gym.make(env_id)
    rng = np.random.default_rng(0)
    info = env.reset(seed=0)[1]

    def play(steps: int) -> float:
        nonlocal info
        spent = 0.0
        for draw in rng.random(steps).tolist():
            legal = info["action_mask"].nonzero()[0]
            action = int(legal[int(draw * len(legal))])
            begun = time.process_time()
            _, _, terminated, _, info = env.step(action)
            if terminated:
                info = env.reset()[1]
            spent += time.process_time() - begun
        return spent

    return play


def resets(env_id: str) -> Play:
    """Resets of one environment, to one slice after the other."""
    env: gym.Env[Any, Any] = gym.make(env_id)
    env.reset(seed=0)
    slices = env.unwrapped.world.slices  # type: ignore[attr-defined]
    at = 0

    def play(steps: int) -> float:
        nonlocal at
        begun = time.process_time()
        for _ in range(steps):
            env.reset(options={"slice": at % slices})
            at += 1
        return time.process_time() - begun

    return play


def resident() -> int:
    """Memory of this process that is in use [bytes]."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4096


def answered(task: dict[str, Any], plays: dict[str, Play]) -> Any:
    """What a task asks for."""
    name = task["name"]
    if "play" in task:
        return plays[name](task["play"])
    if task["episodes"] == 0:
        plays[name] = resets(task["id"])
    elif task["episodes"] == 1:
        plays[name] = single(task["id"])
    else:
        plays[name] = batched(task["id"], task["episodes"])
    return None


def main() -> None:
    """Answer tasks until there are no more."""
    plays: dict[str, Play] = {}
    for line in sys.stdin:
        try:
            answer = {"answer": answered(json.loads(line), plays), "resident": resident()}
        except MemoryError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    assert failgym.__file__
    main()
