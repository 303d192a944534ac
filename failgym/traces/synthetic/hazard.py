"""The hazard of system failures after Kumar et al.: a start-up term, machines, and spells.

The hazard of job j at age a of a run that started at time s is

    factor_j (startup_j e^(-a / scale) / scale + machine_j + exposure_j shared(s + a))

in 1/s. The shared term is piecewise constant in time and the same for all jobs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from failgym.traces.synthetic.profiles.kumar import Kumar
from failgym.traces.synthetic.quantiles import Floats, Ints

GAMMA_2_MEDIAN = 1.678347
"""Median of a gamma variable of shape 2 and scale 1."""
QUANTILES = 1_000
"""Quantiles that the mean of a table is taken of."""
BISECTIONS = 50
"""Halvings of an interval of days: below a microsecond."""


@dataclass(frozen=True)
class Shared:
    """The shared hazard: constant between `time[i]` and `time[i + 1]` [s]."""

    time: Floats
    accumulated: Floats  # from the origin to each time

    def upto(self, time: Floats) -> Floats:
        """The hazard accumulated from the origin to each time."""
        return np.interp(time, self.time, self.accumulated)

    def at(self, time: Floats) -> Floats:
        """The hazard at each time [1/s]."""
        rate = np.diff(self.accumulated) / np.diff(self.time)
        interval = np.searchsorted(self.time, time, side="right") - 1
        return rate[np.clip(interval, 0, len(rate) - 1)]


def shared_hazard(profile: Kumar, span: float, rng: np.random.Generator) -> Shared:
    """Bursts and spells of congestion over `span` seconds.

    A burst has a short steep beginning and a spell behind it; other spells come as a Poisson
    process.
    """
    bursts = _bursts(profile, span, rng)
    spells = np.sort(rng.random(rng.poisson(span / (profile.spell_gap * 86_400.0)))) * span
    begin = np.concatenate((bursts, bursts, spells))
    steep = profile.burst_weight / profile.burst_seconds
    calm_down = profile.spell_hours.sample(rng, len(bursts) + len(spells)) * 3_600.0
    length = np.concatenate((np.full(len(bursts), profile.burst_seconds), calm_down))
    rate = np.concatenate((np.full(len(bursts), steep), np.full(len(calm_down), profile.spell)))
    edges = np.concatenate(([0.0], begin, begin + length, [10.0 * span + 1e7]))
    change = np.concatenate(([profile.calm], rate, -rate, [0.0]))
    order = np.argsort(edges, kind="stable")
    time, level = edges[order], np.cumsum(change[order])
    distinct = np.append(np.diff(time) > 0, True)
    time, level = time[distinct], level[distinct]
    grown = np.concatenate(([0.0], np.cumsum(level[:-1] * np.diff(time))))
    return Shared(time, grown)


def _bursts(profile: Kumar, span: float, rng: np.random.Generator) -> Floats:
    """When bursts begin [s]: gaps as tabulated, or gamma of shape 2 with the published median.

    Of tabulated gaps there are as many as their mean says, short and long ones in proportion.
    """
    if profile.burst_gaps is None:
        scale = profile.burst_gap * 86_400.0 / GAMMA_2_MEDIAN
        bursts = np.cumsum(rng.gamma(2.0, scale, int(span / scale) + 10)) - rng.random() * scale
    else:
        table = profile.burst_gaps
        mean = 86_400.0 * float(table.at((np.arange(QUANTILES) + 0.5) / QUANTILES).mean())
        gaps = 86_400.0 * table.sample(rng, max(round(span / mean), 1))
        slack = span - float(gaps.sum())
        bursts = np.cumsum(gaps) + rng.random() * (slack if slack > 0 else -gaps[0])
    return bursts[(bursts > 0) & (bursts < span)]


@dataclass(frozen=True)
class Hazard:
    """The hazards of some jobs, (jobs,) each."""

    shared: Shared
    startup_scale: float  # [s]
    startup: Floats
    machine: Floats  # [1/s]
    exposure: Floats  # to the shared hazard
    factor: Floats

    @classmethod
    def of(cls, profile: Kumar, shared: Shared, nodes: Ints, memory: Floats) -> Self:
        """The hazards of jobs of so many nodes and so much memory requested."""
        return cls(
            shared,
            profile.startup_scale,
            np.full(len(nodes), profile.startup),
            profile.machine * nodes.astype(np.float64) ** profile.machine_nodes,
            np.ones(len(nodes)),
            1.0 + profile.memory_slope * memory,
        )

    def rows(self, rows: Ints) -> Self:
        """The hazards of some of the jobs."""
        return replace(
            self,
            startup=self.startup[rows],
            machine=self.machine[rows],
            exposure=self.exposure[rows],
            factor=self.factor[rows],
        )

    def scaled(self, factor: Floats) -> Self:
        """The same with every job's hazard times its factor."""
        return replace(self, factor=self.factor * factor)

    def exposed(self, exposure: Floats) -> Self:
        """The same with every job's exposure to the shared hazard."""
        return replace(self, exposure=exposure)

    def own(self, age: Floats) -> Floats:
        """What runs accumulate by start-up and machines up to an age [s], without the factor."""
        return self.startup * -np.expm1(-age / self.startup_scale) + self.machine * age

    def common(self, start: Floats, age: Floats) -> Floats:
        """The shared hazard accumulated by runs from their start to an age [s]."""
        return self.exposure * (self.shared.upto(start + age) - self.shared.upto(start))

    def accumulated(self, start: Floats, age: Floats) -> Floats:
        """The hazard accumulated by runs from their start to an age [s]."""
        return self.factor * (self.own(age) + self.common(start, age))

    def age(self, start: Floats, threshold: Floats, run: Floats) -> Floats:
        """The age [s] at which the threshold is reached, (jobs,); infinite if not by age `run`."""
        result = np.full(len(start), np.inf)
        hit = np.flatnonzero(self.accumulated(start, run) >= threshold)
        few, since, wanted = self.rows(hit), start[hit], threshold[hit]
        low, high = np.zeros(len(hit)), run[hit].copy()
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            reached = few.accumulated(since, middle) >= wanted
            high = np.where(reached, middle, high)
            low = np.where(reached, low, middle)
        result[hit] = high
        return result

    def shared_share(self, start: Floats, age: Floats) -> Floats:
        """The shared part of the hazard at an age, 0 to 1."""
        startup = self.startup * np.exp(-age / self.startup_scale) / self.startup_scale
        shared = self.exposure * self.shared.at(start + age)
        return shared / (startup + self.machine + shared)
