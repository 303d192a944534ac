"""What RLlib is given to play; none of it needs RLlib (`tests/clients/test_rllib.py` does)."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from failgym.baselines import Replay
from failgym.contrib import rllib
from failgym.contrib.masks import MASK, OBSERVATIONS
from failgym.contrib.rllib import EnvSettings, Shaping, make_env, settings_of
from failgym.contrib.rllib.environment import SETTINGS
from failgym.evaluation import run_policy
from failgym.worlds.build import build_world
from tests.envs.worlds import SMALL

pytestmark = pytest.mark.usefixtures("shared_worlds")
ENV, COUNT, SEED = "failgym/Cloning-v1", 16, 2


def config(settings: EnvSettings, **more: Any) -> dict[str, Any]:
    """What RLlib hands over."""
    return {SETTINGS: settings, **more}


def test_an_episode_is_a_task_and_fields_are_those_that_can_vary() -> None:
    settings = settings_of(ENV, without=["system", "usage"], jobs=600)
    assert settings.scenario.slice_tasks == 1
    assert "age" in settings.fields
    assert "cpu" not in settings.fields
    env: Any = make_env(config(settings, num_envs=COUNT))
    seen, info = env.reset(seed=SEED)
    assert seen[OBSERVATIONS].shape == (COUNT, len(settings.fields))
    assert seen[MASK].shape == (COUNT, 5)
    assert info == {}


def test_every_slice_is_played_once_and_costs_what_evaluate_says() -> None:
    scenario = settings_of(ENV, **SMALL).scenario
    env: Any = make_env(config(EnvSettings(scenario, ("age", "risk"), every_slice=True)))
    world, returns, slices = build_world(scenario), list[float](), list[int]()
    for number in range(world.slices):
        _, info = env.reset(seed=SEED if number == 0 else None)
        slices.append(int(info["slice"]))
        returns.append(0.0)
        ended = False
        while not ended:
            _, reward, ended, _, _ = env.step(0)
            returns[-1] += float(reward)
    assert slices == list(range(world.slices))
    run = run_policy(world, scenario, Replay(), order=scenario.order)
    assert returns == pytest.approx((-run.costs.sum(axis=1)).tolist())
    assert env.reset()[1]["slice"] == 0


def test_what_the_reference_pays_is_paid_back_and_stakes_divide() -> None:
    pytest.importorskip("stable_baselines3", reason="needs failgym[agents]")
    shaping = Shaping(reference="replay", stakes=("RETRY",), seed=SEED)
    settings = settings_of(ENV, shaping=shaping, jobs=600)
    env: Any = make_env(config(settings, num_envs=COUNT))
    env.reset(seed=SEED)
    totals, ends = np.zeros(COUNT), 0
    for _ in range(60):
        _, rewards, ended, _, _ = env.step(np.zeros(COUNT, dtype=np.int64))
        totals += rewards
        ends += int(ended.sum())
        assert totals[ended] == pytest.approx(0.0, abs=1e-9)
        totals[ended] = 0.0
    assert ends


def test_what_cannot_be_made_is_said_in_a_line() -> None:
    settings = settings_of(ENV, jobs=600)
    with pytest.raises(ValueError, match=r"^env_config: expected EnvSettings as 'settings', got"):
        make_env({})
    turns = EnvSettings(settings.scenario, settings.fields, every_slice=True)
    with pytest.raises(ValueError, match=r"^env_config: every_slice needs single"):
        make_env(config(turns, num_envs=2))
    shaped = settings_of(ENV, shaping=Shaping(reference="replay"), jobs=600)
    with pytest.raises(ValueError, match=r"^env_config: shaping needs batched"):
        make_env(config(shaped))
    with pytest.raises(ValueError, match=r"^unknown action 'RETRI'"):
        Shaping(stakes=("RETRI",))


def test_a_name_that_needs_rllib_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    for name in ("failgym.contrib.rllib.ppo", "failgym.contrib.rllib.module"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ImportError, match=r"pip install 'failgym\[agents\]' 'ray\[rllib\]"):
        _ = rllib.ppo_config
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = rllib.nothing  # type: ignore[attr-defined]
