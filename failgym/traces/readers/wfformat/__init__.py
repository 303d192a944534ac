"""WfCommons' WfFormat: workflows that were run or generated, with their files and machines."""

from failgym.traces.readers.wfformat.reader import read_wfformat

__all__ = ["read_wfformat"]
