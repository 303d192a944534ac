"""The constants of an environment that `experiments.sensitivity` changes, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from failgym.envs import Scenario
from failgym.predictors import Alarms, Calibrated
from failgym.predictors.drawn.classes import ClassQuality
from failgym.predictors.drawn.levels import Levels
from failgym.worlds.forecast import PREDICTORS
from failgym.worlds.settings.prices import Prices

__all__ = ["AS_IT_IS", "Change", "changes", "erring"]

AS_IT_IS = "as it is"
VALUES = (1.0, 2.0, 4.0, 8.0, 16.0)
LIMITS = (0, 1, 10)
DRAWS = (1, 2, 3, 4)
FACTORS = {"x 0.5": 0.5, "x 2": 2.0}
QUALITIES = {"better": 0.5, "worse": 2.0}
"""What the odds of an error of a forecast are multiplied by."""
_PRICES = frozenset(field.name for field in fields(Prices))


@dataclass(frozen=True)
class Change:
    """A constant that is another."""

    name: str
    fields: dict[str, Any]

    @property
    def of_prices(self) -> bool:
        """Are only prices others, so that the same happens?"""
        return set(self.fields) <= _PRICES


def changes(scenario: Scenario) -> Iterator[Change]:
    """The constants that are changed; what an environment does not have is left out.

    Where nothing is ever started that the record does not start, as where tasks can only be
    killed, it does not matter how records go on.
    """
    yield Change(AS_IT_IS, {})
    started = scenario.clone or scenario.retry or scenario.checkpoint
    if scenario.beyond_record == "continued" and started:
        yield from _laws(scenario)
    yield from _prices(scenario)
    yield from _forecasts(scenario)
    if scenario.save_outputs:
        yield from _cluster(scenario)
    if scenario.beyond_record == "continued" and started:
        for draw in DRAWS:
            yield Change(f"draw {draw}", {"draw_seed": draw})


def _laws(scenario: Scenario) -> Iterator[Change]:
    """How records go on."""
    for share in (0.0, 1.0):
        yield Change(f"task share {share:g}", {"task_share": share})
    for limit in LIMITS:
        fields = {"restarts": "limit", "restart_limit": limit}
        yield Change(f"restart limit {limit}", fields)
    more = scenario.spare_attempts + scenario.drawn_attempts
    yield Change("twice the attempts", {"spare_attempts": more})
    for finest in ("class", "all"):
        yield Change(f"strata: {finest}", {"strata": finest})


def _prices(scenario: Scenario) -> Iterator[Change]:
    """What a task is worth, and what waiting and overhead cost beside wasted work."""
    if scenario.task_value is not None:
        for value in VALUES:
            if value != scenario.task_value:
                yield Change(f"task value {value:g}", {"task_value": value})
    waiting = "weight_completion" if scenario.waiting_price is None else "waiting_price"
    prices = {"waiting": waiting} if scenario.weight_completion else {}
    if scenario.checkpoint or scenario.save_outputs:
        prices["overhead"] = "weight_overhead"
    if scenario.save_outputs:
        prices["wasted"] = "weight_wasted"
    for name, field in prices.items():
        for said, factor in FACTORS.items():
            yield Change(f"{name} {said}", {field: getattr(scenario, field) * factor})


def _cluster(scenario: Scenario) -> Iterator[Change]:
    """How much fails at once, and how many outputs are written at full speed."""
    for said, factor in FACTORS.items():
        share, streams = scenario.failed_share * factor, round(scenario.storage_streams * factor)
        if share:
            yield Change(f"failed share {said}", {"failed_share": share})
        if streams:
            yield Change(f"storage {said}", {"storage_streams": streams})


def _forecasts(scenario: Scenario) -> Iterator[Change]:
    """No forecast, and one whose errors have half or twice the odds."""
    if scenario.forecast != "none":
        yield Change("no forecast", {"forecast": "none"})
        made = PREDICTORS[str(scenario.forecast)](scenario)
        for said, odds in QUALITIES.items():
            yield Change(f"{said} forecast", {"forecast": erring(made, odds)})
    if scenario.node_forecast == "calibrated":
        yield Change("no forecast", {"node_forecast": "none"})
        for said, odds in QUALITIES.items():
            accuracy = 1.0 - _at_odds(1.0 - scenario.node_accuracy, odds)
            yield Change(f"{said} forecast", {"node_accuracy": accuracy})


def erring(made: Any, odds: float) -> Any:
    """A drawn forecast whose errors have so many times the odds.

    Failures that are missed and false alarms at each threshold, jobs and tasks that are put into a
    wrong class.

    Raises:
        TypeError: for a forecast whose quality is not stated.
    """
    if not isinstance(made, Alarms | Calibrated):
        raise TypeError(f"forecast: expected Alarms or Calibrated, got {type(made).__name__}")
    recall = _levels(made.recall, 1.0 / odds)
    changed = replace(made, recall=recall, fpr=_levels(made.fpr, odds))
    if isinstance(changed, Calibrated):
        return replace(changed, classes=_classes(changed.classes, odds))
    return replace(changed, classes=changed.classes and erring(changed.classes, odds))


def _classes(made: ClassQuality, odds: float) -> ClassQuality:
    flagged = _at_odds(made.unfinished_flagged, 1.0 / odds)
    confused = made.unfinished_confused / made.unfinished_flagged
    return replace(
        made,
        job_error=_at_odds(made.job_error, odds),
        finish_flagged=_at_odds(made.finish_flagged, odds),
        unfinished_flagged=flagged,
        unfinished_confused=flagged * _at_odds(confused, odds),
    )


def _levels(rates: Levels, odds: float) -> Levels:
    """Rates, one for each threshold, at so many times their odds."""
    if isinstance(rates, tuple):
        return tuple(_at_odds(rate, odds) for rate in rates)
    return _at_odds(rates, odds)


def _at_odds(share: float, odds: float) -> float:
    return share * odds / (share * odds + 1.0 - share)
