"""Workflow instances of WfCommons, WfFormat 1.2 to 1.6."""

from failgym.traces.readers.wfformat.reader import read_wfformat

__all__ = ["read_wfformat"]
