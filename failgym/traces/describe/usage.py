"""Failure rate against usage, and its fits (Kumar et al., DSN 2020, section V).

The unit is an attempt that ran and whose end is known; those that met their walltime do not count,
as in the paper. Its usage is that of its last window ("tail usage"), or its mean where the trace
has no windows; a usage of 0 has no place on a logarithmic scale and does not count there.

Failed is what the system failed: by cause MACHINE or SHARED, or FAIL in a job of exit category
"system"; in a trace that has none of these, what ended FAIL. Against memory, it is what ran out of
memory (exit code 137), in a trace that has any.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from failgym.traces.describe.facts import Facts, Flags, Floats, Ints
from failgym.traces.describe.fits import (
    Correlation,
    Curve,
    fit_exponential,
    fit_hinge,
    pearson,
)
from failgym.traces.describe.kumar import groups
from failgym.traces.describe.tables import Cell, DescriptionTable, Missing, Row, ratio
from failgym.vocabulary import Cause, Outcome

OUT_OF_MEMORY = 137
"""Exit code of what the kernel killed for memory: 128 + SIGKILL."""
BIN_LEAST = 100
"""Attempts that a bin must hold to count (section V)."""
BINS = (10, 100)
"""Equal bins over the range of a usage: one for each 200 attempts, at least and at most this many.
The paper's number is not stated; its p-values go with about a hundred."""
TENTHS = 10

LINEAR = ("memory", "cpu")
"""Usages binned as they are; the others are binned by log10."""
HINGED = ("memory",)
"""Usages with the fit b (x - a)+; the others have a exp(b x), of x as it is binned."""
NODE_SECONDS = "node-seconds"

Made = DescriptionTable | Missing


class Points(NamedTuple):
    """Failure rates of the bins that hold enough attempts, one entry per bin."""

    usage: Floats  # middle of the bin, log10 of the usage unless linear
    rate: Floats
    attempts: Ints


@dataclass(frozen=True)
class FailureRates:
    """Which attempts count, which failed, and their usages."""

    facts: Facts

    @cached_property
    def counted(self) -> Flags:
        """Attempts that the rates are over."""
        facts = self.facts
        return facts.timed & (facts.outcome != Outcome.CENSORED) & (facts.cause != Cause.WALLTIME)

    @cached_property
    def failed(self) -> Flags:
        """Attempts that the system failed."""
        facts = self.facts
        fail = facts.outcome == Outcome.FAIL
        system = np.isin(facts.cause, (Cause.MACHINE, Cause.SHARED))
        if facts.trace.present("jobs", "exit_category").any():
            system |= fail & (facts.exit_category == "system")[facts.attempt_job]
        return self.counted & (system if system.any() else fail)

    @cached_property
    def out_of_memory(self) -> Flags:
        """Attempts that ran out of memory; those that failed if exit codes name none."""
        code = self.facts.trace.column("attempts", "exit_code")
        ended = self.counted & (code == OUT_OF_MEMORY)
        return ended if ended.any() else self.failed

    @cached_property
    def usages(self) -> dict[str, Floats]:
        """Usage of each attempt, NaN where it is not known, by resource."""
        found = {name: usage.tail for name, usage in self.facts.usage.items()}
        seconds = self.facts.run_time / 1000 * self.facts.nodes
        found[NODE_SECONDS] = np.where(self.facts.timed, seconds, np.nan)
        return found

    def among(self, resource: str) -> tuple[Flags, Flags, Floats]:
        """Attempts whose usage of the resource is known, the failed ones, and the usage."""
        failed = self.out_of_memory if resource == "memory" else self.failed
        with np.errstate(invalid="ignore", divide="ignore"):
            usage = self.usages[resource]
            usage = usage if resource in LINEAR else np.log10(usage)
        return self.counted & np.isfinite(usage), failed, usage


