"""Last bits that no processor decides: results are those of exact arithmetic, rounded."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

import numpy as np
import pytest

from failgym.continued import extended

EXACT = Context(prec=60)
RNG = np.random.default_rng(0)
CASES: list[tuple[Any, str, Any]] = [
    (extended.exp, "exp", RNG.normal(0.0, 3.0, 2_000)),
    (extended.log, "ln", RNG.uniform(1.0, 1e9, 2_000)),
]


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no extended precision here")
@pytest.mark.parametrize(("function", "exact", "values"), CASES)
def test_they_are_exact_but_for_the_last_rounding(function: Any, exact: str, values: Any) -> None:
    found = function(values)
    assert found.dtype == np.float64
    wanted = np.array([float(getattr(Decimal(value), exact)(EXACT)) for value in values.tolist()])
    # Rounding twice errs where the first result lies in the middle between two others.
    assert np.mean(found == wanted) >= 0.998
    assert np.all(np.abs(found - wanted) <= np.spacing(wanted))


def test_whole_numbers_are_taken() -> None:
    assert extended.log(np.array([1, 1])).tolist() == [0.0, 0.0]
    assert extended.exp(0).tolist() == 1.0
