"""Whole records are taken as so many bytes: numpy copies structured ones field by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Records = npt.NDArray[Any]


def chosen_records(records: Records, rows: Ints) -> Records:
    """``records[rows]``."""
    return _bytes(records)[rows].view(records.dtype)


def first_records(records: Records, count: int) -> Records:
    """A copy of the first ones, which holds on to none of the others."""
    return _bytes(records[:count]).copy().view(records.dtype)


def joined_records(parts: Sequence[Records], dtype: np.dtype[Any]) -> Records:
    """All records of type `dtype`, one part after another."""
    joined: Records = np.empty(sum(map(len, parts)), dtype=dtype)
    np.concatenate([np.empty(0, _whole(dtype)), *map(_bytes, parts)], out=_bytes(joined))
    return joined


def _bytes(records: Records) -> Records:
    return np.ascontiguousarray(records).view(_whole(records.dtype))


def _whole(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype((np.void, dtype.itemsize))
