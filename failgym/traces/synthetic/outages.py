"""Machines and their outages after an `OutageLaw`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from failgym.traces.synthetic.profiles.outages import OutageLaw
from failgym.traces.synthetic.quantiles import Floats, Ints, allot, quotas, stratified
from failgym.traces.synthetic.ranges import check_rows
from failgym.vocabulary import MINUTE

MOST_OUTAGES = 10_000_000
"""Outages that are drawn: each goes through a dozen arrays."""
OPEN = -1
"""Stands for the time up of an outage that is not over by the end of the data."""


@dataclass(frozen=True)
class Outages:
    """One entry per outage, in order of (machine, down); no two of a machine overlap or touch."""

    machine: Ints
    down: Ints  # [ms]
    up: Ints  # [ms]; OPEN if later than the end of the data
    cause: Ints  # position in the law's causes
    group: Ints  # number of its group; -1 alone
    law: OutageLaw

    def columns(self) -> dict[str, Any]:
        """The columns of a trace's table `outages`."""
        names = np.array([name for name, _ in self.law.causes], dtype=object)
        return {
            "machine": self.machine,
            "down": self.down,
            "up": np.ma.array(self.up, mask=self.up == OPEN),
            "cause": names[self.cause].tolist(),
            "group": np.ma.array(self.group, mask=self.group < 0),
        }


def domains(law: OutageLaw) -> list[str]:
    """The failure domain of each machine."""
    return [f"rack-{machine // law.domain:03d}" for machine in range(law.machines)]


def draw_outages(law: OutageLaw, span: int, rng: np.random.Generator) -> Outages:
    """The outages of all machines from time 0 to `span` [ms].

    Their number is the expected one, rounded: `span * machines / mtbf`.
    """
    wanted = math.floor(span * law.machines / law.mtbf + 0.5)
    check_rows(wanted, "outages", MOST_OUTAGES)
    sizes = _group_sizes(law, wanted, rng)
    machine, down = _failures(law, wanted - int((sizes - 1).sum()), span, rng)
    group, cause = np.full(len(down), -1), allot(rng, [share for _, share in law.causes], len(down))
    led = rng.permutation(len(down))[: len(sizes)]
    sizes = sizes[: len(led)]
    group[led] = np.arange(len(led))
    # The companions are the next machines of the domain, in a circle.
    leader = np.repeat(led, sizes - 1)
    step = np.arange(len(leader)) - np.repeat(np.cumsum(sizes - 1) - (sizes - 1), sizes - 1) + 1
    companion = _in_domain(law, machine[leader], step)
    return _resolved(
        law,
        np.concatenate((machine, companion)),
        np.concatenate((down, down[leader])),
        np.concatenate((cause, cause[leader])),
        np.concatenate((group, group[leader])),
        span,
        rng,
    )


def _group_sizes(law: OutageLaw, outages: int, rng: np.random.Generator) -> Ints:
    """The machines in each group, so many groups that the share of grouped outages comes out."""
    shares = [share for _, share in law.group_sizes]
    mean = sum(size * share for size, share in law.group_sizes) / sum(shares)
    counts = quotas(shares, math.floor(law.grouped * outages / mean + 0.5))
    return rng.permutation(np.repeat([size for size, _ in law.group_sizes], counts))


def _failures(law: OutageLaw, count: int, span: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Machine and time of `count` failures, in order of time.

    All machines run on clocks of mean rate 1 failure per unit, from long before the data begin. The
    unit is set so that just `count` failures fall into the data, and then stretched or squeezed
    spell by spell.
    """
    n = law.machines
    rate = law.rates.at((rng.permutation(n) + 0.5) / n)
    rate *= n / rate.sum()
    horizon = 1.3 * count / n + 3.0  # units, before and after the data begin
    gaps = np.ceil(2.0 * (rate * horizon + 4.0 * np.sqrt(rate * horizon)) + 10.0).astype(np.int64)
    machine = np.repeat(np.arange(n), gaps)
    scale = math.gamma(1.0 + 1.0 / law.shape)
    gap = (-np.log(_uniform(rng, len(machine)))) ** (1.0 / law.shape) / scale / rate[machine]
    passed = np.cumsum(gap)
    before = (passed - gap)[np.cumsum(gaps) - gaps]
    time = passed - before[machine] - horizon
    later = np.flatnonzero(time > 0)
    order = later[np.argsort(time[later], kind="stable")][: count + 1]
    unit = 0.5 * (time[order[count - 1]] + time[order[count]]) if count else 1.0
    share = _clock(law, span, rng, time[order[:count]] / unit)
    return machine[order[:count]], np.floor(share * (span // law.tick)).astype(np.int64) * law.tick


def _clock(law: OutageLaw, span: int, rng: np.random.Generator, share: Floats) -> Floats:
    """From shares of the failures to shares of the time, both in [0, 1)."""
    spells = max(math.floor(span / law.spell + 0.5), 1)
    weight = law.spells.at(stratified(rng, spells))
    failures = np.concatenate(([0.0], np.cumsum(weight) / weight.sum()))
    return np.interp(share, failures, np.arange(spells + 1) / spells)


def _uniform(rng: np.random.Generator, n: int) -> Floats:
    """Numbers in (0, 1): odd multiples of 2^-32."""
    return (rng.integers(0, 2**31, n) + 0.5) / 2**31


def _in_domain(law: OutageLaw, machine: Ints, step: Ints) -> Ints:
    """The machine that many steps further on in the same failure domain, in a circle."""
    base = machine // law.domain * law.domain
    size = np.minimum(law.domain, law.machines - base)
    return base + (machine - base + step) % size


def _resolved(
    law: OutageLaw,
    machine: Ints,
    down: Ints,
    cause: Ints,
    group: Ints,
    span: int,
    rng: np.random.Generator,
) -> Outages:
    """The outages with their repairs.

    Of two failures of a machine within two ticks, the earlier is kept; a repair that would outlast
    the next failure of the machine ends a tick before it.
    """
    order = np.lexsort((down, machine))
    close = (np.diff(machine[order]) == 0) & (np.diff(down[order]) < 2 * law.tick)
    kept = order[np.concatenate(([True], ~close))] if len(order) else order
    machine, down, cause, group = machine[kept], down[kept], cause[kept], group[kept]
    ticks = np.floor(law.repair.sample(rng, len(down)) * MINUTE / law.tick + 0.5).astype(np.int64)
    up = down + np.maximum(ticks, 1) * law.tick
    again = np.flatnonzero(np.diff(machine) == 0)
    up[again] = np.minimum(up[again], down[again + 1] - law.tick)
    up[up > span] = OPEN
    alone = group >= 0
    alone[alone] = np.bincount(group[alone])[group[alone]] < 2
    group[alone] = -1
    _, group[group >= 0] = np.unique(group[group >= 0], return_inverse=True)
    return Outages(machine, down, up, cause, group, law)
