"""Outages that overlap are resolved so that no failure and no moment of down time is lost."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failgym.traces.intervals import Resolved, resolve

Record = tuple[int, int, int]
"""Machine, down, up (-1: open)."""


def resolved(records: list[Record]) -> Resolved:
    machine, down, up = np.array(records, dtype=np.int64).reshape(-1, 3).T
    return resolve(machine, down, up)


def listed(made: Resolved) -> list[Record]:
    return list(zip(made.machine.tolist(), made.down.tolist(), made.up.tolist(), strict=True))


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], []),
        ([(0, 5, 9), (0, 1, 3)], [(0, 1, 3), (0, 5, 9)]),
        ([(0, 1, 9), (0, 4, 6)], [(0, 1, 4), (0, 4, 9)]),  # within
        ([(0, 1, 5), (0, 4, 9)], [(0, 1, 4), (0, 4, 9)]),  # over the end
        ([(0, 1, 4), (0, 4, 9)], [(0, 1, 4), (0, 4, 9)]),  # touching
        ([(0, 3, 3)], [(0, 3, 3)]),  # no length
        ([(0, 1, 9), (0, 3, 3)], [(0, 1, 3), (0, 3, 9)]),
        ([(0, 1, 4), (0, 1, 4)], [(0, 1, 1), (0, 1, 4)]),  # twice
        ([(0, 1, -1), (0, 4, 6)], [(0, 1, 4), (0, 4, -1)]),  # open
        ([(1, 1, 9), (0, 4, 6)], [(0, 4, 6), (1, 1, 9)]),  # of two machines
        ([(0, 1, 20), (0, 2, 3), (0, 5, 6)], [(0, 1, 2), (0, 2, 5), (0, 5, 20)]),
    ],
)
def test_the_rule_case_by_case(records: list[Record], expected: list[Record]) -> None:
    assert listed(resolved(records)) == expected


def test_what_is_peculiar_is_counted_once_per_record() -> None:
    made = resolved([(0, 1, 9), (0, 4, 6), (0, 9, 9), (0, 12, 13), (0, 12, 13), (1, 4, 5)])
    assert (made.overlapping, made.touching, made.empty, made.repeated) == (2, 1, 1, 1)
    assert sum(made.noted.values()) == 5
    assert resolved([(0, 1, 2)]).noted == {}


RECORDS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(-1, 9)).map(
        lambda drawn: (drawn[0], drawn[1], -1 if drawn[2] < 0 else drawn[1] + drawn[2])
    ),
    max_size=12,
)


@given(RECORDS)
def test_no_failure_and_no_down_time_is_lost(records: list[Record]) -> None:
    made = resolved(records)
    rows = listed(made)
    assert sorted((m, down) for m, down, _ in records) == [(m, down) for m, down, _ in rows]
    assert sorted(made.record.tolist()) == list(range(len(records)))
    assert all(records[at][:2] == row[:2] for at, row in zip(made.record, rows, strict=True))
    for (machine, down, up), (other, next_down, _) in itertools.pairwise(rows):
        if machine == other:
            assert down <= up <= next_down
    assert moments(rows) == moments(records)


def moments(records: list[Record]) -> set[tuple[int, int]]:
    """Machine and moment of the time down; 40 is later than every end."""
    return {(m, t) for m, down, up in records for t in range(down, 40 if up < 0 else up)}
