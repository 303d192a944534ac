"""Outages of machines: how often, how long, why, and which ones together.

A gap is the time from one failure to the next, of a machine or of the whole system; the Weibull is
fitted to gaps, by maximum likelihood. Gaps of 0 (two failures logged for the same minute) are
counted and left out: no Weibull with a decreasing hazard has a likelihood there, and putting a
small number in their place would make the shape depend on that number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.describe.facts import Facts, Flags, Floats, Ints
from failgym.traces.describe.fits import fit_lognormal, fit_weibull
from failgym.traces.describe.tables import (
    DescriptionTable,
    Missing,
    Row,
    ratio,
)
from failgym.traces.trace import Trace
from failgym.vocabulary import DAY, HOUR, MINUTE

PERCENTS = (25, 50, 75, 90, 95, 99)
"""Quantiles of gaps and downtimes [%]; the 95th is Kumar et al.'s (DSN 2020, section IV)."""
DETAILS = 12
"""Causes in full that are listed."""
SPREAD = tuple(f"p{percent}" for percent in PERCENTS)

Made = DescriptionTable | Missing


@dataclass(frozen=True)
class Outages:
    """The outages in order of (machine, down); times in ms."""

    trace: Trace

    @cached_property
    def _order(self) -> Ints:
        down, machine = (
            self.trace.column("outages", "down"),
            self.trace.column("outages", "machine"),
        )
        return np.lexsort((down, machine))

    @cached_property
    def machine(self) -> Ints:
        """Machine of each outage."""
        return self.trace.column("outages", "machine")[self._order]

    @cached_property
    def down(self) -> Ints:
        """When each began."""
        return self.trace.column("outages", "down")[self._order]

    @cached_property
    def up(self) -> Ints:
        """When each ended, -1 if it did not by the end of the data."""
        return self.trace.column("outages", "up")[self._order]

    @cached_property
    def ended(self) -> Flags:
        """Which ended."""
        return self.trace.present("outages", "up")[self._order]

    @cached_property
    def cause(self) -> npt.NDArray[Any]:
        """Cause of each, "" where it is not known (object)."""
        return self.trace.column("outages", "cause")[self._order]

    @cached_property
    def kind(self) -> npt.NDArray[Any]:
        """What each cause begins with, before a ":" or "(": "hardware" of "hardware: CPU"."""
        names, number = np.unique(self.cause, return_inverse=True)
        kinds = [re.split("[:(]", str(name))[0].strip() for name in names.tolist()]
        return np.array(kinds, dtype=object)[number]

    @cached_property
    def downtime(self) -> Floats:
        """How long those that ended took."""
        return (self.up - self.down)[self.ended].astype(np.float64)

    @cached_property
    def _same(self) -> Flags:
        """Which have the same machine as the one before, from the second on."""
        return self.machine[1:] == self.machine[:-1]

    @cached_property
    def machine_gaps(self) -> Floats:
        """From a failure of a machine to its next."""
        return np.diff(self.down)[self._same].astype(np.float64)

    @cached_property
    def system_gaps(self) -> Floats:
        """From a failure of any machine to the next of any."""
        return np.diff(np.sort(self.down)).astype(np.float64)

    @cached_property
    def uptime(self) -> Floats:
        """From a machine's return to its next failure."""
        known = self._same & self.ended[:-1]
        return np.maximum(self.down[1:] - self.up[:-1], 0)[known].astype(np.float64)

    @cached_property
    def seen(self) -> int:
        """From the first failure to the last."""
        return int(self.down.max() - self.down.min()) if len(self.down) else 0


def outages(facts: Facts) -> list[Made]:
    """The tables of this file that the trace allows, and what the others need."""
    trace = facts.trace
    if not trace.rows("outages"):
        needs = "outages of machines"
        return [
            Missing("outages", "Machines and their outages", needs),
            Missing("outage_gaps", "Gaps between failures, and their Weibull", needs),
            Missing("downtimes", "Downtimes, and their lognormal", needs),
            Missing("outages_by_cause", "Outages by cause", needs),
            Missing("outages_by_detail", "Outages by cause in full", needs),
            Missing("correlated_outages", "Outages that share a group", needs),
        ]
    found = Outages(trace)
    made = (overview, gaps, downtimes, by_cause, by_detail, correlated)
    return [make(found) for make in made]


