"""Evaluation: lanes, conventions of stable-baselines3, scores, and the comparison with a record."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest

import failgym
from failgym.baselines import REGISTRY, GiveUp, RandomPolicy, Replay, Young
from failgym.envs import SCENARIOS, Scenario, resolve
from failgym.evaluation import (
    Anchors,
    Record,
    compare,
    evaluate,
    run_policy,
    score,
    whole_trace_world,
)
from failgym.evaluation.statistics import resampling
from failgym.predictors import Perfect, save_forecast
from failgym.sim.pinned.records import World
from failgym.sim.shared.rules import Rules
from failgym.traces import Cause, Meta, Outcome, Trace, toy
from failgym.traces.synthetic import generate
from failgym.vocabulary import ACTIONS, TERMS, Action
from failgym.worlds.build import build_world
from failgym.worlds.source import whole_trace
from tests.chains import single_jobs
from tests.envs.worlds import small

assert failgym  # importing it registers the environments

PINNED = [name for name, scenario in SCENARIOS.items() if scenario.world == "pinned"]
SCHEDULED = [name for name, scenario in SCENARIOS.items() if scenario.world == "scheduled"]
CHECKPOINT = resolve("Checkpoint-v1", {"jobs": 400, "slice_tasks": 8})
GRACE = resolve("GracePeriod-v1", {"jobs": 400, "slice_tasks": 16})


def small_scenario(name: str) -> Scenario:
    return resolve(name, {**small(f"failgym/{name}"), "split": "test"})


def nothing(world: World, rules: Rules, tasks: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """A bound that needs no baseline: nothing costs anything."""
    return np.zeros((len(tasks), len(TERMS)))


class Recurrent:
    """Answers by its own count of the decisions of the episode, as a recurrent model would."""

    name = "recurrent"

    def __init__(self) -> None:
        self.calls = 0

    def predict(
        self,
        observation: npt.NDArray[np.float32],
        state: Any = None,
        episode_start: npt.NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        single = observation.ndim == 1
        batch = np.atleast_2d(observation)
        starts = np.zeros(len(batch), bool) if episode_start is None else np.asarray(episode_start)
        if state is None:
            state = (np.zeros((1, len(batch), 1)),)
        assert state[0].shape[1] == len(batch) == len(np.atleast_1d(starts))
        count = np.where(starts[None, :, None], 0, state[0]) + 1
        actions = np.where(count[0, :, 0] % 3 == 0, 2, 0).astype(np.int64)
        self.calls += 1
        return (actions[0] if single else actions), (count,)


def zeros(n: int) -> Any:
    return np.zeros(n, np.int64)


def fours(n: int) -> Any:
    return np.full(n, 4)


class Constant:
    """Answers whatever it was made with, and remembers how it was asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: dict[str, Any] = {}

    def predict(self, observation: Any, **asked: Any) -> tuple[Any, Any]:
        self.asked = asked
        return self.answer(len(observation)), None


def rollout(scenario: Scenario, policy: Any, index: int) -> tuple[float, dict[str, Any]]:
    """Cost and outcomes of one slice through the single environment."""
    env: Any = gym.make(f"failgym/{scenario.name}").unwrapped
    env = type(env)(scenario)
    obs, _ = env.reset(seed=1, options={"slice": index})
    state, start, total = None, np.ones(1, bool), 0.0
    while True:
        action, state = policy.predict(obs, state=state, episode_start=start, deterministic=True)
        obs, reward, ended, _, _ = env.step(action)
        total, start = total - reward, np.zeros(1, bool)
        if ended:
            return total, env.outcomes()


@pytest.mark.parametrize("make", [lambda: RandomPolicy(seed=3), Recurrent])
def test_lanes_give_what_single_episodes_give(make: Any) -> None:
    world = build_world(CHECKPOINT)
    slices = np.arange(min(9, world.slices))[::-1]
    run = run_policy(world, CHECKPOINT, make(), slices, lanes=4)
    alone = [rollout(CHECKPOINT, make(), int(i)) for i in slices]
    np.testing.assert_allclose(run.costs.sum(axis=1), [cost for cost, _ in alone], rtol=1e-12)
    for name in run.outcomes:
        together = np.concatenate([outcomes[name] for _, outcomes in alone])
        np.testing.assert_array_equal(run.outcomes[name], together)
    assert run.decisions == run.outcomes["decisions"].sum()


