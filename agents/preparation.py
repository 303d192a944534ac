"""What an agent is trained in, of the hyper-parameters: the scenario, and the environment of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failgym.agents.hyperparameters import Settings
from failgym.agents.manifest import changed_fields
from failgym.agents.rewards import TrainingReward
from failgym.agents.stakes import draw_by_stakes, stakes
from failgym.agents.task_costs import TaskCosts
from failgym.agents.training_options import RewardOptions
from failgym.agents.vec_env import BatchedVecEnv
from failgym.agents.warm_start import baseline_named
from failgym.envs import Scenario

__all__ = ["check_world", "scenario_of", "shaped"]


def scenario_of(given: Scenario, values: Mapping[str, Any] | None) -> Scenario:
    """The scenario that an agent is trained and validated in.

    Args:
        given: as it was asked for; its fields that are not as registered stay.
        values: fields that the hyper-parameters change.

    Raises:
        ValueError: for a value of the wrong type or range.
    """
    chosen = changed_fields(given)
    try:
        return given.override(**{n: v for n, v in (values or {}).items() if n not in chosen})
    except ValueError as error:
        raise ValueError(f"env: {error}") from error


def check_world(scenario: Scenario, settings: Settings) -> None:
    """Raise ValueError for options of the pinned world in another one."""
    for name in ("reward", "stakes"):
        if getattr(settings, name) is not None and scenario.world != "pinned":
            raise ValueError(
                f"{name}: expected none in {scenario.name}: it is for pinned worlds, where an"
                " episode is a task"
            )


def shaped(venv: BatchedVecEnv, settings: Settings, seed: int) -> BatchedVecEnv | TrainingReward:
    """An environment with the tasks and the rewards that the hyper-parameters ask for.

    Args:
        venv: as made by `failgym.agents.vec_env.make_sb3_env`; the tasks that it draws change.
        settings: hyper-parameters.
        seed: of the draw of tasks.
    """
    if settings.stakes is None and settings.reward is None:
        return venv
    divisors, options = None, settings.reward or RewardOptions()
    if settings.stakes is not None:
        wanted, costs = settings.stakes, TaskCosts(venv.get_attr("scenario")[0])
        weights = stakes(costs, wanted.alternatives(), wanted.power, wanted.floor)
        divisors = draw_by_stakes(venv, weights, seed)
    return TrainingReward(
        venv,
        scale=options.scale,
        by_width=options.by_width,
        reference=None if options.reference is None else baseline_named(options.reference),
        by_cost=options.by_cost,
        divisors=divisors,
    )
