"""One fate: attempt n of a task meets the same end, whoever starts it, when, and in what world."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from failgym.baselines import Algorithm1, Heuristic, RandomPolicy, Reroll, RetryCap
from failgym.envs import resolve
from failgym.traces import Outcome
from failgym.vocabulary import CANCELLED, Event
from failgym.worlds.build import build_world

CONTINUED: dict[str, Any] = {
    "trace": "google-2011-failing",  # much fails in it: few jobs go on beyond the record often
    "jobs": 250,
    "max_extra": 4,
    "max_clones": 4,
}
Fates = dict[tuple[int, int], tuple[int, int]]


def fates(policy: Heuristic, **fields: Any) -> tuple[Fates, dict[tuple[int, int], int]]:
    """Of each attempt beyond the record how long it ran and how it ended, and when it started.

    What its sibling's success cancelled met no end of its own.
    """
    scenario = resolve("Cloning-v1", {**CONTINUED, **fields})
    world = build_world(scenario)
    batch = world.batch(scenario, 1, "task", log=True)
    found: Fates = {}
    began: dict[tuple[int, int], int] = {}
    for chosen in range(world.slices):
        out = batch.reset(np.array([chosen]))
        while not batch.state.episodes["done"][0]:
            answer, _ = policy.predict(out.obs, action_masks=out.mask.astype(bool))
            out = batch.step(np.asarray(answer, dtype=np.int64))
        for time, kind, task, number, detail in batch.drained_log(0).tolist():
            if kind == Event.START and detail:
                began[task, number] = time
            elif kind == Event.END and (task, number) in began and detail != CANCELLED:
                found[task, number] = (time - began[task, number], detail)
    return found, began


@pytest.fixture(scope="module")
def reroll() -> tuple[Fates, dict[tuple[int, int], int]]:
    return fates(Reroll())


@pytest.mark.parametrize("policy", [RetryCap(retries=4), Algorithm1(), RandomPolicy(seed=3)])
def test_whoever_starts_an_attempt_meets_its_fate(
    policy: Heuristic, reroll: tuple[Fates, dict[tuple[int, int], int]]
) -> None:
    (known, early), (other, began) = reroll, fates(policy)
    both = known.keys() & other.keys()
    assert {key: known[key] for key in both} == {key: other[key] for key in both}
    at_other_times = sum(early[key] != began[key] for key in both)
    assert at_other_times > 30, "they start them at other times"
    assert {outcome for _, outcome in known.values()} >= {Outcome.FINISH, Outcome.FAIL}


@pytest.mark.parametrize("fields", [{"slice_tasks": 1}, {"spare_attempts": 20}, {"max_clones": 1}])
def test_the_world_around_it_changes_no_fate(
    fields: dict[str, Any], reroll: tuple[Fates, dict[tuple[int, int], int]]
) -> None:
    known, other = reroll[0], fates(Reroll(), **fields)[0]
    both = known.keys() & other.keys()
    assert len(both) > 100
    assert {key: known[key] for key in both} == {key: other[key] for key in both}


def test_attempts_of_another_draw_meet_other_fates(
    reroll: tuple[Fates, dict[tuple[int, int], int]],
) -> None:
    known, other = reroll[0], fates(Reroll(), draw_seed=1)[0]
    both = known.keys() & other.keys()
    assert sum(known[key] != other[key] for key in both) > len(both) / 2


@pytest.mark.parametrize("fields", [{"task_share": 1.0}, {"strata": "all"}])
def test_what_is_chosen_of_the_laws_decides_fates(
    fields: dict[str, Any], reroll: tuple[Fates, dict[tuple[int, int], int]]
) -> None:
    known, other = reroll[0], fates(Reroll(), **fields)[0]
    both = known.keys() & other.keys()
    assert any(known[key] != other[key] for key in both)


def test_what_is_chosen_of_the_laws_is_checked() -> None:
    for wrong in ({"task_share": 1.5}, {"strata": "user"}, {"draw_seed": -1}):
        with pytest.raises(ValueError, match=f"^{next(iter(wrong))}: expected "):
            resolve("Cloning-v1", wrong)