def test_the_number_of_lanes_changes_nothing() -> None:
    world = build_world(CHECKPOINT)
    runs = [run_policy(world, CHECKPOINT, Recurrent(), lanes=n) for n in (1, 3, 7, 1000)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.costs, runs[0].costs)
        for name, values in run.outcomes.items():
            np.testing.assert_array_equal(values, runs[0].outcomes[name])
        assert run.decisions == runs[0].decisions


def test_a_policy_is_called_once_per_step_for_all_lanes() -> None:
    world = build_world(CHECKPOINT)
    one, many = Recurrent(), Recurrent()
    run = run_policy(world, CHECKPOINT, one, lanes=1)
    run_policy(world, CHECKPOINT, many, lanes=1000)
    assert one.calls == run.decisions
    assert many.calls < run.decisions / 4


class Refusing:
    """Refuses every machine that it is offered."""

    def predict(self, observation: Any, **more: Any) -> tuple[Any, None]:
        return np.full(len(observation), Action.RETRY), None


def test_who_refuses_for_ever_is_overruled_once_patience_ends() -> None:
    scenario = small_scenario("Workflow-v1")
    world = build_world(scenario)
    replay = run_policy(world, scenario, Replay())
    nothing = run_policy(world, scenario, Refusing(), patience=0)
    assert (nothing.costs == replay.costs).all()
    assert nothing.overruled
    refusing = run_policy(world, scenario, Refusing())
    few = run_policy(world, scenario, Refusing(), patience=20)
    assert few.overruled
    assert few.costs.sum() not in (replay.costs.sum(), refusing.costs.sum())
    many = run_policy(world, scenario, Refusing(), patience=10**9)
    assert (many.costs == refusing.costs).all()
    assert not many.overruled
    assert not refusing.overruled


def test_masks_are_given_to_those_who_take_them() -> None:
    world = build_world(GRACE)
    policy = Constant(zeros)
    run_policy(world, GRACE, policy, np.array([0]))
    assert policy.asked["action_masks"].shape == (1, ACTIONS)
    assert policy.asked["action_masks"].dtype == np.bool_
    assert run_policy(world, GRACE, Recurrent(), np.array([0])).decisions > 0


def test_illegal_actions_are_counted() -> None:
    world = build_world(GRACE)
    run = run_policy(world, GRACE, Constant(fours), np.array([0]))
    replayed = run_policy(world, GRACE, Replay(), np.array([0]))
    assert run.illegal == run.decisions == replayed.decisions
    np.testing.assert_array_equal(run.costs, replayed.costs)


WRONG_ANSWERS: list[tuple[Callable[[int], Any], str]] = [
    (lambda n: np.zeros((n, 1), np.int64), "shape"),
    (lambda n: np.zeros(n + 1, np.int64), "shape"),
    (lambda n: np.zeros(n), "whole numbers"),
    (lambda n: np.full(n, 5), "from 0 to 4, got 5"),
    (lambda n: np.full(n, -1), "from 0 to 4, got -1"),
]


@pytest.mark.parametrize(("answer", "expected"), WRONG_ANSWERS)
def test_a_wrong_answer_names_the_policy(answer: Any, expected: str) -> None:
    with pytest.raises(ValueError, match=rf"policy 'broken'.*{expected}"):
        run_policy(build_world(GRACE), GRACE, Constant(answer), name="broken")


