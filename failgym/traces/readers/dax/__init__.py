"""Pegasus' abstract workflows, DAX 2 and 3 (XML)."""

from failgym.traces.readers.dax.reader import read_dax

__all__ = ["read_dax"]
