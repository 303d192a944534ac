"""How far the logits of an actor can be from what they would be without rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Rounding"]

Floats = npt.NDArray[np.float32]

UNIT = float(np.finfo(np.float32).eps) / 2.0
"""How much a number in single precision differs from what it stands for, as a share of it."""
MORE = 16
"""Units of rounding, generously, for an activation, a bias, and what `predict` does to logits."""


@dataclass(frozen=True)
class Rounding:
    """How far logits in single precision can be from the exact ones, in Euclidean norm.

    A sum of n products is off by n units of rounding at most, times the sum of their sizes, in
    whatever order it is added up (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd
    edition, 3.1). Norms of the weights bound these sizes, and what becomes of an error in the
    layers that follow; activations stretch nothing.
    """

    fixed: float
    """whatever is shown"""
    per: float
    """for each unit of the norm of what is shown"""

    @classmethod
    def of(cls, layers: Sequence[tuple[Floats, Floats]], bounded: bool) -> Rounding:
        """That of an actor with these weights and biases.

        Args:
            layers: as `Actor.layers`.
            bounded: are activations between -1 and 1?
        """
        size, error = np.array([0.0, 1.0]), np.zeros(2)  # of what a layer is shown: [fixed, per]
        for weights, bias in layers:
            exact, units = weights.astype(np.float64), np.array([1.0, 0.0])
            spread, whole = float(np.linalg.norm(exact, 2)), float(np.linalg.norm(exact))
            added = float(np.linalg.norm(bias.astype(np.float64))) * units
            sums = UNIT * (len(exact) + MORE) * (whole * (size + error) + added)
            error = spread * error + sums + MORE * UNIT * len(bias) ** 0.5 * units
            size = len(bias) ** 0.5 * units if bounded else spread * size + added
        return cls(*error.tolist())

    def apart(self, shown: Floats, largest: float) -> float:
        """How far two logits must be apart for all to agree which is larger.

        Args:
            shown: float32 [batch, fields].
            largest: of the logits, whatever their sign.
        """
        exact = shown.astype(np.float64)
        norm = float(np.sqrt(np.einsum("ij,ij->i", exact, exact).max(initial=0.0)))
        off = self.fixed + self.per * norm
        return 4.0 * off + MORE * UNIT * (1.0 + largest)  # of each of two, by numpy and by torch
