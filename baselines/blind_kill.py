"""Blind kill: a time limit on every task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.sim.records import Action

__all__ = ["BlindKill"]


@dataclass(frozen=True)
class BlindKill(Heuristic):
    """Arm every task: what still runs after its grace period is killed, whatever was predicted.

    The control for Rosà, Chen and Binder, IWQoS 2015: it uses the length of the grace period and no
    prediction of the class. A policy that uses predictions has to do better than this one.
    """

    name: ClassVar[str] = "blind_kill"
    needs: ClassVar[frozenset[str]] = frozenset({"kill"})

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return KILL wherever a task is not armed yet."""
        return choose(view.is_on("window") & ~view.is_on("armed"), Action.KILL)
