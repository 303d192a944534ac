"""The experiment that sets a record's twins beside its future, on a log of outages alone."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.record_twins import Beside, beside
from failgym.comparison import Measured
from tests.traces.outage_logs import outage_log


def _measured(value: float) -> Measured:
    return Measured(value, np.nan, np.nan)


def _row(future: float, past: float, twins: list[float], by_ratio: bool) -> Beside:
    made = tuple(_measured(one) for one in twins)
    return Beside("a row", _measured(future), _measured(past), made, None, by_ratio)


def test_of_times_the_distance_is_the_log_of_the_ratio() -> None:
    assert _row(10.0, 20.0, [30.0, 50.0], True).twins_further == pytest.approx(np.log(2.0))
    assert _row(10.0, 5.0, [20.0], True).twins_further == pytest.approx(0.0)
    assert _row(0.5, 0.6, [0.8, 0.9], False).twins_further == pytest.approx(0.25)


def test_a_log_of_outages_has_a_future_a_past_twins_and_a_profile() -> None:
    rows = beside(outage_log(), [1, 2], "lanl-20", [], 1)
    assert all("outages" in row.what for row in rows)
    told = {row.what: row.twins_further for row in rows if np.isfinite(row.past.value)}
    assert len(told) > 10
    assert max(told.values()) < 0.3
    assert all(row.profile is not None and np.isfinite(row.profile.value) for row in rows[:10])
