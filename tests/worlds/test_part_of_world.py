"""Some slices of a world, in a world of their own: the same happens in them, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failgym.baselines import Replay
from failgym.envs import SCENARIOS, Scenario, resolve
from failgym.evaluation import Anchors, run_policy
from failgym.evaluation.evidence import units_of
from failgym.world_cache.file import blocks_of
from failgym.worlds import build
from failgym.worlds.build import build_part, build_world, split_of
from failgym.worlds.pinned import build as pinned_build
from failgym.worlds.pinned.world import PinnedWorld
from failgym.worlds.scheduled import build as scheduled_build
from tests.envs.worlds import small
from tests.test_world_cache import assert_same

PINNED = [name for name, scenario in SCENARIOS.items() if scenario.world == "pinned"]
FAILING = {"trace": "google-2011-failing"}


class Watched:
    """Plays at random, by what it is shown alone, and keeps that."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def predict(self, observation: Any, *, action_masks: Any, **options: Any) -> Any:
        """Actions [batch], whoever else is asked beside."""
        self.seen.append(np.array(observation))
        mask = np.asarray(action_masks) > 0
        wanted = (observation * 1e6).astype(np.int64).sum(axis=1) % mask.shape[1]
        return np.where(mask[np.arange(len(mask)), wanted], wanted, 0), None


def scenario_of(name: str) -> Scenario:
    given = {**small(name), "slice_tasks": 4, "split": "test"}
    return resolve(name, given | (FAILING if name == "Cloning-v1" else {}))


def played(world: Any, scenario: Scenario, slices: Any) -> tuple[Any, Any]:
    policy = Watched()
    run = run_policy(world, scenario, policy, slices, lanes=1, threads=1)
    return run, np.concatenate(policy.seen)


@pytest.mark.parametrize("name", PINNED)
@pytest.mark.parametrize("fields", [{}, {"forecast": "none"}, {"beyond_record": "ghost"}])
def test_the_same_happens_in_a_part(name: str, fields: dict[str, Any]) -> None:
    scenario = scenario_of(name).reduced(**fields)
    world = build_world(scenario)
    assert isinstance(world, PinnedWorld)
    chosen = np.random.default_rng(3).permutation(world.slices)[: max(2, world.slices // 5)]
    part = world.only(chosen)
    assert (
        part.own_tasks.tolist()
        == np.concatenate(
            [world.own_tasks[world.tables.slices[i] : world.tables.slices[i + 1]] for i in chosen]
        ).tolist()
    )
    run, seen = played(world, scenario, chosen)
    again, seen_again = played(part, scenario, np.arange(len(chosen)))
    assert seen_again.tobytes() == seen.tobytes()
    assert len(seen) > 50
    assert again.costs.tobytes() == run.costs.tobytes()
    for column, values in run.outcomes.items():
        assert again.outcomes[column].tobytes() == values.tobytes(), column
    assert part.task_costs(again.outcomes).tobytes() == world.task_costs(run.outcomes).tobytes()
    job = split_of(scenario, "test").column("tasks", "job")[again.outcomes["task"]]
    units = units_of(scenario, part, len(chosen), again.outcomes)
    assert len(set(zip(job.tolist(), units.member.tolist(), strict=True))) == len(set(job.tolist()))


@pytest.mark.parametrize("name", PINNED)
def test_the_clairvoyant_pays_the_same_in_a_part_of_a_part(name: str) -> None:
    scenario = scenario_of(name)
    world = Anchors.of(scenario).world
    assert isinstance(world, PinnedWorld)
    chosen = np.arange(0, world.slices, 2)
    some = np.array([len(chosen) - 1, 0])
    part = world.only(chosen).only(some)
    whole, least = (
        one.least_costs(scenario, slices)
        for one, slices in ((world, chosen[some]), (part, np.arange(2)))
    )
    assert least.costs.tobytes() == whole.costs.tobytes()
    assert least.unproven == whole.unproven
    assert part.own_tasks.tolist() == world.only(chosen[some]).own_tasks.tolist()


def test_a_part_is_as_large_as_what_is_in_it() -> None:
    scenario = scenario_of("Cloning-v1")
    world = build_world(scenario)
    assert isinstance(world, PinnedWorld)
    part = world.only(np.arange(2))
    assert len(part.tables.tasks) == part.own_sizes.sum() == 8
    assert len(part.tables.rows) == part.tables.tasks["rows"].sum()
    assert len(part.tables.usage) == part.tables.rows["usages"].sum() < len(world.tables.usage)


@pytest.mark.parametrize("name", ["Cloning-v1", "Lineage-v1"])
def test_a_part_is_kept_by_itself(
    name: str, kept_worlds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are parts; the scheduled world is played whole. Both are kept packed."""
    build.RECENT.cache_clear()
    build._build_part.cache_clear()
    scenario = scenario_of(name) if name in PINNED else resolve(name, small(name))
    chosen = np.array([1, 0])
    made, numbers = build_part(scenario, chosen)
    run = run_policy(made, scenario, Replay(), numbers, order=scenario.order)
    whole = run_policy(build_world(scenario), scenario, Replay(), chosen, order=scenario.order)
    assert run.costs.tobytes() == whole.costs.tobytes()
    assert numbers.tolist() == ([0, 1] if name in PINNED else [1, 0])
    kept = sorted(kept_worlds.glob("*-*.world"))
    assert len(kept) == 1
    assert kept[0].stat().st_size < blocks_of(build_world(scenario).tables).size

    def never(scenario: Scenario) -> Any:
        raise AssertionError("the whole world is not built")

    for steps in (pinned_build, scheduled_build):
        monkeypatch.setattr(steps, "_tables", never)
    build.RECENT.cache_clear()
    build._build_part.cache_clear()
    again, _ = build_part(scenario, chosen)
    assert_same(again.tables, made.tables)
    rerun = run_policy(again, scenario, Replay(), numbers, order=scenario.order)
    assert rerun.costs.tobytes() == whole.costs.tobytes()
    build._build_part.cache_clear()
