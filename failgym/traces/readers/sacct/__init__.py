"""Slurm's accounting, as `sacct --parsable2` prints it."""

from failgym.traces.readers.sacct.reader import read_sacct

__all__ = ["read_sacct"]
