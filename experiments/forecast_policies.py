"""What policies make of trained forecasts: the third part of `experiments.forecast_quality`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.baselines import Algorithm1, GracePeriod, Heuristic, MLPeriodic
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors, run_policy
from failgym.evaluation.evidence import Evidence, score_of
from failgym.evaluation.progress import Advance
from failgym.predictors import Alarms, GradientBoosting, Predictor, RandomForest, TwoLevelNetwork
from failgym.predictors.drawn.alarms import ELSAYED_JOB_SHARE
from failgym.predictors.learned import Learned
from failgym.worlds.build import build_world, split_of

__all__ = ["BY_JOB", "BY_TASK", "CASES", "Case", "Outcome", "Size", "compared"]

FIRST = 6_000
"""Seed of the first trace."""
LATER = 0.5
"""Share of the training split's jobs before the part on which thresholds are chosen."""
THRESHOLDS = (0.02, 0.1, 0.3, 0.5, 0.75, 0.9)
WEIGHTS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""The grids of thresholds, and of the weight of the confidence to finish: up to more than a kill
that was wrong costs in `GracePeriod-v1`, four times its machine-time."""

BY_TASK, BY_JOB = "drawn by task", "drawn by job"
"""Names of drawn forecasts."""

Made = Callable[[Scenario], str | Predictor | Learned]


@dataclass(frozen=True)
class Case:
    """A policy that uses forecasts, in its environment, and the forecasts that suit it."""

    env: str
    policy: type[Heuristic]
    parameter: str
    """what the scale of a forecast asks to be chosen"""
    grid: tuple[float, ...]
    trained: Mapping[str, Made]
    by_task: Made
    """of a stated quality, erring task by task"""
    by_job: Made
    """of the same quality, erring by whole jobs; one of the two is the scenario's own (`auto`)"""

    def forecasts(self) -> dict[str, Made]:
        """Nothing, what was trained, what is drawn to order, and the record itself."""
        drawn = {BY_TASK: self.by_task, BY_JOB: self.by_job}
        return {"none": _named("none"), **self.trained, **drawn, "perfect": _named("perfect")}


def _named(name: str) -> Made:
    return lambda scenario: name


def _forest(scenario: Scenario) -> RandomForest:
    return RandomForest(window=scenario.window, seed=scenario.seed)


def _boosting(target: Any, samples: Any = "moments") -> Made:
    return lambda scenario: GradientBoosting(
        target=target, samples=samples, window=scenario.window, seed=scenario.seed
    )


def _alarms(make: Callable[..., Alarms], job_share: float) -> Made:
    return lambda scenario: make(window=scenario.window, job_share=job_share, seed=scenario.seed)


def _network(scenario: Scenario) -> TwoLevelNetwork:
    return TwoLevelNetwork(window=scenario.window, seed=scenario.seed)


CASES = (
    Case(
        env="Cloning-v1",
        policy=Algorithm1,
        parameter="threshold",
        grid=THRESHOLDS,
        trained={
            "RandomForest": _forest,
            "GradientBoosting": _boosting("fail"),
        },
        by_task=_alarms(Alarms.elsayed, 0.0),
        by_job=_named("elsayed_alarms"),
    ),
    Case(
        env="Checkpoint-v1",
        policy=MLPeriodic,
        parameter="threshold",
        grid=THRESHOLDS,
        trained={
            "GradientBoosting, moments": _boosting("system"),
            "GradientBoosting": _boosting("system", "tail"),
        },
        by_task=_named("kumar_alarms"),
        by_job=_alarms(Alarms.kumar, ELSAYED_JOB_SHARE),
    ),
    Case(
        env="GracePeriod-v1",
        policy=GracePeriod,
        parameter="finish_weight",
        grid=WEIGHTS,
        trained={
            "GradientBoosting": _boosting("unfinished"),
            "TwoLevelNetwork": _network,
        },
        by_task=_named("rosa"),
        by_job=_named("rosa_by_job"),
    ),
)


