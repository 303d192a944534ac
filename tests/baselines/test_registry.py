"""Every baseline in every compatible environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import failgym.baselines
from failgym.baselines import (
    REGISTRY,
    STORABLE,
    Algorithm1,
    Heuristic,
    MLCheckpoint,
    Replay,
    Young,
)
from failgym.baselines.search import Range, search_space
from failgym.envs import SCENARIOS, resolve
from failgym.evaluation import Run, run_policy
from failgym.worlds.build import build_world
from tests.envs.worlds import small

EVERYWHERE = {"replay", "random"}
OUTPUTS = {"checkpoint_all", "greedy", "size", "aware", "periodic_outputs"}
PLACING = {"rank_hybd", "flaw", "lemon_nodes"}
COPYING = {"spark_speculation", "late", "forking"}
REROLLING = {"reroll"}
PREDICTING = {"ml_checkpoint", "ml_periodic", "prediction_aware", "expected_loss"}
COMBINED = {"clone_and_save", "kill_or_clone", "all_measures", "stop_or_copy"}
SAVING = PREDICTING | {"young", "daly", "lazy", "introspective", "before_walltime"}
COMPATIBLE = {
    "Cloning-v1": EVERYWHERE
    | COPYING
    | REROLLING
    | {"retry_cap", "back_off", "algorithm_1", "give_up"},
    "GracePeriod-v1": EVERYWHERE
    | {"grace_period", "optimal_stopping", "immediate_kill", "blind_kill"},
    "Checkpoint-v1": EVERYWHERE | SAVING,
    "Lineage-v1": EVERYWHERE | OUTPUTS,
    "Workflow-v1": EVERYWHERE | PLACING,
}
COMPATIBLE["Mitigation-v1"] = set[str]().union(*COMPATIBLE.values(), COMBINED) - OUTPUTS - PLACING
KNOWN = set[str]().union(*COMPATIBLE.values())
"""Of a baseline or an environment that is not among them it is not said here what goes with it; all
else is tested."""
PAIRS = [
    (name, policy)
    for name, scenario in SCENARIOS.items()
    for policy in sorted(REGISTRY)
    if REGISTRY[policy].compatible(scenario)
]

SHOWN = ("end", "armed", "departed", "extra", "checkpoints", "attempts")
"""Columns of outcomes that show what was done."""


def few(name: str) -> dict[str, Any]:
    """Fields that make an environment small: pinned ones with some more tasks than elsewhere.

    Jobs of 600 in which something fails are so few that the rules hardly meet what they are about;
    in this profile most are.
    """
    if SCENARIOS[name].world == "pinned":
        failing = SCENARIOS[name].select == "failing"
        profile = {"trace": "google-2011-failing"} if failing else {}
        return {**small(name), "slice_tasks": 8, **profile}
    return {**small(name), **({"jobs": 200} if "jobs" in small(name) else {})}


def run(name: str, policy: Heuristic, **options: Any) -> Run:
    scenario = resolve(name, few(name))
    return run_policy(build_world(scenario), scenario, policy, order=scenario.order, **options)


@cache
def as_published(name: str, policy: str) -> Run:
    """What comes of a baseline with the parameters of its source, played once for all tests."""
    return run(name, REGISTRY[policy]())


def tries(rule: type[Heuristic]) -> Iterator[tuple[str, Any]]:
    """Parameters, and values of them that a search may try: both ends of a range, every choice."""
    for name, space in search_space(rule).items():
        of = type(getattr(rule(), name))
        values = (space.low, space.high) if isinstance(space, Range) else space.values
        yield from ((name, of(value)) for value in values)


def test_names_are_unique_and_fit_the_command_line() -> None:
    assert len(set(REGISTRY.values())) == len(REGISTRY)
    for name, baseline in REGISTRY.items():
        assert baseline.name == name
        assert name.isidentifier()
        assert name == name.lower()


def test_which_baselines_go_with_which_environment() -> None:
    for name, expected in COMPATIBLE.items():
        found = {b.name for b in REGISTRY.values() if b.compatible(SCENARIOS[name])}
        assert found & KNOWN == expected


def test_the_registry_holds_the_rules_of_all_files() -> None:
    """As their text says: a class with a name. A new file is found, whatever it is called."""
    folder = Path(failgym.baselines.__file__).parent
    named = r'^    name: ClassVar\[str\] = "(\w+)"$'
    written = [re.findall(named, file.read_text("utf-8"), re.M) for file in folder.glob("*.py")]
    assert sorted(name for names in written for name in names) == sorted(STORABLE)
    assert set(STORABLE) - set(REGISTRY) == {"decision_tree"}


def test_a_new_file_is_found(tmp_path: Path) -> None:
    """In a copy of the folder, whose registry is made anew."""
    folder = tmp_path / "copied_baselines"
    shutil.copytree(Path(failgym.baselines.__file__).parent, folder)
    rule = (folder / "replay.py").read_text("utf-8")
    new = rule.replace("class Replay", "class Newest").replace('= "replay"', '= "newest"')
    (folder / "newest.py").write_text(new.replace('["Replay"]', '["Newest"]'), "utf-8")
    code = "import copied_baselines as made; print(made.REGISTRY['newest'].__name__)"
    path = os.pathsep.join((str(tmp_path), str(Path(failgym.__file__).parents[1])))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "Newest\n", done.stderr


@pytest.mark.parametrize(("name", "policy"), PAIRS)
def test_runs_the_same_every_time_and_never_acts_illegally(name: str, policy: str) -> None:
    first, again = as_published(name, policy), run(name, REGISTRY[policy](), lanes=5)
    assert first.policy == policy
    assert first.illegal == 0
    assert first.decisions == again.decisions > 0
    assert first.costs.tobytes() == again.costs.tobytes()
    for column, values in first.outcomes.items():
        assert values.tobytes() == again.outcomes[column].tobytes()


@pytest.mark.parametrize(("name", "policy"), PAIRS)
def test_does_something_wherever_it_is_compatible(name: str, policy: str) -> None:
    """With the parameters of its source or, as little happens in a small environment, with others
    that a search may try, one at a time.
    """
    replay = as_published(name, Replay.name)
    rule: Any = REGISTRY[policy]
    others = (run(name, rule(**{field: value})) for field, value in tries(rule))
    differs = any(
        (ours.outcomes[column] != replay.outcomes[column]).any()
        for ours in chain([as_published(name, policy)], others)
        for column in SHOWN
    )
    assert differs != rule.idle


@pytest.mark.parametrize(("name", "policy"), PAIRS)
def test_answers_observations_of_the_environment_one_by_one_as_in_a_batch(
    name: str, policy: str
) -> None:
    envs: Any = gym.make_vec(
        f"failgym/{name}", 16, vectorization_mode="vector_entry_point", **few(name)
    )
    chosen = REGISTRY[policy]()
    observations, info = envs.reset(seed=4)
    for _ in range(40):
        actions, _ = chosen.predict(observations)
        masked, _ = chosen.predict(observations, action_masks=info["action_mask"])
        single = [int(chosen.predict(row)[0]) for row in observations]
        assert np.asarray(actions).tolist() == np.asarray(masked).tolist() == single
        assert info["action_mask"][np.arange(16), actions].all()
        observations, _, _, _, info = envs.step(actions)


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("Checkpoint-v1", Young(factor=1e6)),
        ("Checkpoint-v1", MLCheckpoint(threshold=1.0)),
        ("Cloning-v1", Algorithm1(max_extra=0)),
        *[(name, REGISTRY[policy]()) for name, policy in PAIRS if REGISTRY[policy].idle],
    ],
)
def test_what_always_continues_is_the_replay(name: str, policy: Heuristic) -> None:
    """A threshold, a period or a cap out of reach."""
    scenario = replace(resolve(name, few(name)), split="all", slice_tasks=64)
    world = build_world(scenario)
    ours, replay = (
        run_policy(world, scenario, p, order=scenario.order, lanes=64) for p in (policy, Replay())
    )
    assert ours.costs.tobytes() == replay.costs.tobytes()
    for column, values in ours.outcomes.items():
        assert values.tobytes() == replay.outcomes[column].tobytes()
    if scenario.world == "pinned":
        assert (ours.outcomes["end"] == ours.outcomes["recorded_end"]).all()
        assert (ours.outcomes["outcome"] == ours.outcomes["recorded_outcome"]).all()
