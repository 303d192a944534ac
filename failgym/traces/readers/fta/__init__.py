"""Failure Trace Archive: nodes and their outages from tab files of events."""

from failgym.traces.readers.fta.reader import read_fta

__all__ = ["read_fta"]