@dataclass(frozen=True)
class Size:
    """On how much a case is measured."""

    traces: int
    jobs: int
    """of each"""
    episodes: int | None = None
    """slices of the test split of each; None: all"""


@dataclass(frozen=True)
class Outcome:
    """A policy with one forecast, on the test splits of fresh traces."""

    env: str
    policy: str
    forecast: str
    parameter: str
    chosen: float
    """value of the parameter, chosen on the later part of the first trace's training split"""
    score: float
    low: float
    high: float
    """with its 95 % bootstrap interval over traces and jobs (blocks of jobs where something joins
    them); 0 is replay, 100 the clairvoyant"""
    published: float
    """score with the parameter as published"""
    published_low: float
    published_high: float


def compared(case: Case, size: Size, advance: Advance) -> list[Outcome]:
    """A policy with each forecast: its parameter chosen in training, its score on the test splits.

    Args:
        case: the policy, its environment and the forecasts.
        size: the traces, of seeds from `FIRST` on.
        advance: called with 1 after each forecast of a trace.
    """
    plain = resolve(case.env).override(jobs=size.jobs)
    policies: dict[str, Heuristic] = {}
    played: dict[str, list[Played]] = {}
    for seed in range(FIRST, FIRST + size.traces):
        here = plain.override(trace_seed=seed)
        quiet = Anchors.of(here.override(forecast="none"), episodes=size.episodes, split="test")
        for name, made in case.forecasts().items():
            told = replace(here, forecast=made(here))
            if name not in policies:
                policies[name] = chosen_in_training(case, told) if name != "none" else case.policy()
            played.setdefault(name, []).append(play(case, policies[name], told, quiet))
            advance(1)
    return [outcome(case, name, policies[name], traces) for name, traces in played.items()]


class Played(NamedTuple):
    """What a policy costs on the test split of a trace, by row of the evidence."""

    evidence: Evidence
    chosen: npt.NDArray[np.float64]
    published: npt.NDArray[np.float64]


def play(case: Case, chosen: Heuristic, scenario: Scenario, quiet: Anchors) -> Played:
    """Play the policy with the chosen parameter, and as published.

    Args:
        case: the policy.
        chosen: the same with its parameter.
        scenario: with the forecast.
        quiet: slices of the same without one. What replay and the bound cost there is the same with
            any, but for kills: their grace periods are weighted by it.
    """
    slices, scenario = len(quiet.replay.slices), replace(scenario, split="test")
    anchors = (
        Anchors.of(scenario, episodes=slices)
        if scenario.kill
        else replace(quiet, scenario=scenario, world=build_world(scenario))
    )
    costs = [anchors.evidence.costs(anchors.run(policy)) for policy in (chosen, case.policy())]
    return Played(anchors.evidence, *costs)


def outcome(case: Case, forecast: str, chosen: Heuristic, played: Sequence[Played]) -> Outcome:
    """The scores on all traces together."""
    evidence = [each.evidence for each in played]
    found = score_of(evidence, [each.chosen for each in played])
    published = score_of(evidence, [each.published for each in played])
    return Outcome(
        *(case.env, chosen.name, forecast, case.parameter, getattr(chosen, case.parameter)),
        *(found.value, found.low, found.high),
        *(published.value, published.low, published.high),
    )


def chosen_in_training(case: Case, scenario: Scenario) -> Heuristic:
    """The policy with the value of the grid that costs least on the later part of the training
    split, where the forecast is made from the earlier part: as it will be for the test split, of
    jobs that the predictor has not seen. The first of equal ones.
    """
    inner = scenario.override(trace=split_of(scenario, "train"), split="test", boundary=LATER)
    world = build_world(inner)
    policies = [replace(case.policy(), **{case.parameter: value}) for value in case.grid]
    costs = [
        float(run_policy(world, inner, policy, order=inner.order).costs.sum())
        for policy in policies
    ]
    return policies[costs.index(min(costs))]
