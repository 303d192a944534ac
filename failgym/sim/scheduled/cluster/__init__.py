"""Machines, what takes them down, and the stable storage."""
