"""Traces: what happened on a cluster, read from public formats or generated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.traces.trace import Cause, Meta, Outcome, Trace, TraceError

if TYPE_CHECKING:
    from failgym.traces.readers.google_2011 import read_google_2011
    from failgym.traces.store import check_destination
    from failgym.traces.synthetic import generate, toy

__all__ = [
    "Cause",
    "Meta",
    "Outcome",
    "Trace",
    "TraceError",
    "check_destination",
    "generate",
    "read_google_2011",
    "toy",
]


def __getattr__(name: str) -> Any:
    """Import the readers, the store and the generator when they are first asked for."""
    if name == "read_google_2011":
        from failgym.traces.readers.google_2011 import read_google_2011

        return read_google_2011
    if name == "check_destination":
        from failgym.traces.store import check_destination

        return check_destination
    if name in ("generate", "toy"):
        from failgym.traces import synthetic

        return getattr(synthetic, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
