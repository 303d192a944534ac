"""The public formats that can be read, by name; a reader is imported when it is first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from failgym.additions import Addition, additions
from failgym.traces.trace import Trace

__all__ = ["FORMATS", "Format", "formats"]


@dataclass(frozen=True)
class Format:
    """A public format, and the options of its reader besides `progress`."""

    name: str
    about: str
    options: tuple[str, ...] = ()
    in_steps: bool = False
    """does its importer take several sources, and `each`, which does its steps on processes?"""

    @property
    def module(self) -> str:
        """The name of the reader's module in `failgym.traces.readers`."""
        return self.name.replace("-", "_")

    @property
    def reader(self) -> Callable[..., Trace]:
        """`read_<format>(path, *, <options>, progress=False) -> Trace`."""
        module = importlib.import_module(f"failgym.traces.readers.{self.module}")
        read: Callable[..., Any] = getattr(module, f"read_{self.module}")
        return read

    @property
    def importer(self) -> Callable[..., Any] | None:
        """`import_<format>(path, out, *, progress=False)`, for sources larger than memory.

        It saves the trace at `out` without ever holding it, and goes on where it was killed. None
        where there is only the reader.
        """
        module = importlib.import_module(f"failgym.traces.readers.{self.module}")
        return getattr(module, f"import_{self.module}", None)


@dataclass(frozen=True)
class AddedFormat(Format):
    """A format that a reader of another package reads."""

    other: Addition = field(kw_only=True)

    @property
    def reader(self) -> Callable[..., Trace]:
        """The reader, imported now; whatever it raises becomes a line that names its package."""
        read = self.other.load()

        def reader(path: Any, *, progress: bool = False) -> Trace:
            with self.other.blamed():
                found = read(path, progress=progress)
            if not isinstance(found, Trace):
                raise ValueError(f"{self.other}: returned no Trace")
            return found

        return reader

    @property
    def importer(self) -> None:
        """None: there is only the reader."""


def formats() -> dict[str, Format]:
    """The formats that can be read here, by name: `FORMATS`, and those that other packages add."""
    others = additions("readers", FORMATS).items()
    return {**FORMATS, **{name: AddedFormat(name, str(one), other=one) for name, one in others}}


FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        Format("google-2011", "Google's cluster trace of 2011 (ClusterData2011)"),
        Format("google-2019", "Google's cluster traces of 2019 (ClusterData2019)", in_steps=True),
        Format("swf", "Standard Workload Format 2.2", ("infer_attempts", "merge_clusters")),
        Format("rumen", "Hadoop job history as Rumen writes it (JSON)", ("topology",)),
        Format("torque", "accounting logs of TORQUE and PBS", ("timezone", "merge_clusters")),
        Format(
            "sacct",
            "Slurm's accounting (sacct --parsable2)",
            ("timezone", "columns", "merge_clusters"),
        ),
        Format(
            "table",
            "a table of runs with columns of your own (CSV, Parquet)",
            ("columns", "outcomes", "timezone", "unit"),
        ),
        Format("philly", "Microsoft's Philly traces (cluster_job_log)"),
        Format(
            "lanl", "LANL's node failures (LA-UR-05-7318)", ("system", "nodes", "since", "until")
        ),
        Format("fta", "Failure Trace Archive (event_trace.tab)", ("nodes", "since", "until")),
        Format("stg", "Standard Task Graph set", ("unit_ms",)),
        Format("wfformat", "WfCommons workflow instances (WfFormat 1.2 to 1.6)"),
        Format("dax", "Pegasus' abstract workflows (DAX 2 and 3, XML)"),
    )
}
"""The formats by name."""
