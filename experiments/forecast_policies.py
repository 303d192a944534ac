"""What policies make of trained forecasts: the third part of `experiments.forecast_quality`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from failgym.baselines import Algorithm1, GracePeriod, Heuristic, MLPeriodic
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors, run_policy
from failgym.evaluation.progress import Advance
from failgym.predictors import GradientBoosting, Predictor, RandomForest, TwoLevelNetwork
from failgym.predictors.learned import Learned
from failgym.worlds.build import build_world, split_of

__all__ = ["CASES", "Case", "Outcome", "compared"]

LATER = 0.5
"""Share of the training split's jobs before the part on which thresholds are chosen."""
THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.75, 0.8, 0.9, 0.95)
WEIGHTS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""The grids of thresholds, and of the weight of the confidence to finish: up to more than a kill
that was wrong costs in `GracePeriod-v1`, four times its machine-time."""

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
    drawn: str
    """what the scenario's own forecast is (`auto`), of a stated quality"""

    def forecasts(self) -> dict[str, Made]:
        """Nothing, what was trained, what is drawn to order, and the record itself."""
        drawn = {name: _named(name) for name in (self.drawn, "perfect")}
        return {"none": _named("none"), **self.trained, **drawn}


def _named(name: str) -> Made:
    return lambda scenario: name


def _forest(scenario: Scenario) -> RandomForest:
    return RandomForest(window=scenario.window, seed=scenario.seed)


def _boosting(target: Any, samples: Any = "moments") -> Made:
    return lambda scenario: GradientBoosting(
        target=target, samples=samples, window=scenario.window, seed=scenario.seed
    )


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
            "TwoLevelNetwork": _network,
        },
        drawn="elsayed_alarms",
    ),
    Case(
        env="Checkpoint-v1",
        policy=MLPeriodic,
        parameter="threshold",
        grid=THRESHOLDS,
        trained={
            "RandomForest": _forest,
            "GradientBoosting, system": _boosting("system"),
            "GradientBoosting, tail": _boosting("system", "tail"),
        },
        drawn="kumar_alarms",
    ),
    Case(
        env="GracePeriod-v1",
        policy=GracePeriod,
        parameter="finish_weight",
        grid=WEIGHTS,
        trained={
            "RandomForest": _forest,
            "GradientBoosting, unfinished": _boosting("unfinished"),
            "TwoLevelNetwork": _network,
        },
        drawn="rosa_by_job",
    ),
)


@dataclass(frozen=True)
class Outcome:
    """A policy with one forecast, on the test split."""

    env: str
    policy: str
    forecast: str
    parameter: str
    chosen: float
    """value of the parameter, chosen on the later part of the training split"""
    score: float
    low: float
    high: float
    """with its 95 % bootstrap interval over jobs (blocks of jobs where something joins them); 0 is
    replay, 100 the clairvoyant"""
    published: float
    """score with the parameter as published"""
    published_low: float
    published_high: float
    wasted_work: float
    """a share of replay's"""
    false_kills: int | None
    episodes: int


def compared(
    case: Case, jobs: int | None, episodes: int | None, seed: int, advance: Advance
) -> list[Outcome]:
    """A policy with each forecast: its parameter chosen in training, its score on the test split.

    Args:
        case: the policy, its environment and the forecasts.
        jobs: of the generated trace; by default the scenario's.
        episodes: slices of the test split, the same for all; by default all.
        seed: of the draw of slices, and of the bootstrap.
        advance: called with 1 after each forecast.
    """
    scenario = resolve(case.env)
    scenario = scenario if jobs is None else scenario.override(jobs=jobs)
    outcomes: list[Outcome] = []
    for name, made in case.forecasts().items():
        outcomes.append(
            _outcome(case, name, replace(scenario, forecast=made(scenario)), episodes, seed)
        )
        advance(1)
    return outcomes


def _outcome(case: Case, name: str, scenario: Scenario, episodes: int | None, seed: int) -> Outcome:
    published = case.policy()
    chosen = published if name == "none" else chosen_in_training(case, scenario)
    anchors = Anchors.of(scenario, episodes=episodes, seed=seed, split="test")
    found = anchors.measure(anchors.run(chosen))
    before = found if chosen == published else anchors.measure(anchors.run(published))
    return Outcome(
        env=case.env,
        policy=published.name,
        forecast=name,
        parameter=case.parameter,
        chosen=getattr(chosen, case.parameter),
        score=found.score,
        low=found.low,
        high=found.high,
        published=before.score,
        published_low=before.low,
        published_high=before.high,
        wasted_work=found.wasted_work,
        false_kills=found.false_kills,
        episodes=found.episodes,
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
