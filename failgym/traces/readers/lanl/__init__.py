"""Node failures of Los Alamos (LA-UR-05-7318)."""

from failgym.traces.readers.lanl.reader import read_lanl

__all__ = ["read_lanl"]
