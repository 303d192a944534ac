"""Values of tasks and the price of waiting, as an environment charges them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from failgym.baselines import GiveUp, Replay, RetryCap
from failgym.cli.values import read_value
from failgym.envs import TERMS, Scenario, resolve
from failgym.evaluation.runner import run_policy
from failgym.traces import Outcome
from failgym.worlds.build import build_world

CONTINUED: dict[str, Any] = {
    "beyond_record": "continued",
    "restarts": "record",
    "jobs": 250,
    "weight_forfeited": 1.0,
    "weight_wasted": 1.0,
}
FORFEITED, COMPLETION = TERMS.index("forfeited"), TERMS.index("completion")


def costs(policy: Any, **fields: Any) -> tuple[Any, Any]:
    """Cost of the slices by term, and outcomes."""
    scenario = resolve("Cloning-v1", {**CONTINUED, **fields})
    run = run_policy(build_world(scenario), scenario, policy, order="task")
    return run.costs, run.outcomes


def test_replay_forfeits_what_the_record_failed_at_its_value() -> None:
    paid, outcomes = costs(Replay(), task_value=4.0)
    failed = (outcomes["outcome"] != Outcome.FINISH).sum()
    assert failed > 50
    assert paid[:, FORFEITED].sum() > 0.0
    twice, _ = costs(Replay(), task_value=8.0)
    assert twice[:, FORFEITED] == pytest.approx(2.0 * paid[:, FORFEITED])
    assert np.delete(twice, FORFEITED, 1) == pytest.approx(np.delete(paid, FORFEITED, 1))


def test_rescues_gain_what_false_kills_lose() -> None:
    replayed, record = costs(Replay(), task_value=4.0)
    for policy in (RetryCap(retries=4), GiveUp()):
        paid, outcomes = costs(policy, task_value=4.0)
        assert (outcomes["task"] == record["task"]).all()
        finished, before = (x["outcome"] == Outcome.FINISH for x in (outcomes, record))
        rescued, lost = (finished & ~before).sum(), (~finished & before).sum()
        change = paid[:, FORFEITED].sum() - replayed[:, FORFEITED].sum()
        if isinstance(policy, GiveUp):
            assert rescued == 0 < lost
            assert change > 0.0
        else:
            assert lost == 0 < rescued
            assert change < 0.0


def test_without_a_value_nothing_changes() -> None:
    paid, _ = costs(Replay())
    assert (paid[:, FORFEITED] == 0.0).all()


def test_waiting_is_priced_in_machine_time() -> None:
    scenario: Scenario = resolve("Cloning-v1", {**CONTINUED, "waiting_price": 0.5})
    p = build_world(scenario).tables.parameters[0]  # pyright: ignore
    assert p["completion"] == pytest.approx(0.5 * p["wasted"])
    half, _ = costs(Replay(), waiting_price=0.5)
    whole, _ = costs(Replay(), waiting_price=1.0)
    assert whole[:, COMPLETION] == pytest.approx(2.0 * half[:, COMPLETION])


def test_a_value_needs_a_record_that_goes_on() -> None:
    with pytest.raises(ValueError, match=r"^task_value: expected None unless beyond_record is"):
        gym.make("failgym/Cloning-v1", jobs=200, task_value=4.0)
    for wrong in (-1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"^task_value: expected at least 0, finite"):
            resolve("Cloning-v1", {**CONTINUED, "task_value": wrong})
    with pytest.raises(ValueError, match=r"^waiting_price: expected float, got 'much'"):
        resolve("Cloning-v1", {"waiting_price": "much"})


def test_both_are_read_from_the_command_line() -> None:
    assert read_value("task_value", "4", float | None) == 4.0
    assert read_value("task_value", "none", float | None) is None


def test_the_reward_is_minus_the_change_of_all_terms() -> None:
    fields: dict[str, Any] = {**CONTINUED, "task_value": 4.0, "waiting_price": 1.0}
    env = gym.make("failgym/Cloning-v1", **fields)
    rng = np.random.default_rng(0)
    for episode in range(5):
        _, info = env.reset(seed=episode)
        total, ended = np.zeros(len(TERMS)), False
        while not ended:
            action = rng.choice(np.flatnonzero(info["action_mask"]))
            _, reward, ended, _, info = env.step(int(action))
            assert float(reward) == pytest.approx(info["reward_terms"].sum(), abs=1e-9)
            total -= info["reward_terms"]
        assert (total >= -1e-9).all()
        assert total[TERMS.index("others")] == 0.0
