"""Every registered world has room: the papers' policies help, and do not solve it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Literal

import pytest

from failgym.baselines import REGISTRY
from failgym.envs import SCENARIOS, resolve
from failgym.evaluation import Anchors, Evaluation, Run
from failgym.evaluation.scoring import score
from failgym.leaderboard.suite.suites import RELEASED
from failgym.worlds.scenario import Split

PAPERS = {
    "Cloning-v1": "algorithm_1",
    "GracePeriod-v1": "grace_period",
    "Checkpoint-v1": "ml_periodic",
    "Lineage-v1": "aware",
    "Workflow-v1": "flaw",
    "Mitigation-v1": "ml_periodic",
}
"""Scenario -> the policy of the paper that it follows, or of one of them."""
SPLIT: dict[str, Split] = {"Lineage-v1": "all"}
"""Split, where it is not the test split: that of Lineage-v1 is a dozen jobs, too few to be sure."""
JUDGED: dict[str, list[str]] = {
    "Cloning-v1": ["give_up"],
    "GracePeriod-v1": ["blind_kill", "immediate_kill"],
    "Checkpoint-v1": ["young", "ml_checkpoint"],
    "Lineage-v1": ["checkpoint_all", "size", "periodic_outputs"],
    "Workflow-v1": ["rank_hybd"],
    "Mitigation-v1": ["algorithm_1", "blind_kill"],
}
"""Scenario -> other policies whose scores are compared below."""
SOME: dict[str, dict[str, Any]] = {"Lineage-v1": {"slices": 12, "seed": 2}}
SOME["Mitigation-v1"] = {"slices": 12}
"""How many slices, and the seed that draws them, where the baselines of which something is expected
are not played on all."""
FEWER = {"Cloning-v1": 12_000, "GracePeriod-v1": 12_000, "Checkpoint-v1": 6_000}
"""Jobs, where the environment's own would take minutes."""
UNSURE = {"GracePeriod-v1", "Lineage-v1", "Mitigation-v1"}
"""Where a paper's policy helps, but few jobs decide, so that its interval reaches below 0: 7 [-16,
54], 52 [-34, 83] and 1.1 [-.8, 4.8] (on ten fresh traces .3 [-.3, .9])."""
FEW = 3
"""Slices, where what is sure of each of them is looked at."""
FEWEST = {"Cloning-v1": 1_500, "GracePeriod-v1": 1_500, "Checkpoint-v1": 1_000}
"""Jobs there. The others are small enough as they are."""
UNPROVEN = {"Checkpoint-v1": 0.001}
"""Share of what the bound saves by which it may be too high, where a search was cut short: .0003 in
the environment as it is, nothing among fewer jobs."""
LEFT = {"Checkpoint-v1": 97.0}
"""Score that the paper's policy stays below, where it is not 90: saving now and then is nearly all
there is to gain. With 6,000 jobs it has 92 [65, 98]: a few jobs decide how near it comes."""
RESCUED = {"Cloning-v1"}
"""Where whatever is tried again may finish after all, so that even chance helps: random play has 21
[8, 33] on all slices."""
# What is sure of a few slices is seen in every run. What baselines gain takes many of them: some in
# smaller environments, here where that is `CHEAP`; `make check-long` plays all, as they are, too.
Size = Literal["few", "some", "all"]
CAMPAIGN = pytest.mark.campaign
CHEAP = {"Checkpoint-v1", "Workflow-v1"}
"""Where some slices take seconds."""
PINNED = [name for name in PAPERS if SCENARIOS[name].world == "pinned"]


class Table:
    """What baselines do on slices of a split of a scenario."""

    def __init__(self, name: str, policies: Iterable[str], size: Size) -> None:
        self.name, split = name, SPLIT.get(name, "test")
        jobs = {"few": FEWEST, "some": FEWER, "all": {}}[size].get(name)
        scenario = resolve(name, {} if jobs is None else {"jobs": jobs})
        some = SOME.get(name, {}) if size == "some" else {}
        slices = FEW if size == "few" else some.get("slices")
        self.anchors = Anchors.of(scenario, split=split, episodes=slices, seed=some.get("seed", 0))
        self.runs: dict[str, Run] = {
            policy: self.anchors.run(REGISTRY[policy]()) for policy in policies
        }
        self.rows: dict[str, Evaluation] = {
            policy: self.anchors.measure(run) for policy, run in self.runs.items()
        }


def expected(name: str) -> list[str]:
    """The baselines of which something is expected in a scenario."""
    return ["replay", "random", PAPERS[name], *JUDGED.get(name, ())]


def unexpected(name: str) -> list[str]:
    """The other baselines that are compatible with a scenario."""
    able = [policy for policy in REGISTRY if REGISTRY[policy].compatible(SCENARIOS[name])]
    return [policy for policy in able if policy not in expected(name)]


@cache
def table(name: str, size: Size) -> Table:
    """The baselines of which something is expected in a scenario."""
    return Table(name, expected(name), size)


@cache
def others(name: str, size: Size) -> Table:
    """Every other baseline that is compatible."""
    return Table(name, unexpected(name), size)


def in_every_run(name: str, size: Size) -> bool:
    """Or only in a campaign?"""
    return size == "few" or (size == "some" and name in CHEAP)


def played(names: Iterable[str], *sizes: Size) -> Any:
    """A test of each scenario, at each size."""
    cases = [
        pytest.param(name, size, marks=() if in_every_run(name, size) else CAMPAIGN)
        for name in names
        for size in sizes
    ]
    return pytest.mark.parametrize(("name", "size"), cases)


