"""Last bits that hardly any processor decides: results are exact ones, rounded."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

import numpy as np
import pytest

from failgym.continued import extended

EXACT = Context(prec=60)
HARD = {
    "exp": (-4.329906, 5.867086, -0.196381, 2.764828, 0.734354, -5.743164, 0.997803, 1.642112),
    "ln": (704157361.0, 340331899.0, 964632136.0, 160204900.0, 678259518.0, 639057142.0),
}
"""Values whose result lies so near to the middle between two floats that functions in double
precision may round it to the wrong one; where they were found, those of NumPy do for all."""
extended_only = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="no extended precision here"
)


@extended_only
@pytest.mark.parametrize(("function", "exact"), [(extended.exp, "exp"), (extended.log, "ln")])
def test_hard_cases_are_rounded_as_exact_ones(function: Any, exact: str) -> None:
    found = function(np.array(HARD[exact]))
    assert found.dtype == np.float64
    wanted = [float(getattr(Decimal(value), exact)(EXACT)) for value in HARD[exact]]
    assert found.tolist() == wanted


def test_whole_numbers_are_taken() -> None:
    assert extended.log(np.array([1, 1])).tolist() == [0.0, 0.0]
    assert extended.exp(0).tolist() == 1.0
