"""The Standard Task Graph set."""

from failgym.traces.readers.stg.reader import read_stg

__all__ = ["read_stg"]
