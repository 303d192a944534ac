"""Each heuristic's rule on observations made by hand; and what all of them owe to a caller."""

from __future__ import annotations

import dataclasses
import inspect
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest

import failgym.baselines as baselines
from failgym.baselines import REGISTRY, STORABLE, Heuristic
from failgym.baselines.base import ObservationView, enabled
from failgym.policy import Policy
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.shared.fields import FIELDS, HIGH, INDEX, LOW
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import Action
from failgym.worlds.decisions import DECISIONS

CONTINUE, CLONE, CHECKPOINT, KILL, RETRY = (int(action) for action in Action)


def observe(*legal: Action, **fields: float) -> npt.NDArray[np.float32]:
    """An observation: zeros, the given fields, and a mask of CONTINUE and the given actions."""
    observation = np.zeros(len(FIELDS), dtype=np.float32)
    for name, value in fields.items():
        observation[INDEX[name]] = value
    for action in {Action.CONTINUE, *legal}:
        observation[-len(Action) + action] = 1
    return observation


def window(**fields: float) -> npt.NDArray[np.float32]:
    """A WINDOW decision at which all is legal that ever is."""
    return observe(Action.CLONE, Action.CHECKPOINT, Action.KILL, window=1, **fields)


def failed(*, failures: int, **fields: float) -> npt.NDArray[np.float32]:
    """A FAILED decision."""
    count = np.log2(1 + failures)
    return observe(Action.KILL, Action.RETRY, failed=1, failures=count, **fields)


def minutes(time: float) -> float:
    return float(np.log2(1 + time))


def scheduled(**decisions: Any) -> ScheduledRules:
    """Rules of a scheduled world that allow some decisions."""
    return ScheduledRules(scheduler="rank_hybd", **decisions)


def act(policy: Heuristic, observation: npt.NDArray[np.float32]) -> int:
    action, state = policy.predict(observation)
    assert state is None
    assert np.ndim(action) == 0
    return int(action)


@pytest.mark.parametrize("name", REGISTRY)
class TestEveryBaseline:
    def test_is_a_frozen_dataclass_with_a_name_and_a_default_for_every_parameter(
        self, name: str
    ) -> None:
        baseline = REGISTRY[name]
        assert baseline.name == name
        policy = baseline()
        assert isinstance(policy, Policy)
        field_types = {
            field.name: getattr(policy, field.name) for field in dataclasses.fields(policy)
        }
        assert all(isinstance(value, int | float | str | bool) for value in field_types.values())
        for field in field_types:
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(policy, field, 0)

    def test_needs_are_decisions_of_the_rules(self, name: str) -> None:
        needs = REGISTRY[name].needs
        assert needs <= set(DECISIONS)
        allowing = scheduled(**dict.fromkeys(needs, True))
        assert set(enabled(allowing)) == needs
        assert REGISTRY[name].compatible(allowing)
        assert REGISTRY[name].compatible(scheduled()) == (not needs)
        assert REGISTRY[name].compatible(Rules()) == (not needs)

    def test_actions_are_legal_and_a_batch_equals_its_rows(self, name: str) -> None:
        rng = np.random.default_rng(7)
        batch = rng.uniform(LOW, np.minimum(HIGH, 6.0), (200, len(FIELDS))).astype(np.float32)
        batch[:, :4] = np.eye(4, dtype=np.float32)[rng.integers(0, 4, 200)]
        mask = rng.random((200, len(Action))) < 0.5
        mask[:, 0] = True
        batch[:, -len(Action) :] = mask
        policy = REGISTRY[name]()
        actions, _ = policy.predict(batch)
        assert isinstance(actions, np.ndarray)
        assert actions.dtype == np.int64
        assert mask[np.arange(200), actions].all()
        assert [act(policy, row) for row in batch] == actions.tolist()

    def test_a_given_mask_overrules_the_observation(self, name: str) -> None:
        only_continue = np.array([True, False, False, False, False])
        observation = window(risk=1.0, confidence_kill=1.0, unsaved_over_young=9.0)
        action, _ = REGISTRY[name]().predict(observation, action_masks=only_continue)
        assert action == CONTINUE

    def test_state_is_passed_through(self, name: str) -> None:
        state = (np.zeros(3),)
        assert REGISTRY[name]().predict(window(), state, np.array([True]))[1] is state

    def test_refuses_observations_of_another_length(self, name: str) -> None:
        with pytest.raises(ValueError, match=r"observation: expected \["):
            REGISTRY[name]().predict(np.zeros(3, dtype=np.float32))


def test_the_registry_holds_every_heuristic_of_the_folder() -> None:
    files = {file.stem for file in Path(str(baselines.__file__)).parent.glob("*.py")}
    modules = {f"failgym.baselines.{stem}" for stem in files - {"__init__"}}
    for module in modules:
        import_module(module)
    defined = {
        heuristic
        for heuristic in descendants(Heuristic)
        if heuristic.__module__ in modules and not inspect.isabstract(heuristic)
    }
    assert defined == set(STORABLE.values())


def descendants(heuristic: type[Heuristic]) -> set[type[Heuristic]]:
    children: set[type[Heuristic]] = set(heuristic.__subclasses__())
    return children.union(*(descendants(child) for child in children))


