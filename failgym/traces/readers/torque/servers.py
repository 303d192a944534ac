"""Which servers the accounting logs of TORQUE and PBS are of."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from failgym.traces.readers.torque.jobs import Record
from failgym.traces.schema import TraceError

__all__ = ["Servers"]

OF_JOBS: Final = frozenset("QSTERCDAM")
"""Kinds of records that are about jobs."""


@dataclass
class Servers:
    """The servers of the files so far; a file that is of none of them is of another cluster.

    A log may tell of the jobs of several: some are moved, or routed, from one to another.
    """

    merge: bool
    known: dict[str, Path] = field(default_factory=dict[str, Path])
    here: dict[str, None] = field(default_factory=dict[str, None])
    merged: bool = False

    def see(self, record: Record) -> None:
        """Take a record of the file: its job id is `number.server`."""
        if record.kind in OF_JOBS:
            server = record.job.partition(".")[2].lower()
            if server:
                self.here[server] = None

    def end(self, file: Path) -> None:
        """The file is over. Raises TraceError if it is of another cluster."""
        if self.here and self.known and not any(_same(a, b) for a in self.here for b in self.known):
            if not self.merge:
                before = next(iter(self.known))
                raise TraceError(
                    f"{file}: not of the cluster of {self.known[before]}: job ids end in"
                    f" {next(iter(self.here))[:60]!a}, not in {before[:60]!a}; expected the logs of"
                    " one cluster (merge_clusters, --merge-clusters: to take all for one)"
                )
            self.merged = True
        for server in self.here:
            self.known.setdefault(server, file)
        self.here.clear()

    @property
    def remarks(self) -> dict[str, str]:
        """What there is to say of clusters that were taken for one."""
        if not self.merged:
            return {}
        named = ", ".join(self.known)[:2000]
        return {"clusters taken for one": f"{named}: machines of one name are the same"}


def _same(one: str, other: str) -> bool:
    """Are two names of one server, with its domain or without?"""
    return one == other or one.startswith(other + ".") or other.startswith(one + ".")
