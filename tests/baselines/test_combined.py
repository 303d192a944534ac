"""Heuristics that combine others: who is asked first, and what an armed task gets."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest

from failgym.baselines import (
    REGISTRY,
    AllMeasures,
    CloneAndSave,
    Combined,
    Heuristic,
    KillOrClone,
    StopOrCopy,
)
from failgym.sim.shared.fields import FIELDS, INDEX
from failgym.vocabulary import Action

CONTINUE, CLONE, CHECKPOINT, KILL, RETRY = (int(action) for action in Action)
COMBINED = [CloneAndSave(), KillOrClone(), AllMeasures(), StopOrCopy()]
UNFINISHED = {"confidence_kill": 0.9, "confidence_finish": 0.1}


def observe(*legal: Action, **fields: float) -> npt.NDArray[np.float32]:
    observation = np.zeros(len(FIELDS), dtype=np.float32)
    for name, value in fields.items():
        observation[INDEX[name]] = value
    for action in (Action.CONTINUE, *legal):
        observation[-len(Action) + action] = 1
    return observation


def at_window(policy: Heuristic, *illegal: Action, **fields: float) -> int:
    """What a policy does at a WINDOW decision at which all but some actions are legal."""
    legal = {Action.CLONE, Action.CHECKPOINT, Action.KILL} - set(illegal)
    return int(policy.predict(observe(*legal, window=1, **fields))[0])


def at_failure(policy: Heuristic, *illegal: Action, failures: int, **fields: float) -> int:
    legal = {Action.KILL, Action.RETRY} - set(illegal)
    count = float(np.log2(1 + failures))
    return int(policy.predict(observe(*legal, failed=1, failures=count, **fields))[0])


@pytest.mark.parametrize("policy", COMBINED, ids=lambda p: p.name)
class TestEveryCombination:
    def test_needs_what_its_parts_need(self, policy: Combined) -> None:
        assert policy.needs == frozenset().union(*(part.needs for part in policy.parts))
        assert all(REGISTRY[part.name] is type(part) for part in policy.parts)

    def test_does_what_its_first_part_with_a_legal_wish_wants(self, policy: Combined) -> None:
        rng = np.random.default_rng(11)
        for _ in range(300):
            observation = rng.choice([0, 0, 0.5, 1, 2], len(FIELDS)).astype(np.float32)
            observation[:4] = np.eye(4)[rng.integers(0, 2)]
            observation[INDEX["armed"]] = 0
            observation[-len(Action) :] = rng.random(len(Action)) < 0.6
            observation[-len(Action)] = 1
            wishes = [int(part.predict(observation)[0]) for part in policy.parts]
            wanted = next((wish for wish in wishes if wish != CONTINUE), CONTINUE)
            assert policy.predict(observation)[0] == wanted

    def test_writes_an_armed_task_off(self, policy: Combined) -> None:
        risky = {"risk": 1.0, "unsaved_over_young": 9.0, "armed": 1.0, **UNFINISHED}
        assert at_window(policy, **risky) == CONTINUE
        assert at_failure(policy, failures=1, armed=1) == CONTINUE

    def test_leaves_alone_what_is_not_predicted_to_fail(self, policy: Combined) -> None:
        assert at_window(policy, risk=0.1, confidence_finish=1.0) == CONTINUE


class TestCloneAndSave:
    policy: ClassVar = CloneAndSave()

    def test_clones_and_then_saves_in_one_decision(self) -> None:
        assert at_window(self.policy, risk=0.95) == CLONE
        assert at_window(self.policy, risk=0.95, clones=1, actions_taken=1) == CHECKPOINT

    def test_saves_where_cloning_is_forbidden(self) -> None:
        assert at_window(self.policy, Action.CLONE, risk=0.95) == CHECKPOINT
        assert at_window(self.policy, risk=0.8) == CHECKPOINT
        assert at_window(self.policy, unsaved_over_young=1.0) == CHECKPOINT

    def test_retries_twice_and_then_gives_up(self) -> None:
        answers = [at_failure(self.policy, failures=n) for n in (1, 2, 3)]
        assert answers == [RETRY, RETRY, KILL]
        assert at_failure(self.policy, failures=1, actions_taken=1) == CONTINUE


class TestKilling:
    @pytest.mark.parametrize("policy", [KillOrClone(), AllMeasures()], ids=lambda p: p.name)
    def test_arms_what_is_predicted_not_to_finish_and_clones_the_others(
        self, policy: Combined
    ) -> None:
        assert at_window(policy, risk=0.95, **UNFINISHED) == KILL
        assert at_window(policy, risk=0.95, confidence_finish=1.0) == CLONE
        assert at_window(policy, risk=0.95) == CLONE

    def test_only_what_has_the_cap_gives_up(self) -> None:
        assert at_failure(KillOrClone(), failures=3) == RETRY
        assert at_failure(KillOrClone(), failures=9) == CONTINUE
        assert at_failure(AllMeasures(), failures=3) == KILL

    def test_only_what_checkpoints_saves(self) -> None:
        assert at_window(KillOrClone(), unsaved_over_young=2.0) == CONTINUE
        assert at_window(AllMeasures(), unsaved_over_young=2.0) == CHECKPOINT


class TestStopOrCopy:
    STRAGGLER: ClassVar = {
        "job_tasks": np.log2(11),
        "siblings_finished": 1.0,
        "age": 6.0,
        "age_over_siblings": 9.0,
        "age_over_expected": 0.5,
        "running": 10.0,
    }
    HOPELESS: ClassVar = {"age": 8.0, "age_over_expected": 0.1, "chance_of_finish": 0.01}

    def test_kills_what_is_hopeless_and_copies_stragglers(self) -> None:
        policy = StopOrCopy(weight=8.0)
        hopeless = {**self.STRAGGLER, **self.HOPELESS}
        assert at_window(policy, **hopeless) == KILL
        assert at_window(policy, **{**hopeless, "chance_of_finish": 0.6}) == CLONE
        assert at_window(StopOrCopy(weight=500.0), **hopeless) == CLONE  # too much to lose

    def test_retries_twice_and_then_gives_up(self) -> None:
        assert [at_failure(StopOrCopy(), failures=n) for n in (1, 2, 3)] == [RETRY, RETRY, KILL]


@pytest.mark.parametrize("kind", [CloneAndSave, AllMeasures])
def test_parameters_reach_the_parts(kind: type[CloneAndSave]) -> None:
    policy = kind(retries=0, clone_threshold=0.5, save_threshold=1.0, factor=3.0)
    assert at_failure(policy, failures=1) == KILL
    assert at_window(policy, risk=0.6) == CLONE
    assert at_window(policy, Action.CLONE, risk=0.9, unsaved_over_young=2.9) == CONTINUE
    assert at_window(policy, Action.CLONE, unsaved_over_young=3.0) == CHECKPOINT
    with pytest.raises(ValueError, match="retries: expected at least 0"):
        kind(retries=-1)


@pytest.mark.parametrize("kind", [KillOrClone, AllMeasures])
def test_the_weight_of_finish_reaches_the_grace_period(kind: Any) -> None:
    even = {"confidence_kill": 0.55, "confidence_finish": 0.45}
    assert at_window(kind(), **even) == KILL
    assert at_window(kind(finish_weight=2.0), **even) == CONTINUE
