"""Records of plain values: what hyper-parameters and the manifests of policy files are made of.

Bounds of network sizes and the names of activations are here, for both.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

__all__ = [
    "DEEPEST",
    "WIDEST",
    "Activation",
    "CriticLstm",
    "Depth",
    "GrownRecord",
    "Record",
    "Width",
]

WIDEST = 1_024
"""Units of a layer, or quantiles, at most."""
DEEPEST = 8
"""Layers at most."""

Width = Annotated[int, Field(ge=1, le=WIDEST)]
Depth = Annotated[int, Field(ge=1, le=DEEPEST)]
Activation = Literal["tanh", "relu", "elu", "gelu", "silu", "leaky_relu"]
CriticLstm = Literal["own", "shared", "none"]
"""Has the critic an LSTM: one of its own, that of the actor, or none?"""


class Record(BaseModel):
    """Values of exactly the stated names and types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class GrownRecord(Record):
    """A record that is written as it was before it got more entries, where it does not use them."""

    LATER: ClassVar[frozenset[str]] = frozenset()
    """Entries that are left out where they are empty."""

    @model_serializer(mode="wrap")
    def _without_empty(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = written(self)
        return {name: value for name, value in found.items() if value or name not in self.LATER}