def overview(found: Outages) -> DescriptionTable:
    """How many outages, and the mean times between failures.

    The time seen is from the first failure to the last. A machine's MTBF is that time by the
    machines that failed at all, over the failures; over all machines of the trace it is longer. The
    system's is the mean gap between its failures.
    """
    machines, failures = found.trace.rows("machines"), len(found.down)
    counts = np.bincount(found.machine, minlength=machines)
    hit = int((counts > 0).sum())
    seen = found.seen
    rows: list[Row] = [
        ("machines", machines),
        ("machines that failed", hit),
        ("outages", failures),
        ("outages not ended", failures - len(found.downtime)),
        ("time seen [days]", seen / DAY),
        ("MTBF of a machine that failed [days]", hit * seen / failures / DAY),
        ("MTBF of a machine, of all [days]", machines * seen / failures / DAY),
        ("MTBF of the system [hours]", ratio(seen / HOUR, failures - 1)),
        ("outages per machine, mean", failures / machines),
        ("outages per machine that failed, mean", failures / hit),
        ("outages per machine that failed, standard deviation", float(counts[counts > 0].std())),
        ("outages per machine, most", int(counts.max())),
    ]
    return DescriptionTable("outages", "Machines and their outages", ("what", "value"), tuple(rows))


def gaps(found: Outages) -> DescriptionTable:
    """Gaps between failures of a machine and of the system, uptimes, and Weibull fits."""
    rows: list[Row] = []
    for label, values in {
        "of a machine": found.machine_gaps,
        "of the system": found.system_gaps,
        "uptime of a machine": found.uptime,
    }.items():
        positive = values[values > 0]
        fit = fit_weibull(positive)
        shape, scale = (None, None) if fit is None else (fit.shape, fit.scale / HOUR)
        zero = len(values) - len(positive)
        mean = ratio(values.sum() / HOUR, len(values))
        rows.append((label, len(values), zero, mean, shape, scale, *_spread(values / HOUR)))
    columns = ("gaps", "count", "of 0", "mean", "Weibull shape", "Weibull scale", *SPREAD)
    title = "Gaps between failures [hours]"
    return DescriptionTable("outage_gaps", title, columns, tuple(rows))


def downtimes(found: Outages) -> DescriptionTable:
    """Downtimes and their lognormal, of all outages and by kind of cause."""
    minutes = found.downtime / MINUTE
    kind = found.kind[found.ended]
    groups = {"all": np.ones(len(minutes), dtype=np.bool_)}
    groups.update({str(name): kind == name for name in np.unique(kind) if name})
    rows: list[Row] = []
    for label, among in groups.items():
        values = minutes[among]
        fit = fit_lognormal(values)
        mu, sigma = (None, None) if fit is None else fit
        mean = ratio(values.sum(), len(values))
        rows.append((label, len(values), mean, mu, sigma, *_spread(values)))
    columns = ("cause", "outages", "mean", "mu of log", "sigma of log", *SPREAD)
    title = "Downtimes of outages that ended [minutes]"
    return DescriptionTable("downtimes", title, columns, tuple(rows))


def by_cause(found: Outages) -> Made:
    """How many outages, and how much downtime, have each kind of cause."""
    name, title = "outages_by_cause", "Outages by cause"
    if not found.trace.present("outages", "cause").any():
        return Missing(name, title, "cause of outages")
    return _shares(name, title, found, found.kind)


def by_detail(found: Outages) -> Made:
    """The causes in full, the `DETAILS` most frequent."""
    name, title = "outages_by_detail", f"Outages by cause in full, the first {DETAILS}"
    if not (found.kind != found.cause).any():
        return Missing(name, title, "causes of outages with details")
    return _shares(name, title, found, found.cause, DETAILS)


def _shares(
    name: str, title: str, found: Outages, causes: npt.NDArray[Any], most: int | None = None
) -> DescriptionTable:
    names, number = np.unique(causes, return_inverse=True)
    counts = np.bincount(number)
    spent = np.bincount(number, weights=np.where(found.ended, found.up - found.down, 0))
    rows: list[Row] = [
        (
            str(names[k]) or "(not known)",
            int(counts[k]),
            ratio(int(counts[k]), len(number)),
            ratio(float(spent[k]), float(spent.sum())),
        )
        for k in np.argsort(-counts, kind="stable")[:most].tolist()
    ]
    columns = ("cause", "outages", "share of outages", "share of downtime")
    return DescriptionTable(name, title, columns, tuple(rows))


def correlated(found: Outages) -> Made:
    """Outages that share their group with others."""
    name, title, trace = "correlated_outages", "Outages that share a group", found.trace
    known = trace.present("outages", "group")
    if not known.any():
        return Missing(name, title, "group of outages")
    _, sizes = np.unique(trace.column("outages", "group")[known], return_counts=True)
    together = sizes[sizes > 1]
    mean = ratio(together.sum(), len(together))
    row = (
        len(known),
        int(together.sum()),
        ratio(together.sum(), len(known)),
        len(together),
        mean,
        int(together.max(initial=0)),
    )
    columns = (
        "outages",
        "with others",
        "share with others",
        "groups of several",
        "mean size",
        "largest",
    )
    return DescriptionTable(name, title, columns, (row,))


def _spread(values: Floats) -> Row:
    if not len(values):
        return tuple(None for _ in PERCENTS)
    return tuple(np.percentile(values, PERCENTS).tolist())
