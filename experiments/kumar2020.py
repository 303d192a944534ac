"""What the experiments on Kumar et al., "The Mystery of the Failing Jobs" (DSN 2020), share.

The two systems as generated traces, and the rows and columns of Table IV that others build on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from failgym.traces import Trace, first_runs, generate
from failgym.traces.describe.facts import Facts, Flags, Floats
from failgym.traces.describe.kumar import groups
from failgym.traces.describe.usage import LINEAR, FailureRates, Points, binned, fitted
from failgym.traces.synthetic import HARSH, SystemA, SystemB

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "CATEGORIES",
    "EXITS",
    "FEWER_JOBS",
    "HARSH_A",
    "HOUR",
    "KINDS",
    "PAPER",
    "SYSTEMS",
    "JobKind",
    "Panel",
    "Pool",
    "facts",
    "failure_rate",
    "jobs",
    "label",
    "panels",
    "points",
]

PAPER = "Kumar et al. 2020"
HOUR = 3_600.0
"""Seconds."""

SYSTEMS: dict[str, SystemA | SystemB] = {"A": SystemA(), "B": SystemB()}
"""Profile of each system."""
HARSH_A = "A harsh"
"""System A where failures strike long jobs: shown beside it, never judged."""
RECORDED = {"A": 2_908_000, "B": 2_219_000}
"""Jobs of each system (Table I)."""
JOBS = {"A": 40_000, "B": 80_000}
"""Jobs of a generated trace: bins of a hundred jobs over most of a usage's range."""
FEWER_JOBS = {"A": 30_000, "B": 60_000}
"""The same where nothing is binned."""
QUICK_JOBS = 4_000

CATEGORIES = ("success", "system", "user", "user/system", "walltime")
"""Rows of Table IV."""


@dataclass(frozen=True, order=True)
class JobKind:
    """A column of Tables I, IV and V, a row of Table VIII."""

    system: str
    """"A" or "B" """
    environment: str
    """"shared" or "non-shared" """
    width: str
    """"single" or "multi": on one node or several"""

    @property
    def name(self) -> str:
        """As Table VIII has it, "A shared single"."""
        return f"{self.system} {self.group}"

    @property
    def group(self) -> str:
        """As `failgym.traces.describe` has it, "shared single"."""
        return f"{self.environment} {self.width}"


A_SHARED, A_SHARED_MULTI = JobKind("A", "shared", "single"), JobKind("A", "shared", "multi")
A_SINGLE, A_MULTI = JobKind("A", "non-shared", "single"), JobKind("A", "non-shared", "multi")
B_SINGLE, B_MULTI = JobKind("B", "non-shared", "single"), JobKind("B", "non-shared", "multi")
KINDS = (A_SHARED, A_SHARED_MULTI, A_SINGLE, A_MULTI, B_SINGLE, B_MULTI)
"""In the order of Table IV."""

EXITS: dict[JobKind, tuple[float, ...]] = {
    A_SHARED: (0.931, 0.027, 0.016, 0.006, 0.020),
    A_SHARED_MULTI: (0.876, 0.065, 0.022, 0.002, 0.035),
    A_SINGLE: (0.876, 0.065, 0.035, 0.004, 0.020),
    A_MULTI: (0.618, 0.088, 0.072, 0.061, 0.161),
    B_SINGLE: (0.916, 0.001, 0.038, 0.012, 0.037),
    B_MULTI: (0.640, 0.010, 0.030, 0.008, 0.204),
}
"""Table IV: shares of `CATEGORIES` among the jobs of a kind, as printed."""


def failure_rate(kind: JobKind) -> float:
    """Share of the jobs that the system fails, walltime jobs left out (section V)."""
    _, system, _, _, walltime = EXITS[kind]
    return system / (1.0 - walltime)


@cache
def jobs(system: str, seed: int, count: int, usage: bool = True) -> Trace:
    """Jobs of a system, or of `HARSH_A`, as an accounting log has them: one that failed is over.

    The profile's later runs of requeued jobs are left out. They are a sample of the whole time of
    the record: so its end cuts few of them off.
    """
    profile = HARSH if system == HARSH_A else SYSTEMS[system]
    profile = replace(profile, sampling=count / RECORDED[system[0]])
    return first_runs(generate(profile, jobs=count, seed=seed, usage=usage))


