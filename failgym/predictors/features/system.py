"""How fast tasks of the same, lower and higher priority come and go, and how many there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import product
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from failgym.traces.trace import Trace
from failgym.vocabulary import MINUTE, Outcome

__all__ = ["NEVER", "SAMPLES", "SYSTEM", "Load", "system_features"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NEVER: int = np.iinfo(np.int64).max
"""The time at which something ends of which no end is known [ms]."""

INDICATORS = ("arrival_rate", "throughput", "in_system")
VARIANTS = ("same", "lower", "higher")
SYSTEM: tuple[str, ...] = tuple(
    f"{indicator}_{variant}_{part}_{moment}"
    for variant, indicator, part, moment in product(
        VARIANTS, INDICATORS, ("value", "change"), ("mean", "deviation")
    )
)
"""Names of the 36 system features, in the order of the columns."""

_RATE = np.array([not name.startswith(INDICATORS[2]) for name in SYSTEM])

SAMPLES = 5
"""Parts of a sampling window over which means and deviations are taken: minutes of the paper's."""
BLOCK = 2**16
"""Sampling windows times priorities that are counted at a time."""


@dataclass(frozen=True, eq=False)
class Load:
    """What came to the system and when it left, one entry per attempt.

    Attempts, not tasks: when an attempt ends, nobody knows yet whether its task comes back. So a
    resubmission arrives anew, and what an eviction ends has left.
    """

    priority: Ints
    """Priority of the job; -1 where it has none."""
    arrived: Ints
    """When it was queued; else when it started; else, if it never did, when it ended [ms]."""
    left: Ints
    """When it ended, or `NEVER` if that is not known [ms]."""

    @classmethod
    def of(cls, trace: Trace) -> Self:
        """The load of a whole trace."""
        left = trace.column("attempts", "end").astype(np.int64)
        arrived = left.copy()
        for name in ("start", "queued"):  # the later one wins
            known = trace.present("attempts", name)
            arrived[known] = trace.column("attempts", name)[known]
        left[trace.column("attempts", "outcome") == Outcome.CENSORED] = NEVER
        job = trace.column("tasks", "job")[trace.column("attempts", "task")]
        return cls(trace.column("jobs", "priority")[job].astype(np.int64), arrived, left)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> Self:
        """What `arrays` gave. Raises ValueError, in one line, if something is missing or unfit."""
        names = [prefix + field.name for field in fields(cls)]
        shapes = [arrays[name].shape if name in arrays else None for name in names]
        if shapes[0] is None or len(shapes[0]) != 1 or len(set(shapes)) > 1:
            raise ValueError(f"expected arrays {', '.join(names)} of one length")
        for name in names:
            if arrays[name].dtype != np.int64:
                raise ValueError(f"{name}: expected int64, got {arrays[name].dtype}")
        return cls(*(arrays[name] for name in names))

    def arrays(self, prefix: str) -> dict[str, Ints]:
        """The fields as plain arrays, their names after a prefix."""
        return {prefix + field.name: getattr(self, field.name) for field in fields(self)}

    def since(self, moment: int) -> Self:
        """What is in the system at the moment [ms] or leaves later."""
        kept = self.left >= moment
        return type(self)(self.priority[kept], self.arrived[kept], self.left[kept])

    def __add__(self, other: Load) -> Load:
        """Both loads together."""
        return Load(
            np.concatenate((self.priority, other.priority)),
            np.concatenate((self.arrived, other.arrived)),
            np.concatenate((self.left, other.left)),
        )


def system_features(
    load: Load,
    moment: Ints,
    priority: Ints,
    *,
    window: int = 5 * MINUTE,
    samples: int = SAMPLES,
) -> tuple[npt.NDArray[np.float32], tuple[str, ...]]:
    """The 36 system features of Rosà, Chen and Binder, IWQoS 2015, section III-2.

    Time is cut into sampling windows from the trace's origin on. A row looks at the last two
    windows that were over by its moment. In each of ``samples`` equal parts of a window are
    counted, of the tasks of the same, of lower and of higher priority: those that arrived, and
    those that left, per minute; and those in the system at the beginning of the part. Of the last
    window come the mean and the standard deviation over its parts; and likewise of the change,
    part by part, from the window before.

    The paper says "both the average and the standard deviation" without saying over what; parts of
    a window are the reading under which all three indicators have both.

    Args:
        load: what came and went.
        moment: time of each row [ms].
        priority: priority of each row, -1 if there is none.
        window: the sampling window [ms]; the paper's is 5 minutes.
        samples: parts of a window.

    Returns:
        float32 [rows, 36], and the names of the features, `SYSTEM`.

    Raises:
        ValueError: if a window is not a whole number of parts.
    """
    if samples < 1 or window < samples or window % samples:
        raise ValueError(f"window: expected a multiple of samples, got {window} and {samples}")
    features = np.zeros((len(moment), len(SYSTEM)), dtype=np.float32)
    per_minute = np.where(_RATE, MINUTE * samples / window, 1.0)
    levels = np.unique(np.concatenate((load.priority, priority)))
    level = np.searchsorted(levels, priority)
    windows, of_row = np.unique(moment // window, return_inverse=True)
    step = max(BLOCK // max(len(levels), 1), 1)
    for first in range(0, len(windows), step):
        block = windows[first : first + step]
        rows = np.flatnonzero((of_row >= first) & (of_row < first + step))
        counts = _counts(load, levels, (block - 2) * window, window // samples, samples)
        features[rows] = _features(counts)[level[rows], of_row[rows] - first] * per_minute
    return features, SYSTEM


def _counts(load: Load, levels: Ints, begin: Ints, part: int, samples: int) -> Floats:
    """Counts by [level, window, indicator, part] in two sampling windows from `begin` on."""
    edges = begin[:, None] + part * np.arange(2 * samples + 1)
    counts = np.empty((len(levels), len(begin), len(INDICATORS), 2 * samples))
    for i, level in enumerate(levels):
        mine = load.priority == level
        arrived = np.searchsorted(np.sort(load.arrived[mine]), edges)  # before each edge
        left = np.searchsorted(np.sort(load.left[mine]), edges)
        counts[i, :, 0] = np.diff(arrived, axis=1)
        counts[i, :, 1] = np.diff(left, axis=1)
        counts[i, :, 2] = (arrived - left)[:, :-1]
    return counts


def _features(counts: Floats) -> npt.NDArray[Any]:
    """The 36 features by [level, window, feature]."""
    upto = counts.cumsum(axis=0)
    return np.concatenate(
        [_moments(variant) for variant in (counts, upto - counts, upto[-1:] - upto)], axis=-1
    )


def _moments(counts: Floats) -> Floats:
    """Means and deviations of value and change by [level, window, indicator x part x moment]."""
    samples = counts.shape[-1] // 2
    value = counts[..., samples:]
    series = np.stack((value, value - counts[..., :samples]), axis=-2)
    moments = np.stack((series.mean(axis=-1), series.std(axis=-1)), axis=-1)
    return moments.reshape(*counts.shape[:2], -1)
