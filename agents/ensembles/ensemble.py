"""What a `Decider` asks: an ensemble of trees or of networks."""

from __future__ import annotations

from failgym.agents.ensembles.forest import Forest
from failgym.agents.ensembles.perceptrons import Perceptrons

__all__ = ["Ensemble", "joined"]

Ensemble = Forest | Perceptrons


def joined(one: Ensemble, more: Ensemble) -> Ensemble:
    """The outputs of one, then those of another of the same kind and sizes."""
    if isinstance(one, Forest) and isinstance(more, Forest):
        return one.joined(more)
    if isinstance(one, Perceptrons) and isinstance(more, Perceptrons):
        return one.joined(more)
    raise ValueError(f"expected two of a kind, got {type(one).__name__} and {type(more).__name__}")
