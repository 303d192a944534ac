"""How many episodes ahead memory is asked for."""

from __future__ import annotations

__all__ = [
    "PARTS",
    "RECORDS",
    "STATES",
]

STATES, RECORDS, PARTS = 6, 4, 2
"""Episodes ahead of whom states are asked for; then, with those, records of the world; then, with
these, what they point to."""