@dataclasses.dataclass(frozen=True)
class Wrong(Heuristic):
    """A rule that answers what it was made with."""

    name: ClassVar[str] = "wrong"
    answer: Any = None

    def act(self, view: ObservationView, mask: Any) -> Any:
        return self.answer


WRONG_ACTS: list[Any] = [
    *(np.array(wrong) for wrong in ([0, -1], [0, 5], [0.0, 1.0], [True, False], [0], [[0], [0]])),
    None,
]


@pytest.mark.parametrize("answer", WRONG_ACTS)
def test_a_wrong_answer_does_not_pass_for_continue(answer: Any) -> None:
    batch = np.stack([window(), window()])
    with pytest.raises(ValueError, match=r"Wrong\.act: expected 2 whole numbers from 0 to 4"):
        Wrong(answer).predict(batch)


def test_decisions_are_rules_that_may_be_switched_on() -> None:
    assert {type(getattr(ScheduledRules(), decision)) for decision in DECISIONS} == {bool}
    assert enabled(scheduled(**dict.fromkeys(DECISIONS, True))) == DECISIONS
    assert enabled(Rules(retry=True, clone=True)) == ("clone", "retry")


def test_what_answers_windows_and_failures_goes_with_a_scenario_that_asks_both() -> None:
    rules = scheduled(**dict.fromkeys(("clone", "checkpoint", "kill", "give_up", "retry"), True))
    assert {name for name, b in REGISTRY.items() if not b.compatible(rules)} == {
        *("checkpoint_all", "greedy", "size", "aware", "periodic_outputs"),
        *("rank_hybd", "flaw", "lemon_nodes"),
    }


def test_replay_always_continues() -> None:
    assert act(baselines.Replay(), window(risk=1.0)) == CONTINUE
    assert act(baselines.Replay(), failed(failures=1)) == CONTINUE


def test_random_is_uniform_over_the_legal_actions_and_keyed_by_its_seed() -> None:
    rng = np.random.default_rng(3)
    batch = np.tile(observe(Action.CLONE, Action.KILL, window=1), (30_000, 1))
    batch[:, INDEX["age"]] = rng.random(30_000)
    actions, _ = baselines.RandomPolicy(seed=5).predict(batch)
    again, _ = baselines.RandomPolicy(seed=5).predict(batch)
    other, _ = baselines.RandomPolicy(seed=6).predict(batch)
    shares = np.bincount(np.asarray(actions), minlength=5) / 30_000
    np.testing.assert_allclose(shares, [1 / 3, 1 / 3, 0, 1 / 3, 0], atol=0.012)
    assert np.array_equal(actions, again)
    assert np.mean(actions == other) == pytest.approx(1 / 3, abs=0.012)


def test_retry_cap_retries_and_then_gives_up() -> None:
    policy = baselines.RetryCap(retries=2)
    assert [act(policy, failed(failures=n)) for n in (1, 2, 3, 9)] == [RETRY, RETRY, KILL, KILL]
    assert act(policy, window(failures=np.log2(4))) == CONTINUE
    assert act(baselines.RetryCap(retries=0), failed(failures=1)) == KILL
    with pytest.raises(ValueError, match="retries"):
        baselines.RetryCap(retries=-1)


class TestAlgorithm1:
    def test_clones_from_the_threshold_on_in_single_precision(self) -> None:
        policy = baselines.Algorithm1(threshold=0.9)
        below = float(np.nextafter(np.float32(0.9), np.float32(0)))
        assert act(policy, window(risk=0.9)) == CLONE
        assert act(policy, window(risk=below)) == CONTINUE
        assert act(policy, window(risk=1.0, clones=1)) == CONTINUE

    def test_retries_at_a_failure_until_the_cap(self) -> None:
        policy = baselines.Algorithm1(max_extra=2)
        assert [act(policy, failed(failures=n)) for n in (1, 2, 3)] == [RETRY, RETRY, CONTINUE]
        assert act(policy, failed(failures=2, clones=1)) == CONTINUE
        assert act(policy, window(risk=1.0, failures=np.log2(3))) == CONTINUE

    def test_in_the_chain_an_attempt_triggers_one_clone(self) -> None:
        policy = baselines.Algorithm1(max_clones=3)
        first = {"risk": 0.95, "risk_change": 0.93, "age": minutes(5)}
        assert act(policy, window(**first)) == CLONE
        assert act(policy, window(**first, clones=1, actions_taken=1)) == CONTINUE
        assert act(policy, window(**first, clones=1)) == CLONE  # another attempt's first prediction
        assert act(policy, window(risk=0.95, age=minutes(10), clones=1)) == CONTINUE
        assert act(policy, window(risk=0.95, age=0, clones=1)) == CLONE  # predicted at its start

    def test_a_burst_starts_all_clones_at_once(self) -> None:
        policy = baselines.Algorithm1(max_clones=3, reading="burst")
        burst = [act(policy, window(risk=0.95, clones=n, actions_taken=n)) for n in range(4)]
        assert burst == [CLONE, CLONE, CLONE, CONTINUE]

    def test_refuses_what_makes_no_sense(self) -> None:
        with pytest.raises(ValueError, match="threshold: expected a probability, got 2"):
            baselines.Algorithm1(threshold=2.0)
        with pytest.raises(ValueError, match="reading"):
            baselines.Algorithm1(reading="both")  # pyright: ignore[reportArgumentType]


