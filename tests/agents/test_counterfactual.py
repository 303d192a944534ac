"""Counterfactual learning: gains are what answers save, and doubt means that nothing is done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

pytest.importorskip("stable_baselines3")
from failgym import metrics
from failgym.agents.counterfactual.choosing import false_kills_per_job, mean_of_worst
from failgym.agents.counterfactual.fitting import decided_actions, fitted
from failgym.agents.counterfactual.learners import Learner, Networks, Trees
from failgym.agents.counterfactual.lessons import job_weights
from failgym.agents.counterfactual.visits import Visits, visited
from failgym.agents.ensembles.decider import Decider
from failgym.baselines import REGISTRY
from failgym.envs import resolve
from failgym.evaluation import Anchors, run_policy
from failgym.sim.shared.fields import INDEX, MASK
from failgym.vocabulary import ACTIONS, Action, Outcome
from failgym.worlds.build import build_world, split_of
from tests.envs.worlds import small

CLONE, KILL = int(Action.CLONE), int(Action.KILL)
NAN = float("nan")
SMALL = resolve("failgym/GracePeriod-v1").override(jobs=600, split="fit", slice_tasks=1)

pytest.importorskip("xgboost")


class AtOnce:
    """Takes an action in the first decision of a task, if it is legal, and then continues."""

    def __init__(self, action: int) -> None:
        self.action, self.name = action, "at once"

    def predict(self, observation: Any, state: Any = None, **_: Any) -> tuple[Any, Any]:
        first = observation[:, INDEX["age"]] == 0.0
        first &= observation[:, INDEX["attempt"]] == observation[:, INDEX["attempt"]].min()
        legal = observation[:, MASK][:, self.action] > 0
        return np.where(first & legal, self.action, 0), None


def costs_of_tasks(scenario: Any, policy: Any) -> dict[int, float]:
    """What each task costs in the end, from whole episodes."""
    world = build_world(scenario)
    run = run_policy(world, scenario, policy, order=scenario.order)
    return dict(zip(run.outcomes["task"].tolist(), run.costs.sum(axis=1).tolist(), strict=True))


def first_rows(visits: Visits) -> dict[int, int]:
    """The row of each task's first decision."""
    rows: dict[int, int] = {}
    for row, task in enumerate(visits.tasks.tolist()):
        rows.setdefault(task, row)
    return rows


def test_the_gain_of_an_answer_is_what_whole_episodes_differ_by() -> None:
    visits = visited(SMALL, [REGISTRY["replay"]()], seed=3)
    rows = first_rows(visits)
    replay, killed = (
        costs_of_tasks(SMALL, policy) for policy in (REGISTRY["replay"](), REGISTRY["blind_kill"]())
    )
    assert rows.keys() == replay.keys()  # every task is visited
    for task, row in rows.items():
        assert visits.gains[row, 0] == 0.0
        if not np.isnan(visits.gains[row, KILL]):
            saved = replay[task] - killed[task]
            assert visits.gains[row, KILL] == pytest.approx(saved, rel=1e-9, abs=1e-9)


def test_a_policy_behind_answers_what_follows() -> None:
    rule = REGISTRY["immediate_kill"]()
    rows = first_rows(visits := visited(SMALL, [REGISTRY["replay"]()], behind=rule, seed=3))
    by_rule = costs_of_tasks(SMALL, rule)
    killed = costs_of_tasks(SMALL, REGISTRY["blind_kill"]())
    compared = 0
    for task, row in rows.items():
        if np.isnan(visits.gains[row, KILL]) or np.array_equal(
            rule.predict(whole(visits, row))[0], [KILL]
        ):
            continue  # it would not have continued there
        compared += 1
        saved = by_rule[task] - killed[task]
        assert visits.gains[row, KILL] == pytest.approx(saved, rel=1e-9, abs=1e-9)
    assert compared > 50


def whole(visits: Visits, row: int) -> npt.NDArray[np.float32]:
    return visits.observations[row : row + 1]


