"""`World.ahead`: what is foretold of an attempt that is left alone comes true."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from failgym.envs import resolve
from failgym.vocabulary import CANCELLED, NEVER, Decision, Event, Outcome
from failgym.worlds.build import build_world
from failgym.worlds.world import Ahead
from tests.envs.worlds import small

CONTINUED = {"beyond_record": "continued", "restarts": "record"}


@pytest.mark.parametrize("fields", [{}, CONTINUED])
@pytest.mark.parametrize("name", ["GracePeriod-v1", "Checkpoint-v1", "Cloning-v1", "Mitigation-v1"])
def test_attempts_end_as_foretold_if_nobody_interferes(name: str, fields: dict[str, Any]) -> None:
    scenario = resolve(name, {**small(f"failgym/{name}"), **fields})
    world, results = build_world(scenario), Counter[str]()
    for chosen in range(min(world.slices, 20)):
        batch = world.batch(scenario, 1, scenario.order, log=True)
        batch.reset(np.array([chosen]))
        told: list[tuple[int, int, int, Ahead]] = []
        log: list[tuple[int, ...]] = []
        while not batch.state.episodes["done"][0]:
            ep = batch.state.episodes[0]
            if ep["decision"] == Decision.WINDOW:
                run = batch.array("runs", 0)[int(ep["run"])]
                key = int(batch.output.task[0]), int(run["number"]), int(ep["now"])
                told.append((*key, world.ahead(batch, 0)))
            log += batch.drained_log(0).tolist()
            batch.step(np.zeros(1, dtype=np.int64))
        log += batch.drained_log(0).tolist()
        for task, number, now, ahead in told:
            results[_came_true(log, task, number, now, ahead)] += 1
    assert results["wrong"] == 0
    assert results["as foretold"] > 0.8 * results.total() > 0


def _came_true(log: list[Any], task: int, number: int, now: int, ahead: Ahead) -> str:
    ends = [e for e in log if e[1] == Event.END and e[2:4] == (task, number) and e[0] >= now]
    if not ends:
        return "cut off"
    time, _, _, _, outcome = ends[0]
    if outcome == CANCELLED or time < min(ahead.ends, ahead.struck):
        return "others ended it"
    if time == ahead.struck and outcome == Outcome.LOST:
        return "as foretold"
    right = time == ahead.ends and (outcome == Outcome.FINISH) == ahead.finishes
    return "as foretold" if right else "wrong"


def test_without_outages_no_machine_is_struck() -> None:
    scenario = resolve("GracePeriod-v1", small("failgym/GracePeriod-v1"))
    world = build_world(scenario)
    batch = world.batch(scenario, 1)
    batch.reset(np.array([0]))
    assert world.ahead(batch, 0).struck == NEVER
