"""Hadoop job history as Rumen writes it (JSON)."""

from failgym.traces.readers.rumen.reader import read_rumen

__all__ = ["read_rumen"]