def test_what_is_visited_follows_from_the_seed_and_is_thinned_by_chance() -> None:
    policies = [REGISTRY[name]() for name in ("replay", "grace_period")]
    one, same, other = (
        visited(SMALL, policies, share=0.3, at_random=0.2, seed=seed) for seed in (1, 1, 2)
    )
    for name in ("observations", "gains", "units", "tasks", "weights"):
        assert np.array_equal(getattr(one, name), getattr(same, name), equal_nan=True)
    assert not np.array_equal(one.tasks, other.tasks)
    every = visited(SMALL, policies, at_random=0.2, seed=1)
    assert 0.2 < len(one) / len(every) < 0.4
    few = visited(SMALL, policies, episodes=25, seed=1)
    assert len(np.unique(few.tasks)) <= 25
    columns = np.array([3, 5])
    shown = visited(SMALL, policies, columns=columns, at_random=0.2, seed=1)
    assert np.array_equal(shown.observations, every.observations[:, columns])


class AtFirst:
    """Takes an action in the first decision of an episode, and then continues."""

    def __init__(self, action: int) -> None:
        self.action, self.name = action, "at first"

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, **_: Any
    ) -> tuple[Any, Any]:
        legal = observation[:, MASK][:, self.action] > 0
        return np.where(episode_start & legal, self.action, 0), None


@pytest.mark.parametrize("env", ["Mitigation-v1", "Workflow-v1", "Lineage-v1"])
def test_in_the_scheduled_world_gains_are_of_whole_slices(env: str) -> None:
    scenario = resolve(f"failgym/{env}").override(**small(env), split="train")
    slices = min(build_world(scenario).slices, 4)
    visits = visited(scenario, [REGISTRY["replay"]()], episodes=slices, seed=2)
    firsts = {int(unit): row for row, unit in reversed(list(enumerate(visits.units)))}
    numbers = np.array(sorted(firsts), dtype=np.int64)
    assert len(numbers) == slices
    world, compared = build_world(scenario), 0
    costs = [
        run_policy(world, scenario, AtFirst(a), numbers, order=scenario.order).costs.sum(axis=1)
        for a in range(ACTIONS)
    ]
    for at, number in enumerate(numbers.tolist()):
        gains = visits.gains[firsts[number]]
        for action in np.flatnonzero(~np.isnan(gains)).tolist():
            saved = costs[0][at] - costs[action][at]
            assert gains[action] == pytest.approx(saved, rel=1e-9, abs=1e-9)
            compared += action > 0
    assert compared


def test_decisions_in_which_a_policy_acts_may_be_looked_into_more_often() -> None:
    rule = [REGISTRY["blind_kill"]()]
    every = visited(SMALL, rule, seed=4)
    some = visited(SMALL, rule, share=0.1, acting=1.0, seed=4)
    assert set(every.weights.tolist()) == {1.0}
    assert set(np.round(some.weights, 9).tolist()) == {1.0, 10.0}
    acted, asked = np.sum(some.weights == 1.0), len(np.unique(every.tasks))
    assert acted <= asked  # it kills a task once
    assert some.weights.sum() == pytest.approx(len(every), rel=0.3)


def test_what_cannot_be_visited_is_said_in_a_line() -> None:
    rule = REGISTRY["replay"]()
    with pytest.raises(ValueError, match="share: expected a share above 0, got 2"):
        visited(SMALL, [rule], share=2.0)
    with pytest.raises(ValueError, match="acting: expected a share above 0, got 0"):
        visited(SMALL, [rule], acting=0.0)
    with pytest.raises(ValueError, match="policies: expected one at least"):
        visited(SMALL, [])


def test_policies_with_a_state_are_refused() -> None:
    class Remembers(AtOnce):
        def predict(self, observation: Any, state: Any = None, **_: Any) -> tuple[Any, Any]:
            return super().predict(observation)[0], np.zeros(len(observation))

    with pytest.raises(ValueError, match="policy 'at once': expected one without a state"):
        visited(SMALL, [Remembers(KILL)])


def test_jobs_and_tasks_of_several_traces_are_others() -> None:
    def of(jobs: list[int]) -> Visits:
        numbers = np.array(jobs)
        return Visits(
            observations=np.zeros((len(jobs), 1), np.float32),
            gains=np.zeros((len(jobs), 5)),
            units=numbers,
            tasks=numbers,
            traces=np.zeros_like(numbers),
            weights=np.ones(len(jobs)),
        )

    joined = Visits.joined([of([0, 2]), of([1, 1]), of([0])])
    assert joined.units.tolist() == joined.tasks.tolist() == [0, 2, 4, 4, 5]
    assert joined.traces.tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("most", [0.02, 0.1, 0.25, 0.5, 1.0])
