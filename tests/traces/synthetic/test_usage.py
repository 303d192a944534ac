"""When usage windows are, and which are kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failgym.traces.synthetic.usage import window_offsets


def windows_of(duration: int, window: int, dense: int, thinning: float) -> list[int]:
    attempt, offset = window_offsets(np.array([duration]), window, dense, thinning)
    assert (attempt == 0).all()
    return [int(x) for x in offset]


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (-5, []),
        (0, []),
        (1, [0]),
        (99, [0]),
        (100, [0]),
        (199, [0]),
        (200, [0, 100]),
        (499, [0, 100, 200, 300]),
        (1_000, [0, 100, 200, 300, 500, 800]),
    ],
)
def test_windows_over_by_the_end(duration: int, expected: list[int]) -> None:
    assert windows_of(duration, 100, dense=4, thinning=1.5) == expected


def test_all_are_kept_without_thinning() -> None:
    assert windows_of(5_000, 100, dense=1, thinning=1.0) == list(range(0, 5_000, 100))


@given(
    st.lists(st.integers(-1, 10**7), max_size=20),
    st.integers(1, 10**5),
    st.integers(1, 20),
    st.floats(1.0, 3.0),
)
def test_rules(durations: list[int], window: int, dense: int, thinning: float) -> None:
    if window < 100:  # as many windows as milliseconds, else
        durations = [duration % 10_000 for duration in durations]
    duration = np.array(durations, dtype=np.int64)
    attempt, offset = window_offsets(duration, window, dense, thinning)
    assert (np.lexsort((offset, attempt)) == np.arange(len(attempt))).all()
    assert (np.bincount(attempt, minlength=len(duration)) > 0).tolist() == (duration > 0).tolist()
    assert (offset % window == 0).all()
    assert ((offset == 0) | (offset + window <= duration[attempt])).all()
    for number, length in enumerate(duration):
        kept = offset[attempt == number] // window
        whole = max(int(length) // window, 1) if length > 0 else 0
        assert kept[:dense].tolist() == list(range(min(whole, dense)))
        later = kept[dense - 1 :]
        assert (later[1:] >= thinning * later[:-1] - 1e-6).all()
        assert (np.diff(kept) > 0).all()
