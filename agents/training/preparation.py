"""What an agent is trained in, of the hyper-parameters: the scenario, and the environment of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from failgym.agents.algorithms.hyperparameters import OnPolicySettings, Settings
from failgym.agents.algorithms.training_options import RewardOptions
from failgym.agents.environments.rewards import TrainingReward
from failgym.agents.environments.task_costs import TaskCosts
from failgym.agents.environments.task_sampling import draw_by_stakes, stakes
from failgym.agents.environments.vec_env import BatchedVecEnv
from failgym.agents.files.manifest import changed_fields
from failgym.agents.imitation.warm_start import baseline_named
from failgym.baselines import REGISTRY
from failgym.baselines.base import enabled
from failgym.envs import Scenario
from failgym.vocabulary import Action

__all__ = ["check_world", "scenario_of", "shaped", "surrogate_of"]


DECIDED_BY = {
    int(Action.CLONE): {"clone"},
    int(Action.CHECKPOINT): {"checkpoint"},
    int(Action.KILL): {"kill", "give_up"},
    int(Action.RETRY): {"retry"},
}
"""Action -> what a scenario of the pinned world must let decide for it to be legal."""


def scenario_of(
    given: Scenario, values: Mapping[str, Any] | None, asked_for: Collection[str] = ()
) -> Scenario:
    """The scenario that an agent is trained and validated in.

    Args:
        given: as it was asked for; its fields that are not as registered stay.
        values: fields that the hyper-parameters change.
        asked_for: fields that were named, and stay though they are as registered.

    Raises:
        ValueError: for a value of the wrong type or range.
    """
    chosen = {*changed_fields(given), *asked_for}
    try:
        return given.override(**{n: v for n, v in (values or {}).items() if n not in chosen})
    except ValueError as error:
        raise ValueError(f"env: {error}") from error


def surrogate_of(scenario: Scenario, values: Mapping[str, Any] | None) -> Scenario:
    """The scenario that is learned in, where that is another than what is scored.

    A surrogate has other prices (``weight_*``) or charges for the completion of tasks instead of
    jobs, so that each decision is credited with what comes of it alone (`failgym.agents.credit`).
    In Lineage-v1 a job has some ten thousand decisions and one completion time: with that alone
    nothing is learned. Whether the surrogate leads to the goal, validation tells.

    Raises:
        ValueError: for a value of the wrong type or range.
    """
    try:
        return scenario.override(**(values or {}))
    except ValueError as error:
        raise ValueError(f"surrogate: {error}") from error


def check_world(scenario: Scenario, settings: Settings) -> None:
    """Raise ValueError for options of the pinned world in another one."""
    for name in ("reward", "stakes"):
        if getattr(settings, name) is not None and not scenario.kind.independent:
            raise ValueError(
                f"{name}: expected none in {scenario.name}: it is for pinned worlds, where an"
                " episode is a task"
            )
    if settings.reward is not None and settings.reward.reference is not None:
        _check_rule("reward.reference", settings.reward.reference, scenario)
    if isinstance(settings, OnPolicySettings) and settings.warm_start is not None:
        _check_rule("warm_start.teacher", settings.warm_start.teacher, scenario)
    if settings.stakes is not None:
        for actions in settings.stakes.alternatives():
            if not any(DECIDED_BY[action] & set(enabled(scenario)) for action in actions):
                names = " or ".join(Action(action).name for action in actions)
                raise ValueError(f"stakes.against: {names} is never legal in {scenario.name}")


def _check_rule(option: str, name: str, scenario: Scenario) -> None:
    """Raise ValueError unless a baseline decides what is decided there."""
    if not REGISTRY[name].compatible(scenario):
        needs = ", ".join(sorted(REGISTRY[name].needs))
        raise ValueError(f"{option}: {name} needs {needs}, which {scenario.name} does not enable")


def shaped(venv: BatchedVecEnv, settings: Settings, seed: int) -> BatchedVecEnv | TrainingReward:
    """An environment with the tasks and the rewards that the hyper-parameters ask for.

    Args:
        venv: as made by `failgym.agents.make_sb3_env`; the tasks that it draws change.
        settings: hyper-parameters.
        seed: of the draw of tasks.
    """
    if settings.stakes is None and settings.reward is None:
        return venv
    divisors, options = None, settings.reward or RewardOptions()
    costs = TaskCosts(venv.get_attr("scenario")[0])
    if settings.stakes is not None:
        wanted = settings.stakes
        weights = stakes(costs, wanted.alternatives(), wanted.power, wanted.floor)
        divisors = draw_by_stakes(venv, weights, seed)
    return TrainingReward(
        venv,
        scale=options.scale,
        by_width=options.by_width,
        reference=None if options.reference is None else baseline_named(options.reference),
        by_cost=options.by_cost,
        divisors=divisors,
        costs=costs,
    )
