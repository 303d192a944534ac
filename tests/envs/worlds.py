"""Small versions of every registered environment, and random legal play."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import gymnasium as gym
import numpy as np

import failgym
from failgym.envs import SCENARIOS
from failgym.traces import Trace
from failgym.traces.synthetic import PROFILES, Lanl2, PandaDas, generate
from failgym.traces.synthetic.profiles.panda import DagApplication, DagStage

IDS = [f"failgym/{name}" for name in failgym.ENVIRONMENTS]
SMALL: dict[str, Any] = {"jobs": 600, "slice_tasks": 4}
"""Fields that make every pinned environment small enough for a test."""
HOUR = 3_600_000


@lru_cache(maxsize=1)
def small_workflows() -> Trace:
    """Batches of two workflows of four to eight tasks, on four machines that fail often."""
    profile = PROFILES["lanl-2"]
    assert isinstance(profile, Lanl2)
    outages = replace(profile.outages, machines=6, mtbf=24.0 * HOUR)
    small = replace(profile, elements=4, tasks=(4, 8), batch=2, batch_gap=72 * HOUR)
    return generate(replace(small, weight=(1, 40), outages=outages), jobs=40, seed=1)


@lru_cache(maxsize=1)
def small_dags() -> Trace:
    """Jobs of four stages on four machines of two slots."""
    profile = PROFILES["panda-das"]
    assert isinstance(profile, PandaDas)
    stages = (
        DagStage("scan", scans=1.0),
        DagStage("map", scans=1.0, cached=(0,)),
        DagStage("join", (0, 1), 6),
        DagStage("report", (2,), 3),
    )
    app = DagApplication("Small", 4, 8 * profile.block, 300, 1.0, stages)
    return generate(replace(profile, machines=4, slots=2, applications=(app,)), jobs=30, seed=1)


def small(env_id: str) -> dict[str, Any]:
    """Fields that make an environment small enough for a test."""
    scenario = SCENARIOS[env_id.removeprefix("failgym/")]
    match scenario.world, scenario.trace:
        case "scheduled", "lanl-2":
            return {"trace": small_workflows(), "slice_jobs": 2}
        case "scheduled", "panda-das":
            return {"trace": small_dags()}
        case "scheduled", _:
            brief = {"longest": 2 * HOUR, "begin": 0, "warmup": 4, "followers": 8, "slots": 2}
            return {**SMALL, "sampling": 0.02, **brief}
        case _:
            return SMALL


def make(env_id: str, **fields: Any) -> gym.Env[Any, Any]:
    """A small environment."""
    return gym.make(env_id, **{**small(env_id), **fields})


def legal(mask: Any, rng: np.random.Generator) -> Any:
    """A legal action, CONTINUE or not being equally likely."""
    mask = np.atleast_2d(mask)
    weight = rng.random(mask.shape) * mask
    weight[:, 0] *= 2.0
    return weight.argmax(axis=1)


def play(env: gym.Env[Any, Any], seed: int, steps: int) -> list[tuple[Any, ...]]:
    """A trajectory under a random legal policy: (observation, reward, terminated, mask, task)."""
    rng = np.random.default_rng(seed)
    obs, info = env.reset(seed=seed)
    seen = [(obs.tobytes(), 0.0, False, info["action_mask"].tobytes(), info["task"])]
    for _ in range(steps):
        obs, reward, ended, _, info = env.step(int(legal(info["action_mask"], rng)[0]))
        seen.append(
            (obs.tobytes(), float(reward), ended, info["action_mask"].tobytes(), info["task"])
        )
        if ended:
            obs, info = env.reset()
            seen.append((obs.tobytes(), 0.0, False, info["action_mask"].tobytes(), info["task"]))
    return seen
