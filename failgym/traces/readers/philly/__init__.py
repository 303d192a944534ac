"""Microsoft's Philly traces: the jobs of a GPU cluster for deep learning, 2017."""

from failgym.traces.readers.philly.reader import read_philly

__all__ = ["read_philly"]
