"""What a scenario predicts of the machines of its cluster."""

from __future__ import annotations

import numpy as np

from failgym.predictors import CalibratedNodes, NodeForecast
from failgym.ranges import joined_ranges
from failgym.sim.scheduled.cluster.cluster import cluster_of
from failgym.sim.scheduled.rules import NodePredictions
from failgym.worlds.scenario import Scenario
from failgym.worlds.split import Part

__all__ = ["node_predictions"]


def node_predictions(scenario: Scenario, part: Part) -> NodePredictions | None:
    """The predicted failures of each machine; None where nothing is predicted.

    Raises:
        ValueError: for a forecast of other machines.
    """
    if scenario.node_forecast == "none":
        return None
    forecast = _forecast(scenario, part)
    rows = cluster_of(part.trace)[1]
    count = np.diff(forecast.offset)[rows]
    at = joined_ranges(forecast.offset[rows], count)
    offset = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    return NodePredictions(offset, forecast.time[at])


def _forecast(scenario: Scenario, part: Part) -> NodeForecast:
    if isinstance(scenario.node_forecast, NodeForecast):
        # The record's own machines and outages, but for the end of those that are left down.
        own = scenario.outages == "trace" and not (scenario.machines or scenario.load)
        recorded = part.recorded if own else part.trace
        spoken_of = scenario.node_forecast.trace_hash == recorded.content_hash
        return scenario.node_forecast.check(recorded if spoken_of else part.trace)
    if scenario.node_forecast == "exact":
        return NodeForecast.exact(part.trace)
    quality = scenario.node_accuracy, scenario.node_false_positives
    return CalibratedNodes(*quality, seed=scenario.seed).predict(part.trace)
