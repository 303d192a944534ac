"""The rules that copy stragglers, on observations made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from failgym.baselines import Forking, Heuristic, Late, SparkSpeculation
from failgym.sim.shared.fields import FIELDS, INDEX
from failgym.vocabulary import Action

CONTINUE, CLONE = int(Action.CONTINUE), int(Action.CLONE)


def observe(kind: str = "window", /, **fields: float) -> npt.NDArray[np.float32]:
    """A decision at which all is legal; counts and minutes as they are."""
    observation = np.zeros(len(FIELDS), dtype=np.float32)
    for name, value in fields.items():
        logarithmic = FIELDS[INDEX[name]].unit in ("log2", "log2 min")
        observation[INDEX[name]] = np.log2(1 + value) if logarithmic else value
    observation[INDEX[kind]] = 1
    observation[-len(Action) :] = 1
    return observation


def act(policy: Heuristic, kind: str = "window", /, **fields: float) -> int:
    action, _ = policy.predict(observe(kind, **fields))
    return int(action)


def job(tasks: int, finished: int) -> dict[str, float]:
    """A task of a job of which some other tasks have finished."""
    return {"job_tasks": tasks, "siblings_finished": finished / max(1, tasks - 1)}


SLOW = {**job(10, 9), "age": 90.0, "age_over_siblings": 9.0, "age_over_expected": 0.5}
SLOTS = {"running": 1000, "live_attempts": 1}


@pytest.mark.parametrize("policy", [SparkSpeculation(), Late(), Forking()], ids=lambda p: p.name)
class TestEveryRule:
    def test_copies_a_straggler_once_and_at_windows_only(self, policy: Heuristic) -> None:
        assert act(policy, **SLOW, **SLOTS) == CLONE
        assert act(policy, **SLOW, **SLOTS, clones=1) == CONTINUE
        assert act(policy, "failed", **SLOW, **SLOTS) == CONTINUE

    def test_leaves_a_task_alone_that_has_no_siblings(self, policy: Heuristic) -> None:
        assert act(policy, **{**SLOW, **SLOTS, **job(1, 0)}) == CONTINUE


@pytest.mark.parametrize("tasks", [2, 3, 7, 10, 1000])
def test_spark_waits_for_the_quantile_of_all_tasks_rounded_down(tasks: int) -> None:
    needed = max(int(0.75 * tasks), 1)
    for finished in range(max(needed - 2, 0), min(needed + 2, tasks)):
        answer = act(SparkSpeculation(), **{**SLOW, **job(tasks, finished)})
        assert answer == (CLONE if finished >= needed else CONTINUE)


def test_spark_copies_what_takes_longer_than_the_multiplier_times_the_median() -> None:
    def at(ratio: float, **parameters: float) -> int:
        policy = SparkSpeculation(**parameters)
        return act(policy, **{**SLOW, "age_over_siblings": ratio})

    above = float(np.nextafter(np.float32(1.5), np.float32(2)))
    assert (at(1.5), at(above)) == (CONTINUE, CLONE)
    assert (at(3.0, multiplier=4.0), at(4.5, multiplier=4.0)) == (CONTINUE, CLONE)
    assert at(9.0, quantile=1.0) == CONTINUE  # its own job is never complete


def test_spark_does_not_copy_what_the_traced_system_has_copied() -> None:
    assert act(SparkSpeculation(), **SLOW, live_attempts=2) == CONTINUE


class TestLate:
    def test_copies_the_slowest_quarter(self) -> None:
        assert act(Late(), **{**SLOW, **SLOTS, **job(20, 15)}) == CLONE
        assert act(Late(), **{**SLOW, **SLOTS, **job(20, 14)}) == CONTINUE
        assert act(Late(slow_task=0.3), **{**SLOW, **SLOTS, **job(20, 14)}) == CLONE
        assert act(Late(slow_task=0.7), **{**SLOW, **SLOTS, **job(10, 3)}) == CLONE
        assert act(Late(slow_task=0.7), **{**SLOW, **SLOTS, **job(10, 2)}) == CONTINUE

    def test_copies_only_what_a_copy_would_overtake(self) -> None:
        """3 medians old at progress 3/4: one median is left, which is what a copy takes."""
        near = {**SLOW, **SLOTS, "age_over_siblings": 3.0}
        assert act(Late(), **{**near, "age_over_expected": 0.75}) == CONTINUE
        assert act(Late(), **{**near, "age_over_expected": 0.74}) == CLONE
        assert act(Late(), **{**near, "age_over_expected": 1.5}) == CONTINUE
        assert act(Late(), **{**near, "age_over_expected": 0.0}) == CONTINUE  # nothing is known

    def test_copies_take_a_tenth_of_the_slots_at_most(self) -> None:
        last = {**SLOW, **job(20, 18), "width": 2}  # two tasks of two slots are left
        assert act(Late(), **last, running=30, free=10) == CLONE
        assert act(Late(), **last, running=30, free=9) == CONTINUE
        assert act(Late(speculative_cap=0.2), **last, running=30, free=9) == CLONE

    def test_waits_a_minute(self) -> None:
        assert act(Late(), **{**SLOW, **SLOTS, "age": 0.9}) == CONTINUE
        assert act(Late(), **{**SLOW, **SLOTS, "age": 1.0}) == CLONE


class TestForking:
    @pytest.mark.parametrize(("tasks", "left"), [(10, 1), (20, 2), (25, 2), (1000, 100)])
    def test_forks_when_a_tenth_is_left(self, tasks: int, left: int) -> None:
        assert act(Forking(), **job(tasks, tasks - left)) == CLONE
        assert act(Forking(), **job(tasks, tasks - left - 1)) == CONTINUE

    def test_starts_all_copies_in_one_decision(self) -> None:
        policy = Forking(copies=3)
        burst = [act(policy, **SLOW, clones=n, actions_taken=n) for n in range(4)]
        assert burst == [CLONE, CLONE, CLONE, CONTINUE]
        assert act(Forking(copies=0), **SLOW) == CONTINUE

    def test_with_p_of_one_everything_is_copied_from_its_start(self) -> None:
        assert act(Forking(share=1.0), **job(10, 0)) == CLONE
        assert act(Forking(share=0.0), **job(10, 9)) == CONTINUE


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (SparkSpeculation, {"quantile": 1.5}, "quantile: expected a probability"),
    (SparkSpeculation, {"multiplier": 0.0}, "multiplier: expected a positive number"),
    (Late, {"speculative_cap": -0.1}, "speculative_cap: expected a probability"),
    (Late, {"slow_task": 2.0}, "slow_task: expected a probability"),
    (Late, {"minimum_age": -1.0}, "minimum_age: expected at least 0 min"),
    (Forking, {"share": 1.1}, "share: expected a probability"),
    (Forking, {"copies": -1}, "copies: expected at least 0"),
]


@pytest.mark.parametrize(("kind", "parameters", "message"), WRONG)
def test_refuses_what_makes_no_sense(kind: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**parameters)
