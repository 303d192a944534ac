"""The laws of usage that profiles share: when windows are sampled, and what they show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from failgym.traces.synthetic.quantiles import QuantileTable
from failgym.traces.synthetic.ranges import (
    Dense,
    Deviation,
    Factor,
    Level,
    Rising,
    Share,
    Thinning,
    Window,
)
from failgym.vocabulary import MINUTE


@dataclass(frozen=True)
class MemoryLaw:
    """Memory used, as a share of what the task requested. Outcomes: finished, failed, killed."""

    violations: tuple[Share, Share, Share] = (0.02, 0.25, 0.04)
    """Tasks whose maximum is above the request at some time, by outcome: failed ones as published
    (El-Sayed et al., section IV-A), the others chosen (rare)."""
    growth: tuple[Share, Share, Share] = (0.0968, 0.2287, 0.135)
    """Tasks whose mean of the second half of their running time is more than twice that of the
    first half, by outcome (El-Sayed et al., section IV-A). Counted among tasks with windows in both
    halves; a window counts for the time until the next one kept."""
    growers_exceed: Share = 0.5
    """How much sooner tasks that grow are chosen to exceed their request, as a difference of
    uniform numbers; chosen."""
    peak: QuantileTable = QuantileTable(((0.1, 0.15), (0.5, 0.55), (0.9, 0.9)), 0.02, 0.97)
    """Largest maximum over the request, of tasks that keep to it; chosen."""
    excess: QuantileTable = QuantileTable(((0.1, 1.04), (0.5, 1.12), (0.9, 1.5)), 1.02, 4.0)
    """The same of tasks that exceed it; chosen: their mean rarely does (El-Sayed et al., section
    IV-A)."""
    growing: Annotated[tuple[Level, Level], Rising()] = (0.1, 0.3)
    """Bounds of the level from which the memory of growing tasks rises to 1, evenly from a quarter
    to three quarters of their running time; chosen."""
    stable: Annotated[tuple[Level, Level], Rising()] = (0.75, 1.0)
    """The same of other tasks; chosen."""
    noise: Deviation = 0.06
    """Standard deviation of ln(mean of a window / level); chosen."""
    spike: QuantileTable = QuantileTable(((0.1, 0.03), (0.5, 0.15), (0.9, 0.45)), 0.0, 1.0)
    """(maximum - mean) / mean within a window; chosen."""


@dataclass(frozen=True)
class CpuLaw:
    """Processor use, as a share of what the task requested. Outcomes: finished, failed, killed."""

    use: tuple[QuantileTable, QuantileTable, QuantileTable] = (
        QuantileTable(((0.5, 0.45), (0.8, 1.0)), 0.01, 4.0),
        QuantileTable(((0.5, 0.35), (0.9, 1.0)), 0.01, 4.0),
        QuantileTable(((0.5, 0.45), (0.88, 1.0)), 0.01, 4.0),
    )
    """Mean use over request. Tasks that finish exceed their request most often (El-Sayed et al.,
    section IV-A, which gives no number); the rest chosen."""
    noise: Deviation = 0.25
    """Standard deviation of ln(mean of a window / mean of the task); chosen."""


@dataclass(frozen=True)
class IoLaw:
    """Rates of input and output, in shares of the time, or of what a device can do."""

    median: tuple[Factor, Factor, Factor] = (0.003, 0.012, 0.004)
    """By outcome of the job: finished, failed, killed. Failed jobs have the highest rates
    (El-Sayed et al., section III-c, which gives no number)."""
    job_spread: Deviation = 0.8
    """Standard deviation of the log rate among jobs of an outcome; chosen."""
    task_spread: Deviation = 0.5
    """The same among tasks of a job; chosen."""
    noise: Deviation = 0.4
    """The same among windows of a task; chosen."""
    failing: Factor = 2.0
    """Rate of attempts that fail over that of others of the task; chosen, so that usage tells
    something of the attempt besides its job."""


@dataclass(frozen=True)
class UsageLaw:
    """The windows of a profile's attempts; a law that is None leaves its columns missing."""

    window: Window = 5 * MINUTE
    """Sampling window [ms] (Reiss et al.)."""
    dense: Dense = 12
    """First windows of an attempt, which are all kept; chosen."""
    thinning: Thinning = 1.1
    """Least ratio of consecutive offsets beyond them; chosen: a week leaves fifty windows."""
    cpu: CpuLaw | None = CpuLaw()
    memory: MemoryLaw | None = MemoryLaw()
    local_io: IoLaw | None = IoLaw()
    remote_io: IoLaw | None = None
