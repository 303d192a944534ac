"""What stands beside a score, counted again by playing slice by slice, and by definition."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import trim_mean
from scipy.stats.mstats import winsorize

from failgym.baselines import REGISTRY, GiveUp, RandomPolicy, Replay
from failgym.cli.scores import note_unproven, print_scores, proven_factor
from failgym.envs import TERMS, resolve
from failgym.evaluation import Anchors, Evaluation, evaluate
from failgym.evaluation.caller import Caller
from failgym.evaluation.stakes import Stakes, interquartile_mean
from failgym.policy import Policy
from failgym.vocabulary import HOUR, Event, Outcome
from failgym.worlds.build import split_of
from tests.envs.worlds import small

Floats = npt.NDArray[np.float64]

CLONING: dict[str, Any] = {"jobs": 3_000, "slice_tasks": 8}
SHARED: dict[str, Any] = {**small("failgym/Mitigation-v1"), "charge": "episode"}


BEGUN = (Event.START, Event.QUEUED)
"""An attempt is met when it starts, or queues for a machine."""


@dataclass
class Recount:
    """Sums over slices that were played one by one."""

    waste: int = 0
    time: int = 0
    forfeited: int = 0
    killed: int = 0
    tasks: int = 0
    costs: list[float] = field(default_factory=list[float])
    """of each row: tasks, or slices"""
    met: list[bool] = field(default_factory=list[bool])
    """was an attempt of it beyond the record?"""


def recounted(anchors: Anchors, policy: Policy) -> Recount:
    """Play each slice by itself, with a log, and add up what became of each task."""
    found, world, scenario = Recount(), anchors.world, anchors.scenario
    prices = world.tables.parameters[0]
    for which in anchors.replay.slices.tolist():
        batch = world.batch(scenario, 1, scenario.order, log=True)
        batch.reset(np.array([which]))
        caller = Caller(policy, 1, True, "a policy")
        caller.begin(np.ones(1, dtype=np.bool_))
        log = list[tuple[int, ...]]()
        while not (done := batch.state.episodes["done"])[0]:
            batch.step(caller.act(batch.output, ~done))
            log += batch.drained_log(0).tolist()
        outcomes = batch.outcomes(0)
        begun = {(task, number) for _, kind, task, number, _ in log if kind in BEGUN}
        beyond = {task for task, number in begun if number >= world.tasks["numbers"][task]}
        every = charged = np.ones(len(outcomes["task"]), dtype=bool)
        if scenario.world == "scheduled":
            every = batch.states(0)["own"]
            charged = every if scenario.charge == "own" else charged
            found.costs.append(float(batch.state.episodes["cost"][0].sum()))
            found.met.append(bool(beyond))
        for i in np.flatnonzero(charged).tolist():
            of = {name: int(column[i]) for name, column in outcomes.items()}
            wasted = of["lost"] + of["redundant"] + of["ghost"]
            overhead = of["checkpoint"] + of["restore"]
            time = max(of["end"] - of["submit"], 0)
            found.waste, found.time = found.waste + wasted + overhead, found.time + time
            if not every[i]:
                continue
            record = world.tasks[of["task"]]
            lost = bool(record["forfeits"]) and of["outcome"] != Outcome.FINISH
            spoilt = of["recorded_outcome"] == Outcome.FINISH != of["outcome"]
            found.forfeited += lost
            found.killed += spoilt and bool(of["killed"])
            found.tasks += 1
            if scenario.world == "pinned":
                value = prices["forfeited_work"] * record["forfeit_work"]
                value += prices["forfeited_time"] * record["forfeit_time"]
                cost = prices["wasted"] * wasted + prices["overhead"] * overhead
                cost += prices["completion"] * time + (value if lost else 0.0)
                found.costs.append(float(cost))
                found.met.append(of["task"] in beyond)
    return found


@pytest.fixture(scope="module")
def cloning() -> Anchors:
    return Anchors.of(resolve("Cloning-v1", CLONING))


def assert_counted(anchors: Anchors, policy: Policy) -> tuple[Evaluation, Recount, Recount]:
    """Of both worlds: hours, and counts of a thousand tasks."""
    shown = anchors.measure(anchors.run(policy))
    before, after = recounted(anchors, Replay()), recounted(anchors, policy)
    assert shown.saved_hours == pytest.approx((before.waste - after.waste) / HOUR)
    assert shown.saved_completion_hours == pytest.approx((before.time - after.time) / HOUR)
    assert shown.forfeited_per_thousand == pytest.approx(1000 * after.forfeited / after.tasks)
    assert shown.false_kills_per_thousand == pytest.approx(1000 * after.killed / after.tasks)
    pairs = list(zip(before.costs, after.costs, strict=True))
    assert sum(b - a for b, a in pairs) == pytest.approx(
        anchors.replay.costs.sum() - shown.cost, abs=1e-6
    )
    return shown, before, after


@pytest.mark.parametrize("name", ["reroll", "give_up", "random"])
def test_hours_counts_and_what_rests_on_drawn_attempts(name: str, cloning: Anchors) -> None:
    shown, before, after = assert_counted(cloning, REGISTRY[name]())
    assert not any(before.met), "replay keeps to the record"
    saved = [abs(b - a) for b, a in zip(before.costs, after.costs, strict=True)]
    drawn = sum(of for of, met in zip(saved, after.met, strict=True) if met)
    assert shown.saved_completion_hours != 0.0
    assert shown.drawn_share == pytest.approx(drawn / sum(saved))
    assert (shown.drawn_share > 0.0) == (name != "give_up")


@pytest.mark.parametrize("charge", ["episode", "own"])
def test_where_tasks_share_machines_slices_are_counted(charge: str) -> None:
    anchors = Anchors.of(resolve("Mitigation-v1", {**SHARED, "charge": charge}), episodes=4)
    shown, before, after = assert_counted(anchors, RandomPolicy(seed=5))
    saved = [abs(b - a) for b, a in zip(before.costs, after.costs, strict=True)]
    met = [one or other for one, other in zip(before.met, after.met, strict=True)]
    drawn = sum(of for of, here in zip(saved, met, strict=True) if here)
    assert any(met), "or this shows nothing"
    assert shown.drawn_share == pytest.approx(drawn / sum(saved))
    assert (shown.stake_of, shown.stakes) == ("slice", 4)
    assert shown.stake_in_top == pytest.approx(anchors.possible.max() / anchors.possible.sum())
    assert shown.saving_in_top == pytest.approx(max(saved) / sum(saved))


def test_completion_of_jobs_is_up_to_their_last_task() -> None:
    anchors = Anchors.of(resolve("Workflow-v1", small("failgym/Workflow-v1")), episodes=6)
    shown = anchors.measure(run := anchors.run(RandomPolicy(seed=2)))
    price = float(anchors.world.tables.parameters[0]["completion"])
    column = TERMS.index("completion")
    saved = (anchors.replay.costs - run.costs)[:, column].sum() / price / HOUR
    assert saved != 0.0
    assert shown.saved_completion_hours == pytest.approx(saved)


def by_job(anchors: Anchors, costs: Floats) -> Floats:
    """Costs of the tasks of slices, added up by job."""
    task = anchors.replay.outcomes["task"].tolist()
    job = split_of(anchors.scenario, anchors.scenario.split).column("tasks", "job")
    found = dict[int, float]()
    for row, cost in zip(task, costs.tolist(), strict=True):
        found[int(job[row])] = found.get(int(job[row]), 0.0) + cost
    return np.array([found[key] for key in sorted(found)])


def test_stakes_are_those_of_jobs(cloning: Anchors) -> None:
    run = cloning.run(REGISTRY["algorithm_1"]())
    shown, bound = cloning.measure(run), cloning.clairvoyant()
    possible = by_job(cloning, cloning.evidence.possible)
    replay, policy = (by_job(cloning, cloning.evidence.costs(of)) for of in (cloning.replay, run))
    top = sorted(possible.tolist(), reverse=True)
    assert (shown.stake_of, shown.stakes) == ("job", len(possible))
    assert shown.stake_in_top == pytest.approx(top[0] / sum(top))
    few = sum(top[: math.ceil(len(top) / 100)])
    assert shown.stake_in_top_percent == pytest.approx(few / sum(top))
    saved = np.abs(replay - policy)
    assert shown.saving_in_top == pytest.approx(saved.max() / saved.sum())
    assert bound.saving_in_top == pytest.approx(shown.stake_in_top)
    ratios = [math.log(a / b) for a, b in zip(policy.tolist(), replay.tolist(), strict=True)]
    assert shown.mean_log_cost_ratio == pytest.approx(sum(ratios) / len(ratios))
    assert shown.mean_log_cost_ratio < 0.0


def stakes(replay: Any, policy: Any, bound: Any, spent: float = 1.0) -> Stakes:
    replay, policy, bound = (np.asarray(of, dtype=np.float64) for of in (replay, policy, bound))
    return Stakes("job", replay, policy, replay - bound, spent)


def test_winsorised_scores_are_those_of_scipy_and_stay_between_replay_and_bound() -> None:
    rng = np.random.default_rng(0)
    replay = rng.lognormal(0.0, 2.0, 350)
    bound = replay * rng.uniform(0.0, 0.9, 350)
    policy = bound + rng.exponential(1.0, 350) * (replay - bound)
    found = stakes(replay, policy, bound).winsorised_score()
    cut = [winsorize(replay - of, limits=(0.01, 0.01)).sum() for of in (policy, bound)]
    assert found.value == pytest.approx(100.0 * cut[0] / cut[1])
    assert found.value != pytest.approx(100.0 * (replay - policy).sum() / (replay - bound).sum())
    assert stakes(replay, replay, bound).winsorised_score().value == 0.0
    assert stakes(replay, bound, bound).winsorised_score().value == 100.0
    between = bound + rng.uniform(0.0, 1.0, 350) * (replay - bound)
    assert 0.0 < stakes(replay, between, bound).winsorised_score().value < 100.0


def test_one_job_moves_the_score_and_not_what_stands_beside_it() -> None:
    replay, bound = np.full(200, 10.0), np.full(200, 8.0)
    policy = replay - 1.0
    policy[3] += 2_000.0
    assert 100.0 * (replay - policy).sum() / (replay - bound).sum() == -450.0
    found = stakes(replay, policy, bound)
    assert found.winsorised_score().value == pytest.approx(50.0)
    assert found.mean_log_cost_ratio().value < 0.0
    assert found.saving_of_top().value == pytest.approx(1_999.0 / 2_198.0)


def test_what_is_not_defined_says_why() -> None:
    costs = np.full(200, 10.0)
    few = stakes(costs[:99], costs[:99] - 1.0, costs[:99] - 2.0).winsorised_score()
    assert few.reason == "fewer than 100 jobs: nothing to winsorise"
    one = costs.copy()
    one[7] = 0.0
    hangs = stakes(costs, one, one).winsorised_score()
    assert hangs.reason is not None
    assert hangs.reason.startswith("without the largest stakes the bound saves less than 1 %")
    assert stakes(costs, one, costs).winsorised_score().reason == "nothing to gain here"
    free = stakes(costs, one, one).mean_log_cost_ratio()
    assert free.reason == "1 of 200 jobs cost nothing in replay alone or with the policy alone"
    nothing = stakes(one, one, one)
    assert nothing.mean_log_cost_ratio() == (0.0, None)
    assert nothing.saving_of_top().reason == "nothing is saved and nothing lost"
    assert math.isnan(nothing.stake_of_top(1))
    for figure in (few, hangs, free):
        assert math.isnan(figure.value)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 21])
def test_the_interquartile_mean_is_that_of_scipy(count: int) -> None:
    scores = np.random.default_rng(count).standard_normal(count)
    assert interquartile_mean(scores) == pytest.approx(trim_mean(scores, 0.25))


def test_over_traces_it_is_that_of_the_score_of_each() -> None:
    scenario, policy = resolve("Cloning-v1", CLONING), REGISTRY["algorithm_1"]()
    together = evaluate(policy, scenario, traces=5)
    alone = [
        evaluate(policy, replace(scenario, trace_seed=scenario.trace_seed + at)).score
        for at in range(5)
    ]
    assert together.iqm_of_traces == pytest.approx(sum(sorted(alone)[1:4]) / 3)
    assert "iqm_of_traces" not in together.undefined


def test_every_figure_is_in_json_and_one_without_a_value_says_why(cloning: Anchors) -> None:
    row = cloning.measure(cloning.run(GiveUp())).to_json()
    assert row["iqm_of_traces"] is None
    assert row["undefined"]["iqm_of_traces"] == "one trace"
    idle = cloning.measure(cloning.replay).to_json()
    for name in ("saving_in_top", "drawn_share"):
        assert row[name] is not None
        assert idle[name] is None
        assert idle["undefined"][name] == "nothing is saved and nothing lost"
    assert [idle[name] for name in ("saved_hours", "saved_completion_hours")] == [0.0, 0.0]


@pytest.mark.parametrize("slice_tasks", [1, 7])
def test_slices_in_which_something_is_drawn_are_those_of_its_tasks(slice_tasks: int) -> None:
    scenario = resolve("failgym/Cloning-v1", {"jobs": 1_000, "slice_tasks": slice_tasks})
    anchors = Anchors.of(scenario, split="test")
    run = anchors.run(REGISTRY["reroll"]())
    assert run.drawn is not None
    assert run.drawn_in is not None
    ends = np.cumsum(anchors.world.own_sizes[run.slices])[:-1]
    by_slice = [part.any() for part in np.split(run.drawn, ends)]
    assert any(by_slice)
    assert run.drawn_in.tolist() == by_slice


def test_a_world_that_does_not_tell_has_no_share_of_drawn_attempts(cloning: Anchors) -> None:
    run = cloning.run(REGISTRY["reroll"]())
    assert run.drawn is not None
    assert not math.isnan(cloning.measure(run).drawn_share)
    silent = cloning.measure(replace(run, drawn=None, drawn_in=None))
    assert math.isnan(silent.drawn_share)
    assert silent.undefined["drawn_share"].startswith("the world does not tell which attempts")


def test_numbers_beside_scores_are_not_broken(
    cloning: Anchors, capsys: pytest.CaptureFixture[str]
) -> None:
    """However long a policy is called, and however large they are."""
    row = replace(
        cloning.measure(cloning.run(GiveUp())),
        policy="experiments/tuned/Cloning-v1/algorithm_1.json",
        saved_hours=-16_296.0,
        saved_completion_hours=-16_296.0,
        iqm_of_traces=-1_682.78,
        drawn_share=1.0,
    )
    print_scores([row])
    shown = capsys.readouterr().out.split("beside the scores")[1]
    [line] = [line for line in shown.splitlines() if line.startswith(f" {row.policy}")]
    assert line.count("-16,296") == 2
    assert "-1,683" in line
    assert line.rstrip().endswith("100.0 %")


def test_tasks_whose_bound_is_not_proven_are_told_with_what_they_hold(
    cloning: Anchors, capsys: pytest.CaptureFixture[str]
) -> None:
    """Few of them may hold much."""
    proven = np.ones(len(cloning.evidence.possible), dtype=np.bool_)
    largest = int(cloning.evidence.possible.argmax())
    assert cloning.least.proven is not None
    assert cloning.least.proven.all()
    note_unproven([cloning])
    assert capsys.readouterr().out == ""
    proven[largest] = False
    note_unproven([replace(cloning, least=cloning.least._replace(unproven=1, proven=proven))])
    room = cloning.evidence.possible[largest] / cloning.possible.sum()
    cost = cloning.evidence.replay[largest] / cloning.replay.costs.sum()
    assert (
        f" 1 tasks, which hold {100 * room:.1f} % of what it saves by the plans found and"
        f" {100 * cost:.1f} % of what replay costs: the bound may be too high"
    ) in capsys.readouterr().out
    silent = cloning.least._replace(unproven=1, proven=None, lowest=None)
    note_unproven([replace(cloning, least=silent)])
    [line] = capsys.readouterr().out.splitlines()
    assert line.endswith(" 1 tasks: the bound may be too high, and scores too")


def test_it_is_told_how_high_scores_would_be_by_what_is_proven(
    cloning: Anchors, capsys: pytest.CaptureFixture[str]
) -> None:
    """Plans that nobody looked for may save 30 more where those found save 100."""
    found, lowest = float(cloning.possible.sum()), cloning.least.lowest
    assert lowest is not None
    assert cloning.unproven_room == pytest.approx(0.0, abs=1e-9 * found)
    lowest = lowest.copy()
    lowest[0] -= 0.3 * found
    least = cloning.least._replace(unproven=1, lowest=lowest)
    cut = replace(cloning, least=least)
    assert cut.unproven_room == pytest.approx(0.3 * found)
    assert proven_factor([cut]) == pytest.approx(1.0 / 1.3)
    note_unproven([cut])  # 100 / 130
    said = "with the proven bound instead, scores are 0.7692 times as high\n"
    assert capsys.readouterr().out.endswith(said)
    note_unproven([cut, cloning])  # 200 / 230
    assert "scores are 0.8695 times as high" in capsys.readouterr().out


def with_room(share: float) -> Evaluation:
    """Of replay, where the bound saves so much of what it spends."""
    scenario = resolve("GracePeriod-v1", {"jobs": 400})
    evidence = Anchors.of(scenario).evidence

    def bound(tables: Any, rules: Any, tasks: Any) -> Floats:
        least = np.zeros((len(tasks), len(TERMS)))
        least[:, 0] = evidence.replay - share * evidence.spent
        return least

    anchors = Anchors.of(scenario, bound=bound)
    return anchors.measure(anchors.replay)


@pytest.mark.parametrize("share", [0.009, 0.011, 0.049, 0.051])
def test_a_score_over_little_room_is_marked_in_table_and_json(
    share: float, capsys: pytest.CaptureFixture[str]
) -> None:
    row, marked, scored = with_room(share), 0.01 < share < 0.05, share > 0.01
    print_scores([row])
    shown = capsys.readouterr().out
    assert math.isnan(row.score) == (row.reason is not None) == (not scored)
    assert (row.to_json()["warning"] is not None) == marked
    [line] = [line for line in shown.split("beside")[0].splitlines() if "replay" in line]
    assert line.split()[1] == ("0.0*" if marked else "0.0" if scored else "-")
    said = f"* the bound saves {100 * share:.1f} % of what replay spends, less than 5 %: there is"
    assert (f"{said} little to gain" in " ".join(shown.split())) == marked
