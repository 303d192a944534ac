"""What the engine tells: entries of its event log, and the decision that is open."""

from __future__ import annotations

from typing import NamedTuple

from failgym.sim.records import Action, Decision

__all__ = ["Asked", "Entry"]


class Entry(NamedTuple):
    """An entry of the event log."""

    time: int
    kind: int
    task: int
    number: int
    detail: int


class Asked(NamedTuple):
    """An open decision."""

    kind: Decision
    task: int
    number: int
    length: int
    """undisturbed length of its attempt [ms]"""
    machine: int
    """that is offered, else -1"""
    legal: tuple[Action, ...]
    risk: float
    """forecast risk of the attempt"""
