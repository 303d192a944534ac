"""Accounting logs of TORQUE and PBS."""

from failgym.traces.readers.torque.reader import read_torque

__all__ = ["read_torque"]