def test_every_released_scenario_follows_a_paper() -> None:
    assert set(PAPERS) >= set(RELEASED)


@played(PAPERS, "few")
def test_something_is_decided_on_few_slices(name: str, size: Size) -> None:
    """Else nothing is seen there."""
    runs = table(name, size).runs
    assert (runs["random"].costs != runs["replay"].costs).any()


@played(PAPERS, "some", "all")
def test_the_papers_policy_helps_and_leaves_room(name: str, size: Size) -> None:
    row = table(name, size).rows[PAPERS[name]]
    assert row.episodes >= min(12, table(name, size).anchors.world.slices)
    assert 0.0 < row.score < LEFT.get(name, 90.0)
    assert row.high > 0.0, "what it does is not surely harm"
    assert row.low > 0.0 or name in UNSURE


@played(PAPERS, "few", "some", "all")
def test_the_bound_is_proven_and_nothing_beats_it_on_any_slice(name: str, size: Size) -> None:
    assert_bounded(table(name, size))


@played(PAPERS, "few", "all")
def test_no_other_baseline_beats_the_bound_or_acts_illegally(name: str, size: Size) -> None:
    """In small environments `tests/baselines` show it: in `test_clairvoyant`, `test_registry`."""
    assert_bounded(others(name, size))
    assert {row.illegal for row in others(name, size).rows.values()} <= {0}


def assert_bounded(table: Table) -> None:
    """By a bound that is proven, or nearly so."""
    more, room = table.anchors.unproven_room, table.anchors.possible.sum()
    assert more is None or more <= UNPROVEN.get(table.name, 1e-9) * room
    bound = table.anchors.bound.sum(axis=1)
    for policy, run in table.runs.items():
        assert (run.costs.sum(axis=1) >= bound - 1e-9).all(), policy
        assert table.rows[policy].score <= 100.0


@played(PAPERS, "few", "some", "all")
def test_replay_is_0_and_no_baseline_acts_illegally(name: str, size: Size) -> None:
    rows = table(name, size).rows
    assert rows["replay"].score == rows["replay"].false_kills == 0
    assert rows["replay"].rescued == 0 or name not in PINNED  # a simulated cluster evicts others
    assert rows["replay"].wasted_work == 1.0
    assert {policy: row.illegal for policy, row in rows.items() if row.illegal} == {}


@played(PINNED, "few", "some", "all")
def test_what_is_left_alone_takes_as_long_as_recorded(name: str, size: Size) -> None:
    assert table(name, size).rows["replay"].completion_ratio == 1.0


@played([name for name in PAPERS if name not in RESCUED], "some", "all")
def test_acting_at_random_is_no_better_than_leaving_all_alone(name: str, size: Size) -> None:
    assert table(name, size).rows["random"].score < 0.0


@played(["Checkpoint-v1"], "some", "all")
def test_never_checkpointing_is_clearly_worse_than_young(name: str, size: Size) -> None:
    assert table(name, size).rows["young"].low > 0.0


@played(["Checkpoint-v1"], "some", "all")
def test_prediction_and_period_together_are_better_than_either(name: str, size: Size) -> None:
    """Kumar et al., DSN 2020, Table VIII."""
    rows = table(name, size).rows
    assert rows["ml_periodic"].score > rows["young"].score
    assert rows["ml_periodic"].score > rows["ml_checkpoint"].score


@played(["Lineage-v1"], "some", "all")
def test_saving_all_outputs_costs_more_than_it_saves(name: str, size: Size) -> None:
    """Ghit and Epema, HPDC 2017, figure 7: what policies are for."""
    rows = table(name, size).rows
    assert rows["checkpoint_all"].score < 0.0
    assert rows["aware"].score > max(rows[other].score for other in ("size", "periodic_outputs"))


@played(["Workflow-v1"], "few", "some", "all")
def test_placing_what_is_ready_is_what_the_cluster_does(name: str, size: Size) -> None:
    runs = table(name, size).runs
    assert runs["rank_hybd"].costs.tobytes() == runs["replay"].costs.tobytes()


@played(["Mitigation-v1"], "some", "all")
def test_in_a_loaded_cluster_clones_gain_nothing_surely_and_blind_kills_lose(
    name: str, size: Size
) -> None:
    assert table(name, size).rows["algorithm_1"].low < 0.0
    assert table(name, size).rows["blind_kill"].score < 0.0


@played(["Cloning-v1"], "some", "all")
def test_giving_everything_up_gains_nothing_and_trying_again_does(name: str, size: Size) -> None:
    """What is given up has lost its value, as what fails has."""
    rows = table(name, size).rows
    assert rows["give_up"].score < 1.0
    assert rows["give_up"].high < rows["algorithm_1"].low


@played(["GracePeriod-v1"], "some", "all")
def test_blind_killing_is_bad_and_patience_pays(name: str, size: Size) -> None:
    rows, runs = table(name, size).rows, table(name, size).runs
    assert rows["blind_kill"].low < 0.0, "it does not surely help: -9 [-291, 100] on fewer jobs"
    assert rows["blind_kill"].score < rows["grace_period"].score
    assert rows["immediate_kill"].score < rows["grace_period"].score
    assert rows["grace_period"].false_kills is not None
    assert rows["immediate_kill"].false_kills is not None
    assert rows["grace_period"].false_kills < rows["immediate_kill"].false_kills
    blind = runs["blind_kill"].costs.sum(axis=1)
    bound = table(name, size).anchors.bound.sum(axis=1)
    patient = score(blind, runs["grace_period"].costs.sum(axis=1), bound)
    assert patient.value > 0.0
    assert patient.low > 0.0 or size == "some", "too few jobs to be sure"