def test_no_job_weighs_more_than_its_share(most: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(30):
        jobs = rng.integers(60, size=200)
        weight = rng.pareto(0.5, size=200) * (rng.random(200) < 0.9)
        found = job_weights(weight, jobs, most)
        assert found.mean() == pytest.approx(1.0)
        held, before = (np.bincount(jobs, weights=each) for each in (found, weight))
        weighing = np.count_nonzero(before)
        assert held.max() <= max(most, 1.0 / weighing) * held.sum() * (1 + 1e-9)
        factor = np.divide(held, before, out=np.zeros(len(held)), where=before > 0)
        kept = np.isclose(factor, factor.max(), rtol=1e-9)
        cut = ~kept & (before > 0)
        assert (held[cut] >= held[kept].max() * (1 - 1e-9)).all()  # to no less than others have


def test_weights_that_are_cut_by_hand() -> None:
    jobs = np.array([0, 0, 1, 2, 3, 4])
    found = job_weights(np.array([6.0, 2.0, 1.0, 1.0, 1.0, 0.0]), jobs, 0.4)
    # the first job holds 2 of 5 then: .4
    assert found == pytest.approx(np.array([1.5, 0.5, 1.0, 1.0, 1.0, 0.0]) * 6 / 5)
    alike = job_weights(np.array([6.0, 2.0, 1.0, 1.0, 4.0, 0.0]), jobs, 0.1)
    assert alike == pytest.approx(np.array([0.75, 0.25, 1.0, 1.0, 1.0, 0.0]) * 6 / 4)
    assert job_weights(np.zeros(3), np.zeros(3, dtype=np.int64), 0.5).tolist() == [1.0, 1.0, 1.0]


def made_up(rng: np.random.Generator, jobs: int, agree: float) -> Visits:
    """Decisions of which killing saves above .5; a share of the jobs says so, the others not."""
    of_job = 6
    shown = rng.random((jobs * of_job, 2)).astype(np.float32)
    job = np.repeat(np.arange(jobs), of_job)
    sign = np.where(rng.random(jobs) < agree, 1.0, -1.0)[job]
    gains = np.full((len(job), ACTIONS), NAN)
    gains[:, 0], gains[:, KILL] = 0.0, np.where(shown[:, 0] > 0.5, 1.0, -1.0) * sign
    one = np.zeros_like(job)
    return Visits(shown, gains, job, np.arange(len(job)), one, np.ones(len(job)))


TREES = Trees(trees=20, depth=2, rate=0.3, least_weight=1.0)
LEARNERS: tuple[Learner, ...] = (TREES, Networks(units=16, updates=400, rate=0.01))
by_each = pytest.mark.parametrize("learner", LEARNERS, ids=["trees", "networks"])
OPTIONS: dict[str, Any] = {"models": 5, "job_share": 0.05, "seed": 0}


def learned(visits: Visits, caution: float, learner: Learner = TREES) -> Decider:
    actions = decided_actions(visits)
    return Decider(fitted(visits, actions, learner, **OPTIONS), actions, caution)


@by_each
def test_it_is_learned_where_an_answer_saves(learner: Learner) -> None:
    visits = made_up(np.random.default_rng(0), 200, agree=1.0)
    decider = learned(visits, 1.0, learner)
    decider.check(2)
    assert decider.choices == (0, KILL)
    rows = np.array([[0.1, 0.5], [0.4, 0.9], [0.6, 0.1], [0.9, 0.9]], dtype=np.float32)
    legal = np.ones((4, ACTIONS), dtype=np.bool_)
    assert decider.answers(rows, legal).tolist() == [0, 0, KILL, KILL]
    again = learned(visits, 1.0, learner)
    assert all(np.array_equal(a, b) for a, b in zip(decider.ensemble, again.ensemble, strict=True))


def drawn(rng: np.random.Generator, gains: Any, jobs: int = 400) -> Visits:
    """Decisions that all look alike: what CLONE and KILL save in them is drawn by job."""
    shown = rng.random((jobs, 2)).astype(np.float32)
    found = np.full((jobs, ACTIONS), NAN)
    found[:, 0] = 0.0
    found[:, [CLONE, KILL]] = gains(rng, jobs)
    number = np.arange(jobs)
    return Visits(shown, found, number, number, np.zeros_like(number), np.ones(jobs))


def equally_good(rng: np.random.Generator, jobs: int) -> Any:
    both = np.where(rng.random((jobs, 1)) < 0.9, 100.0, -5.0)
    return both + rng.normal(size=(jobs, 2))


def by_fate(rng: np.random.Generator, jobs: int) -> Any:
    return np.array([[10.0, -1.0], [-1.0, 10.0], [-1.0, -1.0]])[rng.integers(3, size=jobs)]


def one_is_better(rng: np.random.Generator, jobs: int) -> Any:
    return np.where(rng.random((jobs, 1)) < 0.6, [[4.0, 9.0]], [[3.0, -2.0]])


@by_each
@pytest.mark.parametrize("gains", [equally_good, by_fate, one_is_better])
def test_of_several_answers_the_one_that_is_to_be_expected_to_save_most_is_given(
    gains: Any, learner: Learner
) -> None:
    visits = drawn(np.random.default_rng(6), gains)
    rows = np.random.default_rng(7).random((300, 2)).astype(np.float32)
    decider = learned(visits, 1.0, learner)
    answers = decider.answers(rows, np.ones((300, ACTIONS), dtype=np.bool_))
    mean = visits.gains.mean(axis=0)  # NaN of what is never legal
    assert np.mean(answers > 0) > 0.9  # each of the two saves, whichever it is
    assert mean[answers].mean() > 0.9 * np.nanmax(mean)


@by_each
def test_where_jobs_contradict_each_other_caution_does_little(learner: Learner) -> None:
    rng = np.random.default_rng(5)
    rows = rng.random((500, 2)).astype(np.float32)
    legal = np.ones((500, ACTIONS), dtype=np.bool_)
    bold, careful = (
        learned(made_up(np.random.default_rng(1), 40, agree=0.5), caution, learner)
        for caution in (0.0, 3.0)
    )
    acting = [np.mean(each.answers(rows, legal) == KILL) for each in (bold, careful)]
    assert acting[0] > 0.2
    assert acting[1] < 0.25 * acting[0]


@by_each
def test_a_member_that_drew_none_of_the_jobs_says_nothing(learner: Learner) -> None:
    one_job = made_up(np.random.default_rng(3), 1, agree=1.0)
    found = fitted(one_job, decided_actions(one_job), learner, models=40, job_share=1.0, seed=0)
    margins = found.margins(one_job.observations)
    silent = ~margins.any(axis=(0, 1))
    assert 0.2 < silent.mean() < 0.6, "a Poisson number of mean 1 is 0 in 37 %"


@by_each
def test_one_job_cannot_decide_alone(learner: Learner) -> None:
    visits = made_up(np.random.default_rng(2), 200, agree=1.0)
    gains = visits.gains.copy()
    gains[visits.units == 0, KILL] = -1e6  # a job that says the opposite, and is dear
    rows, legal = np.array([[0.9, 0.5]], dtype=np.float32), np.ones((1, ACTIONS), dtype=np.bool_)
    decider = learned(replace(visits, gains=gains), 1.0, learner)
    assert decider.answers(rows, legal).tolist() == [KILL]


def told_by_trace(traces: int) -> Visits:
    """In each trace all jobs agree whether killing saves; a field tells traces, not what saves."""
    rng, jobs = np.random.default_rng(3), 600
    trace = np.arange(jobs) % traces
    shown = (trace[:, np.newaxis] + rng.random((jobs, 1))).astype(np.float32)
    sign = np.where(np.arange(traces) % 2, 1.0, -1.0)
    gains = np.full((jobs, ACTIONS), NAN)
    gains[:, 0], gains[:, KILL] = 0.0, sign[trace]
    number = np.arange(jobs)
    return Visits(shown, gains, number, number, trace, np.ones(jobs))


def test_of_many_traces_whole_ones_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    visits, legal = told_by_trace(12), np.ones((600, ACTIONS), dtype=np.bool_)

    def killed() -> float:
        answers = learned(visits, caution=3.0).answers(visits.observations, legal)
        return float(np.mean(answers[visits.gains[:, KILL] > 0.0] == KILL))

    by_trace = killed()  # a model that never saw a trace knows nothing of it
    monkeypatch.setattr("failgym.agents.counterfactual.lessons.MANY_TRACES", 13)
    assert killed() > 0.7 > 0.4 > by_trace


RULES = ("grace_period", "optimal_stopping", "replay")


def test_rules_that_are_followed_cost_what_they_cost() -> None:
    rules = [REGISTRY[name]() for name in RULES]
    played = [REGISTRY["replay"]()]
    visits = visited(SMALL, played, advice=rules, followed=True, share=1.0, seed=3)
    costs = [costs_of_tasks(SMALL, rule) for rule in rules]
    for task, row in first_rows(visits).items():
        saved = [costs[0][task] - each[task] for each in costs]
        assert visits.gains[row] == pytest.approx(saved, rel=1e-9, abs=1e-9)
    # behind the fields stands what the rules would answer
    fields, said = visits.observations[:, : -len(rules)], visits.observations[:, -len(rules) :]
    for number, rule in enumerate(rules):
        assert np.array_equal(rule.predict(fields)[0], said[:, number])


def test_decisions_that_are_tried_together_are_those_that_are_tried_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule, played = REGISTRY["grace_period"](), [REGISTRY["optimal_stopping"]()]
    one = visited(SMALL, played, behind=rule, share=0.2, at_random=0.2, seed=3)
    monkeypatch.setattr("failgym.agents.counterfactual.visits.WAITING", 1)
    alone = visited(SMALL, played, behind=rule, share=0.2, at_random=0.2, seed=3)
    assert len(one) > 100
    for name in ("observations", "gains", "units", "tasks", "weights"):
        assert np.array_equal(getattr(one, name), getattr(alone, name), equal_nan=True)


def test_the_worst_jobs_are_those_that_lose_most() -> None:
    scenario = resolve("failgym/GracePeriod-v1").override(jobs=400, slice_tasks=1)
    anchors = [Anchors.of(replace(scenario, trace_seed=seed)) for seed in (1, 2)]
    runs = [each.run(REGISTRY["blind_kill"]()) for each in anchors]
    saved: list[float] = []
    killed = 0
    for each, run in zip(anchors, runs, strict=True):
        job = split_of(each.scenario, "test").column("tasks", "job")
        by_job: dict[int, float] = {}
        differences = (each.replay.costs - run.costs).sum(axis=1)
        for task, difference in zip(run.outcomes["task"].tolist(), differences, strict=True):
            number = int(job[task])
            by_job[number] = by_job.get(number, 0.0) + difference
        saved += by_job.values()
        ends = zip(run.outcomes["recorded_outcome"], run.outcomes["outcome"], strict=True)
        killed += sum(a == Outcome.FINISH and b == Outcome.KILL for a, b in ends)
    saved.sort()
    assert len(saved) > 40
    for worst in (1, 7, len(saved)):
        found = mean_of_worst(anchors, runs, worst / len(saved))
        assert found == pytest.approx(sum(saved[:worst]) / worst)
    half = mean_of_worst(anchors, runs, 1.5 / len(saved))
    assert half == pytest.approx((saved[0] + saved[1] / 2) / 1.5)
    assert killed > 10
    assert false_kills_per_job(anchors, runs) == pytest.approx(killed / len(saved))
    drawn = [Anchors.of(each.scenario, episodes=100, seed=1) for each in anchors]
    some = [each.run(REGISTRY["blind_kill"]()) for each in drawn]
    found = [metrics.false_kills(run.outcomes) for run in some]
    asked = [len(run.outcomes["task"]) for run in runs]
    wanted = sum(count * all_of / 100 for count, all_of in zip(found, asked, strict=True))
    assert false_kills_per_job(drawn, some) == pytest.approx(wanted / len(saved))


@pytest.mark.parametrize("split", ["train", "fit", "validation", "test"])
def test_units_are_the_jobs_of_the_tasks_of_any_split(split: Any) -> None:
    scenario = replace(SMALL, split=split)
    visits = visited(scenario, [REGISTRY["replay"]()], episodes=50, seed=1)
    job = split_of(scenario, split).column("tasks", "job")
    assert visits.units.tolist() == job[visits.tasks].tolist()
