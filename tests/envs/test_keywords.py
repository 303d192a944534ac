"""Unknown keywords are answered as Python answers them, known ones are fields of the scenario."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import pytest

import failgym
from failgym.baselines import Young
from failgym.envs import MitigationEnv, MitigationVectorEnv
from tests.envs.worlds import SMALL

ID = "failgym/Checkpoint-v1"
MADE: dict[str, Callable[..., Any]] = {
    "MitigationEnv.__init__": partial(gym.make, ID, **SMALL),
    "MitigationVectorEnv.__init__": partial(gym.make_vec, ID, 2, **SMALL),
    "evaluate": partial(failgym.evaluate, Young(), ID, **SMALL),
}


def sb3_env(**given: Any) -> Any:
    """A batch for stable-baselines3, where that is installed."""
    pytest.importorskip("stable_baselines3", reason="needs the agents extra")
    from failgym.agents import make_sb3_env

    return make_sb3_env(ID, 2, **SMALL, **given)


every_call = pytest.mark.parametrize(
    ("name", "call"), [*MADE.items(), ("make_sb3_env", sb3_env)], ids=[*MADE, "make_sb3_env"]
)


@every_call
def test_an_unknown_keyword_is_pythons_type_error(name: str, call: Callable[..., Any]) -> None:
    with pytest.raises(TypeError) as caught:
        call(frameskip=1)
    told = f"{name}() got an unexpected keyword argument 'frameskip'"
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)


@every_call
def test_the_nearest_field_is_named(name: str, call: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"keyword argument 'slice_taks'. Did you mean 'slice_task"):
        call(slice_taks=3)


@every_call
def test_a_value_that_a_field_does_not_take_is_a_value_error(
    name: str, call: Callable[..., Any]
) -> None:
    with pytest.raises(ValueError, match="window: expected int, got 'long'"):
        call(window="long")


def test_the_nearest_may_be_a_parameter() -> None:
    with pytest.raises(TypeError, match=r"'autoreset'. Did you mean 'autoreset_mode'"):
        MitigationVectorEnv("Checkpoint-v1", autoreset="SameStep")


def test_who_probes_goes_on() -> None:
    """As TorchRL's GymEnv does."""
    try:
        env: Any = gym.make(ID, frameskip=1, **SMALL)
    except TypeError as error:
        if "unexpected keyword argument 'frameskip'" not in str(error):
            raise
        env = gym.make(ID, **SMALL)
    assert isinstance(env.unwrapped, MitigationEnv)


def test_an_evaluation_takes_fields_as_an_environment_does() -> None:
    few, many = (failgym.evaluate(Young(), ID, split="all", jobs=jobs) for jobs in (300, 600))
    assert few.episodes < many.episodes
    again = failgym.evaluate(Young(), MitigationEnv(ID, jobs=300).scenario, split="all")
    assert (few.score, few.episodes) == (again.score, again.episodes)
