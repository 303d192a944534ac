"""The kernels and the reference agree on random pinned worlds: `tests.sim.agree`."""

from __future__ import annotations

import pytest

from tests.sim.agree import compare

WORLDS, CHUNK, QUICK = 250, 50, 2
"""The first chunks are quick; `make check-long` plays the others, and goes on from there."""


@pytest.mark.parametrize("continued", [False, True])
@pytest.mark.parametrize(
    "chunk",
    [
        *range(QUICK),
        *(pytest.param(n, marks=pytest.mark.campaign) for n in range(QUICK, WORLDS // CHUNK)),
    ],
)
def test_kernel_and_reference_agree(chunk: int, continued: bool) -> None:
    seeds = range(chunk * CHUNK, (chunk + 1) * CHUNK)
    decisions = sum(compare(seed, continued) for seed in seeds)
    assert decisions > CHUNK
