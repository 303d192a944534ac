"""A block of rows of Google's tables of 2019, whatever they are written in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["BLOCK_ROWS", "Block", "Row", "Rows", "is_blank"]

Row = dict[str, Any]
Rows = tuple[list[int], list[Row]]
"""Rows and the lines at which they begin (of Parquet: their numbers), both from 1."""

BLOCK_ROWS = 1 << 13
"""Rows that are taken up at once, where they are not taken by the size of their text."""


@dataclass(frozen=True)
class Block:
    """Some consecutive rows."""

    told: Any
    """them as a `pyarrow.Table`, texts as they are written; None where Arrow has not read them"""
    rows: Callable[[], Rows]
    """them one by one: columns by name, as they are told, structures as dicts; or a TraceError"""

    @classmethod
    def of(cls, rows: Rows) -> Block:
        """A block of rows that were read one by one."""
        return cls(None, lambda: rows)


def is_blank(line: bytes) -> bool:
    """Whether there is nothing in a line."""
    return not line or line.isspace()
