"""Do two rankings agree? Kendall's tau-b, of many pairs at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["tau_b"]

Floats = npt.NDArray[np.float64]


def tau_b(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b of the columns of two tables, [..., columns] each -> [...].

    Ties count as in scipy's `kendalltau`; NaN where a row has no value or all are tied.
    """
    one, other = np.triu_indices(first.shape[-1], 1)
    ours, theirs = (np.sign(of[..., one] - of[..., other]) for of in (first, second))
    pairs = np.sqrt((ours**2).sum(axis=-1) * (theirs**2).sum(axis=-1))
    agree: Floats = np.asarray((ours * theirs).sum(axis=-1), dtype=np.float64)
    return np.divide(agree, pairs, out=np.full(agree.shape, np.nan), where=pairs > 0.0)
