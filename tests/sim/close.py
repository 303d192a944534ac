"""Whether the kernels and the reference agree on numbers: `pytest.approx`, at a tenth of its time.

Differential tests compare some numbers at each of millions of decisions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

REL, ABS = 1e-12, 1e-9
"""How far apart costs may lie, which are summed in another order."""


def close(found: float, expected: float, rel: float = REL, least: float = ABS) -> bool:
    """Within a share of what is expected, or the least distance; nothing is near NaN."""
    return abs(found - expected) <= max(rel * abs(expected), least, ABS)


def all_close(found: Sequence[float], expected: Sequence[float], least: float = ABS) -> bool:
    """One by one, and there are as many."""
    as_many = len(found) == len(expected)
    return as_many and all(close(*pair, least=least) for pair in zip(found, expected, strict=True))


def ulps(a: np.ndarray, b: np.ndarray) -> int:
    """Largest distance between two float32 arrays, in units in the last place."""
    if a.tobytes() == b.tobytes():
        return 0
    ordered = [x.view(np.int32).astype(np.int64) for x in (a + np.float32(0), b + np.float32(0))]
    ordered = [np.where(x < 0, -(x & 0x7FFFFFFF), x) for x in ordered]
    return int(np.abs(ordered[0] - ordered[1]).max())
