"""Usage windows after Kumar et al.: what sessions use, and what precedes failures of the system.

The jobs of a session use about the same. In the last windows before the system fails a job, its
processors stall, its rates of I/O lean as failure rates do, and what runs out of memory grows. The
last window in the trace stands for the published "tail" usage.

All values are multiples of 2^-16, so that they are the same on any platform.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from failgym.traces.synthetic.profiles.kumar import FailingUsage, Kumar
from failgym.traces.synthetic.quantiles import Flags, Floats, Ints
from failgym.traces.synthetic.usage import window_offsets
from failgym.vocabulary import Cause

Singles: TypeAlias = npt.NDArray[np.float32]

GRID = 2.0**16
"""Steps of one."""
LARGEST = 255.0
"""Of any rate of I/O: single precision holds it to a step."""
BUSY = (0.88, 0.12)
"""Use of processors by a session without strain: at least, and how much more at most; chosen."""
STALL = 0.1
"""What a unit of strain takes from it; chosen."""
LEAST_BUSY = 0.02
"""What is left at most strain."""
LEAST_FLUTTER = 0.05
"""A window's usage over the attempt's is at least this."""
AT_LOCAL_PEAK = 0.04
"""Share of the system failures that lie at the peak of local I/O; chosen."""
PEAK_WIDTH = 0.02
"""Deviation of log10 of a rate about a peak; chosen."""
HEADROOM = 0.02
"""Deviation of the maximum memory in a window above its mean, as a share of it; chosen."""


@dataclass(frozen=True)
class Measured:
    """What ran: one entry per attempt, in order of (job, number)."""

    job: Ints
    session: Ints
    environment: Ints
    duration: Ints  # in the data [ms]; not above 0: not started by their end
    cause: Ints  # of the system's failure; -1 for another end
    out_of_memory: Flags
    level: Floats | None = None  # normal scores of what sessions use, (4, sessions); None: any


@dataclass(frozen=True)
class Levels:
    """What each attempt uses while nothing is wrong; rates in their units."""

    busy: Singles
    memory: Singles
    local: Singles
    remote: Singles
    network: Singles


@dataclass(frozen=True)
class Tail:
    """What some attempts, `rows`, come to in their last windows."""

    rows: Ints
    strain: Floats  # mean of the strain
    spread: Floats  # deviation of the strain
    memory: Floats  # NaN: as before
    shift: Floats  # (3, rows): ln of local I/O, remote I/O, network over the level


def window_columns(profile: Kumar, ran: Measured, rng: np.random.Generator) -> dict[str, Any]:
    """The columns of the table `windows`, in order of (attempt, offset)."""
    law = profile.usage
    attempt, offset = window_offsets(ran.duration, law.window, law.dense, law.thinning)
    levels = _levels(profile, ran, rng)
    last = np.zeros(len(ran.job), dtype=np.int64)
    last[attempt] = offset  # the last one written stays
    noise = rng.standard_normal((5, len(attempt)), dtype=np.float32)
    strain, scatter = noise[0], np.array(law.flutter, dtype=np.float32)
    typical = (levels.memory, levels.local, levels.remote, levels.network)
    used = np.maximum(1 + scatter[:, None] * noise[1:], LEAST_FLUTTER)
    for values, level in zip(used, typical, strict=True):
        values *= level[attempt]
    tail = _tail(profile, ran, levels, rng)
    at, where, near = _approach(profile, tail, attempt, offset, last)
    _lean(strain, used, at, tail, where, near)
    memory, local, remote, network = used
    memory = np.minimum(memory, 1)
    cpu = levels.busy[attempt] - np.float32(STALL) * strain
    headroom = 1 + np.float32(HEADROOM) * np.abs(noise[1])
    return {
        "attempt": attempt,
        "offset": offset,
        "cpu": _rounded(np.clip(cpu, LEAST_BUSY, 1)),
        "memory": _rounded(memory),
        "local_io": None if law.local_unit is None else _rounded(local),
        "remote_io": _rounded(remote),
        "network": _rounded(network),
        "max_memory": _rounded(np.minimum(memory * headroom, 1)),
    }


def _lean(strain: Singles, used: Singles, at: Ints, tail: Tail, where: Ints, near: Floats) -> None:
    """Bring the windows `at` as near as they are to what `tail` says, at `where` in it."""
    strain[at] = strain[at] * (1 + (tail.spread[where] - 1) * near) + tail.strain[where] * near
    grows = np.flatnonzero(~np.isnan(tail.memory[where]))
    few, which = at[grows], where[grows]
    used[0, few] += (tail.memory[which] - used[0, few]) * near[grows]
    for rates, shift in zip(used[1:], tail.shift, strict=True):
        rates[at] *= np.exp(_gridded(shift[where] * near))


def _levels(profile: Kumar, ran: Measured, rng: np.random.Generator) -> Levels:
    law = profile.usage
    sessions = int(ran.session.max(initial=-1)) + 1
    of_session = rng.standard_normal((4, sessions)) if ran.level is None else ran.level
    busy = BUSY[0] + BUSY[1] * rng.random(sessions) - STALL
    jobs = int(ran.job.max(initial=-1)) + 1
    of_job = np.array(law.spread)[:, None] * rng.standard_normal((4, jobs))
    typical = [law.memory.at_score(of_session[0])]
    for (mean, deviation), unit, score in zip(
        (law.local_io, law.remote_io, law.network),
        (law.local_unit or 1.0, law.remote_unit, law.remote_unit),
        of_session[1:],
        strict=True,
    ):
        typical.append(10.0 ** (mean + deviation * score) / unit)
    memory, local, remote, network = (
        _single(level[ran.session] * np.exp(scatter)[ran.job])
        for level, scatter in zip(typical, of_job, strict=True)
    )
    memory = np.minimum(memory, np.float32(law.memory.high))
    return Levels(_single(busy)[ran.session], memory, local, remote, network)


def _tail(profile: Kumar, ran: Measured, levels: Levels, rng: np.random.Generator) -> Tail:
    """The last windows of attempts that the system fails, or that run out of memory."""
    law = profile.usage
    rows = np.flatnonzero((ran.cause >= 0) | ran.out_of_memory)
    laws = [environment.usage for environment in profile.environments]
    here = ran.environment[rows]
    memory = law.out_of_memory.sample(rng, len(rows))
    memory[~ran.out_of_memory[rows]] = np.nan
    shift = np.empty((3, len(rows)))
    for number, name in enumerate(("local_io", "remote_io", "network")):
        deviation: float = getattr(law, name)[1]
        shift[number] = _field(laws, name)[here] * deviation**2 * np.log(10.0)
    scatter = PEAK_WIDTH * np.log(10.0) * rng.standard_normal(len(rows))
    peak = _field(laws, "local_peak")[here]
    at_peak = np.flatnonzero((peak > 0) & (rng.random(len(rows)) < AT_LOCAL_PEAK))
    shift[0, at_peak] = (scatter - np.log(levels.local[rows] / np.maximum(peak, 1e-9)))[at_peak]
    burst = np.array([each.burst_at_peak for each in laws])[here]
    burst = np.flatnonzero(burst & (ran.cause[rows] == Cause.SHARED))
    shift[1, burst] = (scatter - np.log(levels.remote[rows]))[burst]
    strain = np.array([each.strain for each in laws])[here]
    return Tail(rows, strain[:, 0], strain[:, 1], memory, shift)


def _field(laws: list[FailingUsage], name: str) -> Floats:
    return np.array([getattr(law, name) for law in laws], dtype=np.float64)


def _approach(
    profile: Kumar, tail: Tail, attempt: Ints, offset: Ints, last: Ints
) -> tuple[Ints, Ints, Floats]:
    """Windows of the attempts of `tail`, their place in it, and how near the last one they are.

    Nearness is from 0 to 1, 1 in the last window.
    """
    place = np.full(len(last), -1)
    place[tail.rows] = np.arange(len(tail.rows))
    at = np.flatnonzero(place[attempt] >= 0)
    end = last[attempt[at]]
    lead = np.maximum(profile.usage.lead * end, profile.usage.window)
    return at, place[attempt[at]], _gridded(np.exp(-(end - offset[at]) / lead))


def _gridded(values: Floats) -> Floats:
    """The nearest multiples of a step."""
    return np.rint(values * GRID) / GRID


def _single(values: Floats) -> Singles:
    """The nearest multiples of a sixteenth of a step, at least one: the same on any platform."""
    fine = 16 * GRID
    return (np.maximum(np.rint(np.minimum(values, LARGEST) * fine), 1) / fine).astype(np.float32)


def _rounded(values: Singles) -> Singles:
    """The nearest multiples of a step, 0 to `LARGEST`."""
    step = np.float32(GRID)
    steps: Singles = np.rint(np.minimum(values, np.float32(LARGEST)) * step)
    return steps / step
