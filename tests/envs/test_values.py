"""Values of tasks and the price of waiting, as an environment charges them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from failgym.baselines import GiveUp, Replay, RetryCap
from failgym.cli.values import read_value
from failgym.envs import TERMS, Scenario, resolve
from failgym.evaluation import Anchors
from failgym.evaluation.runner import run_policy
from failgym.traces import Cause, Outcome
from failgym.worlds.build import build_world, split_of

FAILING: dict[str, Any] = {"trace": "google-2011-failing", "jobs": 250}
"""A record of which few jobs hold many tasks that fail."""
FORFEITED, COMPLETION = TERMS.index("forfeited"), TERMS.index("completion")


def costs(policy: Any, **fields: Any) -> tuple[Any, Any]:
    """Cost of the slices by term, and outcomes."""
    scenario = resolve("Cloning-v1", {**FAILING, **fields})
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


def worthless(scenario: Scenario, tasks: Any) -> Any:
    """Which of these tasks have no value: the data cut them, or their user killed them in the end.

    Counted from the trace: the row that ends last, by (end, position), has cause USER.
    """
    trace = split_of(scenario, scenario.split)
    task, end = trace.column("attempts", "task"), trace.column("attempts", "end", missing=-1)
    by_user = trace.column("attempts", "cause", missing=-1) == Cause.USER
    fate, none = trace.task_outcome, []
    for one in tasks.tolist():
        rows = np.flatnonzero(task == one)
        last = rows[np.lexsort((rows, end[rows]))[-1]]
        killed = fate[one] != Outcome.FINISH and by_user[last]
        none.append(fate[one] == Outcome.CENSORED or killed)
    return np.array(none)


def test_replay_forfeits_exactly_what_the_record_does_not_finish_and_has_a_value() -> None:
    fields = {**FAILING, "jobs": 400}
    scenario = resolve("GracePeriod-v1", fields)
    anchors = Anchors.of(scenario)
    scored, outcomes = anchors.measure(anchors.replay), anchors.replay.outcomes
    none = worthless(anchors.scenario, outcomes["task"])
    unfinished = outcomes["recorded_outcome"] != Outcome.FINISH
    assert (none & unfinished).sum() > 3
    assert scored.forfeited == (unfinished & ~none).sum() > 50
    worth_nothing = Anchors.of(replace(scenario, task_value=0.0))
    assert worth_nothing.measure(worth_nothing.replay).forfeited == 0


def test_a_scheduled_world_counts_what_did_not_finish_and_has_a_value() -> None:
    few = {"jobs": 2_000, "slice_tasks": 64, "warmup": 16, "followers": 32}
    fields = {**FAILING, **few}
    anchors = Anchors.of(resolve("Mitigation-v1", fields), episodes=8)
    outcomes = anchors.replay.outcomes
    none = worthless(anchors.scenario, outcomes["task"])
    unfinished = outcomes["outcome"] != Outcome.FINISH
    assert (none & unfinished).sum() > 3
    assert anchors.measure(anchors.replay).forfeited == (unfinished & ~none).sum() > 50


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
    paid, outcomes = costs(Replay(), task_value=None)
    assert (outcomes["outcome"] != Outcome.FINISH).sum() > 50
    assert (paid[:, FORFEITED] == 0.0).all()


def test_waiting_is_priced_in_machine_time() -> None:
    scenario: Scenario = resolve("Cloning-v1", {**FAILING, "waiting_price": 0.5})
    p = build_world(scenario).tables.parameters[0]  # pyright: ignore
    assert p["completion"] == pytest.approx(0.5 * p["wasted"])
    half, _ = costs(Replay(), waiting_price=0.5)
    whole, _ = costs(Replay(), waiting_price=1.0)
    assert whole[:, COMPLETION] == pytest.approx(2.0 * half[:, COMPLETION])


def test_a_value_needs_a_record_that_goes_on() -> None:
    with pytest.raises(
        ValueError, match=r"^task_value: expected task_value=None unless beyond_rec"
    ):
        gym.make("failgym/Cloning-v1", jobs=200, beyond_record="ghost", restarts="limit")
    for wrong in (-1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"^task_value: expected at least 0, finite"):
            resolve("Cloning-v1", {"task_value": wrong})
    with pytest.raises(ValueError, match=r"^waiting_price: expected float, got 'much'"):
        resolve("Cloning-v1", {"waiting_price": "much"})


def test_both_are_read_from_the_command_line() -> None:
    assert read_value("task_value", "4", float | None) == 4.0
    assert read_value("task_value", "none", float | None) is None


def test_the_reward_is_minus_the_change_of_all_terms() -> None:
    env = gym.make("failgym/Cloning-v1", **FAILING)
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