class Returning:
    """Returns one thing from predict, whatever it is; raises it if it is an exception."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def predict(self, observation: Any, **_: Any) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


WRONG_RETURNS: list[tuple[Any, str]] = [
    (KeyError("x"), "predict raised KeyError: 'x'"),
    (SystemExit(3), "predict raised SystemExit: 3"),
    (None, r"expected \(actions, state\) from predict, got NoneType"),
    (np.zeros(2, np.int64), "got ndarray"),
    (([[0], [0, 1]], None), "whole numbers"),
    ((None, None), "whole numbers"),
]


@pytest.mark.parametrize(("answer", "expected"), WRONG_RETURNS)
def test_whatever_a_policy_does_its_name_is_said(answer: Any, expected: str) -> None:
    with pytest.raises(ValueError, match=rf"policy 'Returning'.*{expected}"):
        evaluate(Returning(answer), GRACE, episodes=2, bound=nothing)


def test_want_of_memory_is_not_the_policy_s_fault() -> None:
    with pytest.raises(MemoryError):
        run_policy(build_world(GRACE), GRACE, Returning(MemoryError()), np.array([0]))


@pytest.mark.parametrize(
    ("nobody", "name", "found"),
    [(7, "int", "7"), ("young", "str", "young"), (Young, "young", "Young")],
)
def test_what_has_no_predict_is_refused_by_name(nobody: Any, name: str, found: str) -> None:
    """A number; the name of a rule; a class, whose objects have one."""
    expected = rf"policy '{name}': expected an object with a method predict, .*got .*{found}"
    with pytest.raises(ValueError, match=expected):
        run_policy(build_world(GRACE), GRACE, nobody, np.array([0]))


@pytest.mark.parametrize("slices", [[], [-1], [10**6]])
def test_slices_must_exist(slices: list[int]) -> None:
    with pytest.raises(ValueError, match="slices"):
        run_policy(build_world(GRACE), GRACE, Replay(), np.array(slices, np.int64))


@pytest.mark.parametrize("name", PINNED)
def test_replay_scores_0_and_the_bound_100(name: str) -> None:
    anchors = Anchors.of(resolve(name, {"jobs": 3_000}), episodes=5, bound=nothing)
    replay, best = anchors.measure(anchors.run(Replay())), anchors.clairvoyant()
    assert (replay.score, replay.low, replay.high) == (0.0, 0.0, 0.0)
    assert (best.score, best.low, best.high) == (100.0, 100.0, 100.0)
    assert (replay.completion_ratio, replay.false_kills) == (1.0, 0)
    outcomes = anchors.replay.outcomes
    valued = anchors.world.tables.tasks["forfeits"][outcomes["task"]]
    assert replay.forfeited == (valued & (outcomes["recorded_outcome"] != Outcome.FINISH)).sum()
    assert replay.wasted_work in (1.0, pytest.approx(float("nan"), nan_ok=True))


def test_the_score_is_a_ratio_of_sums_over_slices() -> None:
    replay, policy, bound = np.array([10.0, 30.0]), np.array([8.0, 20.0]), np.array([0.0, 16.0])
    assert score(replay, policy, bound).value == pytest.approx(100 * 12 / 24)
    same = score(replay, policy, bound, seed=1)
    assert same == score(replay, policy, bound, seed=1)
    assert same.low <= same.value <= same.high
    assert np.isnan(score(replay, policy, replay).value)


@pytest.mark.parametrize("room", [0.0, -1e-12, 1e-14, 0.99])
def test_where_the_bound_saves_next_to_nothing_there_is_no_score(room: float) -> None:
    """Less than a hundredth of what replay spends: what is left is rounding and luck."""
    replay, spent = np.full(20, 60.0), np.full(20, 100.0)
    policy, bound = replay + 0.5, replay - room
    assert np.isnan(score(replay, policy, bound, spent=spent)).all()
    assert score(replay, policy, replay - 1.01, spent=spent).value == pytest.approx(-50.0 / 1.01)


def test_room_that_hangs_on_one_slice_gives_no_interval() -> None:
    bound = np.where(np.arange(12) == 5, 0.0, 10.0)
    found = score(np.full(12, 10.0), np.full(12, 9.9), bound)
    assert found.value == pytest.approx(12.0)
    assert np.isnan([found.low, found.high]).all()


def hopeless() -> Trace:
    """Jobs of one attempt, every fourth of which fails for good: nothing can be saved."""
    rows = np.arange(400)
    failed = rows % 4 == 0
    attempts: dict[str, Any] = {
        "task": rows.tolist(),
        "start": [0] * 400,
        "end": (36_000_000 + 60_000 * (rows % 10)).tolist(),
        "outcome": np.where(failed, Outcome.FAIL, Outcome.FINISH).tolist(),
        "cause": [Cause.INTRINSIC if fails else None for fails in failed.tolist()],
    }
    return single_jobs(attempts, 400)


def test_a_trace_on_which_nothing_can_be_saved_has_no_score_and_says_why() -> None:
    alone = CHECKPOINT.override(trace=hopeless(), forecast="none")
    result = evaluate(REGISTRY["young"](), alone, split="all")
    assert result.checkpoint_work > 0.0, "it does harm"
    assert np.isnan([result.score, result.low, result.high]).all()
    assert result.reason is not None
    assert result.reason.startswith("nothing to gain here: the bound saves 0.0 machine-hours")
    assert abs(result.room_share) < 1e-9
    written = result.to_json()
    assert [written[name] for name in ("score", "low", "high")] == [None] * 3
    assert written["reason"] == result.reason


def test_the_room_is_what_the_bound_saves_over_what_replay_spends() -> None:
    """Counted anew, in machine-hours, where nothing but work is charged for."""
    anchors = Anchors.of(GRACE)
    price = anchors.world.work_price
    outcomes, room = anchors.replay.outcomes, anchors.room
    work = sum(int(outcomes[name].sum()) for name in ("useful", "lost", "redundant", "ghost"))
    assert room.spent == pytest.approx(price * work)
    assert room.hours * 3_600_000 * price == pytest.approx(anchors.possible.sum())
    result = anchors.measure(anchors.replay)
    assert result.reason is None
    assert result.room_share == pytest.approx(result.room / (price * work))
    assert 0.01 < result.room_share < 1.0


def test_fewer_than_ten_sampling_units_are_marked() -> None:
    alone = replace(GRACE, slice_tasks=1)
    anchors = [Anchors.of(alone, episodes=9), Anchors.of(alone)]
    assert [a.measure(a.replay).few for a in anchors] == [True, False]
    assert anchors[0].measure(anchors[0].replay).to_json()["few"] is True


def test_the_interval_covers_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for trial in range(200):
        replay = rng.gamma(5.0, 2.0, 60)
        saved = replay * rng.uniform(0.2, 0.6, 60)
        got = score(replay, replay - saved, np.zeros(60), seed=trial)
        covered += got.low <= 40.0 <= got.high
    assert 178 <= covered <= 200


def test_the_bootstrap_takes_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    replay = rng.gamma(5.0, 2.0, 3_000)
    policy, bound = replay * rng.uniform(0.4, 0.8, 3_000), np.zeros(3_000)
    monkeypatch.setattr(resampling, "RESAMPLES", 400)
    at_once = score(replay, policy, bound)
    monkeypatch.setattr(resampling, "DRAWN_BYTES", 1 << 19)
    tracemalloc.start()
    in_parts = score(replay, policy, bound)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 << 19 < 400 * replay.nbytes
    np.testing.assert_allclose(in_parts, at_once, rtol=1e-12)


def test_slices_are_drawn_without_replacement_by_seed() -> None:
    drawn = [Anchors.of(GRACE, episodes=4, seed=s, bound=nothing).replay.slices for s in (0, 0, 1)]
    assert len(set(drawn[0].tolist())) == 4
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert drawn[0].tolist() != drawn[2].tolist()
    everything = Anchors.of(GRACE, episodes=10**9, bound=nothing).replay.slices
    np.testing.assert_array_equal(everything, np.arange(len(everything)))


WRONG_NUMBERS: list[dict[str, Any]] = [
    *({"episodes": wrong} for wrong in (0, -1, 2.5, "2", True)),
    *({"seed": wrong} for wrong in (-1, 1.5, None)),
    *({"lanes": wrong} for wrong in (0, -3, 2.0)),
]


@pytest.mark.parametrize("wrong", WRONG_NUMBERS)
def test_wrong_numbers_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected a whole number") as caught:
        evaluate(Replay(), GRACE, bound=nothing, **wrong)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong", [{"threads": -1}, {"threads": 0.5}, {"lanes": 0}, {"patience": -1}, {"patience": 2.5}]
)
def test_wrong_numbers_of_a_run_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected a whole number"):
        run_policy(build_world(GRACE), GRACE, Replay(), np.array([0]), **wrong)


def test_an_evaluation_is_json() -> None:
    result = evaluate(GiveUp(), small_scenario("Cloning-v1"), episodes=3, bound=nothing)
    written = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert written["env"] == "failgym/Cloning-v1"
    assert written["split"] == "test"
    assert set(written["costs"]) == set(TERMS)
    assert result.cost == pytest.approx(sum(result.costs.values()))


def test_the_orders_of_service_cost_the_same() -> None:
    merged = replace(CHECKPOINT, order="time")
    results = [
        evaluate(REGISTRY["young"](), scenario, bound=nothing) for scenario in (CHECKPOINT, merged)
    ]
    assert results[0].cost == pytest.approx(results[1].cost)
    assert results[0].forfeited == results[1].forfeited


def test_the_clairvoyant_costs_no_more_than_replay() -> None:
    for name in PINNED:
        anchors = Anchors.of(small_scenario(name), episodes=2)
        assert (anchors.bound.sum(axis=1) <= anchors.replay.costs.sum(axis=1) + 1e-9).all()


# --- The scheduled world --------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCHEDULED)
def test_no_policy_costs_less_than_the_bound(name: str) -> None:
    anchors = Anchors.of(small_scenario(name), episodes=6)
    assert anchors.bound_name == anchors.clairvoyant().policy == "bound"
    assert anchors.measure(anchors.replay).score == 0.0
    least = anchors.bound.sum(axis=1)
    for policy in (Replay(), RandomPolicy(), RandomPolicy(seed=1)):
        run = anchors.run(policy)
        assert (run.costs.sum(axis=1) >= least - 1e-9).all()
        evaluation = anchors.measure(run)
        assert evaluation.bound == "bound"
        assert evaluation.score <= 100.0
        assert evaluation.tasks == anchors.world.own_sizes[run.slices].sum()


@pytest.mark.parametrize("name", SCHEDULED)
def test_lanes_do_not_matter_in_the_scheduled_world(name: str) -> None:
    scenario = small_scenario(name)
    world, slices = build_world(scenario), np.arange(5)
    runs = [
        run_policy(world, scenario, RandomPolicy(), slices, order="time", lanes=lanes)
        for lanes in (1, 3)
    ]
    np.testing.assert_array_equal(runs[0].costs, runs[1].costs)
    for column, values in runs[0].outcomes.items():
        np.testing.assert_array_equal(values, runs[1].outcomes[column])


def test_an_episode_in_which_nothing_is_asked_costs_what_it_costs() -> None:
    asked = replace(small_scenario("Workflow-v1"), node_forecast="none")
    anchors = [Anchors.of(replace(asked, place=place), episodes=4) for place in (True, False)]
    placed, silent = (a.replay.costs for a in anchors)
    assert anchors[1].replay.decisions == 0
    np.testing.assert_array_equal(silent, placed)
    assert (silent.sum(axis=1) >= anchors[1].bound.sum(axis=1)).all()


@pytest.mark.parametrize("name", SCHEDULED)
def test_completion_is_relative_to_what_ran_in_the_record(name: str) -> None:
    """Nothing of Lineage's and Workflow's traces ever ran: only lengths of tasks are known."""
    anchors = Anchors.of(small_scenario(name), episodes=4)
    ratio = anchors.measure(anchors.replay).completion_ratio
    assert np.isnan(ratio) == (name != "Mitigation-v1")
    scenario = anchors.scenario
    world = whole_trace_world(whole_trace(scenario), scenario)
    run = run_policy(world, scenario, Replay(), order="time")
    compared = compare(run, Record.of(whole_trace(scenario))).completion_ratio
    assert np.isnan(compared) == (name != "Mitigation-v1")


def test_a_bound_by_task_is_refused_in_the_scheduled_world() -> None:
    with pytest.raises(ValueError, match="bound: expected none for a scheduled world"):
        Anchors.of(small_scenario(SCHEDULED[0]), episodes=1, bound=nothing)


def test_a_whole_trace_in_a_scheduled_world() -> None:
    trace = generate("google-2011", jobs=60, seed=2)
    quiet = dict.fromkeys(("clone", "checkpoint", "kill", "give_up", "retry"), False)
    rules = replace(SCENARIOS["Mitigation-v1"], **quiet, forecast="none", begin=0)
    world = whole_trace_world(trace, rules)
    comparison = compare(run_policy(world, rules, Replay(), order="time"), Record.of(trace))
    assert world.slices == 1
    assert comparison.decisions == 0
    assert 0 < comparison.tasks <= trace.rows("tasks")


# --- Models of stable-baselines3 ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["DQN", "PPO", "MaskablePPO", "RecurrentPPO"])
def test_models_are_evaluated_like_heuristics(kind: str) -> None:
    modules = ("stable_baselines3", "sb3_contrib")
    libraries = [pytest.importorskip(module) for module in modules]
    make: Any = next(getattr(library, kind) for library in libraries if hasattr(library, kind))
    network = "MlpLstmPolicy" if kind == "RecurrentPPO" else "MlpPolicy"
    scenario = replace(CHECKPOINT, slice_tasks=1)
    model = make(network, gym.make("failgym/Checkpoint-v1", jobs=400), seed=0, device="cpu")
    world, slices = build_world(scenario), np.arange(3)
    run = run_policy(world, scenario, model, slices, lanes=2)
    assert run.policy == kind
    masked = kind == "MaskablePPO"
    assert (run.illegal == 0) or not masked
    if not masked:
        alone = [rollout(scenario, model, int(i))[0] for i in slices]
        np.testing.assert_allclose(run.costs.sum(axis=1), alone, rtol=1e-9)


# --- Whole traces -------------------------------------------------------------------------------

NOTHING_ASKED = replace(SCENARIOS["Cloning-v1"], clone=False, give_up=False, retry=False)


@pytest.mark.parametrize("make", [toy, lambda: generate("google-2011", jobs=60, seed=2)])
@pytest.mark.parametrize("asked", [False, True])
def test_a_trace_left_alone_equals_its_record(make: Any, asked: bool) -> None:
    trace: Trace = make()
    rules = replace(SCENARIOS["Cloning-v1"], kill=True, decide="every") if asked else NOTHING_ASKED
    world = whole_trace_world(trace, rules)
    run = run_policy(world, rules, Replay(), lanes=5)
    comparison = compare(run, Record.of(trace))
    assert comparison.tasks == trace.rows("tasks")
    assert comparison.mismatches == 0
    assert comparison.unknown_fate == (trace.task_outcome == Outcome.CENSORED).sum()
    assert (comparison.decisions > 0) == asked


def test_a_policy_that_acts_differs_from_the_record() -> None:
    trace = generate("google-2011", jobs=60, seed=2)
    rules = replace(SCENARIOS["GracePeriod-v1"], grace=False)
    world = whole_trace_world(trace, rules, known_only=True)
    run = run_policy(world, rules, REGISTRY["blind_kill"]())
    comparison = compare(run, Record.of(trace))
    assert comparison.unknown_fate == 0
    assert comparison.forfeited > 0
    assert comparison.mismatches >= comparison.different_end > 0


def test_a_record_that_is_wrong_is_noticed() -> None:
    trace = toy()
    run = run_policy(whole_trace_world(trace, NOTHING_ASKED), NOTHING_ASKED, Replay())
    record = Record.of(trace)
    later = replace(record, end=record.end + (np.arange(len(record.end)) == 0))
    assert compare(run, later).mismatches == compare(run, later).different_end == 1
    more = replace(record, work=record.work + (np.arange(len(record.end)) < 2))
    assert compare(run, more).different_machine_time == 2


def test_a_stored_forecast_serves_a_whole_trace(tmp_path: Path) -> None:
    trace = generate("google-2011", jobs=60, seed=2)
    rules = replace(SCENARIOS["GracePeriod-v1"], forecast="perfect")
    fitted = Perfect(window=rules.window).fit(trace).predict(trace)
    save_forecast(fitted, tmp_path / "mine.npz")
    stored = replace(rules, forecast=str(tmp_path / "mine.npz"))
    worlds = [whole_trace_world(trace, scenario).tables for scenario in (rules, stored)]
    np.testing.assert_array_equal(worlds[0].risk, worlds[1].risk)
    np.testing.assert_array_equal(worlds[0].tasks["confidence"], worlds[1].tasks["confidence"])
    with pytest.raises(ValueError, match=r"expected one of none, .* or a file, got 'nowhere'"):
        whole_trace_world(trace, replace(rules, forecast="nowhere"))
    with pytest.raises(ValueError, match=r"mine\.npz"):
        whole_trace_world(toy(), stored)


def test_what_still_runs_of_a_finished_task_is_counted() -> None:
    """At the end of the data it is redundant, and its time is known to be."""
    trace = Trace.of(
        Meta("by hand", end=300),
        jobs={"original_id": ["a"], "submit": [0], "width": 1, "outcome": Outcome.FINISH},
        tasks={"job": [0], "index": [0], "width": 2},
        attempts={
            "task": [0, 0],
            "start": [0, 110],
            "end": [100, 300],
            "outcome": [Outcome.FINISH, Outcome.CENSORED],
        },
    )
    record = Record.of(trace)
    assert (record.end.tolist(), record.work.tolist()) == ([100], [580])
    run = run_policy(whole_trace_world(trace, NOTHING_ASKED), NOTHING_ASKED, Replay())
    assert compare(run, record).mismatches == 0