def usage(facts: Facts) -> list[Made]:
    """The tables of this file that the trace allows, and what the others need."""
    rates = FailureRates(facts)
    return [by_tenths(rates), correlations(rates)]


def by_tenths(rates: FailureRates) -> Made:
    """Failure rates of ten equal groups of attempts, from the least usage to the most."""
    name, title = "failure_rate_by_usage", "Failure rate by tenths of usage, least to most"
    if not rates.failed.any():
        return Missing(name, title, "failed attempts")
    rows: list[Row] = []
    for resource in rates.usages:
        known, failed, value = rates.among(resource)
        x, bad = value[known], failed[known]
        cells: list[Cell] = [resource, len(x), int(bad.sum())]
        edges = np.quantile(x, np.arange(1, TENTHS) / TENTHS) if len(x) else np.empty(0)
        tenth = np.searchsorted(edges, x, side="left")
        held = np.bincount(tenth, minlength=TENTHS)
        hit = np.bincount(tenth[bad], minlength=TENTHS)
        cells += [ratio(hit[k], held[k]) for k in range(TENTHS)]
        rows.append(tuple(cells))
    columns = ("usage", "attempts", "failures", *(f"P({k + 1})" for k in range(TENTHS)))
    return DescriptionTable(name, title, columns, tuple(rows))


def correlations(rates: FailureRates) -> Made:
    """Table V: Pearson's r over bins of usage, its p, and the paper's fits, by group of jobs."""
    name = "usage_correlation"
    title = "Failure rate against usage, Pearson's r over bins (Kumar et al., Table V, Fig. 2)"
    if not rates.failed.any():
        return Missing(name, title, "failed attempts")
    rows: list[Row] = []
    jobs = [(label, among) for label, among in groups(rates.facts) if among.any()]
    for resource in rates.usages:
        known, failed, value = rates.among(resource)
        for label, among in jobs:
            here = known & among[rates.facts.attempt_job]
            points = binned(value[here], failed[here])
            found = pearson(points.usage, points.rate)
            if found is not None:
                counts = (int(here.sum()), int((here & failed).sum()), len(points.rate))
                rows.append((f"{resource}: {label}", *counts, *_fits(resource, points, found)))
    if not rows:
        return Missing(name, title, f"{3 * BIN_LEAST} attempts in bins of {BIN_LEAST} or more")
    columns = ("usage: jobs", "attempts", "failures", "bins", "r", "p", "fit", "a", "b", "R2")
    return DescriptionTable(name, title, columns, tuple(rows))


def binned(usage: Floats, failed: Flags) -> Points:
    """Failure rates in equal bins over the range of usage; bins of few attempts are left out."""
    if not len(usage):
        return Points(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64))
    low, high = float(usage.min()), float(usage.max())
    bins = int(np.clip(len(usage) // (2 * BIN_LEAST), *BINS))
    width = (high - low) / bins
    number = np.minimum(((usage - low) / width).astype(np.int64), bins - 1) if width > 0 else 0
    number = np.broadcast_to(number, usage.shape)
    held = np.bincount(number, minlength=bins)
    hit = np.bincount(number[failed], minlength=bins)
    enough = np.flatnonzero(held >= BIN_LEAST)
    middle: Floats = (low + (enough + 0.5) * width).astype(np.float64)
    return Points(middle, hit[enough] / held[enough], held[enough])


def fitted(resource: str, points: Points) -> Curve | None:
    """The paper's curve for a resource through its points."""
    fit = fit_hinge if resource in HINGED else fit_exponential
    return fit(points.usage, points.rate)


def _fits(resource: str, points: Points, found: Correlation) -> Row:
    curve = fitted(resource, points)
    x = "x" if resource in LINEAR else "log10 x"
    form = f"b ({x} - a)+" if resource in HINGED else f"a exp(b {x})"
    parameters = (None, None, None) if curve is None else curve
    p = f"{found.p:.1e}" if found.p < 0.001 else f"{found.p:.3f}"
    return (found.r, p, form, *parameters)
