"""Pegasus' abstract workflows (DAX), in XML."""

from failgym.traces.readers.dax.reader import read_dax

__all__ = ["read_dax"]
