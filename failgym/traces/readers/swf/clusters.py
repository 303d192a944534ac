"""Which logs are of one cluster: parts of one log, as their headers tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.swf.header import Header
from failgym.traces.readers.swf.lines import Rows
from failgym.traces.schema import LATEST, TraceError

__all__ = ["Log", "clusters_of", "first_told"]

NAMES: Final = ("Computer", "Installation")
"""Fields of the header that name a cluster."""
SIZES: Final = ("MaxProcs", "MaxNodes")
"""Fields that say how large it is."""
_SAME: Final = ("job number", "submit time", "run time", "allocated processors")
"""A job for which these are the same, in another log of the cluster, is the same job."""


@dataclass(frozen=True)
class Log:
    """A file's rows and its header."""

    file: Path
    rows: Rows
    header: Header

    @property
    def unix_start(self) -> int | None:
        """When the log begins [s since 1970]; None if it is not known."""
        start = self.header.number("UnixStartTime")
        return start if start is not None and 0 < start <= LATEST // 2000 else None

    @property
    def cluster(self) -> tuple[str, ...]:
        """What the header calls the cluster, in small letters and without what parts the words."""
        return tuple(" ".join(self.header.text(name).lower().split()) for name in NAMES)

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last submission [s since 1970]."""
        submit = self.rows["submit time"]
        known = submit[submit >= 0]
        begin = self.unix_start or 0
        return begin + float(known.min(initial=np.inf)), begin + float(known.max(initial=-np.inf))


def clusters_of(logs: Sequence[Log], merge: bool) -> str:
    """Which clusters are taken for one, in words; "" if the logs are all of one cluster.

    Logs are of one cluster if each names it (Computer, Installation) and all by the same names; and
    unless two that state other sizes (MaxProcs, MaxNodes) overlap in time: a cluster may grow from
    one part to the next.

    Raises TraceError for logs that are not, if they are not to be merged.
    """
    found = _first_difference(logs)
    if found is None:
        return ""
    if merge:
        named = dict.fromkeys(
            ", ".join(filter(None, map(log.header.text, NAMES))) or "?" for log in logs
        )
        return (
            f"{'; '.join(named)}: users, groups, executables and queues of one number are taken for"
            " the same"
        )
    one, other, why = found
    raise TraceError(
        f"{one.file}: not of the cluster of {other.file}: {why}; expected the log of one cluster,"
        " or the parts of one (merge_clusters, --merge-clusters: to take all clusters for one)"
    )


def _first_difference(logs: Sequence[Log]) -> tuple[Log, Log, str] | None:
    """A log, one before it that is not of its cluster, and why; None if there are none."""
    for at, one in enumerate(logs):
        for other in logs[:at]:
            if why := _difference(other, one):
                return one, other, why
    return None


def _difference(one: Log, other: Log) -> str:
    """Why two logs are not of one cluster, or cannot be told to be; "" if they are."""
    if not any(one.cluster) or not any(other.cluster):
        return f"a header states neither {' nor '.join(NAMES)}"
    for name in NAMES:
        mine, theirs = (log.cluster[NAMES.index(name)] for log in (one, other))
        if mine != theirs:
            return f"{name} is {_shown(other, name)}, not {_shown(one, name)}"
    if one.span[1] < other.span[0] or other.span[1] < one.span[0]:
        return ""
    for name in SIZES:
        sizes = [log.header.number(name) for log in (one, other)]
        if None not in sizes and sizes[0] != sizes[1]:
            return f"{name} is {sizes[1]}, not {sizes[0]}, at the same time"
    return ""


def _shown(log: Log, name: str) -> str:
    return ascii(log.header.text(name)[:60])


def first_told(logs: Sequence[Log]) -> list[npt.NDArray[np.bool_]]:
    """Which rows of each log no log before it holds, of those of the same cluster."""
    fresh = [np.ones(len(log.rows), dtype=np.bool_) for log in logs]
    jobs = [_jobs(log) for log in logs]
    for at, log in enumerate(logs):
        for before in range(at):
            if logs[before].cluster == log.cluster:
                fresh[at] &= ~np.isin(jobs[at], jobs[before])
    return fresh


def _jobs(log: Log) -> npt.NDArray[Any]:
    """What is the same for the same job, one value per row."""
    columns = [log.rows[name].astype(np.float64) for name in _SAME]
    return np.ascontiguousarray(np.stack(columns, axis=1)).view(f"V{8 * len(_SAME)}")[:, 0]
