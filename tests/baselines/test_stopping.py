"""The rules that end a task early or pass over a machine, on observations made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from failgym.baselines import (
    BackOff,
    BlindKill,
    GracePeriod,
    Heuristic,
    ImmediateKill,
    LemonNodes,
    OptimalStopping,
    PeriodicOutputs,
)
from failgym.sim.shared.fields import FIELDS, INDEX
from failgym.vocabulary import Action

CONTINUE, CHECKPOINT, KILL, RETRY = (
    int(action) for action in (Action.CONTINUE, Action.CHECKPOINT, Action.KILL, Action.RETRY)
)


def act(policy: Heuristic, kind: str, /, **fields: float) -> int:
    """The answer to a decision at which all is legal; counts and minutes as they are."""
    observation: npt.NDArray[np.float32] = np.zeros(len(FIELDS), dtype=np.float32)
    for name, value in fields.items():
        logarithmic = FIELDS[INDEX[name]].unit in ("log2", "log2 min")
        observation[INDEX[name]] = np.log2(1 + value) if logarithmic else value
    observation[INDEX[kind]] = 1
    observation[-len(Action) :] = 1
    return int(policy.predict(observation)[0])


class TestBackOff:
    def test_leaves_six_failures_to_the_cluster_and_gives_up_at_the_seventh(self) -> None:
        answers = [act(BackOff(), "failed", failures=n) for n in (1, 6, 7, 20)]
        assert answers == [CONTINUE, CONTINUE, KILL, KILL]
        assert act(BackOff(), "failed", failures=7, actions_taken=1) == CONTINUE
        assert act(BackOff(), "window", failures=9) == CONTINUE

    def test_may_restart_at_once(self) -> None:
        policy = BackOff(limit=2, restart="at_once")
        assert [act(policy, "failed", failures=n) for n in (1, 2, 3)] == [RETRY, RETRY, KILL]

    def test_gives_up_at_once_for_the_cause_that_it_is_told(self) -> None:
        memory, sibling = {"memory_ratio": 1.2}, {"sibling_failed": 1.0}
        cases: Any = (("memory", memory, sibling), ("sibling", sibling, memory))
        for cause, own, other in cases:
            policy = BackOff(fail_on=cause)
            assert act(policy, "failed", failures=1, **own) == KILL
            assert act(policy, "failed", failures=1, **other) == CONTINUE
            assert act(BackOff(), "failed", failures=1, **own) == CONTINUE

    @pytest.mark.parametrize("wrong", [{"limit": -1}, {"fail_on": "exit"}, {"restart": "later"}])
    def test_refuses_what_makes_no_sense(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=f"^{next(iter(wrong))}: expected"):
            BackOff(**wrong)


class TestOptimalStopping:
    @staticmethod
    def at(policy: OptimalStopping, chance: float, x: float, **fields: float) -> int:
        given = {"age": 100.0, **fields}
        return act(policy, "window", chance_of_finish=chance, age_over_expected=x, **given)

    @pytest.mark.parametrize("weight", [1.0, 8.0, 50.0])
    @pytest.mark.parametrize("x", [0.1, 0.4, 0.8])
    def test_kills_where_going_on_wastes_more_than_the_kill_forfeits(
        self, weight: float, x: float
    ) -> None:
        """With an expected duration of 1, for chances of finishing around the threshold."""
        policy = OptimalStopping(weight=weight)
        for q in np.linspace(0.01, 0.6, 40):
            going_on, killing = (1 - q) * (1 - x), q * (x + weight)
            expected = KILL if going_on > killing else CONTINUE
            assert self.at(policy, float(q), x) == expected

    @pytest.mark.parametrize("age", [0.5, 1.0, 3.0, 5.0, 40.0])
    @pytest.mark.parametrize("q", [0.05, 0.2, 0.5])
    def test_is_optimal_if_what_is_left_has_no_memory(self, age: float, q: float) -> None:
        """Expected cost of a kill t later, by time left ~ Exp(mean): least at once, or never."""
        mean, weight = 3.0, 2.0
        t = np.linspace(0.0, 120.0, 4001)
        alive = np.exp(-t / mean)
        unfinished = (1 - q) * (age * (1 - alive) + mean - alive * (t + mean))
        cost = unfinished + alive * (age + t + q * weight * (age + t + mean))
        at_once, never = cost[0], (1 - q) * (age + mean)
        assert min(at_once, never) <= np.min(cost) + 1e-9
        policy = OptimalStopping(weight=weight, patience=0.0)
        assert (self.at(policy, q, age / (age + mean)) == KILL) == (at_once < never)

    def test_combines_forecast_and_class_in_odds(self) -> None:
        """The odds 1/4 of the class, times those of the forecast over those of the prior."""
        policy = OptimalStopping(weight=0.0, prior=0.65)
        threshold = 0.25 * (0.4 / 0.6) / (0.65 / 0.35)
        x = 1 / (1 + threshold)  # odds x = 1 - x
        assert self.at(policy, 0.2, x - 0.01, confidence_finish=0.4) == KILL
        assert self.at(policy, 0.2, x + 0.01, confidence_finish=0.4) == CONTINUE
        assert self.at(policy, 0.2, x - 0.01) == CONTINUE  # no forecast: the class alone
        indifferent = OptimalStopping(weight=0.0, trust=0.0)
        answers = [self.at(indifferent, 0.2, 0.79, confidence_finish=c) for c in (0.1, 0.9)]
        assert answers == [KILL, KILL]

    def test_kills_armed_or_not_but_nothing_young_or_finished(self) -> None:
        hopeless = {"chance": 0.01, "x": 0.1}
        policy = OptimalStopping(patience=56.0)
        assert self.at(policy, **hopeless) == self.at(policy, **hopeless, armed=1) == KILL
        assert self.at(policy, **hopeless, age=55.0) == CONTINUE
        assert self.at(policy, **hopeless, age=56.0) == KILL
        assert self.at(policy, chance=0.01, x=1.0) == self.at(policy, chance=0.01, x=9.0)
        assert self.at(policy, chance=0.01, x=1.0) == CONTINUE  # nothing is left to waste
        assert self.at(OptimalStopping(patience=0.0), 0.01, 0.0, age=0.0) == CONTINUE
        assert act(policy, "failed", age=100.0, chance_of_finish=0.01) == CONTINUE

    @pytest.mark.parametrize(
        "wrong", [{"weight": -1.0}, {"prior": 1.0}, {"trust": -0.5}, {"patience": -1.0}]
    )
    def test_refuses_what_makes_no_sense(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=f"^{next(iter(wrong))}: expected"):
            OptimalStopping(**wrong)


class TestLemonNodes:
    def test_passes_over_a_machine_that_failed_often(self) -> None:
        policy = LemonNodes(failures=10)
        assert act(policy, "dispatch", machine_failures=10, free=3) == RETRY
        assert act(policy, "dispatch", machine_failures=9, free=3) == CONTINUE
        assert act(policy, "window", machine_failures=99, free=3) == CONTINUE

    @pytest.mark.parametrize("free", [1, 2, 3, 8])
    @pytest.mark.parametrize("refusals", [0, 1, 2, 16])
    def test_never_passes_every_machine(self, free: int, refusals: int) -> None:
        """All of them lemons, offered one after the other as long as they are refused."""
        policy, rank = LemonNodes(refusals=refusals), 0
        while act(policy, "dispatch", machine_failures=200, free=free, offer_rank=rank) == RETRY:
            rank += 1
        assert rank == min(refusals, free - 1)

    @pytest.mark.parametrize("wrong", [{"failures": -1}, {"refusals": -1}])
    def test_refuses_what_makes_no_sense(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=f"^{next(iter(wrong))}: expected at least 0"):
            LemonNodes(**wrong)


@pytest.mark.parametrize("kind", [GracePeriod, ImmediateKill])
def test_the_weight_of_finish_shifts_what_is_predicted(kind: Any) -> None:
    even = {"confidence_finish": 0.45, "confidence_kill": 0.55}
    assert act(kind(), "window", **even) == KILL
    assert act(kind(finish_weight=1.3), "window", **even) == CONTINUE
    other = {"confidence_finish": 0.6, "confidence_kill": 0.4}
    assert act(kind(), "window", **other) == CONTINUE
    assert act(kind(finish_weight=0.5), "window", **other) == KILL
    with pytest.raises(ValueError, match="finish_weight: expected a positive number"):
        kind(finish_weight=0.0)


def test_a_longer_blind_limit_spares_what_is_younger() -> None:
    policy = BlindKill(limit=3.0)
    assert [act(policy, "window", age_over_grace=a) for a in (0, 2.9, 3)] == [
        *(CONTINUE, CONTINUE, KILL)
    ]
    assert act(BlindKill(), "window") == KILL
    with pytest.raises(ValueError, match="limit: expected 1 to 64"):
        BlindKill(limit=0.5)


def test_periodic_outputs_may_ask_for_more_intervals() -> None:
    policy = PeriodicOutputs(intervals=2)
    assert act(policy, "output", unsaved_over_young=1) == CONTINUE
    assert act(policy, "output", unsaved_over_young=2) == CHECKPOINT
    with pytest.raises(ValueError, match="intervals: expected at least 1"):
        PeriodicOutputs(intervals=0)
