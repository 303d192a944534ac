"""The rules that save outputs, and those that place tasks, on observations made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from failgym.baselines import (
    Aware,
    CheckpointAll,
    Flaw,
    Greedy,
    Heuristic,
    PeriodicOutputs,
    RankHybd,
    Size,
)
from failgym.sim.shared.fields import FIELDS, INDEX
from failgym.traces import Meta, Trace
from failgym.vocabulary import Action

CONTINUE, CHECKPOINT, RETRY = int(Action.CONTINUE), int(Action.CHECKPOINT), int(Action.RETRY)
LOG2_MINUTES = {"recomputation_cost", "checkpoint_p95"}


def observe(kind: str, **fields: float) -> npt.NDArray[np.float32]:
    """A decision at which all is legal; times in minutes, and the level as a count."""
    observation = np.zeros(len(FIELDS), dtype=np.float32)
    for name, value in fields.items():
        logarithmic = name in LOG2_MINUTES or name == "level"
        observation[INDEX[name]] = np.log2(1 + value) if logarithmic else value
    observation[INDEX[kind]] = 1
    observation[-len(Action) :] = 1
    return observation


def act(policy: Heuristic, kind: str = "output", **fields: float) -> int:
    action, _ = policy.predict(observe(kind, **fields))
    return int(action)


def below(value: float) -> float:
    """The next smaller number of an observation."""
    return float(np.nextafter(np.float32(value), np.float32(0)))


@pytest.mark.parametrize(
    "policy", [CheckpointAll(), Greedy(), Size(), Aware(), PeriodicOutputs()], ids=lambda p: p.name
)
def test_outputs_are_saved_at_output_decisions_only(policy: Heuristic) -> None:
    fields: dict[str, Any] = {
        "level": 3.0,
        "recomputation_cost": 9.0,
        "runtime_over_median": 9.0,
        "unsaved_over_young": 9.0,
    }
    assert act(policy, "output", **fields) == CHECKPOINT
    for kind in ("window", "failed", "dispatch"):
        assert act(policy, kind, **fields) == CONTINUE


def test_checkpoint_all_saves_everything() -> None:
    assert act(CheckpointAll()) == CHECKPOINT


class TestGreedy:
    def test_saves_until_a_tenth_of_the_input_is_saved(self) -> None:
        assert act(Greedy(), stage_budget=0.0) == CHECKPOINT
        assert act(Greedy(), stage_budget=below(0.1)) == CHECKPOINT
        assert act(Greedy(), stage_budget=0.1) == CONTINUE
        assert act(Greedy(), stage_budget=0.5) == CONTINUE

    def test_saves_nothing_of_a_stage_that_reads_nothing_from_others(self) -> None:
        assert act(Greedy(), stage_budget=1.0) == CONTINUE
        assert act(Greedy(budget=1.0), stage_budget=1.0) == CONTINUE

    def test_the_budget_is_a_share(self) -> None:
        assert act(Greedy(budget=0.0), stage_budget=0.0) == CONTINUE
        assert act(Greedy(budget=1.0), stage_budget=0.99) == CHECKPOINT
        for budget in (-0.1, 1.1, float("nan")):
            with pytest.raises(ValueError, match=r"budget: expected a share in \[0, 1\]"):
                Greedy(budget=budget)


class TestSize:
    def test_saves_from_one_and_a_half_medians_on(self) -> None:
        assert act(Size(), runtime_over_median=1.5) == CHECKPOINT
        assert act(Size(), runtime_over_median=below(1.5)) == CONTINUE
        assert act(Size(multiplier=2.0), runtime_over_median=1.9) == CONTINUE

    def test_the_first_task_of_a_job_is_its_own_median(self) -> None:
        assert act(Size(), runtime_over_median=1.0) == CONTINUE
        assert act(Size(), runtime_over_median=0.0) == CONTINUE

    def test_the_multiplier_is_positive(self) -> None:
        for multiplier in (0.0, -1.0, float("nan")):
            with pytest.raises(ValueError, match="multiplier: expected a positive number"):
                Size(multiplier=multiplier)


class TestAware:
    def test_saves_what_costs_more_to_recompute_than_to_save(self) -> None:
        saved: dict[str, Any] = {"level": 2.0, "checkpoint_p95": 4.0}
        assert act(Aware(), recomputation_cost=2.1, **saved) == CHECKPOINT
        assert act(Aware(), recomputation_cost=1.9, **saved) == CONTINUE

    def test_a_saving_of_nothing_is_no_saving(self) -> None:
        assert act(Aware(), level=3, recomputation_cost=1.0, checkpoint_p95=3.0) == CONTINUE
        assert act(Aware(), level=3, recomputation_cost=0.0, checkpoint_p95=0.0) == CONTINUE

    def test_shares_the_cost_over_the_level(self) -> None:
        costs: dict[str, Any] = {"recomputation_cost": 1.0, "checkpoint_p95": 4.5}
        assert [act(Aware(), level=level, **costs) for level in (2, 3, 4, 5, 9)] == [
            *([CONTINUE] * 3),
            *([CHECKPOINT] * 2),
        ]

    def test_the_first_waves_of_a_stage_are_free(self) -> None:
        assert act(Aware(), level=2, recomputation_cost=1 / 60_000) == CHECKPOINT

    def test_stages_one_hop_from_the_input_are_never_saved(self) -> None:
        for level in (0, 1):
            assert act(Aware(), level=level, recomputation_cost=1e6) == CONTINUE

    def test_weighs_with_the_probability_of_failure(self) -> None:
        costs: dict[str, Any] = {"level": 2.0, "recomputation_cost": 4.0, "checkpoint_p95": 4.0}
        assert act(Aware(probability=0.6), **costs) == CHECKPOINT
        assert act(Aware(probability=0.4), **costs) == CONTINUE
        assert act(Aware(probability=0.0), level=2, recomputation_cost=4.0) == CONTINUE
        with pytest.raises(ValueError, match="probability: expected a probability, got 2"):
            Aware(probability=2)

    def test_takes_the_probability_from_a_log(self) -> None:
        outages = {"machine": [0, 0, 1, 2], "down": [5, 7, 20, 9], "up": [6, 8, 30, None]}
        trace = trace_of(machines=4, outages=outages)
        assert Aware.of_outages(trace, 0, 10).probability == 0.5  # machine 0 twice, machine 2
        assert Aware.of_outages(trace, 9, 11).probability == 0.25
        assert Aware.of_outages(trace, 9, 12).probability == 0.5
        assert Aware.of_outages(trace, 0).probability == 0.75
        assert Aware.of_outages(trace, 21).probability == 0.0

    def test_a_log_has_machines_and_an_interval_a_length(self) -> None:
        with pytest.raises(ValueError, match="trace: expected machines"):
            Aware.of_outages(trace_of(machines=0, outages={}), 0)
        with pytest.raises(ValueError, match="length: expected at least 1 ms, got 0"):
            Aware.of_outages(trace_of(machines=1, outages={}), 0, 0)


def trace_of(machines: int, outages: dict[str, list[int] | list[int | None]]) -> Trace:
    """A trace of machines and their outages."""
    ids = [f"machine {i}" for i in range(machines)]
    rows = {"original_id": ids, "speed": [1.0] * machines} if machines else {}
    return Trace.of(Meta("log"), machines=rows, outages=outages)


def test_periodic_saves_what_was_under_way_when_an_interval_ended() -> None:
    assert act(PeriodicOutputs(), unsaved_over_young=0.0) == CONTINUE
    assert act(PeriodicOutputs(), unsaved_over_young=below(1.0)) == CONTINUE
    assert act(PeriodicOutputs(), unsaved_over_young=1.0) == CHECKPOINT
    assert act(PeriodicOutputs(), unsaved_over_young=7.0) == CHECKPOINT


class TestPlacing:
    def test_rank_hybd_takes_the_first_machine(self) -> None:
        for doomed in (0, 1):
            assert act(RankHybd(), "dispatch", predicted_to_fail=doomed) == CONTINUE

    def test_flaw_passes_over_machines_that_are_predicted_to_fail(self) -> None:
        assert act(Flaw(), "dispatch", predicted_to_fail=1) == RETRY
        assert act(Flaw(), "dispatch", predicted_to_fail=0) == CONTINUE
        assert act(Flaw(), "dispatch", predicted_to_fail=1, offer_rank=9) == RETRY
        assert act(Flaw(), "dispatch", machine_failures=5) == CONTINUE

    def test_flaw_leaves_other_decisions_alone(self) -> None:
        for kind in ("window", "failed", "output"):
            assert act(Flaw(), kind, predicted_to_fail=1) == CONTINUE
