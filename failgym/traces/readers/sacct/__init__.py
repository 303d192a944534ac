"""Slurm's job accounting, as `sacct --parsable2` prints it (sacct(1), SchedMD)."""

from failgym.traces.readers.sacct.reader import read_sacct

__all__ = ["read_sacct"]