class TestKilling:
    UNFINISHED: ClassVar = {
        "confidence_finish": 0.2,
        "confidence_kill": 0.6,
        "confidence_fail": 0.2,
    }
    FINISHING: ClassVar = {"confidence_finish": 0.6, "confidence_kill": 0.4}

    def test_grace_period_arms_what_is_predicted_not_to_finish(self) -> None:
        policy = baselines.GracePeriod()
        assert act(policy, window(**self.UNFINISHED)) == KILL
        assert act(policy, window(**self.UNFINISHED, armed=1)) == CONTINUE
        assert act(policy, window(**self.FINISHING)) == CONTINUE
        assert act(policy, window()) == CONTINUE  # no forecast
        assert act(policy, window(confidence_finish=0.5, confidence_evict=0.5)) == CONTINUE
        assert act(policy, failed(failures=1, **self.UNFINISHED)) == CONTINUE

    def test_immediate_kill_does_not_wait(self) -> None:
        policy = baselines.ImmediateKill()
        assert act(policy, window(**self.UNFINISHED)) == KILL
        assert act(policy, window(**self.UNFINISHED, armed=1, actions_taken=1)) == KILL
        assert act(policy, window(**self.FINISHING)) == CONTINUE
        assert act(policy, failed(failures=1, **self.UNFINISHED)) == CONTINUE

    def test_blind_kill_arms_everything(self) -> None:
        policy = baselines.BlindKill()
        assert act(policy, window(**self.FINISHING)) == KILL
        assert act(policy, window(armed=1)) == CONTINUE
        assert act(policy, failed(failures=1)) == CONTINUE

    def test_give_up_kills_at_failures_only(self) -> None:
        assert act(baselines.GiveUp(), failed(failures=1)) == KILL
        assert act(baselines.GiveUp(), window()) == CONTINUE


class TestCheckpointing:
    COSTS: ClassVar = {"checkpoint_cost": minutes(1), "restore_cost": minutes(1)}

    def test_young_saves_when_the_interval_is_over(self) -> None:
        assert act(baselines.Young(), window(unsaved_over_young=1.0)) == CHECKPOINT
        assert act(baselines.Young(), window(unsaved_over_young=0.99)) == CONTINUE
        assert act(baselines.Young(factor=0.5), window(unsaved_over_young=0.5)) == CHECKPOINT
        with pytest.raises(ValueError, match="factor: expected a positive number, got 0"):
            baselines.Young(factor=0)

    def attempt(self, *, age: float, unsaved: float, **fields: float) -> npt.NDArray[np.float32]:
        return window(age=minutes(age), unsaved=minutes(unsaved), **self.COSTS, **fields)

    @pytest.mark.parametrize("age", [1, 17, 300, 20_000])
    def test_ml_saves_a_flagged_attempt_once(self, age: float) -> None:
        policy = baselines.MLCheckpoint(threshold=0.5)
        risky = {"risk": 0.7, "flagged_before": 0.7}
        assert act(policy, self.attempt(age=age, unsaved=age, risk=0.4)) == CONTINUE
        assert act(policy, self.attempt(age=age, unsaved=age, risk=0.7)) == CHECKPOINT
        assert act(policy, self.attempt(age=age + 2, unsaved=1, **risky)) == CONTINUE
        assert act(policy, self.attempt(age=2 * age + 2, unsaved=age, **risky)) == CONTINUE

    def test_ml_saves_a_flagged_attempt_that_was_restored(self) -> None:
        policy = baselines.MLCheckpoint(threshold=0.5)
        restored = {"risk": 0.7, "flagged_before": 0.7, "durable_fraction": 0.3}
        assert act(policy, self.attempt(age=11, unsaved=10, **restored)) == CHECKPOINT
        assert act(policy, self.attempt(age=31, unsaved=10, **restored)) == CONTINUE

    def test_ml_periodic_saves_when_either_method_says_so(self) -> None:
        policy = baselines.MLPeriodic(threshold=0.5)
        saved = {"age": 90.0, "unsaved": 10.0}
        assert act(policy, self.attempt(**saved)) == CONTINUE
        assert act(policy, self.attempt(**saved, unsaved_over_young=1.1)) == CHECKPOINT
        assert act(policy, self.attempt(**saved, risk=0.7)) == CHECKPOINT  # first flag of the task
        risen = {"risk": 0.7, "risk_change": 0.7, "flagged_before": 0.7}
        assert act(policy, self.attempt(**saved, **risen)) == CHECKPOINT  # first of this attempt
        still = {"risk": 0.7, "flagged_before": 0.7}
        assert act(policy, self.attempt(**saved, **still)) == CONTINUE
        assert act(policy, self.attempt(age=5, unsaved=5, **still)) == CHECKPOINT  # from its start
