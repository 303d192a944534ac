"""Sizes of a network, as a policy file states them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from failgym.agents.strict_record import DEEPEST, CriticLstm, Depth, Record, Width

__all__ = ["Layers", "Lstm", "Network"]

Layers = Annotated[tuple[Width, ...], Field(max_length=DEEPEST)]
"""Units of hidden layers."""


class Lstm(Record):
    """The memory of a recurrent policy."""

    units: Width
    layers: Depth
    critic: CriticLstm


class Network(Record):
    """Sizes of a network, and its activation."""

    actor: Layers
    """hidden layers of the policy, or of the values of actions"""
    critic: Layers | None
    """hidden layers of the value function, None where there is no such network"""
    activation: str
    quantiles: Width | None = None
    lstm: Lstm | None = None
