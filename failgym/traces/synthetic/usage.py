"""Usage windows of generated attempts: when they are, and what is measured in them.

Values come from tables of a thousand rounded quantiles, picked by random integers and multiplied;
what comes out is rounded to multiples of 2^-20 again. So they are the same on every platform.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.synthetic.profiles.usage import CpuLaw, IoLaw, MemoryLaw, UsageLaw
from failgym.traces.synthetic.quantiles import (
    Flags,
    Floats,
    Ints,
    QuantileTable,
    choose,
    normal_score,
    position_in_group,
)
from failgym.traces.synthetic.ranges import check_rows

Singles = npt.NDArray[np.float32]

GRID = 2.0**20
"""Values are multiples of 1 / GRID."""
TABLE = 1_024
"""Quantiles in a table."""
LARGEST = np.float32(1.0)
"""All of the largest machine."""
FATES = 3
"""Outcomes of tasks and jobs: finished, failed, killed."""
SURE_GROWTH = 2.3
"""What the memory of a growing task must grow by before noise, so that noise leaves more than 2."""


@dataclass(frozen=True)
class Habit:
    """What the applications of jobs are used to use."""

    application: Ints  # of each job
    bands: tuple[float, float, float]  # of cpu, memory, I/O: see `Applications.usage`

    def drawn(self, rng: np.random.Generator, job: Ints, band: float) -> Ints:
        """Positions in a table, near to each other for the same application of these jobs.

        Beyond the ends of the table they go back, so that each position is as likely as any other.
        """
        applications = int(self.application.max(initial=-1)) + 1
        level = rng.integers(0, TABLE, applications)[self.application[job]]
        width = round(band * TABLE)
        found = level + rng.integers(0, width + 1, len(job)) - width // 2
        found = np.where(found < 0, -1 - found, found)
        return np.where(found >= TABLE, 2 * TABLE - 1 - found, found)


@dataclass(frozen=True)
class Running:
    """What ran and is to be measured."""

    # One entry per attempt, in order of the task.
    task: Ints
    duration: Ints  # as far as it is recorded [ms]; at most 0 if it never ran
    before: Ints  # running time of the task's earlier attempts [ms]
    fails: Flags
    # One entry per task.
    total: Ints  # running time of all attempts, recorded or not [ms]
    known: Flags  # all of it is recorded
    fate: Ints  # 0 finished, 1 failed, 2 killed
    job: Ints
    cpu: Floats  # requested, shares of the largest machine
    memory: Floats
    # One entry per job.
    job_fate: Ints
    habit: Habit | None = None  # None: every job by itself


@dataclass(frozen=True)
class Windows:
    """One entry per window, in order of (attempt, offset)."""

    attempt: Ints
    task: Ints
    offset: Ints  # [ms]
    stands_for: Ints  # until the next one kept, or the end of the attempt's last window [ms]
    part: Floats  # of the task's running time that has passed by the window's middle, 0 to 1

    @classmethod
    def of(cls, law: UsageLaw, runs: Running) -> Windows:
        """The windows of what ran."""
        attempt, offset = window_offsets(runs.duration, law.window, law.dense, law.thinning)
        first = np.minimum(runs.duration, law.window)
        over = np.maximum(runs.duration // law.window * law.window, first)
        following = over[attempt]
        same = attempt[1:] == attempt[:-1]
        following[:-1][same] = offset[1:][same]
        middle = (runs.before + first // 2)[attempt] + offset
        part = middle / runs.total[runs.task][attempt]
        return cls(attempt, runs.task[attempt], offset, following - offset, part)


def usage_windows(law: UsageLaw, runs: Running, rng: np.random.Generator) -> dict[str, Any]:
    """The columns of the windows table; `attempt` is the position in `runs.task`."""
    windows = Windows.of(law, runs)
    columns: dict[str, Any] = {"attempt": windows.attempt, "offset": windows.offset}
    if law.cpu is not None:
        columns["cpu"] = _cpu(law.cpu, runs, windows, rng)
    if law.memory is not None:
        columns["memory"], columns["max_memory"] = _memory(law.memory, runs, windows, rng)
    for name, io in (("local_io", law.local_io), ("remote_io", law.remote_io)):
        if io is not None:
            columns[name] = _io(io, runs, windows, rng)
    return columns


def window_offsets(duration: Ints, window: int, dense: int, thinning: float) -> tuple[Ints, Ints]:
    """Which sampling windows of which attempts are kept: (position in `duration`, offset [ms]).

    The windows of an attempt begin at multiples of `window` [ms] after its start; those that are
    over by its end are reported. An attempt that ends within its first window reports that window
    all the same, cut short by its end, as clusters do; one that never ran, or for no time
    (`duration` at most 0), reports nothing. What a longer attempt runs beyond its last whole window
    is not reported.

    The first `dense` windows are all kept; of the others those whose offset is at least `thinning`
    times that of the one kept before, so that a week of five-minute windows leaves some dozens.
    Rows come in order of (attempt, offset).

    >>> attempt, offset = window_offsets(np.array([250, 0, 40, 1_000]), 100, dense=3, thinning=2.0)
    >>> list(zip(attempt.tolist(), offset.tolist()))
    [(0, 0), (0, 100), (2, 0), (3, 0), (3, 100), (3, 200), (3, 400), (3, 800)]
    """
    windows = np.where(duration > 0, np.maximum(duration // window, 1), 0)
    kept = _kept_windows(int(windows.max(initial=0)), dense, thinning)
    counts = np.searchsorted(kept, windows)
    check_rows(int(counts.sum()), "windows")
    attempt = np.repeat(np.arange(len(duration)), counts)
    return attempt, kept[position_in_group(counts)] * window


def _kept_windows(upto: int, dense: int, thinning: float) -> Ints:
    """The numbers below `upto` of the windows that are kept."""
    kept = list(range(min(dense, upto)))
    while kept and (following := max(kept[-1] + 1, int(np.ceil(kept[-1] * thinning)))) < upto:
        kept.append(following)
    return np.array(kept, dtype=np.int64)


def _cpu(law: CpuLaw, runs: Running, windows: Windows, rng: np.random.Generator) -> Singles:
    tables = np.stack([_quantiles(table) for table in law.use])
    mean = tables[runs.fate, _drawn(rng, runs, runs.job, 0)] * runs.cpu
    use = mean.astype(np.float32)[windows.task] * _noise(rng, law.noise, windows)
    return _rounded(np.minimum(use, LARGEST))


def _memory(
    law: MemoryLaw, runs: Running, windows: Windows, rng: np.random.Generator
) -> tuple[Singles, Singles]:
    """Mean and maximum of each window.

    The course of each task is made first, from level and noise; then it is scaled so that its
    largest maximum is where the task's peak is to be.
    """
    rise = np.clip(2.0 * windows.part - 0.5, 0.0, 1.0)
    grows = _growing(law, runs, windows, rise, rng)
    low = _between(rng, law.stable, len(grows))
    low[grows] = _between(rng, law.growing, int(grows.sum()))
    level = low.astype(np.float32)[windows.task]
    level += (1 - level) * rise.astype(np.float32)
    mean = level * _noise(rng, law.noise, windows)
    most = mean * (1 + _pick(rng, _quantiles(law.spike), len(mean)))
    peak = _quantiles(law.peak)[_drawn(rng, runs, runs.job, 1)].astype(np.float64)
    exceeds = _exceeding(law, runs, windows, grows, rng)
    peak[exceeds] = _pick(rng, _quantiles(law.excess), len(exceeds))
    peak = np.minimum(peak * runs.memory, LARGEST)
    scale = (peak / _largest(windows.task, most, len(grows))).astype(np.float32)[windows.task]
    return _rounded(mean * scale), _rounded(most * scale)


def _growing(
    law: MemoryLaw, runs: Running, windows: Windows, rise: Floats, rng: np.random.Generator
) -> Flags:
    """The tasks whose memory more than doubles from one half of their time to the other, (tasks,).

    Their number follows from those that can be told: with windows in both halves. They are chosen
    from those whose windows would show it, and from those whose end is not recorded.
    """
    tasks = len(runs.total)
    half = 2 * windows.task + (windows.part >= 0.5)
    time = np.bincount(half, windows.stands_for, 2 * tasks)
    risen = np.bincount(half, rise * windows.stands_for, 2 * tasks) / np.maximum(time, 1.0)
    low = law.growing[1]
    first, second = low + (1 - low) * risen[0::2], low + (1 - low) * risen[1::2]
    both = (time[0::2] > 0) & (time[1::2] > 0)
    told = both | ~runs.known
    able = (both & (second > SURE_GROWTH * first)) | ~runs.known
    grows = np.zeros(tasks, dtype=np.bool_)
    for fate in range(FATES):
        here = runs.fate == fate
        count = round(law.growth[fate] * int((told & here).sum()))
        grows[choose(rng, able & here, count)] = True
    return grows


def _exceeding(
    law: MemoryLaw, runs: Running, windows: Windows, grows: Flags, rng: np.random.Generator
) -> Ints:
    """The tasks whose maximum is above their request at some time; growing ones come sooner."""
    seen = np.zeros(len(grows), dtype=np.bool_)
    seen[windows.task] = True
    late = rng.random(len(grows)) - law.growers_exceed * grows
    chosen: list[Ints] = []
    for fate in range(FATES):
        here = np.flatnonzero(seen & (runs.fate == fate))
        count = round(law.violations[fate] * len(here))
        chosen.append(here[np.argsort(late[here], kind="stable")[:count]])
    return np.concatenate(chosen)


def _io(law: IoLaw, runs: Running, windows: Windows, rng: np.random.Generator) -> Singles:
    of_job = np.asarray(law.median)[runs.job_fate]
    of_job *= _lognormal(law.job_spread)[_drawn(rng, runs, np.arange(len(of_job)), 2)]
    of_task = of_job[runs.job] * _pick(rng, _lognormal(law.task_spread), len(runs.job))
    of_attempt = of_task[runs.task] * np.where(runs.fails, law.failing, 1.0)
    rate = of_attempt.astype(np.float32)[windows.attempt] * _noise(rng, law.noise, windows)
    return _rounded(np.minimum(rate, LARGEST))


def _largest(group: Ints, values: Singles, groups: int) -> Floats:
    """The largest value of each group, 1 for a group without; `group` is sorted."""
    largest = np.ones(groups)
    if len(group):
        first = np.append(0, 1 + np.flatnonzero(group[1:] != group[:-1]))
        largest[group[first]] = np.maximum.reduceat(values, first)
    return largest


def _quantiles(table: QuantileTable) -> Singles:
    return _rounded(table.at((np.arange(TABLE) + 0.5) / TABLE).astype(np.float32))


def _lognormal(spread: float) -> Singles:
    """Quantiles of a lognormal variable of median 1."""
    return _rounded(np.exp(spread * normal_score((np.arange(TABLE) + 0.5) / TABLE)))


def _rounded(values: npt.NDArray[Any]) -> Singles:
    return (np.rint(values * GRID) / GRID).astype(np.float32)


def _pick(rng: np.random.Generator, table: Singles, n: int) -> Singles:
    return table[rng.integers(0, TABLE, n, dtype=np.uint16)]


def _drawn(rng: np.random.Generator, runs: Running, job: Ints, resource: int) -> Any:
    """Positions in a table, one for each of these jobs; resources are those of `Habit.bands`."""
    if runs.habit is None:
        return rng.integers(0, TABLE, len(job), dtype=np.uint16)
    return runs.habit.drawn(rng, job, runs.habit.bands[resource])


def _between(rng: np.random.Generator, bounds: tuple[float, float], n: int) -> Floats:
    low, high = bounds
    return low + (high - low) * (rng.integers(0, TABLE, n, dtype=np.uint16) / TABLE)


def _noise(rng: np.random.Generator, spread: float, windows: Windows) -> Singles:
    return _pick(rng, _lognormal(spread), len(windows.attempt))
