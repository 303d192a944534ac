"""The splits of a scenario: by time, at the same prices, and nothing later in an earlier one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from failgym.envs import Scenario, resolve
from failgym.worlds.build import build_world, part_of
from failgym.worlds.scenario import Split
from failgym.worlds.scheduled.build import PRICES
from failgym.worlds.source import whole_trace
from failgym.worlds.split import split_trace
from tests.envs.worlds import IDS, make, small

SPLITS: tuple[Split, ...] = get_args(Split)
INNER: tuple[Split, ...] = ("fit", "validation")
CLUSTER: dict[str, Any] = {"load": 0.0, "machines": 4, "outages": "none"}
"""A cluster that is the same whatever the trace, for Mitigation-v1."""


def scenario(env_id: str, split: Split, **fields: Any) -> Scenario:
    return resolve(env_id, {**small(env_id), "split": split, **fields})


def jobs(env_id: str, split: Split) -> dict[str, int]:
    """The jobs of a split: original id -> submit time."""
    s = scenario(env_id, split)
    part = part_of(s, split)
    ids, submit = (part.trace.column("jobs", name)[part.own] for name in ("original_id", "submit"))
    return dict(zip(ids.tolist(), submit.tolist(), strict=True))


@pytest.mark.parametrize("env_id", IDS)
def test_fit_and_validation_are_the_train_split_cut_once_more(env_id: str) -> None:
    train, fit, validation = (jobs(env_id, split) for split in ("train", *INNER))
    assert fit | validation == train
    assert not fit.keys() & validation.keys()
    assert max(fit.values()) < min(validation.values())
    assert max(validation.values()) < min(jobs(env_id, "test").values())


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("split", SPLITS)
def test_every_split_is_an_environment(env_id: str, split: Split) -> None:
    env = make(env_id, split=split)
    _, info = env.reset(seed=1)
    ended = False
    for _ in range(20):
        _, _, ended, _, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
        if ended:
            break
    assert build_world(scenario(env_id, split)).slices >= 1


@pytest.mark.parametrize("env_id", IDS)
def test_slices_hold_tasks_of_jobs_of_the_split(env_id: str) -> None:
    for split in SPLITS:
        s = scenario(env_id, split)
        assert part_of(s, split).own_tasks[build_world(s).own_tasks].all()


@pytest.mark.parametrize("env_id", IDS)
def test_costs_of_all_splits_but_the_whole_are_comparable(env_id: str) -> None:
    worlds = [build_world(scenario(env_id, split)) for split in SPLITS if split != "all"]
    for name in PRICES:
        assert len({world.tables.parameters[name].tobytes() for world in worlds}) == 1


def test_machines_are_those_of_the_train_split() -> None:
    worlds = [build_world(scenario("failgym/Mitigation-v1", split)) for split in SPLITS]
    assert len({world.scene("time").machines for world in worlds}) == 1


@pytest.mark.parametrize(
    ("env_id", "fields"),
    [
        ("failgym/Cloning-v1", {"forecast": "elsayed_alarms"}),
        ("failgym/GracePeriod-v1", {"forecast": "rosa_by_job"}),
        ("failgym/Checkpoint-v1", {"forecast": "kumar_alarms"}),
        ("failgym/Mitigation-v1", {"forecast": "elsayed_and_rosa", **CLUSTER}),
    ],
)
def test_nothing_after_the_train_split_shows_in_them(env_id: str, fields: dict[str, Any]) -> None:
    """They are what the train and test splits of the train split's record would be."""
    for split, half in zip(INNER, ("train", "test"), strict=True):
        s = scenario(env_id, split, **fields)
        train = split_trace(whole_trace(s), s, "train").trace
        profile = {"sampling": 0.0, "longest": 0}  # numbers of the profile that it came from
        alone = replace(s, trace=train, split=half, boundary=s.inner_boundary, **profile)
        world, expected = build_world(s).tables, build_world(alone).tables
        load = {
            "system",
            "system_bins",
            "system_index",
            "interruption_times",
            "interruption_index",
        }  # of the whole
        others = {"parameters", "dags", *load}
        for name in set(world._fields) - others:
            mine, theirs = (arrays_of(getattr(one, name)) for one in (world, expected))
            assert [array.tobytes() for array in mine] == [x.tobytes() for x in theirs], name


def arrays_of(tables: Any) -> list[Any]:
    """An array, or those of a tuple of arrays and tuples."""
    if hasattr(tables, "dtype"):
        return [tables]
    return [array for one in tables for array in arrays_of(one)]


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_an_inner_boundary_without_a_side_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="inner_boundary"):
        resolve("Cloning-v1", {"inner_boundary": value})
