"""Traces: what happened on a cluster, read from public formats or generated.

`read_<format>` exists for each of `FORMATS`: `failgym.traces.read_swf` and so on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.traces.formats import FORMATS
from failgym.traces.schema import TraceError
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace
from failgym.vocabulary import Cause, Outcome

if TYPE_CHECKING:
    from failgym.traces.clusters import uninterrupted, with_machines
    from failgym.traces.combine import with_outages
    from failgym.traces.describe import describe
    from failgym.traces.readers.dax import read_dax
    from failgym.traces.readers.fta import read_fta
    from failgym.traces.readers.google_2011 import read_google_2011
    from failgym.traces.readers.google_2019 import read_google_2019
    from failgym.traces.readers.lanl import read_lanl
    from failgym.traces.readers.philly import read_philly
    from failgym.traces.readers.rumen import read_rumen
    from failgym.traces.readers.sacct import read_sacct
    from failgym.traces.readers.stg import read_stg
    from failgym.traces.readers.swf import read_swf
    from failgym.traces.readers.table import read_table
    from failgym.traces.readers.torque import read_torque
    from failgym.traces.readers.wfformat import read_wfformat
    from failgym.traces.requeues import first_runs
    from failgym.traces.store import check_destination
    from failgym.traces.synthetic import generate, toy
    from failgym.traces.twins import twin

__all__ = [
    "FORMATS",
    "Cause",
    "Meta",
    "Outcome",
    "Trace",
    "TraceError",
    "check_destination",
    "describe",
    "first_runs",
    "generate",
    "read_dax",
    "read_fta",
    "read_google_2011",
    "read_google_2019",
    "read_lanl",
    "read_philly",
    "read_rumen",
    "read_sacct",
    "read_stg",
    "read_swf",
    "read_table",
    "read_torque",
    "read_wfformat",
    "toy",
    "twin",
    "uninterrupted",
    "with_machines",
    "with_outages",
]

_HOMES = {
    "check_destination": "store",
    "describe": "describe",
    "first_runs": "requeues",
    "generate": "synthetic",
    "toy": "synthetic",
    "twin": "twins",
    "uninterrupted": "clusters",
    "with_machines": "clusters",
    "with_outages": "combine",
}


def __getattr__(name: str) -> Any:
    """Import the readers, the store and the generator when they are first asked for."""
    import importlib

    if name in _HOMES:
        return getattr(importlib.import_module(f"failgym.traces.{_HOMES[name]}"), name)
    for form in FORMATS.values():
        if name == f"read_{form.module}":
            return form.reader
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
