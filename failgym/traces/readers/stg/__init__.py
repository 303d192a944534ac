"""Standard Task Graph set: random and application task graphs as workflows."""

from failgym.traces.readers.stg.reader import read_stg

__all__ = ["read_stg"]
