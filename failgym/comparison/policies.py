"""Do rules rank alike on two traces? Their scores on both, and Kendall's tau."""

# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from failgym.baselines import REGISTRY, Heuristic
from failgym.comparison.resampling import (
    NOTHING,
    RESAMPLES,
    Floats,
    Measured,
    blocks,
    drawn,
    interval,
)
from failgym.envs import resolve
from failgym.evaluation import Anchors
from failgym.traces import Trace
from failgym.worlds.inputs import missing_inputs

__all__ = ["LEAST_RULES", "Ranked", "fitting", "kendall", "ranked"]

LEAST_RULES = 3
"""Rules that have ranks to compare, at least."""
LEFT_OUT = ("replay", "clairvoyant", "random")
"""Not ranked: 0 and 100 by definition, and chance."""


@dataclass(frozen=True)
class Ranked:
    """What the rules score on the same slices of one trace, and on resampled ones."""

    scores: dict[str, Measured]
    samples: dict[str, Floats]
    """[resamples] by rule: scores on slices in blocks of time, resampled"""
    blocks: int
    """how many"""


def ranked(
    trace: Trace,
    env: str,
    *,
    episodes: int | None = None,
    seed: int = 0,
    advance: Callable[[str], None] = lambda _: None,
) -> Ranked:
    """Score every rule that an environment allows on the whole of a trace.

    Args:
        trace: on which.
        env: an environment's id; its forecasts are drawn, as registered.
        episodes: slices at most.
        seed: of the draw of slices and of the resampling.
        advance: is told which rule has been scored.

    Raises:
        ValueError: for an unknown environment, or a trace on which there is nothing to gain.
    """
    scenario = resolve(env).override(trace=trace, split="all")
    anchors = Anchors.of(scenario, episodes=episodes, seed=seed, split="all")
    anchors.check_room()
    possible = anchors.possible
    block = blocks(len(possible))
    number = int(block.max()) + 1
    weights = drawn(number, seed)[:, block]
    scores: dict[str, Measured] = {}
    samples: dict[str, Floats] = {}
    for name, rule in fitting(anchors).items():
        saved = (anchors.replay.costs - anchors.run(rule).costs).sum(axis=1)
        samples[name] = _share(weights @ saved, weights @ possible)
        scores[name] = interval(100.0 * saved.sum() / possible.sum(), samples[name], number)
        advance(name)
    return Ranked(scores, samples, number)


def fitting(anchors: Anchors) -> dict[str, Heuristic]:
    """The rules that have ranks on these slices, by name: which fit the scenario and would act."""
    found = {
        name: rule()
        for name, rule in REGISTRY.items()
        if name not in LEFT_OUT and rule.compatible(anchors.scenario)
    }
    return {name: rule for name, rule in found.items() if not _lacking(rule, anchors)}


def kendall(first: Ranked, second: Ranked) -> Measured:
    """Kendall's tau-b of the rules' ranks on two traces, each resampled for the interval."""
    from scipy.stats import kendalltau

    names = [name for name in first.scores if name in second.scores]
    if len(names) < LEAST_RULES:
        return NOTHING

    def tau(one: Mapping[str, float], other: Mapping[str, float]) -> float:
        found: Any = kendalltau([one[n] for n in names], [other[n] for n in names])
        return float(found.statistic)

    value = tau(*({n: ranked.scores[n].value for n in names} for ranked in (first, second)))
    found = [
        tau(*({n: float(ranked.samples[n][at]) for n in names} for ranked in (first, second)))
        for at in range(RESAMPLES)
    ]
    return interval(value, np.array(found), min(first.blocks, second.blocks), (-1.0, 1.0))


def _share(saved: Floats, possible: Floats) -> Floats:
    """Scores; NaN where there is nothing to gain."""
    none = np.full(len(saved), np.nan)
    return 100.0 * np.divide(saved, possible, out=none, where=possible > 0.0)


def _lacking(rule: Heuristic, anchors: Anchors) -> bool:
    """Would the rule never act, since what it goes by is not there?"""
    return bool(missing_inputs(anchors.world, rule.inputs()))