@cache
def facts(system: str, seed: int, quick: bool = False) -> Facts:
    """The characterisation of such a trace of the usual size, with usage windows."""
    return Facts(jobs(system, seed, QUICK_JOBS if quick else JOBS[system]))


def points(found: Facts, resource: str, group: str) -> Points:
    """Failure rates of a kind of jobs in the bins of a usage (section V): log10 of I/O rates."""
    return binned(*runs(found, resource, group))


def runs(found: Facts, resource: str, group: str) -> tuple[Floats, Flags]:
    """The usage of each run of a kind of jobs, and whether it failed."""
    rates = FailureRates(found)
    known, failed, value = rates.among(resource)
    here = known & dict(groups(found))[group][found.attempt_job]
    return value[here], failed[here]


@dataclass(frozen=True)
class Panel:
    """A picture of failure rates against a usage."""

    title: str
    system: str
    group: str
    resource: str
    unit: float = 1.0
    """of the usage in the trace, in that of the axis"""
    axis: str = ""


@dataclass
class Pool:
    """The runs of several traces together: as near as a sample comes to the whole record."""

    usage: dict[Panel, list[Floats]] = field(default_factory=dict[Panel, list[Floats]])
    failed: dict[Panel, list[Flags]] = field(default_factory=dict[Panel, list[Flags]])

    def add(self, shown: Panel, found: Facts) -> None:
        """Those of one more trace."""
        usage, failed = runs(found, shown.resource, shown.group)
        self.usage.setdefault(shown, []).append(usage)
        self.failed.setdefault(shown, []).append(failed)

    def points(self, shown: Panel) -> Points:
        """Failure rates in bins of all the runs."""
        return binned(np.concatenate(self.usage[shown]), np.concatenate(self.failed[shown]))

    def panels(self) -> list[dict[str, Any]]:
        """What the pictures show, as numbers."""
        return [panel(shown, self.points(shown)) for shown in self.usage]


def panel(shown: Panel, found: Points) -> dict[str, Any]:
    """What a picture shows, as numbers: the points and the paper's curve through them."""
    linear = shown.resource in LINEAR
    curve = fitted(shown.resource, found)
    x, y = found.usage, np.zeros(0)
    if curve is not None:
        y = curve.a * np.exp(curve.b * x)
        if shown.resource == "memory":
            y = curve.b * np.maximum(x - curve.a, 0.0)
    return {
        "title": shown.title,
        "axis": shown.axis,
        "log": not linear,
        "x": ((x if linear else 10.0**x) * shown.unit).tolist(),
        "rate": found.rate.tolist(),
        "jobs": found.attempts.tolist(),
        "curve": y.tolist(),
    }


def panels(figure: Figure, series: list[dict[str, Any]]) -> None:
    """Draw what `panel` returned, side by side, with the number of jobs on the right."""
    for place, shown in enumerate(series):
        axes: Any = figure.add_subplot(1, len(series), place + 1)
        jobs_axes: Any = axes.twinx()
        jobs_axes.plot(shown["x"], shown["jobs"], color="#b8c0c8", linewidth=0.9)
        jobs_axes.set_yscale("log")
        jobs_axes.tick_params(which="both", labelsize=6, colors="#8a949e")
        axes.scatter(shown["x"], shown["rate"], s=9, color="#bf4b3f", zorder=3)
        if shown["curve"]:
            axes.plot(shown["x"], shown["curve"], color="#2f6690", linewidth=1.2)
        if shown["log"]:
            axes.set_xscale("log")
        axes.set_ylim(bottom=0.0)
        axes.set_zorder(jobs_axes.get_zorder() + 1)
        axes.patch.set_visible(False)
        label(axes, shown["title"], shown["axis"], "failure rate" if not place else "")
        if place == len(series) - 1:
            jobs_axes.set_ylabel("jobs of a bin", fontsize=7, color="#8a949e")


def label(axes: Any, title: str, x: str, y: str) -> None:
    """Name a panel and its axes."""
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_xlabel(x, fontsize=8)
    axes.set_ylabel(y, fontsize=8)
    axes.tick_params(labelsize=7)
    axes.grid(visible=True, linewidth=0.4, alpha=0.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
