"""The Failure Trace Archive (`event_trace.tab`)."""

from failgym.traces.readers.fta.reader import read_fta

__all__ = ["read_fta"]
