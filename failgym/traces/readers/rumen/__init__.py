"""Hadoop job history as Rumen writes it (JSON), with or without its topology file."""

from failgym.traces.readers.rumen.reader import read_rumen

__all__ = ["read_rumen"]
