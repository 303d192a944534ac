"""Kaplan-Meier curves: hand-counted, as scipy has them, and by the definition.

`test_lifelines` holds them against lifelines.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import CensoredData, ecdf

from failgym.continued.survival import Lives, joined
from failgym.sim.shared.continuation import LONGEST_FATE, Law


def curve(
    time: list[int],
    event: list[int],
    *,
    entered: list[int] | None = None,
    closed: bool = False,
) -> tuple[list[float], list[float]]:
    """Times and shares of one cell."""
    late = None if entered is None else np.array(entered)
    lives = Lives.of(np.zeros(len(time), dtype=np.int64), np.array(time), 1, late)
    law = lives.law(np.array(event, dtype=bool), closed=closed)
    return law.value.tolist(), law.share.tolist()


def test_a_hand_counted_curve_with_ties_and_censorings() -> None:
    # At 2 two of five end; the third, censored at 2, was still at risk. At 5 one of two.
    time, event = [2, 2, 2, 5, 7], [1, 1, 0, 1, 0]
    values, shares = curve(time, event)
    assert values == [2.0, 5.0]
    assert shares == pytest.approx([2 / 5, 1 - 3 / 5 * 1 / 2])


def test_the_rest_of_a_curve_is_never_unless_it_is_closed_at_the_longest_time() -> None:
    time, event = [2, 2, 2, 5, 7], [1, 1, 0, 1, 0]
    assert curve(time, event)[1][-1] == pytest.approx(0.7)
    values, shares = curve(time, event, closed=True)
    assert values == [2.0, 5.0, 7.0]
    assert shares[-1] == 1.0
    assert shares[:2] == curve(time, event)[1]


def test_where_nothing_ends_there_is_no_entry_or_only_the_longest_time() -> None:
    assert curve([3, 9], [0, 0]) == ([], [])
    assert curve([3, 9], [0, 0], closed=True) == ([9.0], [1.0])


def test_all_that_are_left_end_together() -> None:
    values, shares = curve([1, 4, 4], [1, 1, 1])
    assert (values, shares) == ([1.0, 4.0], [pytest.approx(1 / 3), 1.0])


def test_rows_that_enter_late_are_at_risk_only_after_they_entered() -> None:
    # At 3: rows 0, 1 (entered at 1), not row 2 (enters at 3). At 5: rows 1, 2. At 6: row 2.
    values, shares = curve([3, 5, 6], [1, 1, 0], entered=[0, 1, 3])
    assert values == [3.0, 5.0]
    assert shares == pytest.approx([1 / 2, 3 / 4])


def test_a_moment_at_which_all_end_before_others_enter_is_left_out() -> None:
    # The first row alone ends at 1; the others enter at 2. S does not fall to 0 for good.
    values, shares = curve([1, 4, 8], [1, 1, 0], entered=[0, 2, 2])
    assert (values, shares) == ([4.0], [pytest.approx(1 / 2)])


def test_zero_counts_as_a_millisecond_and_nothing_is_longer_than_the_longest_fate() -> None:
    assert curve([0, 2**60], [1, 1])[0] == [1.0, float(LONGEST_FATE)]


def test_cells_do_not_touch_each_other() -> None:
    cell = np.array([2, 0, 2, 0, 0])
    time, event = np.array([4, 1, 8, 1, 3]), np.array([1, 1, 0, 0, 1], dtype=bool)
    law = Lives.of(cell, time, 4).law(event)
    assert law.at.tolist() == [0, 2, 2, 3, 3]
    assert law.value.tolist() == [1.0, 3.0, 4.0]
    assert law.share.tolist() == pytest.approx([1 / 3, 1.0, 1 / 2])


def test_no_rows_make_cells_without_entries() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert Lives.of(none, none, 3).law(none.astype(bool), closed=True).at.tolist() == [0] * 4


def test_joined_laws_are_one_behind_the_other() -> None:
    one = Law(np.array([0, 1]), np.array([5.0]), np.array([0.5]))
    law = joined([one, Law.never(2), one])
    assert law.at.tolist() == [0, 1, 1, 1, 2]
    assert (law.value.tolist(), law.share.tolist()) == ([5.0, 5.0], [0.5, 0.5])


Row = st.tuples(st.integers(0, 2), st.integers(1, 12), st.booleans(), st.integers(0, 11))


@given(st.lists(Row, min_size=1, max_size=40))
def test_curves_are_those_of_scipy(rows: list[tuple[int, int, bool, int]]) -> None:
    time = np.array([row[1] for row in rows])
    event = np.array([row[2] for row in rows])
    known: Any = CensoredData(uncensored=time[event], right=time[~event])
    values, shares = curve(time.tolist(), event.tolist())
    theirs = ecdf(known).cdf
    assert shares == pytest.approx([float(theirs.evaluate(x)) for x in values], abs=1e-12)


@given(st.lists(Row, min_size=1, max_size=40), st.booleans(), st.booleans())
def test_curves_are_those_of_the_definition(
    rows: list[tuple[int, int, bool, int]], late: bool, closed: bool
) -> None:
    cell, time, event, entered = (np.array(column) for column in zip(*rows, strict=True))
    entered = np.minimum(entered, time - 1) if late else np.zeros_like(time)
    lives = Lives.of(cell, time, 3, entered if late else None)
    law = lives.law(event, closed=closed)
    for number in range(3):
        mine = cell == number
        expected = defined(time[mine], event[mine], entered[mine], closed)
        part = slice(law.at[number], law.at[number + 1])
        assert law.value[part].tolist() == [x for x, _ in expected]
        assert law.share[part].tolist() == pytest.approx([float(y) for _, y in expected])


def defined(time: Any, event: Any, entered: Any, closed: bool) -> list[tuple[int, Fraction]]:
    """The curve of one cell by its definition, in fractions."""
    left, made = Fraction(1), list[tuple[int, Fraction]]()
    for moment in sorted(set(time.tolist())):
        at_risk = int(((entered < moment) & (time >= moment)).sum())
        ended = int((event & (time == moment)).sum())
        last = moment == time.max()
        if ended and (ended < at_risk or last):
            left *= 1 - Fraction(ended, at_risk)
            made.append((moment, 1 - left))
        if last and closed and left:
            made = [one for one in made if one[0] != moment]
            made.append((moment, Fraction(1)))
    return made
