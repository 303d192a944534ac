"""The decision that is open."""

from __future__ import annotations

from typing import NamedTuple

from failgym.vocabulary import Action, Decision

__all__ = ["Asked"]


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
