"""The kernels and the reference agree on random clusters: `tests.sim.scheduled.agree`."""

from __future__ import annotations

import pytest

from tests.sim.scheduled.agree import compare
from tests.sim.scheduled.random_clusters import random_cluster

CHUNK = 50


@pytest.mark.parametrize("chunk", range(3_000 // CHUNK))
def test_kernel_and_reference_agree(chunk: int) -> None:
    decisions = 0
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        try:
            decisions += compare(random_cluster(seed))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    assert decisions > CHUNK
