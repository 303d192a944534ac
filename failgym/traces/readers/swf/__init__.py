"""Logs in the Standard Workload Format (SWF), version 2.2."""

from failgym.traces.readers.swf.reader import read_swf

__all__ = ["read_swf"]
