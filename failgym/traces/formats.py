"""The public formats that can be read, by name; a reader is imported when it is first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from failgym.traces.trace import Trace

__all__ = ["FORMATS", "Format"]


@dataclass(frozen=True)
class Format:
    """A public format, and the options of its reader besides `progress`."""

    name: str
    about: str
    options: tuple[str, ...] = ()

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


FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        Format("google-2011", "Google's cluster trace of 2011 (ClusterData2011)"),
        Format("google-2019", "Google's cluster traces of 2019 (ClusterData2019)"),
        Format("swf", "Standard Workload Format 2.2", ("infer_attempts", "merge_clusters")),
        Format("rumen", "Hadoop job history as Rumen writes it (JSON)", ("topology",)),
        Format("torque", "accounting logs of TORQUE and PBS", ("timezone", "merge_clusters")),
        Format(
            "sacct",
            "Slurm's accounting (sacct --parsable2)",
            ("timezone", "columns", "merge_clusters"),
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
