"""Accounting logs of TORQUE, OpenPBS and PBS Professional."""

from failgym.traces.readers.torque.reader import read_torque

__all__ = ["read_torque"]
