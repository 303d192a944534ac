"""The estimated share of an error that groups have in common is the one that was drawn."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.forecast_errors import errors_of, share_of
from failgym.predictors import Calibrated
from failgym.traces.synthetic import generate


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 1.0])
def test_the_share_that_was_drawn_is_found(share: float) -> None:
    rng = np.random.default_rng(2)
    group = np.sort(rng.integers(0, 1_500, 12_000))
    alike, alone = rng.random(1_500)[group], rng.random(len(group))
    latent = np.where(rng.random(len(group)) < share, alike, alone)
    found = share_of(latent < 0.3, group)
    assert found.value == pytest.approx(share, abs=0.12 if share == 0.0 else 0.04)
    assert found.low <= share <= found.high + 1e-12


def test_groups_of_one_say_nothing() -> None:
    assert np.isnan(share_of(np.arange(9) > 4, np.arange(9)).value)


def test_drawn_forecasts_err_as_they_are_told_to() -> None:
    trace = generate("google-2011-applications", jobs=1_500, seed=1)
    plain, shared = (
        list(errors_of("", forecast.predict(trace), trace))
        for forecast in (Calibrated.elsayed(), Calibrated.elsayed().by_job())
    )
    assert [row.tasks for row in shared] == ["finish", "do not finish"]
    for one, other in zip(plain, shared, strict=True):
        assert one.job_share.value < 0.8
        assert other.job_share.value == pytest.approx(1.0, abs=1e-6)
        assert other.application_share.value > one.application_share.value
