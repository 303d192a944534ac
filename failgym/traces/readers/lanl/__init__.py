"""LANL's node failures (LA-UR-05-7318): the machines of 23 systems and their outages, 1996-2005."""

from failgym.traces.readers.lanl.reader import read_lanl

__all__ = ["read_lanl"]
