"""What is learned in three minutes: the clock, the heuristic and the slices that are told."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the agents extra")

from experiments.agents_and_rules import places
from experiments.three_minutes import PAPERS, SHORT, Short, run
from failgym.agents.algorithms.hyperparameters import PPOSettings
from failgym.agents.algorithms.settings_files import settings_for
from failgym.baselines import REGISTRY
from failgym.envs import SCENARIOS, resolve
from tests.envs.worlds import small

PINNED = [name for name, scenario in SCENARIOS.items() if scenario.world == "pinned"]


def test_every_pinned_environment_has_a_heuristic_of_its_paper_and_a_budget() -> None:
    assert set(PAPERS) == set(SHORT) == set(PINNED)
    for env, rule in PAPERS.items():
        assert REGISTRY[rule].compatible(SCENARIOS[env])


@pytest.mark.parametrize("env", PINNED)
def test_agents_begin_from_nothing(env: str) -> None:
    settings = settings_for("maskable_ppo", env, hyper=SHORT[env].hyper)
    assert isinstance(settings, PPOSettings)
    assert settings.warm_start is None
    assert settings.reward is None or settings.reward.reference != PAPERS[env]


def test_an_agent_is_timed_and_held_against_the_heuristic(tmp_path: Path) -> None:
    scenario = resolve("failgym/GracePeriod-v1", small("failgym/GracePeriod-v1"))
    (_, unseen) = places(scenario, 2)
    begun = time.perf_counter()
    few = {"n_steps": 8, "batch_size": 256, "n_epochs": 1}
    row = run(scenario, Short(1_000, few), 3, unseen, tmp_path)
    assert 0.0 < row.seconds < time.perf_counter() - begun
    assert row.seed == 3
    assert row.steps >= 1_000
    assert row.rule == "grace_period"
    rule = [
        (a.replay.costs - a.run(REGISTRY["grace_period"]()).costs).sum() for a in unseen.anchors
    ]
    possible = [(a.replay.costs - a.bound).sum() for a in unseen.anchors]
    assert row.rule_score.value == pytest.approx(100 * sum(rule) / sum(possible))
    assert row.above.value == pytest.approx(row.score - row.rule_score.value)
    assert row.slices == unseen.slices
