"""The accounts of machine-time in an outcome table."""

from __future__ import annotations

from typing import Any

from failgym.vocabulary import Accounts

__all__ = [
    "accounts_of",
]


def accounts_of(states: Any, under_way: int) -> Accounts:
    """Machine-time of TASK_STATE records by account.

    Args:
        under_way: of their attempts, and writes, that are not over [machine-ms].
    """
    kept = [name for name in Accounts._fields if name in states.dtype.names]
    unclassified = int(states["saved"].sum() + states["unknown"].sum())
    return Accounts(
        in_flight=unclassified + under_way, **{name: int(states[name].sum()) for name in kept}
    )
